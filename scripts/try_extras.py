"""Install each extra of the built wheels in an empty environment, from the registry, try it, and print what it takes.

python scripts/try_extras.py dist
"""

import subprocess
import sys
import tempfile
import venv
from pathlib import Path

CONNECT = "import hashrange; hashrange.connect(region='eu-west-2', access_key='a', secret_key='b')"
OPEN = "import hashrange; hashrange.open().call('ListTables', {})"
EXPORT = """
from pathlib import Path
import hashrange
from hashrange.provision import create_tables, export_items
table = hashrange.Table("things", "pk")
class Thing(hashrange.Item, table=table, pk="{name}"):
    name: str
with hashrange.open() as database:
    create_tables(database, table)
    export_items(database, "things", Path("things.parquet"))
assert Path("things.parquet").read_bytes()[:4] == b"PAR1"
"""
IMPORT_ALL = """
import importlib, pkgutil
package = importlib.import_module("hashrange_systems.{}")
for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
    importlib.import_module(module.name)
"""
TRIALS = {  # what is installed, and a command that must succeed then
    "hashrange": ["python", "-c", OPEN],
    "hashrange[aws]": ["python", "-c", CONNECT],
    "hashrange[boto3]": ["python", "-c", "import hashrange; hashrange.open().client().list_tables()"],
    "hashrange[cli]": ["hashrange", "--version"],
    "hashrange[encryption]": ["python", "-c", "import hashrange; hashrange.LocalKeys.generate().seal(b'secret', b'')"],
    "hashrange[parquet]": ["python", "-c", EXPORT],
    "hashrange[server]": ["hashrange", "up", "--help"],
    "hashrange-systems": ["hashrange", "checks", "--help"],
    "hashrange-systems[apprise,pdf]": ["python", "-c", "import apprise, fpdf" + IMPORT_ALL.format("checks")],
    "hashrange-systems[aura]": ["python", "-c", IMPORT_ALL.format("aura")],
    "hashrange-systems[kelifax]": ["python", "-c", IMPORT_ALL.format("kelifax")],
}


def main(dist: str) -> None:
    """Try all, one after the other; the first that fails ends it."""
    print(f"{'installed':32} {'packages':>8} {'MB':>6}")
    for requirement, command in TRIALS.items():
        with tempfile.TemporaryDirectory() as folder:
            print(try_one(Path(folder), Path(dist).resolve(), requirement, command), flush=True)


def try_one(folder: Path, dist: Path, requirement: str, command: list[str]) -> str:
    """Install a requirement, run the command, and return a line about it."""
    venv.create(folder, symlinks=True)
    pip = [sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python"), "--disable-pip-version-check"]
    run(*pip, "install", "--quiet", "--no-compile", "--find-links", str(dist), pin(requirement, dist))
    run(str(folder / "bin" / command[0]), *command[1:], cwd=folder)
    packages = run(*pip, "list", "--format=freeze").split()
    site = next(folder.glob("lib/python*/site-packages"))
    size = sum(file.stat().st_size for file in site.rglob("*") if file.is_file() and file.suffix != ".pyc")
    return f"{requirement:32} {len(packages):8} {size / 1e6:6.1f}"


def pin(requirement: str, dist: Path) -> str:
    """The requirement of the version that was built: pip would prefer a release of the registry to a `.dev0`."""
    [wheel] = dist.glob(f"{requirement.partition('[')[0].replace('-', '_')}-*.whl")
    return f"{requirement}=={wheel.name.split('-')[1]}"


def run(*command: str, cwd: Path | None = None) -> str:
    """Run a program and return what it prints; its failure ends the script."""
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout


if __name__ == "__main__":
    main(*sys.argv[1:])
