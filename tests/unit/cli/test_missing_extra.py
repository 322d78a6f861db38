"""Without the libraries of the extra `cli`, the command prints what to install."""

import subprocess
import sys

import pytest

from hashrange import __version__
from hashrange.client.optional_import import OptionalImportError, import_optional


def test_one_sentence_says_what_to_install():
    code = "import sys; sys.modules['typer'] = None; import hashrange.cli; hashrange.cli.main()"
    outcome = subprocess.run(
        [sys.executable, "-c", code, "--help"], capture_output=True, text=True, check=False, timeout=500
    )
    assert outcome.stderr == "error: typer is not installed: pip install 'hashrange[cli]'\n"
    assert (outcome.returncode, outcome.stdout) == (2, "")


def test_the_package_is_the_command_too():
    command = [sys.executable, "-m", "hashrange", "--version"]
    outcome = subprocess.run(command, capture_output=True, text=True, check=False, timeout=500)
    assert (outcome.stdout, outcome.returncode) == (f"hashrange {__version__}\n", 0)


def test_the_caller_may_name_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "botocore.session", None)
    with pytest.raises(OptionalImportError, match=r"botocore is not installed: pip install 'hashrange\[aws\]'"):
        import_optional("botocore.session", extra="aws")


def test_a_library_that_no_extra_installs_is_reported_as_python_does():
    with pytest.raises(ModuleNotFoundError, match="No module named 'nowhere'"):
        import_optional("nowhere")
