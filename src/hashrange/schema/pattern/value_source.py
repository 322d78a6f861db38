"""The sources of the values of a request, known when a pattern is compiled: arguments, constants, keys made of them.

An ArgumentSource gives a Python value, taken from the arguments of a call. A ValueSource gives the attribute value
that is sent. Both have a text, which `explain()` shows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from msgspec import Struct, field
from msgspec.structs import replace

from hashrange.core.values import Value
from hashrange.schema.declare.attribute_value import plain
from hashrange.schema.declare.field_kind import Codec
from hashrange.schema.declare.key_codec import EMPTY_KEYS, KeyCodec, refuse_empty_key
from hashrange.schema.declare.key_format import ShardNumber
from hashrange.schema.declare.model import After, Model, loaded_keys, recovered_fields

Arguments = Mapping[str, Any]

EMPTY: frozenset[Any] = frozenset()


class ArgumentSource(Protocol):
    """The source of a Python value."""

    def get(self, arguments: Arguments) -> Any:
        """Return the value in a call; None when there is none."""
        ...

    @property
    def text(self) -> str:
        """How it is shown."""
        ...


class Argument(Struct, frozen=True):
    """An argument of the call."""

    name: str

    def get(self, arguments: Arguments) -> Any:
        """Return the argument."""
        return arguments.get(self.name)

    @property
    def text(self) -> str:
        """Its name."""
        return f"{{{self.name}}}"


class ArgumentField(Struct, frozen=True):
    """A field of an item that is passed in."""

    parameter: str
    name: str

    def get(self, arguments: Arguments) -> Any:
        """Return the field; None in a state that does not have it."""
        return getattr(arguments[self.parameter], self.name, None)

    @property
    def text(self) -> str:
        """The path to it."""
        return f"{{{self.parameter}.{self.name}}}"


class ArgumentElement(Struct, frozen=True):
    """One end of a range that is passed in."""

    parameter: str
    index: int

    def get(self, arguments: Arguments) -> Any:
        """Return the end."""
        return arguments[self.parameter][self.index]

    @property
    def text(self) -> str:
        """The path to it."""
        return f"{{{self.parameter}.{self.index}}}"


class ListElement(Struct, frozen=True):
    """One of the values of a list that is passed in."""

    parameter: str
    index: int

    def get(self, arguments: Arguments) -> Any:
        """Return the value."""
        return arguments[self.parameter][self.index]

    @property
    def text(self) -> str:
        """The name of the list."""
        return f"{{{self.parameter}}}"


class Constant(Struct, frozen=True):
    """A constant."""

    value: Any

    def get(self, _arguments: Arguments) -> Any:
        """Return it."""
        return self.value

    @property
    def text(self) -> str:
        """The value."""
        return str(self.value)


class WriteShard(Struct, frozen=True):
    """One shard of a field, in place of a value whose hash chooses it."""

    name: str
    number: int = 0

    def get(self, _arguments: Arguments) -> Any:
        """Return its number."""
        return ShardNumber(self.number)

    @property
    def text(self) -> str:
        """The name of the field."""
        return f"{{{self.name}}}"


class ValueSource(Protocol):
    """The source of an attribute value in a request."""

    def value(self, arguments: Arguments) -> Value | None:
        """Return the attribute value in a call; None when there is none."""
        ...

    @property
    def text(self) -> str:
        """How it is shown."""
        ...


def values_of(placeholders: Mapping[str, ValueSource], arguments: Arguments) -> dict[str, Value]:
    """Return the values of a call by placeholder."""
    found: dict[str, Value] = {}
    for name, value_source in placeholders.items():
        value = value_source.value(arguments)
        if value is not None:
            found[name] = value
    return found


class FieldValue(Struct, frozen=True):
    """A value encoded like a field; `up` rounds a time up to the precision that is stored."""

    source: ArgumentSource
    codec: Codec
    up: bool = False
    is_key: bool = False  # of an index, which cannot be empty

    def value(self, arguments: Arguments) -> Value | None:
        """Return the encoded value."""
        found = self.source.get(arguments)
        if found is None or found == EMPTY:  # DynamoDB has no empty sets
            return None
        encoded = self.codec.encode(self.codec.round_up(found) if self.up else found)
        if self.is_key and encoded in EMPTY_KEYS:
            raise refuse_empty_key(self.text)
        return encoded

    @property
    def text(self) -> str:
        """The source, or the constant in quotes."""
        return repr(self.source.text) if isinstance(self.source, Constant) else self.source.text


class FixedValue(Struct, frozen=True):
    """A constant attribute value."""

    constant: Value

    def value(self, _arguments: Arguments) -> Value | None:
        """Return it."""
        return self.constant

    @property
    def text(self) -> str:
        """The value in quotes."""
        return repr(plain(self.constant)).replace("\\U0010ffff", "~")


class KeyValue(Struct, frozen=True):
    """A key, or the start of one: the first `count` fields of a template, then fixed text."""

    key_codec: KeyCodec
    sources: Mapping[str, ArgumentSource]
    count: int
    tail: str

    def value(self, arguments: Arguments) -> Value | None:
        """Return the key's text; None when a field of it has no value."""

        def get(name: str) -> Any:
            return self.sources[name].get(arguments)

        if self.whole:
            return self.key_codec.make(get)
        text = self.key_codec.fill(get, self.count)
        return None if text is None else {"S": text + self.tail}

    def of_shard(self, number: int) -> KeyValue:
        """Return the key of one shard."""
        chosen = {
            name: WriteShard(name, number) if isinstance(found, WriteShard) else found
            for name, found in self.sources.items()
        }
        return replace(self, sources=chosen)

    @property
    def whole(self) -> bool:
        """Return whether this is the whole key."""
        return self.count == len(self.key_codec.steps) and self.tail == self.key_codec.tail

    @property
    def text(self) -> str:
        """The template with its sources."""
        if self.key_codec.alone is not None and self.whole:
            source = self.sources[self.key_codec.alone.name]
            return repr(source.text) if isinstance(source, Constant) else source.text
        shown = "".join(
            f"{step.literal}{_show(step.name, step.format.name, self.sources)}"
            for step in self.key_codec.steps[: self.count]
        )
        return repr(shown + self.tail.replace("\U0010ffff", "~"))


def _show(name: str, form: str, sources: Mapping[str, ArgumentSource]) -> str:
    text = sources[name].text
    return f"{text[:-1]}:{form}}}" if form and text.endswith("}") else text


class LoadedValue(Struct, frozen=True):
    """An attribute with the value that an item passed in was loaded with, else computed from its fields."""

    parameter: str
    attr: str
    otherwise: ValueSource
    name: str  # the field

    def value(self, arguments: Arguments) -> Value | None:
        """Return the loaded value, else the computed one."""
        found: Value | None = loaded_keys(arguments[self.parameter]).get(self.attr)
        return self.otherwise.value(arguments) if found is None else found

    def holds_if_absent(self, arguments: Arguments) -> bool:
        """Return whether an item without the attribute is read like the one passed in.

        That is so if the field has its default, or was read from a key, which is then tested too.
        """
        instance: Model = arguments[self.parameter]
        if self.name in recovered_fields(instance):
            return True
        if self.name in type(instance).model_fields and self.name not in instance.model_fields_set:
            return True  # a factory made the value
        default = default_in(instance, self.name)
        return default is not None and default == getattr(instance, self.name, None)

    @property
    def text(self) -> str:
        """The text of the computed value."""
        return self.otherwise.text


class KeyOfRecovered(Struct, frozen=True):
    """The key that a field of an item passed in was read from, where the field has no attribute of its own."""

    parameter: str
    name: str
    attr: str

    def applies(self, arguments: Arguments) -> bool:
        """Return whether the field was read from this key."""
        return recovered_fields(arguments[self.parameter]).get(self.name) == self.attr

    def value(self, arguments: Arguments) -> Value | None:
        """Return the key as it was loaded; None if the field was not read from it."""
        return loaded_keys(arguments[self.parameter]).get(self.attr) if self.applies(arguments) else None

    @property
    def text(self) -> str:
        """How it is shown."""
        return f"{{{self.parameter}: {self.attr} as read}}"


class StateKey(Struct, frozen=True):
    """The key by which one state of an item passed in is recognised: as it was loaded, else made of its fields."""

    parameter: str
    attr: str
    model: type[Model]
    rendered: KeyValue

    def value(self, arguments: Arguments) -> Value | None:
        """Return the key; None if the item is in another state."""
        instance: Model = arguments[self.parameter]
        if not isinstance(instance, self.model):
            return None
        return loaded_keys(instance).get(self.attr) or self.rendered.value(arguments)

    def holds_if_absent(self, arguments: Arguments) -> bool:
        """Return whether the state was recognised without its key."""
        instance: Model = arguments[self.parameter]
        loaded = loaded_keys(instance)
        return bool(loaded) and self.attr not in loaded and isinstance(instance, self.model)

    @property
    def text(self) -> str:
        """The text of the key that is made of the fields."""
        return self.rendered.text


class StateValue(Struct, frozen=True):
    """A value by which one state of an item passed in is recognised; None if the item is in another state."""

    parameter: str
    model: type[Model]
    marked: ValueSource

    def value(self, arguments: Arguments) -> Value | None:
        """Return the value, if the item is in this state."""
        return self.marked.value(arguments) if isinstance(arguments[self.parameter], self.model) else None

    @property
    def text(self) -> str:
        """The text of the value."""
        return self.marked.text


def default_in(instance: Model, name: str) -> Any:
    """Return the default of a field in an object: a constant, or a time after another field; None if it has none."""
    info = type(instance).__pydantic_fields__.get(name)
    if info is None or info.default_factory is not None or info.is_required():
        return None
    if not isinstance(info.default, After):
        return info.default
    other = getattr(instance, info.default.other, None)
    return None if other is None else info.default.since(other, name)


class Placeholders(Struct):
    """Collects the value sources of one request, and gives each a placeholder."""

    by_name: dict[str, ValueSource] = field(default_factory=dict)

    def add(self, value_source: ValueSource) -> str:
        """Return the placeholder of a value source; equal sources share one."""
        for name, known in self.by_name.items():
            if known == value_source:
                return name
        name = f":v{len(self.by_name)}"
        self.by_name[name] = value_source
        return name


NOW = "(now)"  # the argument that the session adds: its clock's time


class Now(Struct, frozen=True):
    """The session's time."""

    def get(self, arguments: Arguments) -> Any:
        """Return the time of the call."""
        return arguments[NOW]

    @property
    def text(self) -> str:
        """How it is shown."""
        return "{now}"


class OptionalArgument(Struct, frozen=True):
    """An argument that may be left out, and its replacement."""

    name: str
    otherwise: ArgumentSource | None

    def get(self, arguments: Arguments) -> Any:
        """Return the argument if it was given, else its replacement."""
        if self.name in arguments:
            return arguments[self.name]
        return None if self.otherwise is None else self.otherwise.get(arguments)

    @property
    def text(self) -> str:
        """Its name."""
        return f"{{{self.name}}}"


class Incremented(Struct, frozen=True):
    """A number plus one."""

    source: ArgumentSource

    def get(self, arguments: Arguments) -> Any:
        """Return the number plus one."""
        found = self.source.get(arguments)
        return None if found is None else found + 1

    @property
    def text(self) -> str:
        """The source plus one."""
        return f"{self.source.text} + 1"


class DefaultOf(Struct, frozen=True):
    """The default that a class declares for a field."""

    model: type[Model]
    name: str

    @property
    def is_there(self) -> bool:
        """Whether the field has a default that is not None and does not depend on other fields."""
        info = self.model.__pydantic_fields__[self.name]
        depends = self.name in self.model.__special__ or info.default_factory_takes_validated_data
        return not depends and not info.is_required() and (info.default_factory is not None or info.default is not None)

    @property
    def is_empty(self) -> bool:
        """Whether the default is 0 or has no members, as for an attribute that DynamoDB creates."""
        info = self.model.__pydantic_fields__[self.name]
        return info.default_factory in {list, set, frozenset} or (info.default_factory is None and not info.default)

    def get(self, _arguments: Arguments) -> Any:
        """Return the default; a factory is called."""
        return self.model.__pydantic_fields__[self.name].get_default(call_default_factory=True)

    @property
    def text(self) -> str:
        """How it is shown."""
        return f"{{default of {self.name}}}"


class DependentDefault(Struct, frozen=True):
    """The default of a field that follows from others: a time after one, or what a factory makes of them."""

    model: type[Model]
    name: str
    sources: Mapping[str, ArgumentSource]

    def get(self, arguments: Arguments) -> Any:
        """Return the default; None where a field that it needs has no value."""
        info = self.model.__pydantic_fields__[self.name]
        found = {name: source.get(arguments) for name, source in self.sources.items()}
        if isinstance(info.default, After):
            other = found[info.default.other]
            return None if other is None else info.default.since(other, self.name)
        return info.get_default(call_default_factory=True, validated_data=found)

    @property
    def text(self) -> str:
        """How it is shown."""
        return f"{{default of {self.name}}}"
