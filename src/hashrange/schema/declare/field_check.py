"""Checks the fields of items and views when they are declared: attribute names, allowed values, defaults, markers."""

from __future__ import annotations

from typing import Any

from pydantic.fields import FieldInfo

from hashrange.core.errors import DeclarationError
from hashrange.schema.declare import hint as hints
from hashrange.schema.declare import introspection
from hashrange.schema.declare.class_cache import cached_by_class
from hashrange.schema.declare.introspection import Kind
from hashrange.schema.declare.marker import Counted
from hashrange.schema.declare.shape import After, Initial, Item, Shape, View


def check_fields(item: type[Item]) -> None:
    """Refuse an item, with its variants and states, whose fields cannot be stored and read back as declared."""
    _check_one_table(item)
    _check_one_version(item)
    for kind in introspection.item_and_states(item):
        _check_stored_once(kind)
        _check_touched(kind)
        for name, info in kind.__pydantic_fields__.items():
            _check_alias(kind, name, info)
        for name, attribute in introspection.attributes(kind).items():
            _check_values(kind, name, hints.literals(attribute.hint))
            _check_mixed(kind, name, attribute.hint)
            if attribute.key_only:
                _check_readable(kind, name)
        for name, default in kind.__special__.items():
            if isinstance(default, After):
                _check_after(kind, name, default)
            else:
                _check_initial(kind, name, default)


def _check_one_table(item: type[Item]) -> None:
    """Refuse a second table: views and variants are stored in the table of their item."""
    for kind in introspection.with_variants(item):
        own = kind.__own_table__
        if own is not None and (
            not issubclass(kind, Item) or own is not introspection.table_of(introspection.root(kind))
        ):
            raise DeclarationError(
                "HR151",
                kind.__name__,
                f"is put into {own.name}, and lives where its item does",
                "leave table= out, or derive from Item itself",
            )


@cached_by_class
def check_view(view: Kind) -> None:
    """Refuse a view with a field that its item lacks or stores in another way."""
    if not issubclass(view, View):
        return
    fields = introspection.all_attributes(view)
    for name, attribute in introspection.attributes(view).items():
        if name not in fields:
            item = introspection.item_of(view).__name__
            raise DeclarationError(
                "HR116",
                f"{view.__name__}.{name}",
                f"is no field of {item}, of which this is a view",
                f"its fields are {', '.join(sorted(fields))}",
            )
        if attribute.stored != fields[name].stored or attribute.codec.tag != fields[name].codec.tag:
            introspection.check_same(view, fields[name], attribute)


def _check_stored_once(kind: Kind) -> None:
    """Refuse two fields, or a field and a key template, that share an attribute."""
    owners: dict[str, str] = {}
    for name, attribute in introspection.attributes(kind).items():
        template = introspection.keys(kind).get(attribute.stored)
        other = owners.setdefault(attribute.stored, name)
        clash = f"the key {template.text!r}" if template is not None and template.alone != name else other
        if not attribute.key_only and clash != name:
            raise DeclarationError(
                "HR119",
                f"{kind.__name__}.{name}",
                f"is stored as {attribute.stored}, and so is {clash}",
                "rename one, or store it elsewhere: Annotated[..., Stored('another')]",
            )


def _check_alias(kind: Kind, name: str, info: FieldInfo) -> None:
    if info.alias is not None or info.validation_alias is not None:
        raise DeclarationError(
            "HR118",
            f"{kind.__name__}.{name}",
            "has an alias, which would rename its parameter too",
            f"write Annotated[..., Stored({info.alias or name!r})], or naming= on the table",
        )


def _check_values(kind: Kind, name: str, mine: tuple[Any, ...]) -> None:
    """Refuse a value of a variant, or a default, that a Literal of the item or a view does not allow."""
    if not mine:
        return
    info = kind.__pydantic_fields__[name]
    given = [*mine, *([] if info.default is None or info.is_required() else [info.default])]
    for base in kind.__mro__:
        above = base.__pydantic_fields__.get(name) if issubclass(base, Shape) else None
        allowed = hints.literals(hints.without_none(above.annotation)) if above is not None else ()
        odd = [value for value in given if allowed and value not in allowed]
        if odd:
            raise DeclarationError(
                "HR117",
                f"{kind.__name__}.{name}",
                f"may be {odd[0]!r}, which {base.__name__} does not allow",
                f"use one of {', '.join(map(repr, allowed))}",
            )


def _check_mixed(kind: Kind, name: str, hint: Any) -> None:
    """Refuse a field that holds a shape among other types."""
    states = [member for member in hints.members(hint) if introspection.is_shape(member)]
    if states:
        raise DeclarationError(
            "HR128",
            f"{kind.__name__}.{name}",
            f"holds {states[0].__name__} among other things, and a lifecycle is always in one of its states",
            "give a union of views only, with a state for the beginning: = initially(...)",
        )


def _check_initial(kind: Kind, name: str, default: Initial) -> None:
    states = introspection.lifecycles(kind).get(name, [])
    lacking = [n for n, info in default.kind.model_fields.items() if info.is_required() and n not in kind.model_fields]
    if default.kind not in states or lacking:
        why = f"needs {lacking[0]}, which a new {kind.__name__} lacks" if lacking else "is none of its states"
        raise DeclarationError(
            "HR129",
            f"{kind.__name__}.{name}",
            f"starts as {default.kind.__name__}, which {why}",
            "start in a state that needs nothing but the item's own fields",
        )


def _check_readable(kind: Kind, name: str) -> None:
    """Refuse a field that is stored in no key, or that is required and stored in a key which items may lack."""
    fields = introspection.all_attributes(kind)
    holding = [template for template in introspection.keys(kind).values() if name in template.recoverable]
    optional = {other for other, attribute in fields.items() if attribute.optional}
    if not fields[name].optional:
        holding = [template for template in holding if optional.isdisjoint(template.fields)]
    if not holding:
        raise DeclarationError(
            "HR125",
            f"{kind.__name__}.{name}",
            "is a Key, and no key that every item has can be read back into it",
            f"put {{{name}}} into a template without a format or an optional field, or store it: leave Key[...] out",
        )


def _check_one_version(item: type[Item]) -> None:
    counted = [name for name, attribute in introspection.all_attributes(item).items() if attribute.marker(Counted)]
    if len(counted) > 1:
        raise DeclarationError(
            "HR145", f"{item.__name__}.{counted[1]}", f"is a Version, and so is {counted[0]}", "keep one of them"
        )


def _check_touched(kind: Kind) -> None:
    for attribute in introspection.touched_attributes(kind):
        if attribute.codec.step is None:
            raise DeclarationError(
                "HR146",
                f"{kind.__name__}.{attribute.name}",
                "is Touched and no time",
                "declare it as Touched[datetime], or Touched[Millis]",
            )


def _check_after(kind: Kind, name: str, default: After) -> None:
    if default.other not in kind.model_fields:
        raise DeclarationError(
            "HR139",
            f"{kind.__name__}.{name}",
            f"is after {default.other!r}, which is no field",
            f"name a field of this class: {', '.join(kind.__times__)}",
        )
    for time in (name, default.other):
        if time not in kind.__times__:
            raise DeclarationError(
                "HR147",
                f"{kind.__name__}.{name}",
                f"is a while after {default.other}, and {time} is no time",
                f"declare {time} as a datetime, Millis, Seconds or Ttl",
            )
