"""The extras that stand on boto3 or botocore: imports their modules, or says how to install them."""

from __future__ import annotations

import importlib
from typing import Any


def import_optional(module: str, *, extra: str = "boto3") -> Any:
    """Return the module of this package that needs the extra; raise ImportError with the remedy when it is missing."""
    try:
        return importlib.import_module(f"hashrange.client.{module}")
    except ModuleNotFoundError as missing:
        library = str(missing.name).partition(".")[0]
        if library not in {"boto3", "botocore"}:
            raise
        raise ImportError(f"{library} is not installed: pip install 'hashrange[{extra}]'") from missing
