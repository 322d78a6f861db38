"""Step 2 of the write compiler: every index key whose template mentions a changed field is written in the same request.

A key is computed from the delta, and from values of the item passed in. Those are pinned: the write happens only if
they are still stored. A pattern whose keys cannot be computed is refused, so that no index key goes stale.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

from hashrange.core.errors import DeclarationError
from hashrange.schema.declare import introspection
from hashrange.schema.declare.introspection import ModelClass
from hashrange.schema.declare.key_codec import KeyCodec, key_codecs
from hashrange.schema.declare.key_template import Template
from hashrange.schema.declare.marker import Counted
from hashrange.schema.declare.model import After
from hashrange.schema.pattern.value_source import (
    ArgumentField,
    ArgumentSource,
    FieldValue,
    KeyOfRecovered,
    KeyValue,
    LoadedValue,
    OptionalArgument,
    ValueSource,
)
from hashrange.schema.write.delta import Delta, FieldChange
from hashrange.schema.write.write_intent import WriteIntent
from hashrange.schema.write.write_plan import AttributeChange


class Pin(Struct, frozen=True):
    """An attribute that must still have the value from which a key is computed."""

    stored: str
    value_source: ValueSource
    unless: str = ""  # the argument that replaces the value
    depends: frozenset[str] = frozenset()  # the key is written only if one of these arguments is given; always if none


class IndexKey(Struct, frozen=True):
    """One index key that a write changes."""

    attr: str
    change: AttributeChange | None = None  # its new value; None for a plain field, which the delta has, or a removal
    removed: bool = False
    pins: tuple[Pin, ...] = ()
    made: tuple[
        AttributeChange, ...
    ] = ()  # fields to store with it, because a factory may make another value next time


def compute_keys(intent: WriteIntent, delta: Delta) -> tuple[IndexKey, ...]:
    """Return every index key that a write changes, or refuse the pattern."""
    names, left = introspection.names_by_attribute(intent.target), intent.left_models()
    found: list[IndexKey] = []
    for attr in sorted(intent.table.key_names - set(intent.table.keys)):
        template = introspection.fillable_template(attr, intent.target)
        if not _is_changed(intent, delta, left, attr, template):
            continue
        if attr in names:
            found.append(IndexKey(attr, pins=tuple(_pin_plain_key(intent, delta, attr, names[attr]))))
        elif template is None:
            found.append(IndexKey(attr, removed=True))
        else:
            always = _is_entered(intent, left, attr, template)
            found.append(_compute_key(intent, delta, attr, template, always=always))
    return tuple(found)


def _is_changed(
    intent: WriteIntent, delta: Delta, left: list[ModelClass], attr: str, template: Template | None
) -> bool:
    """Return whether a key may change: the write enters or leaves its index, or changes one of its fields."""
    if template is None:
        return any(introspection.fillable_template(attr, model) for model in left)
    if intent.verb == "Upsert" or not delta.fields.keys().isdisjoint(template.fields):
        return True
    return _is_entered(intent, left, attr, template)


def _is_entered(intent: WriteIntent, left: list[ModelClass], attr: str, template: Template) -> bool:
    """Return whether a state that is left has another key, even if none of the key's fields changes."""
    if any(introspection.fillable_template(attr, model) != template for model in left):
        return True
    fixed = introspection.fixed_values(intent.target)
    before = [introspection.fixed_values(model) for model in left]
    return any(held.get(name) != fixed.get(name) for held in before for name in template.fields)


def _pin_plain_key(intent: WriteIntent, delta: Delta, attr: str, name: str) -> Iterator[Pin]:
    """Yield the pin of a parameter that is an index key itself: the caller must have read its current value."""
    held = intent.held(name)
    if held is not None and name in intent.sets:
        loaded = LoadedValue(held.parameter, attr, FieldValue(held, intent.fields[name].codec), name)
        yield Pin(attr, loaded, depends=_optional_parameters([delta.fields[name]]))


def _compute_key(intent: WriteIntent, delta: Delta, attr: str, template: Template, *, always: bool) -> IndexKey:
    is_whole = always or len(template.fields) > 1  # a call that leaves out a field writes the key all the same
    sources = {name: _source_of(intent, delta, attr, template, name, is_whole=is_whole) for name in template.fields}
    changed = [delta.fields[name] for name in template.fields if name in delta.fields]
    depends = frozenset[str]() if always else _optional_parameters(changed)
    key_codec = key_codecs(intent.target)[attr]
    value_source = KeyValue(key_codec, sources, len(key_codec.steps), key_codec.tail)
    return IndexKey(
        attr=attr,
        change=AttributeChange(stored=attr, action="SET", value_source=value_source, depends=depends),
        pins=tuple(_pin_sources(intent, key_codec, sources, depends)),
        made=tuple(_store_made_values(intent, sources, depends)),
    )


def _store_made_values(
    intent: WriteIntent, sources: dict[str, ArgumentSource], depends: frozenset[str]
) -> Iterator[AttributeChange]:
    """Yield the fields of a key whose value in the item passed in may come from a factory, or follow another field."""
    for name, source in sources.items():
        held = source.otherwise if isinstance(source, OptionalArgument) else source
        field = intent.fields[name]
        infos = [info for model in intent.start_models if (info := model.__pydantic_fields__.get(name)) is not None]
        is_made = any(info.default_factory is not None or isinstance(info.default, After) for info in infos)
        if is_made and isinstance(held, ArgumentField) and not field.key_only:
            value = FieldValue(source, field.codec)
            yield AttributeChange(stored=field.stored, action="SET", value_source=value, depends=depends)


def _optional_parameters(changed: list[FieldChange]) -> frozenset[str]:
    """Return the parameters without which a key does not change; none if it always changes."""
    if not all(change.optional for change in changed):
        return frozenset()
    return frozenset(change.parameter for change in changed)


def _source_of(
    intent: WriteIntent, delta: Delta, attr: str, template: Template, name: str, *, is_whole: bool
) -> ArgumentSource:
    """Return the source of a field in a new key, or refuse a key that cannot be computed."""
    change = delta.fields.get(name)
    if change is not None and not change.is_known:
        model = introspection.item_of(intent.target).__name__
        is_version = intent.fields[name].marker(Counted) is not None
        raise DeclarationError(
            "HR246",
            intent.label,
            f"{attr}={template.text!r} is made of {name}, whose new value only the database will know",
            f"take the {model} itself, whose version is known" if is_version else f"set {name} to a value instead",
        )
    source = delta.new_value(intent, name)
    is_half_known = isinstance(source, OptionalArgument) and source.otherwise is None
    if source is None or (is_half_known and is_whole):
        raise DeclarationError(
            "HR242",
            intent.label,
            f"{attr}={template.text!r} would go stale, because {name} is not known here",
            f"take {name} as a parameter, or take the item itself",
        )
    return source


def _pin_sources(
    intent: WriteIntent, key_codec: KeyCodec, sources: dict[str, ArgumentSource], depends: frozenset[str]
) -> Iterator[Pin]:
    """Yield the pins of fields that a key takes from the item passed in."""
    for name, source in sources.items():
        held = source.otherwise if isinstance(source, OptionalArgument) else source
        field = intent.fields[name]
        if not isinstance(held, ArgumentField) or name in intent.identifying:
            continue
        stored, loaded = field.stored, FieldValue(held, field.codec)
        pinned = LoadedValue(held.parameter, stored, loaded, name)
        if field.key_only:  # it is stored in keys alone
            holder = _find_holder(intent, key_codec, name)
            stored, pinned = holder.attr, _old_key(held.parameter, holder)
        if not isinstance(source, OptionalArgument):
            yield Pin(stored, pinned, depends=depends)
        elif depends != {name}:  # else the key is written only where the argument is given
            yield Pin(stored, pinned, unless=name, depends=depends - {name})


def _find_holder(intent: WriteIntent, key_codec: KeyCodec, name: str) -> KeyCodec:
    """Return a key that every item passed in has with a field that is stored in keys alone; else the one given."""
    first, *others = intent.start_models
    fields = introspection.stored_fields(introspection.item_of(first))
    certain = {name, *(other for other, field in fields.items() if not field.optional)}
    holders = [
        codec
        for codec in key_codecs(first).values()
        if name in codec.template.recoverable
        and certain.issuperset(codec.template.fields)
        and all(key_codecs(model).get(codec.attr) == codec for model in others)
    ]
    return key_codec if key_codec in holders or not holders else holders[0]


def _old_key(parameter: str, key_codec: KeyCodec) -> LoadedValue:
    """Return the key that the item passed in has."""
    fields: dict[str, ArgumentSource] = {name: ArgumentField(parameter, name) for name in key_codec.template.fields}
    rendered = KeyValue(key_codec, fields, len(key_codec.steps), key_codec.tail)
    return LoadedValue(parameter, key_codec.attr, rendered, "")


# ── fields that were stored in a key alone ───────────────────────────────────────────────────────────────────────────
def keys_with_field(intent: WriteIntent, parameter: str, name: str) -> list[KeyOfRecovered]:
    """Return the index keys from which a field of an item passed in may have been read."""
    field = intent.fields.get(name)
    if field is None or field.key_only or name in intent.identifying:
        return []
    attrs = [
        attr
        for model in intent.signature.parameters[parameter].models
        for variant in introspection.with_variants(model)
        for attr, template in introspection.keys(variant).items()
        if attr not in intent.table.keys and name in template.recoverable and not template.alone
    ]
    return [KeyOfRecovered(parameter, name, attr) for attr in dict.fromkeys(attrs)]


def store_recovered(intent: WriteIntent, delta: Delta, keys: Iterable[IndexKey]) -> Iterator[AttributeChange]:
    """Yield the fields that the item passed in had in a key alone, which the write changes or removes."""
    if intent.subject is None:
        return
    names = {name for model in intent.start_models for name in introspection.stored_fields(model)}
    for name in sorted(names - delta.fields.keys()):
        for found in keys_with_field(intent, intent.subject, name):
            key = next((key for key in keys if key.attr == found.attr), None)
            if key is not None:
                yield AttributeChange(
                    stored=intent.fields[name].stored,
                    action="SET",
                    value_source=FieldValue(ArgumentField(intent.subject, name), intent.fields[name].codec),
                    depends=key.change.depends if key.change is not None else frozenset(),
                    recovered=found,
                )
