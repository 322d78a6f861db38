"""Builds the distributions, and makes virtual environments that contain exactly what one of them requires.

Nothing is downloaded: what a distribution requires is linked from the environment in which the tests run.
`make extras` installs from the registry instead.
"""

import os
import re
import subprocess
import sys
import sysconfig
import venv
from importlib import metadata
from pathlib import Path

from tests.conftest import ROOT

LIBRARIES = Path(sysconfig.get_path("purelib"))
OURS = ("hashrange", "hashrange-systems")


def build(folder: Path) -> dict[str, Path]:
    """Build both distributions as `python -m build` does, and return the wheel of each."""
    for project in (ROOT, ROOT / "systems"):
        run(sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(project))
    wheels = {path.name.partition("-")[0].replace("_", "-"): path for path in folder.glob("*.whl")}
    assert sorted(wheels) == sorted(OURS)
    assert len(list(folder.glob("*.tar.gz"))) == len(OURS)
    return wheels


def run(*command: str, cwd: Path | None = None, status: int = 0) -> str:
    """Run a program to its end, as in a shell without settings for Python, and return what it prints."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=500, check=False)
    assert done.returncode == status, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout + done.stderr


class Environment:
    """A virtual environment with one requirement, such as `hashrange[cli]`, and what that requires."""

    def __init__(self, folder: Path, wheels: dict[str, Path], requirement: str, *also: str) -> None:
        self.folder = folder
        venv.create(folder, symlinks=True)
        self.python = folder / "bin" / "python"
        needed = find_required(requirement).union(*map(find_required, also))
        site = Path(run(str(self.python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())
        for name in sorted(needed - set(OURS)):
            link_distribution(name, site)
        install = [sys.executable, "-m", "pip", "--python", str(self.python), "install", "--quiet", "--no-deps"]
        run(*install, "--no-index", *(str(wheels[name]) for name in OURS if name in needed))

    def run(self, program: str, *arguments: str, status: int = 0) -> str:
        """Run an installed program, in an empty directory."""
        empty = self.folder / "empty"
        empty.mkdir(exist_ok=True)
        return run(str(self.folder / "bin" / program), *arguments, cwd=empty, status=status)


def find_required(requirement: str) -> set[str]:
    """The names of all distributions that a requirement installs here, itself included."""
    from packaging.requirements import Requirement

    found: set[str] = set()
    seen: set[tuple[str, str]] = set()
    waiting = [Requirement(requirement)]
    while waiting:
        wanted = waiting.pop()
        name = re.sub(r"[-_.]+", "-", wanted.name).lower()
        found.add(name)
        extras = {extra for extra in ("", *wanted.extras) if (name, extra) not in seen}
        seen |= {(name, extra) for extra in extras}
        for line in metadata.requires(name) or []:
            required = Requirement(line)
            if any(required.marker is None or required.marker.evaluate({"extra": extra}) for extra in extras):
                waiting.append(required)
    return found


def link_distribution(name: str, site: Path) -> None:
    """Make an installed distribution importable from another environment too."""
    files = metadata.distribution(name).files or []
    for top in {Path(file.parts[0]) for file in files if file.parts[0] not in {"..", "__pycache__"}}:
        link = site / top
        if not link.exists():
            link.symlink_to(LIBRARIES / top)
