"""The base classes of declarations: Item and View, both frozen pydantic models.

`introspection` derives facts from declared classes; here is only what must run while a class or an object is created.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, cast

from msgspec import Struct
from pydantic import BaseModel, ConfigDict, Field, GetCoreSchemaHandler
from pydantic._internal._model_construction import ModelMetaclass  # it has no public name
from pydantic.fields import FieldInfo
from pydantic_core.core_schema import CoreSchema, no_info_before_validator_function
from typing_extensions import TypeVar, dataclass_transform

from hashrange.core.errors import DeclarationError, ValueInvalid
from hashrange.core.values import Value
from hashrange.schema.declare.class_cache import clear_class_cache
from hashrange.schema.declare.codec import precision_of
from hashrange.schema.declare.hint import markers_of
from hashrange.schema.declare.marker import Encrypted
from hashrange.schema.declare.table import Table

T = TypeVar("T")
LOADED_KEYS = "_loaded_keys"  # where a model keeps the keys with which it was loaded
RECOVERED = "_recovered"  # where a model keeps the fields that were not stored, but read from a key
UNCHECKED = "_unchecked"  # what a model has whose values pydantic has not validated


class Initial(Struct, frozen=True):
    """The default of a lifecycle: its first state."""

    state: type[View[Any]]


class After(Struct, frozen=True):
    """The default of a time: a fixed period after another field."""

    other: str
    delta: timedelta

    def since(self, moment: datetime, name: str) -> datetime:
        """Return the time of the field `name`; refuse one that no calendar has."""
        try:
            return moment + self.delta
        except OverflowError:
            raise ValueInvalid(
                f"{name} is {self.delta} after {self.other}, {moment.isoformat()}: no time is beyond year 9999"
            ) from None


SPECIAL = frozenset({Initial, After})


def initially(state: type[T]) -> T:
    """Declare the state in which a lifecycle starts; its fields are taken from the item."""
    return cast("T", Initial(cast("Any", state)))


def after(other: str, *, days: float = 0, hours: float = 0, minutes: float = 0) -> datetime:
    """Declare a default: a fixed period after another field."""
    return cast("datetime", After(other, timedelta(days=days, hours=hours, minutes=minutes)))


COMPILED: set[type | Table] = set()  # the classes and tables of compiled patterns, to which nothing may be added


def _check_declared_in_time(cls: type, table: Table | None) -> None:
    """Refuse a variant or an item that is declared after patterns which should know it were compiled."""
    known = [base.__name__ for base in cls.__mro__[1:] if base in COMPILED]
    if table in COMPILED:
        known.append(f"table {table.name}")
    if known:
        raise DeclarationError(
            "HR111",
            cls.__name__,
            f"is declared after patterns that read {known[0]}, which would not know it",
            "declare every item and variant above the Patterns class",
        )


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(Field,))
class FrozenModelMetaclass(ModelMetaclass):
    """Tells type checkers that models are frozen, which pydantic's own dataclass_transform cannot express."""


class Model(BaseModel, metaclass=FrozenModelMetaclass):
    """The common base of items and views: frozen values, with key templates given as class keywords."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    if TYPE_CHECKING:
        __own_table__: ClassVar[Table | None]
        __viewed_item__: ClassVar[type[Item] | None]  # of a view in compiled patterns
        __own_keys__: ClassVar[Mapping[str, str]]
        __initial__: ClassVar[bool]  # it is a variant in which items are created
        __special__: ClassVar[Mapping[str, Any]]  # fields whose default depends on the others
        __times__: ClassVar[Mapping[str, timedelta]]  # fields that are times, and the precision they are stored with

        def __hash__(self) -> int: ...  # pydantic adds it; pyright believes that BaseModel.__eq__ removed it
    else:  # without annotations, which pydantic would evaluate again for every class
        __own_table__, __viewed_item__, __own_keys__, __initial__, __special__, __times__ = (
            None,
            None,
            {},
            False,
            {},
            {},
        )

    def __init_subclass__(
        cls,
        *,
        table: Table | None = None,
        keys: Mapping[str, str] | None = None,
        initial: bool = False,
        **more: str,
    ) -> None:
        super().__init_subclass__()
        clear_class_cache()
        cls.__initial__ = initial
        cls.__own_keys__ = {**(keys or {}), **more}
        if table is not None and not isinstance(table, Table):
            raise DeclarationError("HR110", cls.__name__, f"table= is {table!r}", "give a Table")
        _check_declared_in_time(cls, table)
        if table is not None:
            cls.__own_table__ = table
            table.items.append(cast("type[Item]", cls))

    @classmethod
    def __pydantic_init_subclass__(cls, **_more: Any) -> None:
        fields = cls.__pydantic_fields__
        cls.__special__ = {name: info.default for name, info in fields.items() if type(info.default) in SPECIAL}
        steps = {name: precision_of(info.annotation, info.metadata) for name, info in fields.items()}
        cls.__times__ = {name: step for name, step in steps.items() if step is not None}

    @classmethod
    def __get_pydantic_core_schema__(cls, source: type[BaseModel], handler: GetCoreSchemaHandler, /) -> CoreSchema:
        """Run `_fill` before the fields are validated, if the class needs it.

        A decorated validator would do the same, but pydantic copies it for every base of every class.
        """
        schema = handler(source)
        if cls.__special__ or cls.__times__:
            around: Any = schema
            while around["schema"]["type"] != "model-fields":
                around = around["schema"]
            around["schema"] = no_info_before_validator_function(cls._fill, around["schema"])
        return schema

    @classmethod
    def _fill(cls, data: Any) -> Any:
        """Compute defaults that depend on other fields, and truncate times to the precision they are stored with."""
        if not isinstance(data, dict):
            return data
        for name, default in cls.__special__.items():
            if name not in data:
                data[name] = _default_of(default, name, data)
        for name, step in cls.__times__.items():
            moment = data.get(name)
            if type(moment) is datetime and (moment.microsecond or moment.tzinfo is not UTC):
                data[name] = truncate(moment, step)
        return data

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        """Yield the arguments of repr() with secrets masked, so that they stay out of errors and logs."""
        for name, value in super().__repr_args__():
            yield name, "..." if value is not None and _is_secret(self.__pydantic_fields__.get(name or "")) else value

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Return a copy; a field that an item shares with its states changes in both.

        A changed copy forgets the keys with which it was loaded. Its values are validated when it is written.
        """
        copy = super().model_copy(update=update, deep=deep)
        if update:
            _share_changes(copy, update)
            _forget_keys(copy)
            copy.__dict__[UNCHECKED] = True
        return copy

    @classmethod
    def model_construct(cls, _fields_set: set[str] | None = None, **values: Any) -> Self:
        """Return an object whose values are not validated before it is written."""
        built = super().model_construct(_fields_set, **values)
        built.__dict__[UNCHECKED] = True
        return built


def _share_changes(copy: Model, update: Mapping[str, Any]) -> None:
    """Copy changed fields of an item to its states, and those of new states to the item and its other states."""
    states = {name: value for name, value in copy.__dict__.items() if isinstance(value, View)}
    if not states:
        return
    changes = {name: value for name, value in update.items() if name not in states}
    for name in states.keys() & update.keys():
        changes = {field: getattr(states[name], field) for field in states[name].model_fields_set} | changes
    for name, state in states.items():
        if name not in update:
            shared = {field: value for field, value in changes.items() if field in type(state).model_fields}
            copy.__dict__[name] = state.model_copy(update=shared)
    own = {field: value for field, value in changes.items() if field in type(copy).model_fields}
    copy.__dict__.update(own)
    copy.model_fields_set.update(own)


def _is_secret(info: FieldInfo | None) -> bool:
    markers = (*info.metadata, *markers_of(info.annotation)) if info is not None else ()
    return any(isinstance(marker, Encrypted) for marker in markers)


def loaded_keys(instance: Model) -> dict[str, Value]:
    """Return the keys with which a model was loaded; none if it was not loaded."""
    found: dict[str, Value] = instance.__dict__.get(LOADED_KEYS, {})
    return found


def _forget_keys(instance: Model) -> None:
    """Forget the keys with which a model was loaded, but not that it was."""
    instance.__dict__.pop(RECOVERED, None)
    if LOADED_KEYS in instance.__dict__:
        instance.__dict__[LOADED_KEYS] = {}


def recovered_fields(instance: Model) -> dict[str, str]:
    """Return the fields that were not stored, but read from a key, each with the attribute of that key."""
    found: dict[str, str] = instance.__dict__.get(RECOVERED, {})
    return found


def is_stored(instance: Model) -> bool:
    """Return whether a model, or what it was copied from, was loaded or created."""
    return LOADED_KEYS in instance.__dict__


def mark_stored(instance: Model) -> None:
    """Remember that a model was created in the database."""
    instance.__dict__.setdefault(LOADED_KEYS, {})


def _default_of(default: Initial | After, name: str, data: dict[str, Any]) -> Any:
    if isinstance(default, Initial):
        return default.state(**{field: data[field] for field in default.state.model_fields if field in data})
    other = data.get(default.other)
    if not isinstance(other, datetime):
        return None  # the other field's own error says what is wrong
    return default.since(other, name)


def truncate(moment: datetime, step: timedelta) -> datetime:
    """Return a time in UTC, truncated to a precision; refuse one without a time zone."""
    if moment.tzinfo is None:
        raise ValueError(f"{moment!r} has no time zone: give one, such as datetime.now(UTC)")
    moment = moment.astimezone(UTC)
    kept = step // timedelta(microseconds=1)
    return moment.replace(microsecond=moment.microsecond - moment.microsecond % kept)


class Item(Model):
    """A kind of item in a table: `class Shop(Item, table=table, pk="SHOP#{domain}", sk="META#")`."""


I_co = TypeVar("I_co", bound=Item, covariant=True)


class View(Model, Generic[I_co]):
    """Part of an item: what a narrow index holds, or one state of a lifecycle."""
