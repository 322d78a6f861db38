"""Runs the two type checkers, strictly, once each, on what users write; a refusal is a line and what was said of it."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

from tests.conftest import require

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
SYSTEMS = ROOT / "systems" / "src" / "hashrange_systems"
PROCESS = os.environ.get("PYTEST_XDIST_WORKER", "main")
CACHE = ROOT / ".mypy_cache" / f"typing-{PROCESS}"  # processes of a parallel run do not share one
PYRIGHT = HERE / "node_modules" / "pyright" / "index.js"

MISTAKEN = [HERE / "mistakes.py", HERE / "misdeclared.py", HERE / "mistaken_words.py"]
SCHEMAS = [*sorted(SYSTEMS.glob("*/schema.py")), SYSTEMS / "aura" / "first.py"]
CORRECT = [HERE / "uses.py", HERE / "declarations.py", HERE / "annotations.py", *SCHEMAS]

# What pyright adds about names whose type a mistake has spoilt, and about values that nobody uses.
ECHOES = ("reportUnknown", "reportUnused")


@pytest.fixture(scope="session")
def mypy_findings():
    """What mypy says of each file, by line, with the option `unused-awaitable`."""
    return run_mypy([*CORRECT, *MISTAKEN, HERE / "unseen.py"])


@pytest.fixture(scope="session")
def mypy_refusals(mypy_findings):
    """What mypy says of each file, by line, without that option: one run serves both."""
    found = defaultdict(dict)
    for file, lines in mypy_findings.items():
        strict = {
            at: [text for text in texts if not text.endswith("[unused-awaitable]")] for at, texts in lines.items()
        }
        found[file] = defaultdict(list, {at: texts for at, texts in strict.items() if texts})
    return found


@pytest.fixture(scope="session")
def pyright_refusals():
    """What pyright says of each file, by line."""
    return run_pyright([*CORRECT, *MISTAKEN, HERE / "unseen.py"])


@pytest.fixture(params=["mypy", "pyright"])
def refusals(request):
    """What each of the two says of each file, by line."""
    return request.getfixturevalue(f"{request.param}_refusals")


def run_mypy(files):
    """Check with --strict and `unused-awaitable`, and nothing of this project's configuration."""
    command = [sys.executable, "-m", "mypy", "--strict", "--enable-error-code=unused-awaitable", "--config-file="]
    command += ["--explicit-package-bases", "--show-absolute-path", f"--cache-dir={CACHE}"]
    output = run(
        [*command, *map(str, files)], MYPYPATH=os.pathsep.join([str(ROOT), str(ROOT / "src"), str(SYSTEMS.parent)])
    )
    found = defaultdict(lambda: defaultdict(list))
    for path, line, text in re.findall(r"^(.+?):(\d+): error: (.*)$", output, re.MULTILINE):
        found[Path(path)][int(line)].append(text)
    return found


def run_pyright(files):
    """Check in strict mode, as the configuration beside this file says, with this Python's packages."""
    node = shutil.which("node")
    require(node and PYRIGHT.exists(), "pyright")
    command = [node, str(PYRIGHT), "--outputjson", "--pythonpath", sys.executable, "--project", str(HERE)]
    report = json.loads(run([*command, *map(str, files)]))
    assert report["summary"]["filesAnalyzed"] == len(files)
    found = defaultdict(lambda: defaultdict(list))
    for finding in report["generalDiagnostics"]:
        line = finding["range"]["start"]["line"] + 1
        found[Path(finding["file"])][line].append(f"{finding['message']} ({finding.get('rule', 'error')})")
    return found


def run(command, **variables):
    """Return what a checker writes; 1 is how it says that it found something."""
    environment = {**os.environ, **variables}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode in {0, 1}, done.stdout + done.stderr
    return done.stdout
