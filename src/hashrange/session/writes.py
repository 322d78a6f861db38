"""What writes: Update, Upsert, Delete, Ensure from patterns, and create and put of whole items.

Each can be run alone or inside `transact()`. A condition that does not hold raises Conflict with what is there now.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self

from typing_extensions import TypeVar

from hashrange.core.errors import ConditionalCheckFailedException, Conflict, NotFound, Taken, Unreadable, ValueInvalid
from hashrange.core.values import Item as Raw
from hashrange.core.values import Value
from hashrange.core.wire import Wire
from hashrange.schema import anatomy
from hashrange.schema.anatomy import Attribute
from hashrange.schema.change import WritePlan
from hashrange.schema.layout import key_of, store
from hashrange.schema.shape import Initial, Item, Shape
from hashrange.schema.slot import NOW, Arguments
from hashrange.session.operation import Unsent
from hashrange.session.work import Call, Work

if TYPE_CHECKING:
    from hashrange.schema.table import Table
    from hashrange.session.session import Session

T_co = TypeVar("T_co", covariant=True)
S_co = TypeVar("S_co", bound=Shape, covariant=True)
I = TypeVar("I", bound=Item)  # noqa: E741 - an item


class Write(Unsent[T_co]):
    """One write, not yet sent: `.run()`, `await`, or `db.transact(...)`."""

    table: Table

    @abstractmethod
    def part(self) -> tuple[str, Wire]:
        """Return its kind and members in a TransactWriteItems."""

    @abstractmethod
    def settle(self, raw: Raw | None) -> T_co:
        """Return its outcome inside a transaction, from the item as it is afterwards."""

    def key(self) -> Raw | None:
        """Return the key to be read after a transaction; None when the outcome is known without."""
        return None

    def refuse(self, raw: Raw | None) -> Conflict:
        """Return the conflict that an item which did not pass the condition means."""
        current = self.session.read_any(self.table, raw)
        if raw is None:
            return NotFound(f"{self.label}: nothing is there")
        return Conflict(f"{self.label}: what is there now does not allow it: {_describe(current, raw)}", current)


def _describe(current: Any, raw: Raw) -> str:
    return repr(current) if current is not None else repr(raw)


class Move(Write[T_co]):
    """A write that a pattern declares."""

    verb: ClassVar[str] = ""

    def __init__(self, session: Session, plan: WritePlan, arguments: Arguments) -> None:
        self.session, self.plan, self.label, self.table = session, plan, plan.label, plan.table
        self.arguments: Mapping[str, Any] = {**arguments, NOW: session.now()}

    def explain(self) -> str:
        """Return what it does, as text."""
        self.used = True
        return self.plan.explain()

    def request(self) -> Wire:
        """Return the request without what says how to answer."""
        request, sealed = self.plan.build(self.arguments)
        values = request.get("ExpressionAttributeValues", {})
        for placeholder, attribute in sealed.items():
            values[placeholder] = self.session.seal_value(self.table, request["Key"], attribute, values[placeholder])
        return {"TableName": self.session.name_of(self.table), **request}

    def key(self) -> Raw | None:
        """Return the key, unless the outcome follows from the arguments."""
        return None if self.plan.exact else self.plan.key_of(self.arguments)

    def settle(self, raw: Raw | None) -> T_co:
        """Return the state entered."""
        outcome: Any = self.plan.outcome(self.arguments) if self.plan.exact else self._read(raw)
        return outcome  # type: ignore[no-any-return]  # the plan's target is T_co

    def _read(self, raw: Raw | None) -> Any:
        if raw is None:
            return None
        found = self.session.interpret(self.table, self.plan.kinds, raw)
        if found is None:
            raise Unreadable(f"{self.label}: what was written is no {self.plan.target.__name__}: {raw}")
        return found

    def refuse(self, raw: Raw | None) -> Conflict:
        """Return the conflict; what belongs to another tenant is not there."""
        return super().refuse(raw if self._is_ours(raw) else None)

    def _is_ours(self, raw: Raw | None) -> bool:
        tenant = self.plan.signature.tenant
        field = anatomy.known(self.plan.target).get(tenant or "")
        if raw is None or field is None or field.stored not in raw:
            return True
        return raw[field.stored] == field.codec.encode(self.arguments[field.name])

    def send(self, operation: str, answer_with: str) -> Work[Raw | None]:
        """Run it alone; return the item that the answer holds."""
        self.used = True
        request = {
            **self.request(),
            "ReturnValues": answer_with,
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        }
        if "ConditionExpression" not in request:
            del request["ReturnValuesOnConditionCheckFailure"]
        try:
            answer = yield Call(operation, request, self.label)
        except ConditionalCheckFailedException as refusal:
            raise self.refuse(refusal.members.get("Item")) from refusal
        found: Raw | None = answer.get("Attributes")
        return found


class Update(Move[S_co]):
    """UpdateItem on an item that must be there, in the state that the parameters say."""

    verb: ClassVar[str] = "Update"

    def work(self) -> Work[S_co]:
        """Return the steps: one conditional UpdateItem, answered with the whole item."""
        raw = yield from self.send("UpdateItem", "ALL_NEW")
        outcome: S_co = self._read(raw)
        return outcome

    def part(self) -> tuple[str, Wire]:
        """Return it as an Update."""
        return "Update", self.request()


class Upsert(Update[S_co]):
    """UpdateItem that also creates."""

    verb: ClassVar[str] = "Upsert"


class Delete(Move[S_co | None]):
    """DeleteItem; gives what was there."""

    verb: ClassVar[str] = "Delete"

    def work(self) -> Work[S_co | None]:
        """Return the steps: one DeleteItem."""
        raw = yield from self.send("DeleteItem", "ALL_OLD")
        found: S_co | None = self.session.read(self.table, self.plan.kinds, raw)
        return found

    def part(self) -> tuple[str, Wire]:
        """Return it as a Delete."""
        return "Delete", self.request()

    def key(self) -> Raw | None:
        """Return nothing: a transaction does not say what was there."""
        return None

    def settle(self, _raw: Raw | None) -> S_co | None:
        """Return nothing."""
        return None


class Ensure(Move[S_co]):
    """A condition that must hold for a transaction to happen; it writes nothing."""

    verb: ClassVar[str] = "Ensure"

    def work(self) -> Work[S_co]:
        """Refuse: a condition alone does nothing."""
        self.used = True
        raise ValueInvalid(f"{self.label} is a condition of other writes: pass it to transact() beside them")

    def part(self) -> tuple[str, Wire]:
        """Return it as a ConditionCheck."""
        return "ConditionCheck", self.request()


class Put(Write[I]):
    """PutItem of a whole item; one that may not be there yet, or one that replaces."""

    def __init__(self, session: Session, item: I, *, fresh: bool, tenant: str | None = None) -> None:
        self.session, self.item, self.fresh, self.tenant = session, item, fresh, tenant
        self.table = anatomy.table_of(type(item))
        self.label = f"{'create' if fresh else 'put'} {type(item).__name__}"
        self.outcome = self._count() if not fresh else item

    def imported(self) -> Self:
        """Create it in whatever state it is: an item that comes from elsewhere."""
        other = type(self)(self.session, self.item, fresh=self.fresh, tenant=self.tenant)
        other.checked = True
        self.used = True
        return other

    checked = False

    def _count(self) -> I:
        version = anatomy.version_of(type(self.item))
        if version is None:
            return self.item
        return self.item.model_copy(update={version.name: getattr(self.item, version.name) + 1})

    def request(self) -> Wire:
        """Return the PutItem."""
        if self.fresh and not self.checked:
            _check_initial(self.item)
        raw = self.session.seal(self.table, store(self.outcome))
        request: Wire = {"TableName": self.session.name_of(self.table), "Item": raw}
        fences = [] if self.fresh else self._fences()
        if self.fresh or fences:
            tests = " AND ".join(f"#f{at} = :f{at}" for at, _ in enumerate(fences))
            request["ConditionExpression"] = f"attribute_not_exists(#pk){f' OR {tests}' if tests else ''}"
            names = {f"#f{at}": field.stored for at, field in enumerate(fences)}
            request["ExpressionAttributeNames"] = {"#pk": self.table.pk, **names}
        if fences:
            request["ExpressionAttributeValues"] = {f":f{at}": self._given(field) for at, field in enumerate(fences)}
        return request

    def _fences(self) -> list[Attribute]:
        """Return what an item that is replaced must have in common: the version, and the tenant that no key tells."""
        version = anatomy.version_of(type(self.item))
        owner = find_owner(type(self.item), self.tenant)
        return [field for field in (version, owner) if field is not None]

    def _given(self, field: Attribute) -> Value:
        return field.codec.encode(getattr(self.item, field.name))

    def work(self) -> Work[I]:
        """Return the steps: one PutItem."""
        self.used = True
        request = self.request()
        if "ConditionExpression" in request:
            request["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
        try:
            yield Call("PutItem", request, self.label)
        except ConditionalCheckFailedException as refusal:
            raise self.refuse(refusal.members.get("Item")) from refusal
        return self.outcome

    def part(self) -> tuple[str, Wire]:
        """Return it as a Put."""
        return "Put", self.request()

    def settle(self, _raw: Raw | None) -> I:
        """Return the item."""
        return self.outcome

    def refuse(self, raw: Raw | None) -> Conflict:
        """Return the conflict: the key is taken, or the item changed since it was read."""
        owner = find_owner(type(self.item), self.tenant)
        if raw is not None and owner is not None and raw.get(owner.stored) != self._given(owner):
            raw = None  # what belongs to another tenant is not shown
        if not self.fresh:
            return super().refuse(raw)
        key = key_of(type(self.item), dict(self.item.__dict__))
        return Taken(f"{self.label}: {key} is taken", self.session.read_any(self.table, raw))


def find_owner(kind: type[Item], tenant: str | None) -> Attribute | None:
    """Return the attribute that says whose an item is, where its primary key does not say it."""
    keys, table = anatomy.keys(kind), anatomy.table_of(kind)
    in_key = {name for attr in table.keys for name in keys[attr].fields}
    return None if tenant in in_key else anatomy.known(kind).get(tenant or "")


def _check_initial(item: Item) -> None:
    """Refuse to create an item in the middle of a lifecycle."""
    for name, default in type(item).__special__.items():
        state: Shape = getattr(item, name)
        if isinstance(default, Initial) and not isinstance(state, default.kind):
            raise ValueInvalid(
                f"{type(item).__name__}.{name} starts as {default.kind.__name__}, not {type(state).__name__}: "
                "an item from elsewhere is created with db.create(item).imported()"
            )
