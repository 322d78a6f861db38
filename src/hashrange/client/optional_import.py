"""Imports modules of hashrange that need an extra; when its library is missing, the error says what to install."""

from __future__ import annotations

import importlib
from typing import Any

from hashrange.core.errors import HashrangeError

EXTRAS = {  # which extra installs a library
    "boto3": "boto3",
    "botocore": "boto3",
    "cryptography": "encryption",
    "jinja2": "server",
    "pyarrow": "parquet",
    "rich": "cli",
    "starlette": "server",
    "typer": "cli",
    "uvicorn": "server",
}


class OptionalImportError(HashrangeError, ImportError):
    """A library that an extra of hashrange installs is missing."""


def import_optional(module: str, *, extra: str | None = None) -> Any:
    """Return the imported module; raise OptionalImportError with the command that installs what is missing."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as missing:
        library = str(missing.name).partition(".")[0]
        if library not in EXTRAS:
            raise
        wanted = extra or EXTRAS[library]
        raise OptionalImportError(f"{library} is not installed: pip install 'hashrange[{wanted}]'") from missing
