"""hashrange: DynamoDB in Python, embedded or over the wire.

    import hashrange

    with hashrange.open("data/") as db:             # or hashrange.open() for one in memory
        db.create_table(TableName="t", ...)         # the operations, in wire form
        table = db.resource().Table("t")            # or real boto3 objects that run on it

Everything is imported when it is first used, so that `import hashrange` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hashrange.client.database import Database
    from hashrange.client.database import open_database as open
    from hashrange.client.patch import patch_boto3
    from hashrange.core.clock import ManualClock
    from hashrange.core.errors import HashrangeError, ServiceError, StorageError

__version__ = "0.1.0"
__all__ = ["Database", "HashrangeError", "ManualClock", "ServiceError", "StorageError", "open", "patch_boto3"]

_HOMES = {
    "Database": ("client.database", "Database"),
    "HashrangeError": ("core.errors", "HashrangeError"),
    "ManualClock": ("core.clock", "ManualClock"),
    "ServiceError": ("core.errors", "ServiceError"),
    "StorageError": ("core.errors", "StorageError"),
    "open": ("client.database", "open_database"),
    "patch_boto3": ("client.patch", "patch_boto3"),
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'hashrange' has no attribute {name!r}")
    module, attribute = _HOMES[name]
    if module == "client.patch":
        from hashrange.client import extra

        return extra.load("patch").patch_boto3
    return getattr(import_module(f"hashrange.{module}"), attribute)
