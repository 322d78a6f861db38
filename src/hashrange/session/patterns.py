"""Patterns: a class whose methods are access patterns, and the object that runs them on a database.

    class Shops(Patterns, Protocol):
        def shop(self, domain: str) -> Get[Shop]: ...

    db = Shops.open(hashrange.open("data/"))
    shop = db.shop("antik.de").run()

The class is compiled and checked when it is declared. `open` binds it to a database and turns each plan into a method;
modules that only execution needs are imported then.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, Self, cast, overload

from pydantic import TypeAdapter, ValidationError
from typing_extensions import TypeVar

from hashrange.core.article import with_article
from hashrange.core.errors import DeclarationError, Unreadable, ValueInvalid
from hashrange.schema.compiler import Plan, check_inherited, compile_patterns
from hashrange.schema.declare import introspection
from hashrange.schema.declare.key_codec import key_of
from hashrange.schema.declare.model import Item, Model
from hashrange.schema.declare.table import Table, find_mounted
from hashrange.schema.items.dumper import dump
from hashrange.schema.items.storable_item import make_storable
from hashrange.schema.mount import check_names_differ, mount_plan, mount_tables
from hashrange.schema.pattern.lint import Lint
from hashrange.schema.pattern.signature import check_ranges
from hashrange.schema.read.optional_parameters import plan_call
from hashrange.schema.read.read_plan import ReadPlan
from hashrange.session.filters import Filter
from hashrange.session.reads import Get, Latest, Query, Scan
from hashrange.session.runnable import Runnable, Task
from hashrange.session.transact import Transaction, describe_given
from hashrange.session.writes import Delete, Ensure, PendingTask, Put, Update, Upsert, Write, find_tenant_field

if TYPE_CHECKING:
    from hashrange.client.keyring import Keyring
    from hashrange.client.transport import Transport
    from hashrange.core.clock import Clock
    from hashrange.session.exploration import Exploration
    from hashrange.session.item_change import ItemChange
    from hashrange.session.session import Hook, Session
    from hashrange.session.steps import Steps
    from hashrange.session.stream_consumer import Consumer

T = TypeVar("T")
A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
D = TypeVar("D")
E = TypeVar("E")
S = TypeVar("S", bound=Model)
SA = TypeVar("SA", bound=Model)
SB = TypeVar("SB", bound=Model)
SC = TypeVar("SC", bound=Model)
SD = TypeVar("SD", bound=Model)
I = TypeVar("I", bound=Item)  # noqa: E741 - an item

VERBS: dict[str, Any] = {verb.verb: verb for verb in (Get, Query, Latest, Scan, Filter, Update, Upsert, Delete, Ensure)}


class Patterns(Protocol):
    """A set of access patterns, compiled when the class is declared: `class Shop(Patterns, Protocol)`."""

    plans: ClassVar[Mapping[str, Plan]]
    tenant: ClassVar[str | None]
    session: Session

    _accepted: ClassVar[tuple[str, ...]] = ()  # lint findings that are meant: "HR401 Orders.all"

    def __init_subclass__(
        cls,
        *,
        tenant: str | None = None,
        accept: Sequence[str] = (),
        names: Mapping[Table, str] | None = None,
        bound: bool = False,
    ) -> None:
        """Compile the patterns of a class. `names` mounts the tables of inherited patterns under other names."""
        super().__init_subclass__()
        if bound:
            return
        if not getattr(cls, "_is_protocol", False):
            raise DeclarationError(
                "HR199", cls.__name__, "is not a Protocol", f"write class {cls.__name__}(Patterns, Protocol)"
            )
        bases: list[Any] = [base for base in cls.__bases__ if hasattr(base, "plans")]
        mounted = mount_tables(cls.__name__, [table for base in bases for table in base.tables()], names)
        kept = next((base.tenant for base in bases if names and base.tenant), None)  # the class is the same elsewhere
        cls.tenant = tenant or kept
        cls._accepted = (*cls._accepted, *([accept] if isinstance(accept, str) else accept))
        own = compile_patterns(cls, cls.tenant, reserved_names(), _enclosing_names(cls))
        inherited = {name: plan for base in cls.__mro__[:0:-1] for name, plan in vars(base).get("plans", {}).items()}
        cls.plans = {name: mount_plan(plan, mounted) for name, plan in {**inherited, **own}.items()}
        check_names_differ(cls.__name__, cls.tables())
        check_inherited(cls, cls.plans)

    @classmethod
    def open(
        cls,
        database: Transport,
        *,
        clock: Clock | None = None,
        keys: Keyring | None = None,
        secret: bytes | str | None = None,
        hooks: Sequence[Hook] = (),
        on_unreadable: Callable[[Unreadable], object] | None = None,
    ) -> Self:
        """Bind the patterns to a database: `hashrange.open(...)`, or `hashrange.connect(...)` for an endpoint or AWS.

        `keys` encrypt secret fields; `secret` signs cursors (default: HASHRANGE_SECRET, else random for this process);
        `hooks` are called after every operation. `on_unreadable` is called for each item that does not match its
        declaration, and queries skip it; without it they raise Unreadable.
        """
        from hashrange.client.transport import require_transport
        from hashrange.session.session import Session, choose_cursor_secret, clock_of

        require_transport(database)
        signed = choose_cursor_secret(secret)
        session = Session(
            transport=database,
            clock=clock or clock_of(database),
            keys=keys,
            secret=signed,
            hooks=hooks,
            on_unreadable=on_unreadable,
            mounted=find_mounted(cls.tables()),
        )
        return cast("Self", _bind(cls, session))

    @classmethod
    def plan(cls, name: str) -> Plan:
        """Return the plan of a pattern."""
        if name not in cls.plans:
            raise ValueInvalid(f"{cls.__name__} has no pattern {name}: it has {', '.join(cls.plans) or 'none'}")
        return cls.plans[name]

    @classmethod
    def tables(cls) -> list[Table]:
        """Return the tables that the patterns use."""
        return list(dict.fromkeys(plan.table for plan in cls.plans.values()))

    @classmethod
    def lint(cls) -> list[Lint]:
        """Return the lint findings: what works but has a cost or a risk, without those that the class accepts."""
        from hashrange.schema.lint_rules import drop_accepted, lint_patterns

        return drop_accepted(lint_patterns(cls.plans), cls._accepted, cls.__name__)

    def create(self, item: I) -> Put[I]:
        """Put a new item; raises Taken when its key exists already."""
        return Put(self.session, _check_item(self, item), create=True, tenant=self.tenant)

    def put(self, item: I) -> Put[I]:
        """Put an item, replacing any with its key; with a version, only if it has not changed since it was read."""
        return Put(self.session, _check_item(self, item), create=False, tenant=self.tenant)

    def batch(self, items: Iterable[Item] = (), *, delete: Iterable[Item] = ()) -> Runnable[int]:
        """Put and delete many items without conditions, with BatchWriteItem; unprocessed ones are sent again."""
        puts, deletes = list(items), list(delete)
        return PendingTask(self.session, partial(_batch_steps, self, puts, deletes), "batch")

    def fetch(self, gets: Iterable[Get[S]]) -> Runnable[list[S | None]]:
        """Run many Gets as BatchGetItem; returns the items in the same order."""
        wanted = [_check_get(self.session, get) for get in gets]
        return Task(self.session, partial(_fetch_steps, self.session, wanted))

    @overload
    def snapshot(self, a: Get[SA], /) -> Runnable[tuple[SA | None]]: ...
    @overload
    def snapshot(self, a: Get[SA], b: Get[SB], /) -> Runnable[tuple[SA | None, SB | None]]: ...
    @overload
    def snapshot(self, a: Get[SA], b: Get[SB], c: Get[SC], /) -> Runnable[tuple[SA | None, SB | None, SC | None]]: ...
    @overload
    def snapshot(
        self, a: Get[SA], b: Get[SB], c: Get[SC], d: Get[SD], /
    ) -> Runnable[tuple[SA | None, SB | None, SC | None, SD | None]]: ...
    def snapshot(self, *gets: Get[Any]) -> Runnable[Any]:
        """Read up to four items at one moment, with TransactGetItems; `snapshot_all` takes a hundred."""
        reading = self.snapshot_all(gets)
        return Task(self.session, lambda: _as_tuple(reading.steps()))

    def snapshot_all(self, gets: Iterable[Get[S]]) -> Runnable[list[S | None]]:
        """Read up to a hundred items at one moment, with TransactGetItems; returns them in the same order."""
        from hashrange.session.snapshot import check_snapshot, read_snapshot

        wanted = [_check_get(self.session, get) for get in gets]
        check_snapshot(wanted)
        return Task(self.session, partial(read_snapshot, wanted))

    def explore(self, model: type[S]) -> Exploration[S]:
        """Read the items of a class by conditions that are written at run time: for consoles and notebooks."""
        from hashrange.session.exploration import Exploration

        if self.tenant is not None:
            raise ValueInvalid(f"explore reads the items of every {self.tenant}: open patterns without a tenant")
        return Exploration(self.session, model, (), {})

    def changes(self, event: Mapping[str, Any], table: Table | None = None) -> Iterator[ItemChange]:
        """Read the stream records of a Lambda event, or of a response of GetRecords, as typed items."""
        from hashrange.session.item_change import read_changes

        return read_changes(self.session, self.tables(), event, table and self.session.mounted.get(table, table))

    def consumer(
        self,
        name: str,
        checkpoints: Table,
        *,
        attempts: int = 5,
        after_attempts: Literal["set aside", "stop"] = "set aside",
    ) -> Consumer:
        """Return a consumer of the streams of these tables, whose checkpoints are stored in the given table.

        A change that a handler fails to handle in so many attempts is set aside as a dead letter, or stops the run.
        """
        from hashrange.session.stream_consumer import Consumer

        return Consumer(
            self.session, self.tables(), name, checkpoints, attempts=attempts, after_attempts=after_attempts
        )

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
        return Transaction(self.session, writes)

    def transact_all(self, writes: Iterable[Write[T]]) -> Transaction[tuple[T, ...]]:
        """Run up to a hundred writes, all or none."""
        return Transaction(self.session, list(writes))


def _enclosing_names(cls: type) -> dict[str, Any]:
    """Return the local names of the functions and classes that a class is declared inside, innermost first.

    The class itself and those around it are among them: they have no name yet, or only members.
    """
    found: dict[str, Any] = {**_classes_in(cls), cls.__name__: cls}
    inner: dict[str, Any] = {cls.__name__: cls}
    scope, frame = cls.__qualname__.rpartition(".")[0], sys._getframe(1)  # noqa: SLF001 - annotations do not capture names
    while scope and frame.f_back is not None:
        frame = frame.f_back
        function = scope.removesuffix(".<locals>")
        if frame.f_code.co_qualname == function and frame.f_globals.get("__name__") == cls.__module__:
            found = {**frame.f_locals, **found}
            if scope == function:  # the body of a class
                inner = {function.rpartition(".")[2]: types.SimpleNamespace(**{**frame.f_locals, **inner})}
                found = {**inner, **found}
            else:
                inner = {}
            scope = function.rpartition(".")[0]
    return found


def _classes_in(cls: type) -> dict[str, Any]:
    """Return the classes that are declared inside a class."""
    return {name: found for name, found in vars(cls).items() if isinstance(found, type)}


def reserved_names() -> frozenset[str]:
    """Return the attribute names of every Patterns class."""
    return frozenset(name for name in (*vars(Patterns), *Patterns.__annotations__) if not name.startswith("_"))


def _check_item(patterns: Patterns, item: I) -> I:
    """Raise if it is not an item, or lacks the tenant attribute although the patterns have a tenant."""
    if not isinstance(item, Item):
        raise ValueInvalid(
            f"{describe_given(item)} is not an item: create, put and batch take objects of an Item class"
        )
    tenant = patterns.tenant
    if tenant is not None and tenant not in type(item).model_fields:
        raise ValueInvalid(f"{type(item).__name__} has no {tenant}: these patterns are for items of one tenant")
    return item


def _check_batch(patterns: Patterns, items: Iterable[Item]) -> None:
    """Raise for items whose key does not contain the tenant: a batch could overwrite another's."""
    for item in items:
        if find_tenant_field(type(_check_item(patterns, item)), patterns.tenant) is not None:
            raise ValueInvalid(
                f"{type(item).__name__} has no {patterns.tenant} in its key: use put or delete, not a batch"
            )


def _batch_steps(patterns: Patterns, items: list[Item], deleted: list[Item]) -> Steps[int]:
    from hashrange.session.batch import batch_write, check_keys_differ

    session = patterns.session
    _check_batch(patterns, (*items, *deleted))
    puts = [
        (table, session.encrypt_item(table, dump(make_storable(item))))
        for item in items
        for table in (session.table_of(type(item)),)
    ]
    deletes = [(session.table_of(type(item)), key_of(type(item), dict(item.__dict__))) for item in deleted]
    check_keys_differ(session, (*puts, *deletes))
    count = yield from batch_write(session, puts, deletes, "batch")
    return count


def _as_tuple(steps: Steps[list[Any]]) -> Steps[tuple[Any, ...]]:
    found = yield from steps
    return tuple(found)


def _check_get(session: Session, get: Get[S]) -> Get[S]:
    """Raise if it is not a Get, or reads another database."""
    if not isinstance(get, Get):
        raise ValueInvalid(f"{describe_given(get)} is not a Get: it takes what patterns that return Get make")
    if get.session.transport is not session.transport:
        raise ValueInvalid(f"{get.plan.label} reads another database: read it with the patterns opened on that one")
    return get


def _fetch_steps(session: Session, gets: list[Get[S]]) -> Steps[list[S | None]]:
    from hashrange.session.batch import batch_get

    found: dict[int, S | None] = {}
    for consistent in (True, False):
        some = {at: get for at, get in enumerate(gets) if get.is_consistent is consistent}
        wanted = [(get.plan.table, get.plan.key_of(get.arguments)) for get in some.values()]
        raws = yield from batch_get(session, wanted, "fetch", consistent=consistent)
        found |= {at: get.load(raw) for (at, get), raw in zip(some.items(), raws, strict=True)}
    return [found[at] for at in range(len(gets))]


def _bind(patterns: Any, session: Session) -> Any:
    """Return an object whose methods build the operation of each plan."""
    methods = {name: _method(plan) for name, plan in patterns.plans.items()}
    methods["__repr__"] = lambda self: f"<{patterns.__name__} on {self.session.transport!r}>"
    bound: Any = types.new_class(
        patterns.__name__, (patterns,), {"bound": True}, lambda namespace: namespace.update(methods)
    )
    database = bound()
    database.session = session
    return database


def _method(plan: Plan) -> Callable[..., Any]:
    verb, validate = VERBS[plan.verb], _ArgumentValidator(plan) if plan.has_checks else None
    names, required = plan.parameters, plan.required
    reads, ranges = isinstance(plan, ReadPlan), plan.signature.ranges
    depends = isinstance(plan, ReadPlan) and plan.depends_on_call
    field_classes = plan.signature.field_classes

    def build(self: Any, *args: Any, **kwargs: Any) -> Any:
        arguments = dict(zip(names, args, strict=False))
        if kwargs:
            arguments.update(kwargs)
        if len(arguments) != len(args) + len(kwargs) or not required <= arguments.keys() <= set(names):
            raise TypeError(_describe_wrong_call(plan, len(args), kwargs))
        for each in field_classes:
            _take_fields(plan, each, arguments)
        used: Any = plan_call(cast("ReadPlan", plan), arguments) if depends else plan
        if reads and None in arguments.values():
            raise ValueInvalid(_describe_none(plan, arguments))
        if validate is not None:
            validate(arguments)
        if ranges:
            check_ranges(plan.label, ranges, arguments)
        return verb(self.session, used, arguments)

    build.__name__ = plan.name
    return build


def _take_fields(plan: Plan, name: str, arguments: dict[str, Any]) -> None:
    """Replace the object of a class of fields by the fields that are set in it."""
    cls, given = plan.signature.field_classes[name], arguments.pop(name)
    if not isinstance(given, cls):
        found = with_article(type(given).__name__)
        raise ValueInvalid(f"{plan.label}: {name} is {found}, not {with_article(cls.__name__)}")
    arguments |= {field: getattr(given, field) for field in cls.model_fields if field in given.model_fields_set}
    parameters = plan.signature.parameters
    lacking = [each for each in cls.model_fields if not parameters[each].may_be_left_out and each not in arguments]
    if lacking:
        raise ValueInvalid(f"{plan.label}: {name} does not set {', '.join(lacking)}")


def _describe_none(plan: Plan, arguments: Mapping[str, Any]) -> str:
    name = next(name for name, value in arguments.items() if value is None)
    return f"{plan.label}: {name} is None, which no stored value equals; {name}: ... | None = None may be left out"


def _describe_wrong_call(plan: Plan, count: int, kwargs: Mapping[str, Any]) -> str:
    names = plan.parameters
    given = {*names[:count], *kwargs}
    unknown = [name for name in kwargs if name not in names]
    missing = [name for name in names if name in plan.required and name not in given]
    if count > len(names):
        pair = next((f"; {name} is one argument, a pair: (low, high)" for name in plan.signature.ranges), "")
        return f"{plan.label}() got {count} arguments: it takes {', '.join(names) or 'none'}{pair}"
    why = (
        f"does not take {unknown[0]!r}"
        if unknown
        else f"needs {', '.join(missing)}"
        if missing
        else "got an argument twice"
    )
    return f"{plan.label}() {why}: it takes {', '.join(names)}"


class _ArgumentValidator:
    """Validates arguments: values that a write sets, as their fields are; and what the signature constrains."""

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
                except ValidationError as error:
                    first = error.errors()[0]
                    shown = "..." if self._is_secret(name) else repr(first["input"])
                    raise ValueInvalid(f"{self.plan.label}: {name} is {shown}: {first['msg']}") from error

    def _is_secret(self, name: str) -> bool:
        fields = introspection.all_fields(self.plan.models[0])
        return name in fields and fields[name].sealed
