"""The boto3 extra: imports the modules that stand on boto3, or says how to install it."""

from __future__ import annotations

import importlib
from typing import Any


def load(module: str) -> Any:
    """Return the module of this package that needs boto3; raise ImportError with the remedy when it is missing."""
    try:
        return importlib.import_module(f"hashrange.client.{module}")
    except ModuleNotFoundError as missing:
        library = str(missing.name).partition(".")[0]
        if library not in {"boto3", "botocore"}:
            raise
        raise ImportError(f"{library} is not installed: pip install 'hashrange[boto3]'") from missing
