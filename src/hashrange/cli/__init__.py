"""The command line: `hashrange <command>`. `main` starts it; `cli.app` lists the commands, one module each."""

from __future__ import annotations

import sys

from hashrange.client.optional_import import OptionalImportError, import_optional


def main() -> None:
    """Run the command that the arguments name."""
    try:
        app = import_optional("hashrange.cli.app").app
    except OptionalImportError as error:
        sys.stderr.write(f"error: {error}\n")
        sys.exit(2)
    app(prog_name="hashrange")
