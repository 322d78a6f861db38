"""Applies the functions of a migration to items.

A function may raise anything, return nothing, or return what cannot be stored: each becomes a `PlanError` with the
reason, so that one item does not stop the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from traceback import extract_tb
from typing import Any

from pydantic import ValidationError

from hashrange.core.errors import HashrangeError, PlanError
from hashrange.core.values import MAX_ITEM_BYTES, check_item
from hashrange.core.values import Item as Raw
from hashrange.provision.item_repair import roots_of
from hashrange.provision.key_collision import TableItem
from hashrange.provision.migration_report import Conversion, Converted, Dropped
from hashrange.schema.declare import introspection
from hashrange.schema.declare.model import Item
from hashrange.schema.declare.table import Table
from hashrange.schema.items.dumper import dump
from hashrange.schema.items.loader import load
from hashrange.schema.items.storable_item import make_storable

Functions = Mapping[type[Item], Callable[[Any], Converted]]


def convert_item(functions: Functions, tables: Iterable[Table], item: Item, source: TableItem) -> Conversion:
    """Return what an item becomes in these tables; raise PlanError with the reason if it cannot be converted.

    `source` is the table of the item, with its key.
    """
    function = next((functions[model] for model in type(item).__mro__ if model in functions), None)
    if function is None:
        raise PlanError(f"no function converts {type(item).__name__}")
    converted = _call(function, item)
    if isinstance(converted, Dropped):
        return Conversion(item, (), *source, dropped=converted.reason)
    if converted is None:
        raise PlanError(f"{_name(function)} returned None: return an item, several, or Dropped with a reason")
    by_declared = {table.declared: table for table in tables}
    targets: list[Item] = []
    stored: list[TableItem] = []
    for target in converted:
        if not isinstance(target, Item):
            raise PlanError(f"{_name(function)} returned {type(target).__name__}, which is not an item")
        table = by_declared.get(introspection.table_of(type(target)))
        if table is None:
            raise PlanError(f"{type(target).__name__} is stored in no table of the target")
        targets.append(target)
        stored.append((table, _dump(target)))
    return Conversion(item, tuple(targets), *source, stored=tuple(stored))


def _call(function: Callable[[Any], Any], item: Item) -> Dropped | tuple[object, ...] | None:
    """Return what a function returns for an item, several as a tuple; raise PlanError for whatever it raises."""
    try:
        converted = function(item)
        if converted is None or isinstance(converted, Dropped):
            return converted
        is_one = isinstance(converted, Item) or not isinstance(converted, Iterable)
        return (converted,) if is_one else tuple(converted)
    except Exception as error:
        raise PlanError(_explain(function, error)) from error


def _dump(item: Item) -> Raw:
    """Return an item as it is stored."""
    raw = dump(make_storable(item))
    size = check_item(raw)[1]
    if size > MAX_ITEM_BYTES:
        raise PlanError(f"{type(item).__name__} takes {size:,} bytes; DynamoDB stores at most {MAX_ITEM_BYTES:,}")
    return raw


def _explain(function: Callable[..., Any], error: Exception) -> str:
    """Return what a function raised, and in which line."""
    text = " ".join(str(error).split())
    if isinstance(error, ValidationError):  # pydantic's own text has several lines and an address of its website
        first = error.errors(include_url=False)[0]
        text = f"{error.title}.{'.'.join(map(str, first['loc']))}: {first['msg']}"
    own = extract_tb(error.__traceback__)[1:2]  # the first frame is that of `_call`
    line = f" ({Path(own[0].filename).name}, line {own[0].lineno})" if own else ""
    return f"{_name(function)} raised {type(error).__name__}: {text}{line}"


def _name(function: Callable[..., Any]) -> str:
    return getattr(function, "__name__", repr(function))


def root_of(table: Table, raw: Raw) -> Any:
    """Return the class of an item, without its variant; None if it has none, or cannot be read."""
    try:
        found = load(roots_of(table), raw, table)
    except HashrangeError:
        return None
    return found and introspection.root(type(found))


def is_of(roots: Sequence[Any], raw: Raw) -> bool:
    """Return whether an item is of one of these classes, or has the key of one."""
    try:
        return bool(roots) and load(roots, raw) is not None
    except HashrangeError:
        return True
