"""Patterns: the class whose methods are access patterns, and the object that runs them on a database.

    class Aura(Patterns, Protocol):
        def shop(self, domain: str) -> Get[Shop]: ...

    db = Aura.open(hashrange.open("data/"))
    shop = db.shop("antik.de").run()

The class is compiled and checked when it is declared. Binding it to a database makes a method of each plan; what only
runs them is imported then.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, cast, overload

from pydantic import TypeAdapter, ValidationError
from typing_extensions import TypeVar

from hashrange.core.errors import DeclarationError, ValueInvalid
from hashrange.schema import anatomy
from hashrange.schema.compiler import Plan, compile_patterns
from hashrange.schema.layout import key_of, store
from hashrange.schema.plan import Lint
from hashrange.schema.shape import Item, Shape
from hashrange.schema.table import Table
from hashrange.session.operation import Runnable, Task
from hashrange.session.reads import Get, Latest, Query, Scan
from hashrange.session.writes import Delete, Ensure, Put, Update, Upsert, Write, find_owner

if TYPE_CHECKING:
    from hashrange.client.keyring import Keyring
    from hashrange.client.transport import Transport
    from hashrange.core.clock import Clock
    from hashrange.session.changes import Change
    from hashrange.session.session import Hook, Session
    from hashrange.session.transaction import Transaction
    from hashrange.session.work import Work

T = TypeVar("T")
A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
D = TypeVar("D")
E = TypeVar("E")
S = TypeVar("S", bound=Shape)
I = TypeVar("I", bound=Item)  # noqa: E741 - an item

VERBS: dict[str, Any] = {verb.verb: verb for verb in (Get, Query, Latest, Scan, Update, Upsert, Delete, Ensure)}


class Patterns(Protocol):
    """A set of access patterns, compiled when the class is declared: `class Shop(Patterns, Protocol)`."""

    plans: ClassVar[Mapping[str, Plan]]
    tenant: ClassVar[str | None]
    session: Session

    def __init_subclass__(cls, *, tenant: str | None = None, bound: bool = False) -> None:
        super().__init_subclass__()
        if bound:
            return
        if not getattr(cls, "_is_protocol", False):
            raise DeclarationError(
                "HR199", cls.__name__, "is no Protocol", f"write class {cls.__name__}(Patterns, Protocol)"
            )
        inherited = {name: plan for base in cls.__mro__[1:] for name, plan in getattr(base, "plans", {}).items()}
        cls.tenant = tenant
        cls.plans = {**inherited, **compile_patterns(cls, tenant, _taken(), sys._getframe(1).f_locals)}  # noqa: SLF001

    @classmethod
    def open(
        cls,
        database: Transport,
        *,
        clock: Clock | None = None,
        keys: Keyring | None = None,
        secret: bytes | str | None = None,
        hooks: Sequence[Hook] = (),
    ) -> Self:
        """Bind the patterns to a database: `hashrange.open(...)`, or `hashrange.connect(...)` for an endpoint or AWS.

        `keys` open secret fields; `secret` signs cursors (or HASHRANGE_SECRET, else one for this process);
        `hooks` are told of every call.
        """
        from hashrange.core.clock import SystemClock
        from hashrange.session.session import Session, make_secret

        at = clock or getattr(database, "clock", None) or SystemClock()
        session = Session(database, at, keys, make_secret(secret), hooks)
        return cast("Self", _bind(cls, session))

    @classmethod
    def plan(cls, name: str) -> Plan:
        """Return the plan of a pattern."""
        return cls.plans[name]

    @classmethod
    def tables(cls) -> list[Table]:
        """Return the tables that the patterns touch."""
        return list(dict.fromkeys(plan.table for plan in cls.plans.values()))

    @classmethod
    def lint(cls) -> list[Lint]:
        """Return what works and should be known."""
        from hashrange.schema.lint import lint_patterns

        return lint_patterns(cls.plans)

    def create(self, item: I) -> Put[I]:
        """Put an item whose key is not taken; a taken one raises Taken."""
        return Put(self.session, _check_tenant(self, item), fresh=True, tenant=self.tenant)

    def put(self, item: I) -> Put[I]:
        """Put an item, in place of one that may be there; one with a version only if nobody changed it since."""
        return Put(self.session, _check_tenant(self, item), fresh=False, tenant=self.tenant)

    def batch(self, items: Iterable[Item] = (), *, delete: Iterable[Item] = ()) -> Runnable[int]:
        """Put and delete many items, without conditions; what is left unprocessed is tried again."""
        return Task(self.session, _write_batch(self, list(items), list(delete)))

    def fetch(self, gets: Iterable[Get[S]]) -> Runnable[list[S | None]]:
        """Run many Gets as BatchGetItem; the answers come in their order."""
        return Task(self.session, _fetch_batch(self.session, list(gets)))

    def changes(self, event: Mapping[str, Any], table: Table | None = None) -> Iterator[Change]:
        """Read the stream records of a Lambda event, or of an answer of GetRecords, as typed items."""
        from hashrange.session.changes import read_changes

        return read_changes(self.session, self.tables(), event, table)

    @overload
    def transact(self, a: Write[A], /) -> Transaction[tuple[A]]: ...
    @overload
    def transact(self, a: Write[A], b: Write[B], /) -> Transaction[tuple[A, B]]: ...
    @overload
    def transact(self, a: Write[A], b: Write[B], c: Write[C], /) -> Transaction[tuple[A, B, C]]: ...
    @overload
    def transact(self, a: Write[A], b: Write[B], c: Write[C], d: Write[D], /) -> Transaction[tuple[A, B, C, D]]: ...
    @overload
    def transact(
        self, a: Write[A], b: Write[B], c: Write[C], d: Write[D], e: Write[E], /
    ) -> Transaction[tuple[A, B, C, D, E]]: ...
    def transact(self, *writes: Write[Any]) -> Transaction[Any]:
        """Run up to five writes, all or none; `transact_all` takes a hundred."""
        from hashrange.session.transaction import Transaction

        return Transaction(self.session, writes)

    def transact_all(self, writes: Iterable[Write[T]]) -> Transaction[tuple[T, ...]]:
        """Run up to a hundred writes, all or none."""
        from hashrange.session.transaction import Transaction

        return Transaction(self.session, list(writes))


def _taken() -> frozenset[str]:
    """Return the names that every Patterns class has already."""
    return frozenset(name for name in (*vars(Patterns), *Patterns.__annotations__) if not name.startswith("_"))


def _check_tenant(patterns: Patterns, item: I) -> I:
    """Refuse an item that cannot belong to a tenant, where every pattern is a tenant's."""
    tenant = patterns.tenant
    if tenant is not None and tenant not in type(item).model_fields:
        raise ValueInvalid(f"{type(item).__name__} has no {tenant}: it is not for patterns of one tenant")
    return item


def _check_batch(patterns: Patterns, items: Iterable[Item]) -> None:
    """Refuse items whose key does not tell their tenant: a batch tests nothing, and might hit another's."""
    for item in items:
        if find_owner(type(_check_tenant(patterns, item)), patterns.tenant) is not None:
            raise ValueInvalid(f"{type(item).__name__} has no {patterns.tenant} in its key: put or delete it alone")


def _write_batch(patterns: Patterns, items: list[Item], deleted: list[Item]) -> Work[int]:
    from hashrange.session.batch import write_raw

    session = patterns.session
    _check_batch(patterns, (*items, *deleted))
    puts = [(anatomy.table_of(type(item)), session.seal(anatomy.table_of(type(item)), store(item))) for item in items]
    deletes = [(anatomy.table_of(type(item)), key_of(type(item), dict(item.__dict__))) for item in deleted]
    count = yield from write_raw(session, puts, deletes, "batch")
    return count


def _fetch_batch(session: Session, gets: list[Get[S]]) -> Work[list[S | None]]:
    from hashrange.session.batch import fetch_raw

    wanted = [(get.plan.table, get.plan.key_of(get.arguments)) for get in gets]
    found = yield from fetch_raw(session, wanted, "fetch")
    return [get.interpret(raw) for get, raw in zip(gets, found, strict=True)]


def _bind(patterns: Any, session: Session) -> Any:
    """Return an object whose methods build the operation of each plan."""
    methods = {name: _method(plan) for name, plan in patterns.plans.items()}
    bound: Any = types.new_class(
        patterns.__name__, (patterns,), {"bound": True}, lambda namespace: namespace.update(methods)
    )
    database = bound()
    database.session = session
    return database


def _method(plan: Plan) -> Callable[..., Any]:
    verb, check = VERBS[plan.verb], _Checks(plan) if plan.has_checks else None
    names, least = plan.parameters, plan.required

    def build(self: Any, *args: Any, **kwargs: Any) -> Any:
        arguments = dict(zip(names, args, strict=False))
        if kwargs:
            arguments.update(kwargs)
        if len(arguments) != len(args) + len(kwargs) or not least <= arguments.keys() <= set(names):
            raise TypeError(_wrong_call(plan, len(args), kwargs))
        if check is not None:
            check(arguments)
        return verb(self.session, plan, arguments)

    build.__name__ = plan.name
    return build


def _wrong_call(plan: Plan, count: int, kwargs: Mapping[str, Any]) -> str:
    names = plan.parameters
    given = {*names[:count], *kwargs}
    unknown = [name for name in kwargs if name not in names]
    missing = [name for name in names if name in plan.required and name not in given]
    why = (
        f"does not take {unknown[0]!r}"
        if unknown
        else f"needs {', '.join(missing)}"
        if missing
        else "got an argument twice"
    )
    return f"{plan.label}() {why}: it takes {', '.join(names)}"


class _Checks:
    """The values that a write sets, checked as the fields they go into are; and whatever a signature constrains."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.adapters: dict[str, TypeAdapter[Any]] | None = None

    def __call__(self, arguments: dict[str, Any]) -> None:
        if self.adapters is None:
            self.adapters = {name: TypeAdapter(hint) for name, hint in self.plan.checked.items()}
        for name, adapter in self.adapters.items():
            if name in arguments:
                try:
                    arguments[name] = adapter.validate_python(arguments[name])
                except ValidationError as fault:
                    first = fault.errors()[0]
                    shown = "..." if self._is_secret(name) else repr(first["input"])
                    raise ValueInvalid(f"{self.plan.label}: {name} is {shown}: {first['msg']}") from fault

    def _is_secret(self, name: str) -> bool:
        fields = anatomy.known(self.plan.kinds[0])
        return name in fields and fields[name].sealed
