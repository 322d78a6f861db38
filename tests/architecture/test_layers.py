"""The import layers of the package, as declared in pyproject.toml and drawn in docs/architecture.md."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_each_layer_imports_only_the_layers_below_it():
    lint_imports = Path(sys.executable).with_name("lint-imports")
    command = [lint_imports, "--no-cache"]  # `make lint` may be writing the cache at this moment
    outcome = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr
