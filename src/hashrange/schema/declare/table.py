"""Declared tables and indexes: what CreateTable needs, and the rule that names attributes.

Names are those in DynamoDB. Items name the table they are stored in.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Literal, Protocol, TypeAlias, get_args

from msgspec import Struct, field
from msgspec.structs import replace

from hashrange.core.errors import DeclarationError
from hashrange.core.limits import (
    MAX_GLOBAL_INDEXES,
    MAX_KEY_ATTRIBUTES,
    MAX_LOCAL_INDEXES,
    MAX_NAME_LENGTH,
    MAX_PROJECTED,
    MIN_NAME_LENGTH,
    NAME_PATTERN,
    NAME_RULE,
)

ALL: Literal["ALL"] = "ALL"
KEYS_ONLY: Literal["KEYS_ONLY"] = "KEYS_ONLY"

Projection: TypeAlias = Literal["ALL", "KEYS_ONLY"] | list[str] | tuple[str, ...]
StreamView: TypeAlias = Literal["KEYS_ONLY", "NEW_IMAGE", "OLD_IMAGE", "NEW_AND_OLD_IMAGES"]

LEGAL_NAME = re.compile(rf"(?=.{{{MIN_NAME_LENGTH},{MAX_NAME_LENGTH}}}\Z){NAME_PATTERN}")
VARIABLE = re.compile(r"\$\{(\w+)(?::-([^}]*))?\}")
MILLIS_FROM = 100_000_000_000  # in a table with former_ttl, larger numbers are milliseconds: in seconds, the year 5138


def camel(name: str) -> str:
    """Return a snake_case name as camelCase, for `naming=camel`."""
    head, *tail = name.split("_")
    return head + "".join(word[:1].upper() + word[1:] for word in tail)


class Provisioned(Struct, frozen=True):
    """Provisioned read and write capacity units, billed by the hour instead of by the request."""

    read: int
    write: int


def _check_type(location: str, expected: type, what: str, *given: Any) -> None:
    """Refuse a value of another type, or a list with one: what a type checker finds too."""
    for value in given:
        for one in value if isinstance(value, list | tuple) else (value,):
            if not isinstance(one, expected):
                raise DeclarationError(
                    "HR162", location, f"has {one!r} where {what} is expected", _remedy_of(one, what)
                )


def _remedy_of(given: object, what: str) -> str:
    if given is None:
        return f"give {what}; for no sort key, leave the argument out"
    return f"give {what} as a string" if what.startswith("the name") else f"give {what}: indexes=[Gsi(...)]"


def _check_keys(location: str, path: Gsi) -> None:
    names = path.keys
    if not path.partition or not all(names) or len(set(names)) < len(names):
        raise DeclarationError(
            "HR109",
            location,
            f"has the keys {path.pk!r} and {path.sk!r}",
            "name different attributes, or leave the sort key out",
        )


KeyAttributes: TypeAlias = str | list[str] | tuple[str, ...]


def _check_index_name(name: str) -> None:
    if not LEGAL_NAME.fullmatch(name):
        legal = re.sub(r"[^a-zA-Z0-9_.-]+", "-", name).strip("-")[:MAX_NAME_LENGTH]
        legal = legal if LEGAL_NAME.fullmatch(legal) else f"{legal or 'by'}-index"
        raise DeclarationError(
            "HR102",
            f"index {name!r}",
            "is not a legal name",
            f"use {NAME_RULE}, such as {legal!r}",
        )


class Gsi(Struct, frozen=True):
    """A global secondary index: its name, key attributes and projection; a key has one to four attributes."""

    name: str
    pk: KeyAttributes
    sk: KeyAttributes | None = None
    project: Projection = ALL

    def __post_init__(self) -> None:
        location = "table" if self.name == "" else f"index {self.name}"
        sort = () if self.sk is None else (self.sk,)
        _check_type(location, str, "the name of an index", self.name)
        _check_type(location, str, "the name of an attribute", self.pk, *sort, self.project)
        if self.name:  # the table itself has none
            _check_index_name(self.name)
        if not isinstance(self.project, str) and len(self.project) > MAX_PROJECTED:
            raise DeclarationError(
                "HR103",
                f"index {self.name}",
                f"names {len(self.project)} attributes",
                f"project at most {MAX_PROJECTED}, or ALL",
            )
        if isinstance(self.project, str) and self.project not in {ALL, KEYS_ONLY}:
            raise DeclarationError(
                "HR108",
                f"index {self.name}",
                f"projects {self.project!r}",
                f"give ALL, KEYS_ONLY or a list of attributes: [{self.project!r}]",
            )
        if self.name:
            _check_keys(f"index {self.name}", self)
        if max(len(self.partition), len(self.sort)) > MAX_KEY_ATTRIBUTES:
            raise DeclarationError(
                "HR155",
                f"index {self.name}",
                f"has {len(self.partition)} and {len(self.sort)} key attributes",
                f"DynamoDB takes up to {MAX_KEY_ATTRIBUTES} for each key: combine some in a template",
            )

    @property
    def partition(self) -> tuple[str, ...]:
        """The attributes of the partition key."""
        return (self.pk,) if isinstance(self.pk, str) else tuple(self.pk)

    @property
    def sort(self) -> tuple[str, ...]:
        """The attributes of the sort key, in their order; none if there is no sort key."""
        return () if self.sk is None else (self.sk,) if isinstance(self.sk, str) else tuple(self.sk)

    @property
    def keys(self) -> tuple[str, ...]:
        """The key attributes, those of the partition key first."""
        return self.partition + self.sort

    @property
    def projects_all(self) -> bool:
        """Whether the index holds whole items."""
        return isinstance(self.project, str) and self.project == ALL

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes that are projected by name."""
        return () if isinstance(self.project, str) else tuple(self.project)

    @property
    def is_local(self) -> bool:
        """Whether it shares the table's partitions."""
        return False


class Lsi(Gsi, frozen=True):
    """A local secondary index: the table's partition key, and another sort key; can be read consistently."""

    @property
    def is_local(self) -> bool:
        """Always true: it shares the table's partitions."""
        return True


class _Named(Struct, frozen=True, eq=False):
    """The positional arguments of a table."""

    name: str
    pk: str
    sk: str | None = None


class Table(_Named, frozen=True, eq=False, kw_only=True, dict=True):
    """A table: its name (`${VAR:-default}` is read from the environment), keys, indexes and options."""

    indexes: Sequence[Gsi] = ()
    ttl: str | None = None
    former_ttl: Literal["milliseconds"] | None = None  # another program wrote the TTL so: MILLIS_FROM
    naming: Callable[[str], str] = str
    unset: str | None = None
    billing: Literal["PAY_PER_REQUEST"] | Provisioned = "PAY_PER_REQUEST"
    pitr: bool = False
    encryption: str = "AWS_OWNED"
    deletion_protection: bool = True
    stream: StreamView | None = None
    tags: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _check_type("table", str, "the name of a table", self.name)
        _check_type(f"table {self.name}", str, "the name of an attribute", *(() if self.ttl is None else (self.ttl,)))
        self._check_name()
        self._check_former_ttl()
        self._check_stream()
        _check_keys(f"table {self.name}", self.primary)
        self._check_indexes()

    @property
    def default_name(self) -> str:
        """The name with the defaults of its environment variables; `xxx` for one without."""
        return VARIABLE.sub(lambda match: match[2] or "xxx", self.name)

    def _check_name(self) -> None:
        if not LEGAL_NAME.fullmatch(self.default_name):
            raise DeclarationError(
                "HR101",
                f"table {self.name!r}",
                "is not a legal name",
                f"use {NAME_RULE} and ${{VAR:-default}}",
            )

    def _check_former_ttl(self) -> None:
        if self.former_ttl not in {None, "milliseconds"} or (self.former_ttl and self.ttl is None):
            raise DeclarationError(
                "HR160",
                f"table {self.name}",
                f"has former_ttl={self.former_ttl!r} and ttl={self.ttl!r}",
                "name the attribute in ttl=, and give former_ttl='milliseconds' if another program wrote those",
            )

    def _check_stream(self) -> None:
        views = get_args(StreamView)
        if self.stream is not None and self.stream not in views:
            raise DeclarationError(
                "HR164",
                f"table {self.name}",
                f"has stream={self.stream!r}",
                f"give one of {', '.join(map(repr, views))}, or None for no stream",
            )

    def read_ttl(self, number: float) -> float:
        """Return the seconds of a stored TTL: the number itself, except in a table whose TTL was in milliseconds."""
        return number / 1000 if self.former_ttl is not None and number >= MILLIS_FROM else number

    def _check_indexes(self) -> None:
        listed = self.indexes if isinstance(self.indexes, list | tuple) else (type(self.indexes),)
        _check_type(f"table {self.name}", Gsi, "an index in a list", *listed)
        names = [index.name for index in self.indexes]
        for name in names:
            _check_index_name(name)
        if twice := {name for name in names if names.count(name) > 1}:
            raise DeclarationError("HR104", f"table {self.name}", f"has two indexes named {min(twice)!r}", "rename one")
        local = [index for index in self.indexes if index.is_local]
        if len(local) > MAX_LOCAL_INDEXES or len(self.indexes) - len(local) > MAX_GLOBAL_INDEXES:
            raise DeclarationError(
                "HR105",
                f"table {self.name}",
                f"has more than {MAX_GLOBAL_INDEXES} global or {MAX_LOCAL_INDEXES} local indexes",
                "drop what no pattern reads",
            )
        for index in local:
            if index.pk != self.pk or len(index.sort) != 1 or self.sk is None:
                raise DeclarationError(
                    "HR106",
                    f"local index {index.name}",
                    f"must have the table's partition key {self.pk!r} and a sort key of its own, in a table with one",
                    "declare a Gsi instead",
                )

    def mount(self, name: str) -> Table:
        """Return this table under another name, with the same items and patterns; for one name always the same."""
        mounted = replace(self, name=name)
        shared = {attr: getattr(self, attr) for attr in ("items", "plans", "primary", "paths")}
        vars(mounted).update(shared, declared=self)
        return self if name == self.name else self._mounted.setdefault(name, mounted)

    @cached_property
    def _mounted(self) -> dict[str, Table]:
        return {}

    @cached_property
    def declared(self) -> Table:
        """The table that the items name; of a mounted table the one of which it is a copy."""
        return self

    @property
    def is_mounted(self) -> bool:
        """Whether it is a declared table under another name."""
        return self.declared is not self

    @property
    def physical_name(self) -> str:
        """The name with environment variables substituted."""
        return VARIABLE.sub(self._expand, self.name)

    def _expand(self, match: re.Match[str]) -> str:
        value = os.environ.get(match[1]) or match[2]
        if value is None:
            raise DeclarationError(
                "HR107",
                f"table {self.name}",
                f"needs {match[1]}",
                f"set it, or declare a default: ${{{match[1]}:-name}}",
            )
        return value

    @cached_property
    def items(self) -> list[type]:
        """The item classes stored in it; `introspection.items_of` returns them typed."""
        return []

    @cached_property
    def plans(self) -> list[object]:
        """The plans of every pattern declared on it."""
        return []

    @cached_property
    def paths(self) -> list[Gsi]:
        """What can be queried: the table itself, with an empty name, and its indexes."""
        return [self.primary, *self.indexes]

    @cached_property
    def primary(self) -> Gsi:
        """The table itself, as an index with an empty name."""
        return Gsi("", self.pk, self.sk)

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """Its own key attributes."""
        return self.primary.keys

    @cached_property
    def key_names(self) -> frozenset[str]:
        """Every attribute that is a key of the table or of an index."""
        return frozenset(self._keys_of_paths())

    def _keys_of_paths(self) -> Iterator[str]:
        for path in self.paths:
            yield from path.keys

    def find_index(self, name: str) -> Gsi | None:
        """Return the index of that name."""
        return next((index for index in self.indexes if index.name == name), None)


class Declared(Protocol):
    """A Patterns class; a structural type, because type checkers do not accept a Protocol class as `type[...]`."""

    def tables(self) -> list[Table]:
        """Return the tables that it uses."""
        ...


def find_mounted(tables: Iterable[Table]) -> dict[Table, Table]:
    """Return the mounted ones of these tables, by the table that their items name."""
    return {table.declared: table for table in tables if table.is_mounted}


def find_tables(declared: Iterable[Declared | Table]) -> list[Table]:
    """Return the tables of patterns, each once."""
    return list(dict.fromkeys(table for one in declared for table in _tables_of(one)))


def _tables_of(one: Any) -> list[Table]:
    if isinstance(one, Table):
        return [one]
    if not hasattr(one, "tables"):
        name = one.__name__ if isinstance(one, type) else repr(one)
        raise TypeError(f"{name} is neither a Patterns class nor a Table: give one that contains its items")
    tables: list[Table] = one.tables()
    return tables
