"""The command line: `hashrange <command>`. `main` starts it; `cli.app` lists the commands, one module each."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command that the arguments name."""
    try:
        from hashrange.cli.app import app
    except ModuleNotFoundError as missing:
        if missing.name not in {"typer", "rich"}:
            raise
        sys.stderr.write(f"error: {missing.name} is not installed: pip install 'hashrange[cli]'\n")
        sys.exit(2)
    app(prog_name="hashrange")
