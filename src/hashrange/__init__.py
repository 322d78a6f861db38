"""hashrange: DynamoDB systems in Python: a design, declared once, that runs embedded, over the wire and on AWS.

    from typing import Protocol
    import hashrange
    from hashrange import Get, Item, Patterns, Table

    class Shop(Item, table=Table("shops", "pk", "sk"), pk="SHOP#{domain}", sk="META#"):
        domain: str
        name: str

    class Shops(Patterns, Protocol):
        def shop(self, domain: str) -> Get[Shop]: ...

    db = Shops.open(hashrange.open("data/"))        # or hashrange.connect("http://127.0.0.1:8000"), hashrange.connect()

Everything is imported when it is first used, so that `import hashrange` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hashrange.client.database import Database as Database
    from hashrange.client.database import open_database
    from hashrange.client.kms_keys import KmsKeys as KmsKeys
    from hashrange.client.local_keys import LocalKeys as LocalKeys
    from hashrange.client.patch import patch_boto3 as patch_boto3
    from hashrange.client.remote import connect as connect
    from hashrange.core.clock import ManualClock as ManualClock
    from hashrange.core.errors import Conflict as Conflict
    from hashrange.core.errors import CursorInvalid as CursorInvalid
    from hashrange.core.errors import DeclarationError as DeclarationError
    from hashrange.core.errors import HashrangeError as HashrangeError
    from hashrange.core.errors import NotFound as NotFound
    from hashrange.core.errors import SealError as SealError
    from hashrange.core.errors import ServiceError as ServiceError
    from hashrange.core.errors import StorageError as StorageError
    from hashrange.core.errors import Taken as Taken
    from hashrange.core.errors import TransportError as TransportError
    from hashrange.core.errors import Unreadable as Unreadable
    from hashrange.core.errors import ValueInvalid as ValueInvalid
    from hashrange.engine.faults.faults import Faults as Faults
    from hashrange.provision import create_tables as create_tables
    from hashrange.schema.declare.marker import Add as Add
    from hashrange.schema.declare.marker import Append as Append
    from hashrange.schema.declare.marker import BeginsWith as BeginsWith
    from hashrange.schema.declare.marker import Between as Between
    from hashrange.schema.declare.marker import Commas as Commas
    from hashrange.schema.declare.marker import Contains as Contains
    from hashrange.schema.declare.marker import Discard as Discard
    from hashrange.schema.declare.marker import Eq as Eq
    from hashrange.schema.declare.marker import Formerly as Formerly
    from hashrange.schema.declare.marker import Ge as Ge
    from hashrange.schema.declare.marker import Gt as Gt
    from hashrange.schema.declare.marker import IsoMicros as IsoMicros
    from hashrange.schema.declare.marker import IsoMillis as IsoMillis
    from hashrange.schema.declare.marker import JsonPipes as JsonPipes
    from hashrange.schema.declare.marker import Key as Key
    from hashrange.schema.declare.marker import Le as Le
    from hashrange.schema.declare.marker import Lt as Lt
    from hashrange.schema.declare.marker import Millis as Millis
    from hashrange.schema.declare.marker import Ne as Ne
    from hashrange.schema.declare.marker import Once as Once
    from hashrange.schema.declare.marker import Pipes as Pipes
    from hashrange.schema.declare.marker import Prefixed as Prefixed
    from hashrange.schema.declare.marker import Seconds as Seconds
    from hashrange.schema.declare.marker import Secret as Secret
    from hashrange.schema.declare.marker import Stored as Stored
    from hashrange.schema.declare.marker import Touched as Touched
    from hashrange.schema.declare.marker import Ttl as Ttl
    from hashrange.schema.declare.marker import Version as Version
    from hashrange.schema.declare.shape import Item as Item
    from hashrange.schema.declare.shape import View as View
    from hashrange.schema.declare.shape import after as after
    from hashrange.schema.declare.shape import initially as initially
    from hashrange.schema.declare.table import ALL as ALL
    from hashrange.schema.declare.table import KEYS_ONLY as KEYS_ONLY
    from hashrange.schema.declare.table import Gsi as Gsi
    from hashrange.schema.declare.table import Lsi as Lsi
    from hashrange.schema.declare.table import Provisioned as Provisioned
    from hashrange.schema.declare.table import Table as Table
    from hashrange.schema.declare.table import camel as camel
    from hashrange.schema.pattern.signature import via as via
    from hashrange.schema.pattern.signature import where as where
    from hashrange.session.item_change import ItemChange as ItemChange
    from hashrange.session.patterns import Patterns as Patterns
    from hashrange.session.reads import Get as Get
    from hashrange.session.reads import Latest as Latest
    from hashrange.session.reads import Page as Page
    from hashrange.session.reads import Query as Query
    from hashrange.session.reads import Scan as Scan
    from hashrange.session.runnable import NeverRun as NeverRun
    from hashrange.session.session import Event as Event
    from hashrange.session.telemetry import trace_calls as trace_calls
    from hashrange.session.writes import Delete as Delete
    from hashrange.session.writes import Ensure as Ensure
    from hashrange.session.writes import Update as Update
    from hashrange.session.writes import Upsert as Upsert
    from hashrange.session.writes import Write as Write

    open = open_database  # `import ... as open` would not be exported

__version__ = "0.2.0"

_HOMES = {
    "client.database": ("Database", "open"),
    "client.kms_keys": ("KmsKeys",),
    "client.local_keys": ("LocalKeys",),
    "client.patch": ("patch_boto3",),
    "client.remote": ("connect",),
    "core.clock": ("ManualClock",),
    "core.errors": (
        "Conflict",
        "CursorInvalid",
        "DeclarationError",
        "HashrangeError",
        "NotFound",
        "SealError",
        "ServiceError",
        "StorageError",
        "Taken",
        "TransportError",
        "Unreadable",
        "ValueInvalid",
    ),
    "engine.faults.faults": ("Faults",),
    "provision": ("create_tables",),
    "schema.declare.marker": (
        "Add",
        "Append",
        "BeginsWith",
        "Between",
        "Commas",
        "Contains",
        "Discard",
        "Eq",
        "Formerly",
        "Ge",
        "Gt",
        "IsoMicros",
        "IsoMillis",
        "JsonPipes",
        "Key",
        "Le",
        "Lt",
        "Millis",
        "Ne",
        "Once",
        "Pipes",
        "Prefixed",
        "Seconds",
        "Secret",
        "Stored",
        "Touched",
        "Ttl",
        "Version",
    ),
    "schema.declare.shape": ("Item", "View", "after", "initially"),
    "schema.pattern.signature": ("via", "where"),
    "schema.declare.table": ("ALL", "KEYS_ONLY", "Gsi", "Lsi", "Provisioned", "Table", "camel"),
    "session.item_change": ("ItemChange",),
    "session.runnable": ("NeverRun",),
    "session.patterns": ("Patterns",),
    "session.reads": ("Get", "Latest", "Page", "Query", "Scan"),
    "session.session": ("Event",),
    "session.telemetry": ("trace_calls",),
    "session.writes": ("Delete", "Ensure", "Update", "Upsert", "Write"),
}
_ALIASES = {"open": "open_database"}
_MODULE_OF = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module 'hashrange' has no attribute {name!r}")
    if module == "client.patch":
        from hashrange.client.optional_import import import_optional

        return import_optional("patch").patch_boto3
    return getattr(import_module(f"hashrange.{module}"), _ALIASES.get(name, name))


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULE_OF})
