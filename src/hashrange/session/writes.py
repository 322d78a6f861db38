"""Writes: Update, Upsert, Delete and Ensure of patterns, Put of whole items, and transactions of several.

Each write can be run alone or inside `transact()`. A failed condition raises Conflict with the current item.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

from typing_extensions import TypeVar

from hashrange.core.errors import (
    ConditionalCheckFailedException,
    Conflict,
    NotFound,
    SealError,
    Taken,
    TransactionCanceledException,
    Unreadable,
    ValueInvalid,
    WrittenUnreadable,
)
from hashrange.core.values import Item as Raw
from hashrange.core.values import Value
from hashrange.core.wire import Wire
from hashrange.schema.declare import introspection
from hashrange.schema.declare.introspection import Attribute
from hashrange.schema.declare.key_codec import key_of
from hashrange.schema.declare.marker import Counted
from hashrange.schema.declare.shape import Initial, Item, Shape, is_stored, mark_stored
from hashrange.schema.items.dumper import dump
from hashrange.schema.pattern.value_source import NOW, Arguments
from hashrange.schema.write.write_plan import WritePlan
from hashrange.session.runnable import Runnable, Task
from hashrange.session.steps import Call, Steps, backoff

if TYPE_CHECKING:
    from hashrange.schema.declare.table import Table
    from hashrange.session.session import Session

T_co = TypeVar("T_co", covariant=True)
S_co = TypeVar("S_co", bound=Shape, covariant=True)
I = TypeVar("I", bound=Item)  # noqa: E741 - an item

MAX_TRANSACTION_WRITES = 100
RETRYABLE_REASONS = {"TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"}


class NeverRun(UserWarning):
    """A write was built and discarded without being run: nothing was written."""


class PendingWrite(Runnable[T_co]):
    """Something that writes when it is run; warns when it is discarded before."""

    label: str
    used = False

    def __del__(self) -> None:
        if not self.used and hasattr(self, "label"):
            warnings.warn(f"{self.label} was built and never run: nothing was written", NeverRun, stacklevel=2)


class Write(PendingWrite[T_co]):
    """One write that is not sent yet: `.run()`, `await`, or `db.transact(...)` sends it."""

    table: Table

    @abstractmethod
    def transact_item(self) -> tuple[str, Wire]:
        """Return its member name and request in TransactWriteItems: "Put", {...}."""

    @abstractmethod
    def result(self, raw: Raw | None) -> T_co:
        """Return its result in a transaction, given the item as it is afterwards."""

    def key_to_read(self) -> Raw | None:
        """Return the key to read after a transaction; None when the result is known without reading."""
        return None

    def conflict_with(self, raw: Raw | None) -> Conflict:
        """Return the error for a failed condition, given the current item."""
        current = self.session.load_any(self.table, raw)
        if raw is None:
            return NotFound(f"{self.label}: the item does not exist")
        return Conflict(
            f"{self.label}: the current item does not meet the condition: {_describe(current, raw)}", current
        )


def _describe(current: Any, raw: Raw) -> str:
    return repr(current) if current is not None else repr(raw)


class PatternWrite(Write[T_co]):
    """A write that a pattern declares."""

    verb: ClassVar[str] = ""

    def __init__(self, session: Session, plan: WritePlan, arguments: Arguments) -> None:
        self.session, self.plan, self.table = session, plan, plan.table
        _check_states(plan, arguments)
        self.label = plan.label
        self.arguments: Mapping[str, Any] = {**arguments, NOW: session.now()}

    def explain(self) -> str:
        """Return a description of the plan."""
        self.used = True
        return self.plan.explain()

    def request(self) -> Wire:
        """Return the request without the ReturnValues members."""
        request, sealed = self.plan.build(self.arguments)
        values = request.get("ExpressionAttributeValues", {})
        for placeholder, attribute in sealed.items():
            values[placeholder] = self.session.encrypt_value(self.table, request["Key"], attribute, values[placeholder])
        return {"TableName": self.session.name_of(self.table), **request}

    def key_to_read(self) -> Raw | None:
        """Return the key, unless the result follows from the arguments."""
        return None if self.plan.exact else self.plan.key_of(self.arguments)

    def result(self, raw: Raw | None) -> T_co:
        """Return the item in its new state."""
        outcome: Any = self.plan.outcome(self.arguments) if self.plan.exact else self._load(raw)
        return outcome  # type: ignore[no-any-return]  # the plan's target is T_co

    def _load(self, raw: Raw | None) -> Any:
        if raw is None:
            return None
        found = self._read_written(lambda: self.session.load(self.table, self.plan.kinds, raw), raw)
        if found is None:
            raise WrittenUnreadable(
                f"{self.label}: written, but the item is not a {self.plan.target.__name__}: {raw}", raw
            )
        return found

    def _read_written(self, load: Callable[[], Any], raw: Raw | None) -> Any:
        """Load what the response has; raise WrittenUnreadable if that fails, because the write has happened."""
        try:
            return load()
        except (Unreadable, SealError) as error:
            raise WrittenUnreadable(f"{self.label}: written, but the item cannot be read: {error}", raw) from error

    def conflict_with(self, raw: Raw | None) -> Conflict:
        """Return the error; an item of another tenant counts as absent."""
        return super().conflict_with(raw if self._is_same_tenant(raw) else None)

    def _is_same_tenant(self, raw: Raw | None) -> bool:
        tenant = self.plan.signature.tenant
        field = introspection.all_attributes(self.plan.target).get(tenant or "")
        if raw is None or field is None or field.stored not in raw:
            return True
        return raw[field.stored] == field.codec.encode(self.arguments[field.name])

    def send(self, operation: str, return_values: str) -> Steps[Raw | None]:
        """Send it alone; return the item in the response."""
        self.used = True
        request = {
            **self.request(),
            "ReturnValues": return_values,
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        }
        if "ConditionExpression" not in request:
            del request["ReturnValuesOnConditionCheckFailure"]
        try:
            response = yield Call(operation, request, self.label)
        except ConditionalCheckFailedException as error:
            raise self.conflict_with(error.members.get("Item")) from error
        found: Raw | None = response.get("Attributes")
        return found


def _check_states(plan: WritePlan, arguments: Arguments) -> None:
    """Raise for an item in a state that the pattern does not declare, before anything is sent."""
    for name, kinds in plan.states:
        given = arguments[name]
        if not isinstance(given, kinds):
            declared = " or ".join(kind.__name__ for kind in kinds)
            raise ValueInvalid(f"{plan.label}: {name} is a {type(given).__name__}, not a {declared}")


class Update(PatternWrite[S_co]):
    """UpdateItem of an item that must exist, in the state that the parameters name."""

    verb: ClassVar[str] = "Update"

    def steps(self) -> Steps[S_co]:
        """Return the steps: one conditional UpdateItem that returns the whole item."""
        raw = yield from self.send("UpdateItem", "ALL_NEW")
        outcome: S_co = self._load(raw)
        return outcome

    def transact_item(self) -> tuple[str, Wire]:
        """Return it as an Update."""
        return "Update", self.request()


class Upsert(Update[S_co]):
    """UpdateItem that also creates."""

    verb: ClassVar[str] = "Upsert"


class Delete(PatternWrite[S_co | None]):
    """DeleteItem; returns the deleted item."""

    verb: ClassVar[str] = "Delete"

    def steps(self) -> Steps[S_co | None]:
        """Return the steps: one DeleteItem."""
        raw = yield from self.send("DeleteItem", "ALL_OLD")
        found: S_co | None = self._read_written(
            lambda: self.session.load_unexpired(self.table, self.plan.kinds, raw), raw
        )
        return found

    def transact_item(self) -> tuple[str, Wire]:
        """Return it as a Delete."""
        return "Delete", self.request()

    def key_to_read(self) -> Raw | None:
        """Return None: a transaction does not return what it deleted."""
        return None

    def result(self, _raw: Raw | None) -> S_co | None:
        """Return None."""
        return None


class Ensure(PatternWrite[S_co]):
    """ConditionCheck: a condition of a transaction; it writes nothing."""

    verb: ClassVar[str] = "Ensure"

    def steps(self) -> Steps[S_co]:
        """Raise: a condition alone does nothing."""
        self.used = True
        raise ValueInvalid(f"{self.label} is a condition for other writes: pass it to transact() together with them")

    def transact_item(self) -> tuple[str, Wire]:
        """Return it as a ConditionCheck."""
        return "ConditionCheck", self.request()


class Put(Write[I]):
    """PutItem of a whole item: a new one (`create`), or one that may replace another (`put`)."""

    def __init__(
        self, session: Session, item: I, *, create: bool, tenant: str | None = None, any_state: bool = False
    ) -> None:
        self.session, self.item, self.create, self.tenant, self.any_state = session, item, create, tenant, any_state
        self.table = introspection.table_of(type(item))
        self.label = f"{'create' if create else 'put'} {type(item).__name__}"
        self.stored = self._next_version() if not create else item

    def imported(self) -> Self:
        """Allow any lifecycle state: for an item that was created in another system."""
        self.used = True
        return type(self)(self.session, self.item, create=self.create, tenant=self.tenant, any_state=True)

    def _next_version(self) -> I:
        version = introspection.version_of(type(self.item))
        if version is None:
            return self.item
        return self.item.model_copy(update={version.name: getattr(self.item, version.name) + 1})

    def request(self) -> Wire:
        """Return the PutItem."""
        if self.create and not self.any_state:
            _check_initial_states(self.item)
        raw = self.session.encrypt_item(self.table, dump(self.stored))
        request: Wire = {"TableName": self.session.name_of(self.table), "Item": raw}
        checked = [] if self.create else self._checked_attributes()
        tests = " AND ".join(self._test(at, field) for at, field in enumerate(checked))
        names = {f"#f{at}": field.stored for at, field in enumerate(checked)}
        if self.create or (checked and not self._was_stored()):
            request["ConditionExpression"] = f"attribute_not_exists(#pk){f' OR {tests}' if tests else ''}"
            request["ExpressionAttributeNames"] = {"#pk": self.table.pk, **names}
        elif checked:  # an item that was deleted meanwhile is not brought back
            request["ConditionExpression"] = f"attribute_exists(#pk) AND {tests}"
            request["ExpressionAttributeNames"] = {"#pk": self.table.pk, **names}
        if checked:
            request["ExpressionAttributeValues"] = {f":f{at}": self._encode(field) for at, field in enumerate(checked)}
        return request

    def _checked_attributes(self) -> list[Attribute]:
        """Return what must equal the replaced item: the version, and the tenant when no key contains it."""
        version = introspection.version_of(type(self.item))
        owner = find_tenant_attribute(type(self.item), self.tenant)
        return [field for field in (version, owner) if field is not None]

    def _test(self, at: int, field: Attribute) -> str:
        """Return the test of an attribute; an item that is older than its version field has none."""
        test = f"#f{at} = :f{at}"
        is_first = field.marker(Counted) is not None and not getattr(self.item, field.name)
        return f"({test} OR attribute_not_exists(#f{at}))" if is_first else test

    def _was_stored(self) -> bool:
        """Whether the item has a version that only a stored item has: then there must be something to replace."""
        version = introspection.version_of(type(self.item))
        if version is None or self.any_state:
            return False
        return is_stored(self.item) or bool(getattr(self.item, version.name))

    def _encode(self, field: Attribute) -> Value:
        return field.codec.encode(getattr(self.item, field.name))

    def steps(self) -> Steps[I]:
        """Return the steps: one PutItem."""
        self.used = True
        request = self.request()
        if "ConditionExpression" in request:
            request["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
        try:
            yield Call("PutItem", request, self.label)
        except ConditionalCheckFailedException as error:
            raise self.conflict_with(error.members.get("Item")) from error
        return self.result(None)

    def transact_item(self) -> tuple[str, Wire]:
        """Return it as a Put."""
        return "Put", self.request()

    def result(self, _raw: Raw | None) -> I:
        """Return the item, which is stored now."""
        mark_stored(self.stored)
        return self.stored

    def conflict_with(self, raw: Raw | None) -> Conflict:
        """Return the error: the key exists already, or the item changed since it was read."""
        owner = find_tenant_attribute(type(self.item), self.tenant)
        if raw is not None and owner is not None and raw.get(owner.stored) != self._encode(owner):
            raw = None  # an item of another tenant is not disclosed
        if not self.create:
            return super().conflict_with(raw)
        key = key_of(type(self.item), dict(self.item.__dict__))
        return Taken(f"{self.label}: {key} exists already", self.session.load_any(self.table, raw))


def find_tenant_attribute(kind: type[Item], tenant: str | None) -> Attribute | None:
    """Return the tenant attribute of an item class, when its primary key does not contain the tenant."""
    keys, table = introspection.keys(kind), introspection.table_of(kind)
    in_key = {name for attr in table.keys for name in keys[attr].fields}
    return None if tenant in in_key else introspection.all_attributes(kind).get(tenant or "")


def _check_initial_states(item: Item) -> None:
    """Raise for a new item whose lifecycle is not in its initial state."""
    for name, default in type(item).__special__.items():
        state: Shape = getattr(item, name)
        if isinstance(default, Initial) and not isinstance(state, default.kind):
            raise ValueInvalid(
                f"{type(item).__name__}.{name} starts as {default.kind.__name__}, not {type(state).__name__}: "
                "to create an item in another state, use db.create(item).imported()"
            )


class Transaction(PendingWrite[T_co]):
    """Several writes, all or none: what `db.transact(...)` returns."""

    def __init__(self, session: Session, writes: Sequence[Write[Any]]) -> None:
        self.session, self.writes = session, writes
        if not 0 < len(writes) <= MAX_TRANSACTION_WRITES:
            raise ValueInvalid(f"a transaction has 1 to {MAX_TRANSACTION_WRITES} writes, not {len(writes)}")
        for write in writes:
            write.used = True
        for write in writes:
            _check_member(session, write)
        self.label = " + ".join(write.label for write in writes)

    def unread(self) -> Runnable[None]:
        """Write without reading the results, which costs reads and may return a later change."""
        self.used = True
        return Task(self.session, self._write())

    def steps(self) -> Steps[T_co]:
        """Return the steps: the writes, and a read of the results that do not follow from them."""
        yield from self._write()
        outcomes: Any = yield from self._read_results()
        found: T_co = outcomes
        return found

    def _write(self) -> Steps[None]:
        """Send one TransactWriteItems; retry while other transactions use the same items."""
        import secrets

        self.used = True
        request = {
            "TransactItems": [self._transact_item(write) for write in self.writes],
            "ClientRequestToken": secrets.token_hex(16),
        }
        delays = backoff()
        while True:
            try:
                yield Call("TransactWriteItems", request, self.label)
            except TransactionCanceledException as error:
                conflict = self._find_conflict(error)
                pause = next(delays, None)
                if conflict is not None or pause is None or not _is_retryable(error):
                    raise (conflict or error) from error
                yield pause
                request["ClientRequestToken"] = secrets.token_hex(16)
            else:
                return

    @staticmethod
    def _transact_item(write: Write[Any]) -> Wire:
        kind, members = write.transact_item()
        if "ConditionExpression" in members:
            members["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
        return {kind: members}

    def _find_conflict(self, error: TransactionCanceledException) -> Conflict | None:
        for write, reason in zip(self.writes, error.members.get("CancellationReasons", ()), strict=False):
            if reason.get("Code") == "ConditionalCheckFailed":
                return write.conflict_with(reason.get("Item"))
        return None

    def _read_results(self) -> Steps[tuple[Any, ...]]:
        """Return the results; read the items whose result does not follow from the write."""
        keys = [write.key_to_read() for write in self.writes]
        wanted = [
            {"Get": {"TableName": self.session.name_of(write.table), "Key": key}}
            for write, key in zip(self.writes, keys, strict=True)
            if key is not None
        ]
        found: list[Raw | None] = []
        if wanted:
            response = yield Call("TransactGetItems", {"TransactItems": wanted}, self.label)
            found = [each.get("Item") for each in response["Responses"]]
        raws = iter(found)
        return tuple(
            write.result(None if key is None else next(raws)) for write, key in zip(self.writes, keys, strict=True)
        )


def _check_member(session: Session, write: object) -> None:
    """Raise for what cannot be a member of a transaction: a read, or a write to another database."""
    if not isinstance(write, Write):
        plan = getattr(write, "plan", None)
        what = plan.label if plan is not None else repr(write)
        raise ValueInvalid(f"{what} is no write: a transaction takes the writes of patterns, put(...) and create(...)")
    if write.session.transport is not session.transport:
        raise ValueInvalid(f"{write.label} writes to another database: a transaction has writes to one database")


def _is_retryable(error: TransactionCanceledException) -> bool:
    codes = {reason.get("Code") for reason in error.members.get("CancellationReasons", ())}
    return bool(codes & RETRYABLE_REASONS)
