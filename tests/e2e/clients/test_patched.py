"""`patch_boto3` where aioboto3 and moto are installed, which is an environment of its own."""

import os
import subprocess

import pytest

from tests.conftest import require
from tests.e2e.clients.conftest import HERE, ROOT

PYTHON = ROOT / ".venv-clients" / "bin" / "python"


@pytest.fixture
def run(tmp_path):
    """Run a program that finds hashrange's source, on a machine where AWS was never configured."""
    require(PYTHON.exists(), "aioboto3")
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": str(ROOT / "src")}

    def start(*arguments):
        outcome = subprocess.run(
            [str(PYTHON), *arguments],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=500,
            check=False,
        )
        assert outcome.returncode == 0, f"{outcome.stdout}\n{outcome.stderr}"
        return outcome.stdout

    return start


def test_aiobotocore_aioboto3_and_moto_are_covered(run):
    assert " passed" in run("-m", "pytest", "-q", "-c", os.devnull, "--noconftest", str(HERE / "patched_program.py"))


def test_libraries_that_are_imported_inside_the_patch_are_covered(run):
    assert run(str(HERE / "late_import_program.py")) == "done\n"
