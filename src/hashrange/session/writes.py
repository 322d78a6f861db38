"""Writes: Update, Upsert, Delete and Ensure of patterns, Put of whole items.

Each write can be run alone, or inside a transaction. A failed condition raises Conflict with the current item.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self

from typing_extensions import TypeVar

from hashrange.core.article import with_article
from hashrange.core.errors import (
    ConditionalCheckFailedException,
    Conflict,
    Missing,
    SealError,
    Taken,
    Unreadable,
    ValueInvalid,
    WrittenUnreadable,
)
from hashrange.core.values import Item as Raw
from hashrange.core.values import Value
from hashrange.core.wire import Wire
from hashrange.schema.declare import introspection
from hashrange.schema.declare.introspection import ModelClass, ModelField
from hashrange.schema.declare.key_codec import key_of
from hashrange.schema.declare.marker import Counted
from hashrange.schema.declare.model import Item, Model, is_stored, mark_stored
from hashrange.schema.items.dumper import dump
from hashrange.schema.items.storable_item import check_initial_states, make_storable, with_next_version
from hashrange.schema.pattern.value_source import NOW, Arguments, default_in
from hashrange.schema.write.write_plan import WritePlan
from hashrange.session.expiry import MAX_ATTEMPTS, allow_expired, delete_expired, hides_expired, refuse_expired
from hashrange.session.runnable import Runnable
from hashrange.session.steps import Call, Steps

if TYPE_CHECKING:
    from hashrange.schema.declare.table import Table
    from hashrange.session.session import Session

T_co = TypeVar("T_co", covariant=True)
S_co = TypeVar("S_co", bound=Model, covariant=True)
O_co = TypeVar("O_co", bound=Model, covariant=True, default=S_co)  # what the item was before
I = TypeVar("I", bound=Item)  # noqa: E741 - an item


class NeverRun(UserWarning):
    """A write was built and discarded without being run: nothing was written."""


class PendingWrite(Runnable[T_co]):
    """Something that writes when it is run; warns when it is discarded before."""

    label: str
    used = False

    def __del__(self) -> None:
        if not self.used and hasattr(self, "label"):
            warnings.warn(f"{self.label} was built and never run: nothing was written", NeverRun, stacklevel=2)


class PendingTask(PendingWrite[T_co]):
    """A function that returns the steps of a write."""

    def __init__(self, session: Session, start: Callable[[], Steps[T_co]], label: str) -> None:
        self.session, self._start, self.label = session, start, label

    def steps(self) -> Steps[T_co]:
        """Return the steps."""
        self.used = True
        return self._start()


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
            return Missing(f"{self.label}: the item does not exist")
        return Conflict(
            f"{self.label}: the current item does not meet the condition: {_describe(current, raw)}", current
        )


def _describe(current: Any, raw: Raw) -> str:
    return repr(current) if current is not None else repr(raw)


def read_written(label: str, load: Callable[[], Any], raw: Raw | None) -> Any:
    """Load what a response has; raise WrittenUnreadable if that fails, because the write has happened."""
    try:
        return load()
    except (Unreadable, SealError) as error:
        raise WrittenUnreadable(f"{label}: written, but the item cannot be read: {error}", raw) from error


class PatternWrite(Write[T_co]):
    """A write that a pattern declares."""

    verb: ClassVar[str] = ""

    def __init__(self, session: Session, plan: WritePlan, arguments: Arguments) -> None:
        self.session, self.plan, self.table = session, plan, plan.table
        _check_states(plan, arguments)
        self.label = plan.label
        self.built_at = session.clock.millis()  # so that a request is the same when it is sent again
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
        request = {"TableName": self.session.name_of(self.table), **request}
        if self.hides_expired:
            refuse_expired(self.table, request, self.built_at)
        return request

    @property
    def hides_expired(self) -> bool:
        """Whether an item that has expired is absent to it: a Delete may delete one."""
        return self.verb != "Delete" and hides_expired(self.session, self.plan.target)

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
        return self._load_as(self.plan.models, raw)

    def _load_as(self, models: Sequence[ModelClass], raw: Raw) -> Any:
        found = read_written(self.label, lambda: self.session.load(self.table, models, raw), raw)
        if found is None:
            wanted = " or ".join(model.__name__ for model in models)
            raise WrittenUnreadable(f"{self.label}: written, but the item is not a {wanted}: {raw}", raw)
        return found

    def conflict_with(self, raw: Raw | None) -> Conflict:
        """Return the error; an item of another tenant counts as absent, and one that has expired."""
        if self._is_same_tenant(raw) and self.finds_expired(raw):
            return Missing(f"{self.label}: the item has expired")
        if raw is None and self.verb == "Upsert" and (broken := self.plan.bounds_of_new_item(self.arguments)):
            return Conflict(f"{self.label}: there is no item, and a new one would not meet {' and '.join(broken)}")
        return super().conflict_with(raw if self._is_same_tenant(raw) else None)

    def finds_expired(self, raw: Raw | None) -> bool:
        """Return whether what it found has expired, and counts as absent."""
        return raw is not None and self.hides_expired and self.session.is_expired(self.table, raw)

    def clear_expired(self) -> Steps[None]:
        """Delete the item if it has expired, so that it can be created anew."""
        return delete_expired(self.session, self.table, self.plan.key_of(self.arguments), self.label)

    def _is_same_tenant(self, raw: Raw | None) -> bool:
        tenant = self.plan.signature.tenant
        field = introspection.all_fields(self.plan.target).get(tenant or "")
        if raw is None or field is None or field.stored not in raw:
            return True
        return raw[field.stored] == field.codec.encode(self.arguments[field.name])

    def send(self, operation: str, return_values: str) -> Steps[Raw | None]:
        """Send it alone; return the item in the response."""
        self.used = True
        for attempt in range(1, MAX_ATTEMPTS + 1):
            request = {**self.request(), "ReturnValues": return_values}
            if "ConditionExpression" in request:
                request["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
            try:
                response = yield Call(operation, request, self.label)
            except ConditionalCheckFailedException as error:
                raw = error.members.get("Item")
                if attempt == MAX_ATTEMPTS or self.verb != "Upsert" or not self.finds_expired(raw):
                    raise self.conflict_with(raw) from error
                yield from self.clear_expired()
            else:
                break
        found: Raw | None = response.get("Attributes")
        return found


def _check_states(plan: WritePlan, arguments: Arguments) -> None:
    """Raise for an item in a state that the pattern does not declare, before anything is sent."""
    for name, models in plan.states:
        given = arguments[name]
        if not isinstance(given, models):
            declared = " or ".join(model.__name__ for model in models)
            raise ValueInvalid(
                f"{plan.label}: {name} is {with_article(type(given).__name__)}, not {with_article(declared)}"
            )
    if plan.states:
        _check_same_key(plan, arguments)


def _check_same_key(plan: WritePlan, arguments: Arguments) -> None:
    """Raise when the parameters and the items that are passed belong to different items: a tenant beside a state."""
    for field in introspection.identifying_fields(plan.target):
        values = {name: getattr(arguments[name], field) for name, _ in plan.states if hasattr(arguments[name], field)}
        if field in plan.signature.parameters and field in arguments:
            values[field] = arguments[field]
        (first, value), *others = values.items() if values else [("", None)]
        for other, found in others:
            if found != value:
                raise ValueInvalid(
                    f"{plan.label}: {first} and {other} are of different items: {field} {value!r}, {found!r}"
                )


class _ItemUpdate(PatternWrite[S_co]):
    """One UpdateItem, which returns the item as it is afterwards, or as it was before."""

    def steps(self) -> Steps[S_co]:
        """Return the steps: one conditional UpdateItem that returns the whole item."""
        raw = yield from self.send("UpdateItem", "ALL_NEW")
        outcome: S_co = self._load(raw)
        return outcome

    def transact_item(self) -> tuple[str, Wire]:
        """Return it as an Update; a call that changes nothing only tests its conditions."""
        request = self.request()
        return "Update" if "UpdateExpression" in request else "ConditionCheck", request

    def _send_for_old(self) -> Steps[Any]:
        """Write, and return the item as it was before; None if it did not exist."""
        if self.plan.old_models is None:
            starts = " | ".join(model.__name__ for model in self.plan.start_models)
            raise ValueInvalid(
                f"{self.label}: declare what it was before: {self.verb}[{self.plan.target.__name__}, {starts}]"
            )
        raw = yield from self.send("UpdateItem", "ALL_OLD")
        return self._load_as(self.plan.old_models, raw) if raw else None


class Update(_ItemUpdate[S_co], Generic[S_co, O_co]):
    """UpdateItem of an item that must exist, in the state that the parameters name.

    `Update[Paid, Held]` says that the item was Held before, which `returning_old()` returns.
    """

    verb: ClassVar[str] = "Update"

    def returning_old(self) -> Runnable[O_co]:
        """Write, and return the item as it was before."""
        self.used = True
        return PendingTask(self.session, self._send_for_old, self.label)


class Upsert(_ItemUpdate[S_co]):
    """UpdateItem that also creates."""

    verb: ClassVar[str] = "Upsert"

    def returning_old(self) -> Runnable[S_co | None]:
        """Write, and return the item as it was before; None if it did not exist."""
        self.used = True
        return PendingTask(self.session, self._send_for_old, self.label)


class Delete(PatternWrite[S_co | None]):
    """DeleteItem; returns the deleted item."""

    verb: ClassVar[str] = "Delete"

    def steps(self) -> Steps[S_co | None]:
        """Return the steps: one DeleteItem."""
        raw = yield from self.send("DeleteItem", "ALL_OLD")
        found: S_co | None = read_written(
            self.label, lambda: self.session.load_unexpired(self.table, self.plan.models, raw), raw
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
        self.built_at = session.clock.millis()
        self.check: Ensure[Any] | None = None  # what must hold for the item that is replaced
        self.may_be_new = True
        self.table = session.table_of(type(item))
        self.label = f"{'create' if create else 'put'} {type(item).__name__}"
        self.stored = item  # as it is written, once the request is made

    def imported(self) -> Self:
        """Allow any lifecycle state: for an item that was created in another system."""
        self.used = True
        found = type(self)(self.session, self.item, create=self.create, tenant=self.tenant, any_state=True)
        found.check, found.may_be_new = self.check, self.may_be_new
        return found

    def when(self, check: Ensure[Any], *, or_absent: bool = False) -> Self:
        """Replace the stored item only if a condition holds for it; with `or_absent`, also put a new item."""
        self.used = check.used = True
        if self.create:
            raise ValueInvalid(f"{self.label}: there is no item yet to which {check.label} could apply; use put")
        key = key_of(type(self.item), dict(self.item.__dict__))
        if check.table is not self.table or check.plan.key_of(check.arguments) != key:
            raise ValueInvalid(f"{self.label}: {check.label} is a condition on another item")
        found = type(self)(self.session, self.item, create=False, tenant=self.tenant, any_state=self.any_state)
        found.check, found.may_be_new = check, or_absent
        return found

    def returning_old(self) -> Runnable[I | None]:
        """Put it, and return the item that it replaced; None if there was none."""
        self.used = True
        return PendingTask(self.session, self._replace, self.label)

    def _make_stored(self) -> I:
        """Return the item as it is stored, with the next version."""
        item = make_storable(self.item)
        version = introspection.version_of(type(item))
        return item if self.create or version is None else with_next_version(item, version.name)

    def request(self) -> Wire:
        """Return the PutItem."""
        self.stored = self._make_stored()
        if self.create and not self.any_state:
            check_initial_states(self.stored)
        raw = self.session.encrypt_item(self.table, dump(self.stored))
        request: Wire = {"TableName": self.session.name_of(self.table), "Item": raw}
        checked = [] if self.create else self._checked_fields()
        tests = " AND ".join(self._test(at, field) for at, field in enumerate(checked))
        names = {f"#f{at}": field.stored for at, field in enumerate(checked)}
        if self.create or (checked and not self._was_stored()):
            request["ExpressionAttributeNames"] = {"#pk": self.table.pk, **names}
            request["ConditionExpression"] = f"{self._absent(request)}{f' OR {tests}' if tests else ''}"
        elif checked:  # an item that was deleted meanwhile is not brought back
            request["ConditionExpression"] = f"attribute_exists(#pk) AND {tests}"
            request["ExpressionAttributeNames"] = {"#pk": self.table.pk, **names}
        if checked:
            values = {f":f{at}": self._encode(field) for at, field in enumerate(checked)}
            request["ExpressionAttributeValues"] = {**request.get("ExpressionAttributeValues", {}), **values}
        if self.check is not None:
            self._add_check(request, self.check.request())
        return request

    def _absent(self, request: Wire) -> str:
        """Return the test that there is no item, or one that has expired."""
        test = "attribute_not_exists(#pk)"
        if not hides_expired(self.session, type(self.item)):
            return test
        return f"{test} OR {allow_expired(self.table, request, self.built_at)}"

    def _add_check(self, request: Wire, check: Wire) -> None:
        """Add the condition of an Ensure, under names of its own."""
        own, test = request.get("ConditionExpression"), check["ConditionExpression"].replace("#", "#w_")
        names = {name.replace("#", "#w_"): stored for name, stored in check.get("ExpressionAttributeNames", {}).items()}
        if self.may_be_new:
            names["#pk"], test = self.table.pk, f"{self._absent(request)} OR ({test})"
        request["ConditionExpression"] = test if own is None else f"({own}) AND ({test})"
        request["ExpressionAttributeNames"] = {**request.get("ExpressionAttributeNames", {}), **names}
        values = {**request.get("ExpressionAttributeValues", {}), **check.get("ExpressionAttributeValues", {})}
        if values:
            request["ExpressionAttributeValues"] = values

    def _checked_fields(self) -> list[ModelField]:
        """Return what must equal the replaced item: the version, and the tenant when no key contains it."""
        version = introspection.version_of(type(self.item))
        owner = find_tenant_field(type(self.item), self.tenant)
        return [field for field in (version, owner) if field is not None]

    def _test(self, at: int, field: ModelField) -> str:
        """Return the test of an attribute; an item that is older than its version field has none."""
        test = f"#f{at} = :f{at}"
        is_first = field.marker(Counted) is not None and default_in(self.item, field.name) == getattr(
            self.item, field.name
        )
        return f"({test} OR attribute_not_exists(#f{at}))" if is_first else test

    def _was_stored(self) -> bool:
        """Return whether the version is one that only a stored item has: then there must be something to replace."""
        version = introspection.version_of(type(self.item))
        if version is None or self.any_state:
            return False
        is_first = default_in(self.item, version.name) == getattr(self.item, version.name)
        return is_stored(self.item) or not is_first

    def _encode(self, field: ModelField) -> Value:
        return field.codec.encode(getattr(self.item, field.name))

    def steps(self) -> Steps[I]:
        """Return the steps: one PutItem."""
        yield from self._put({})
        return self.result(None)

    def _replace(self) -> Steps[I | None]:
        response = yield from self._put({"ReturnValues": "ALL_OLD"})
        mark_stored(self.stored)
        raw: Raw | None = response.get("Attributes")
        models = (introspection.root(type(self.item)),)
        found: I | None = read_written(self.label, lambda: self.session.load_unexpired(self.table, models, raw), raw)
        return found

    def _put(self, members: Wire) -> Steps[Wire]:
        self.used = True
        request = {**self.request(), **members}
        if "ConditionExpression" in request:
            request["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
        try:
            response = yield Call("PutItem", request, self.label)
        except ConditionalCheckFailedException as error:
            raise self.conflict_with(error.members.get("Item")) from error
        return response

    def transact_item(self) -> tuple[str, Wire]:
        """Return it as a Put."""
        return "Put", self.request()

    def result(self, _raw: Raw | None) -> I:
        """Return the item, which is stored now."""
        mark_stored(self.stored)
        return self.stored

    def conflict_with(self, raw: Raw | None) -> Conflict:
        """Return the error: the key exists already, or the item changed since it was read."""
        owner = find_tenant_field(type(self.item), self.tenant)
        if raw is not None and owner is not None and raw.get(owner.stored) != self._encode(owner):
            raw = None  # an item of another tenant is not disclosed
        if not self.create:
            return super().conflict_with(raw)
        key = key_of(type(self.item), dict(self.item.__dict__))
        return Taken(f"{self.label}: {key} exists already", self.session.load_any(self.table, raw))


def find_tenant_field(model: type[Item], tenant: str | None) -> ModelField | None:
    """Return the tenant attribute of an item class, when its primary key does not contain the tenant."""
    keys, table = introspection.keys(model), introspection.table_of(model)
    in_key = {name for attr in table.keys for name in keys[attr].fields}
    return None if tenant in in_key else introspection.all_fields(model).get(tenant or "")
