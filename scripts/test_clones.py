"""Runs unit tests from clones in folders with other names: no test may depend on where the clone is.

    .venv/bin/python scripts/test_clones.py -n 2       # the options are those of pytest

The last commit is tested. Each clone has an environment of its own, whose packages are links to the installed ones:
nothing is installed again, and what is imported has the name of the folder in its path.

In a folder `hashrange`, git's default, all unit tests run: a word in a path is found by tests of any kind. In a folder
with a space and an umlaut, those run that name a path, a process or a file, and their temporary files are in such a
folder too: such names fail where a path is quoted, split, or put into a pattern, a URL or a command.
"""

import os
import subprocess
import sys
import sysconfig
import tempfile
import time
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
TESTS = "tests/unit"
KEEP_FAILED = ("-o", "tmp_path_retention_policy=failed")
NAMES_A_PATH = "tmp_path|pytester|on_disk|subprocess|sys.executable|__file__|ROOT"


def main(options: list[str]) -> None:
    """Clone, test, and exit with 1 if a test failed."""
    if subprocess.run(["git", "diff", "--quiet", "HEAD"], cwd=ROOT, check=False).returncode:
        print("clones have what is committed: the changes of the working tree are not tested in them")
    with tempfile.TemporaryDirectory(prefix="clones-") as folder:
        results = [
            test_clone(Path(folder, "hashrange"), [TESTS], Path(folder, "temporary"), options),
            test_clone(Path(folder, "ä b c"), find_tests(), Path(folder, "temporary # % ? ä"), options),
        ]
    sys.exit(any(results))


def find_tests() -> list[str]:
    """Return the files of the unit tests that name a path, a process or a file."""
    found = ask("git", "grep", "--name-only", "--extended-regexp", NAMES_A_PATH, "HEAD", "--", f"{TESTS}/**/test_*.py")
    return [name.removeprefix("HEAD:") for name in found]


def test_clone(clone: Path, tests: list[str], temporary: Path, options: list[str]) -> int:
    """Run tests from a new clone; return pytest's exit code."""
    started = time.monotonic()
    subprocess.run(["git", "clone", "--quiet", "--shared", ROOT, clone], check=True)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [make_environment(clone), "-m", "pytest", "-q", f"--basetemp={temporary}", *KEEP_FAILED, *options, *tests]
    print(f"== {clone}", flush=True)
    code = subprocess.run(command, cwd=clone, env=environment, check=False).returncode
    print(f"== {clone}: {time.monotonic() - started:.0f} s", flush=True)
    return code


def make_environment(clone: Path) -> Path:
    """Return the Python of a new environment: the clone's own sources, and links to the packages installed here."""
    made = clone / ".venv"
    venv.create(made, symlinks=True)
    packages = Path(sysconfig.get_path("purelib", "venv", {"base": str(made)}))
    installed = [Path(entry) for entry in sys.path if Path(entry).name == "site-packages"]
    for package in (each for folder in installed for each in folder.iterdir() if each.suffix != ".pth"):
        if not (packages / package.name).exists():
            (packages / package.name).symlink_to(package)
    (packages / "clone.pth").write_text(f"{clone / 'src'}\n{clone / 'systems' / 'src'}\n", "utf-8")
    return made / "bin" / "python"


def ask(*command: str) -> list[str]:
    """Return the lines that a command prints."""
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()


if __name__ == "__main__":
    main(sys.argv[1:])
