"""Renders and parses keys by their templates, with the codecs of the fields.

Rendering refuses what could not be parsed back: an empty field, a delimiter inside a field, a key that is too long.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import partial
from typing import Any

from msgspec import Struct

from hashrange.core.errors import ValueInvalid
from hashrange.core.keys import MAX_PARTITION_KEY_BYTES, MAX_SORT_KEY_BYTES
from hashrange.core.values import Item as Raw
from hashrange.core.values import Value, utf8_length
from hashrange.schema.declare import introspection
from hashrange.schema.declare.class_cache import cached_by_class
from hashrange.schema.declare.field_kind import KINDS, Codec
from hashrange.schema.declare.introspection import ModelClass, ModelField
from hashrange.schema.declare.key_format import PLAIN, KeyFormat, is_shortened
from hashrange.schema.declare.key_template import Template, TemplatePart
from hashrange.schema.declare.table import Table

Getter = Callable[[str], Any]

EMPTY_KEYS: tuple[Value, ...] = ({"S": ""}, {"B": ""})  # no keys; an empty `Commas` list is stored as the first


class Step(Struct, frozen=True):
    """One field of a template: the text before it, its codec and format, and the text that may not occur in it."""

    literal: str
    name: str
    field: ModelField
    format: KeyFormat
    delimiter: str
    take: Callable[[str], Any] | None

    @property
    def fixed_form(self) -> str | int | None:
        """The form of its texts, a format or a width, if no text is the start of another one; else None."""
        if self.format is PLAIN:
            return self.field.codec.width
        return self.format.name if self.format.ends_itself and not self.format.shards else None

    def bound(self, value: Any, *, up: bool) -> str:
        """Return the text of the nearest value that a key can have, as the bound of a range."""
        codec = self.field.codec
        if self.format.bound is not None:
            return self.format.bound(value, up)
        return self.format.write(codec.round_up(value) if up else value, codec, MAX_SORT_KEY_BYTES)


class KeyCodec(Struct, frozen=True):
    """Renders and parses one key attribute of one class."""

    attr: str
    template: Template
    alone: ModelField | None
    steps: tuple[Step, ...]
    tail: str
    longest: int

    def make(self, get: Getter) -> Value | None:
        """Return the key's value, or None when one of its fields has none."""
        if self.alone is not None:
            value = get(self.alone.name)
            return None if value is None else self._check(self.alone.codec.encode(value))
        text = self.fill(get, len(self.steps))
        return None if text is None else self._check({"S": text + self.tail})

    def fill(self, get: Getter, count: int) -> str | None:
        """Return the text of a key up to its first `count` fields, or None when one of them has no value."""
        text = ""
        for step in self.steps[:count]:
            value = get(step.name)
            if value is None:
                return None
            text += step.literal
            text += self.put(step, value, utf8_length(text))
        return text

    def put(self, step: Step, value: Any, taken: int) -> str:
        """Return the text of one field in the key; `taken` is the number of bytes before it."""
        text = step.format.write(value, step.field.codec, self.longest - taken - utf8_length(self.tail))
        if not text:
            raise ValueInvalid(f"{step.name} is empty, and part of the key {self.attr}")
        if step.delimiter and not step.format.ends_itself and step.delimiter in text:
            raise ValueInvalid(
                f"{step.name} {text!r} contains {step.delimiter!r}, which ends it in {self.template.text!r}"
            )
        return text

    def _check(self, value: Value) -> Value:
        text = value.get("S")
        if text is not None:
            if not text:
                raise ValueInvalid(f"{self.attr} is a key and cannot be empty")
            if len(text) > 256 and utf8_length(text) > self.longest:
                raise ValueInvalid(
                    f"the key {self.attr} takes {self.longest} bytes, not {utf8_length(text)}: "
                    f"shorten it, or declare {{{self.template.fields[-1]}:fit}}"
                )
        return value

    def parse(self, value: Value) -> dict[str, Any] | None:
        """Return the fields inside a key, decoded; None when it has another form."""
        if self.alone is not None:
            return {self.alone.name: self.alone.codec.decode(value)}
        text = value.get("S")
        if text is None:
            return None
        if len(self.steps) == 1:
            return self._parse_simple(text)
        if not self.steps:
            return {} if text == self.tail else None
        found = self.template.parse(text)
        if found is None:
            return None
        try:
            return {step.name: step.take(found[step.name]) for step in self.steps if step.take is not None}
        except ValueError:
            return None

    def parse_fitted(self, value: Value) -> dict[str, Any]:
        """Return the field that fits into a key, if the key has the whole value; nothing if it is shortened."""
        step = self.steps[-1] if self.steps else None
        found = self.template.parse(value.get("S", "")) if step is not None and step.format.name == "fit" else None
        if step is None or found is None or is_shortened(value["S"], self.longest):
            return {}
        take = _make_parser(step.field.codec, PLAIN)
        try:
            return {step.name: take(found[step.name])} if take is not None else {}
        except ValueError:
            return {}

    def _parse_simple(self, text: str) -> dict[str, Any] | None:
        """Parse a key with one field, which most have, without a regular expression."""
        step, tail = self.steps[0], self.tail
        start, end = len(step.literal), len(text) - len(tail)
        if end <= start or not text.startswith(step.literal) or not text.endswith(tail):
            return None
        try:
            return {step.name: step.take(text[start:end])} if step.take is not None else {}
        except ValueError:
            return None


def _make_parser(codec: Codec, form: KeyFormat) -> Callable[[str], Any] | None:
    """Return the function that parses a field's text, or raises ValueError; None if the format cannot be parsed."""
    if form is not PLAIN:
        return form.read
    if codec is KINDS[int].codec:
        return _parse_int
    return str if codec is KINDS[str].codec else partial(_parse_value, codec)


def _parse_int(text: str) -> int:
    """Return the integer that is written as this text; raise ValueError for another form of one."""
    value = int(text)
    if str(value) != text:
        raise ValueError(text)
    return value


def _parse_value(codec: Codec, text: str) -> Any:
    """Return the value of a text in a key; raise ValueError for a number or a time of another form."""
    if codec.tag != "N":
        value = codec.decode({"S": text})
    else:
        try:
            value = codec.decode({"N": text.lstrip("0") or "0"})
        except ArithmeticError:
            raise ValueError(text) from None
    if codec.step is not None and not isinstance(value, datetime):
        raise ValueError(text)
    if codec.step is None and codec.width not in {None, len(text)}:  # a date, a UUID: other texts are no such keys
        raise ValueError(text)
    return value


def make_key_codec(attr: str, template: Template, fields: Mapping[str, ModelField], table: Table) -> KeyCodec:
    """Return the codec of a key attribute of a table."""
    parts = template.parts
    steps = tuple(_make_step(part, parts[at + 1], fields) for at, part in enumerate(parts) if part.field)
    sorts = {name for path in table.paths for name in path.sort}
    return KeyCodec(
        attr=attr,
        template=template,
        alone=fields[template.alone] if template.alone else None,
        steps=steps,
        tail=parts[-1].literal,
        longest=MAX_SORT_KEY_BYTES if attr in sorts else MAX_PARTITION_KEY_BYTES,
    )


def _make_step(part: TemplatePart, following: TemplatePart, fields: Mapping[str, ModelField]) -> Step:
    field = fields[part.field]
    return Step(
        literal=part.literal,
        name=part.field,
        field=field,
        format=part.format,
        delimiter=following.literal,
        take=_make_parser(field.codec, part.format),
    )


@cached_by_class
def key_codecs(cls: ModelClass) -> dict[str, KeyCodec]:
    """Return the codec of each key attribute that items of a class may have."""
    table, fields = introspection.table_of(cls), introspection.all_fields(cls)
    return {attr: make_key_codec(attr, template, fields, table) for attr, template in introspection.keys(cls).items()}


def key_of(cls: ModelClass, values: dict[str, Any]) -> Raw:
    """Return the primary key of an item of this class."""
    found: Raw = {}
    for attr in introspection.table_of(cls).keys:
        value = key_codecs(cls)[attr].make(values.get)
        if value is not None:
            found[attr] = value
    return found


def refuse_empty_key(name: str) -> ValueInvalid:
    """Return the error for an empty value that is a key of an index."""
    instead = "give a value, or None if it is declared with | None"
    return ValueInvalid(f"{name} is a key of an index and cannot be empty: {instead}")
