"""Checks the fields of items and views when they are declared: attribute names, allowed values, defaults, markers."""

from __future__ import annotations

from typing import Any

from pydantic.fields import FieldInfo

from hashrange.core.errors import DeclarationError
from hashrange.schema.declare import hint as hints
from hashrange.schema.declare import introspection
from hashrange.schema.declare.class_cache import cached_by_class
from hashrange.schema.declare.introspection import ModelClass
from hashrange.schema.declare.marker import Counted
from hashrange.schema.declare.marker_place import markers_inside, name_of
from hashrange.schema.declare.model import After, Initial, Item, Model, View


def check_fields(item: type[Item]) -> None:
    """Refuse an item, with its variants and states, whose fields cannot be stored and read back as declared."""
    _check_one_table(item)
    _check_one_version(item)
    for model in introspection.item_and_states(item):
        _check_stored_once(model)
        _check_initial_variant(model)
        _check_touched(model)
        for name, info in model.__pydantic_fields__.items():
            _check_alias(model, name, info)
            _check_markers_inside(model, name, info)
        for name, field in introspection.stored_fields(model).items():
            _check_values(model, name, hints.literals(field.hint))
            _check_mixed(model, name, field.hint)
            if field.key_only:
                _check_readable(model, name)
        for name, default in model.__special__.items():
            if isinstance(default, After):
                _check_after(model, name, default)
            else:
                _check_initial(model, name, default)


def _check_one_table(item: type[Item]) -> None:
    """Refuse a second table: views and variants are stored in the table of their item."""
    for model in introspection.with_variants(item):
        own = model.__own_table__
        if own is not None and (
            not issubclass(model, Item) or own is not introspection.table_of(introspection.root(model))
        ):
            raise DeclarationError(
                "HR151",
                model.__name__,
                f"has the table {own.name}, but is stored in the table of its item",
                "leave table= out, or derive from Item itself",
            )


@cached_by_class
def check_view(view: ModelClass) -> None:
    """Refuse a view with a field that its item lacks or stores in another way."""
    if not issubclass(view, View):
        return
    fields = introspection.all_fields(view)
    for name, info in view.__pydantic_fields__.items():
        _check_markers_inside(view, name, info)
    for name, field in introspection.stored_fields(view).items():
        if name not in fields:
            item = introspection.item_of(view).__name__
            raise DeclarationError(
                "HR116",
                f"{view.__name__}.{name}",
                f"is not a field of {item}, of which this is a view",
                f"its fields are {', '.join(sorted(fields))}",
            )
        if field.stored != fields[name].stored or field.codec.tag != fields[name].codec.tag:
            introspection.check_same(view, fields[name], field)


def _check_stored_once(model: ModelClass) -> None:
    """Refuse two fields, or a field and a key template, that share an attribute."""
    owners: dict[str, str] = {}
    for name, field in introspection.stored_fields(model).items():
        template = introspection.keys(model).get(field.stored)
        other = owners.setdefault(field.stored, name)
        clash = f"the key {template.text!r}" if template is not None and template.alone != name else other
        if not field.key_only and clash != name:
            raise DeclarationError(
                "HR119",
                f"{model.__name__}.{name}",
                f"is stored as {field.stored}, and so is {clash}",
                "rename one, or store it elsewhere: Annotated[..., Stored('another')]",
            )


def _check_alias(model: ModelClass, name: str, info: FieldInfo) -> None:
    if info.alias is not None or info.validation_alias is not None:
        raise DeclarationError(
            "HR118",
            f"{model.__name__}.{name}",
            "has an alias, which would rename its parameter too",
            f"write Annotated[..., Stored({info.alias or name!r})], or naming= on the table",
        )


def _check_markers_inside(model: ModelClass, name: str, info: FieldInfo) -> None:
    """Refuse a marker inside the value of a field, where nothing would read it: a Secret would not be encrypted."""
    found = next(markers_inside(info.annotation), None)
    if found is not None:
        where, marker = found
        raise DeclarationError(
            "HR167",
            f"{model.__name__}.{name}",
            f"has the marker {name_of(marker)} {where}, where it has no effect",
            "give the marker to a field of its own, or leave it out",
        )


def _check_values(model: ModelClass, name: str, own_values: tuple[Any, ...]) -> None:
    """Refuse a value of a variant, or a default, that a Literal of the item or a view does not allow."""
    if not own_values:
        return
    info = model.__pydantic_fields__[name]
    given = [*own_values, *([] if info.default is None or info.is_required() else [info.default])]
    for base in model.__mro__:
        inherited = base.__pydantic_fields__.get(name) if issubclass(base, Model) else None
        allowed = hints.literals(hints.without_none(inherited.annotation)) if inherited is not None else ()
        not_allowed = [value for value in given if allowed and value not in allowed]
        if not_allowed:
            raise DeclarationError(
                "HR117",
                f"{model.__name__}.{name}",
                f"may be {not_allowed[0]!r}, which {base.__name__} does not allow",
                f"use one of {', '.join(map(repr, allowed))}",
            )


def _check_mixed(model: ModelClass, name: str, hint: Any) -> None:
    """Refuse a field that holds a model among other types."""
    states = [member for member in hints.members(hint) if introspection.is_model(member)]
    if states:
        raise DeclarationError(
            "HR128",
            f"{model.__name__}.{name}",
            f"holds {states[0].__name__} among other things, and a lifecycle is always in one of its states",
            "give a union of views only, with a state for the beginning: = initially(...)",
        )


def _check_initial(model: ModelClass, name: str, default: Initial) -> None:
    states = introspection.lifecycles(model).get(name, [])
    lacking = [
        n for n, info in default.state.model_fields.items() if info.is_required() and n not in model.model_fields
    ]
    if default.state not in states or lacking:
        why = f"needs {lacking[0]}, which a new {model.__name__} lacks" if lacking else "is none of its states"
        raise DeclarationError(
            "HR129",
            f"{model.__name__}.{name}",
            f"starts as {default.state.__name__}, which {why}",
            "start in a state that needs nothing but the item's own fields",
        )


def _check_initial_variant(model: ModelClass) -> None:
    """Refuse `initial=` on a class that is not a variant of an item: nothing is created in it."""
    is_variant = issubclass(model, Item) and (introspection.fixed_values(model) or introspection.variant_keys(model))
    if model.__initial__ and (model is introspection.root(model) or not is_variant):
        raise DeclarationError(
            "HR161",
            model.__name__,
            "is initial, but is not a variant that a fixed value or a key identifies",
            "give it to such a variant; a lifecycle in an index key starts with = initially(...)",
        )


def _check_readable(model: ModelClass, name: str) -> None:
    """Refuse a field that is stored in no key, or only in keys which an item may lack because of another field."""
    holding = [template for template in introspection.keys(model).values() if name in template.recoverable]
    found = {**introspection.stored_fields(introspection.item_of(model)), **introspection.stored_fields(model)}
    certain = {name, *(other for other, field in found.items() if not field.optional)}
    if not any(certain.issuperset(template.fields) for template in holding):
        raise DeclarationError(
            "HR125",
            f"{model.__name__}.{name}",
            "is a Key, and no key that every item has can be read back into it",
            f"put {{{name}}} into a template without a format or an optional field, or store it: leave Key[...] out",
        )


def _check_one_version(item: type[Item]) -> None:
    counted = [name for name, field in introspection.all_fields(item).items() if field.marker(Counted)]
    if len(counted) > 1:
        raise DeclarationError(
            "HR145", f"{item.__name__}.{counted[1]}", f"is a Version, and so is {counted[0]}", "keep one of them"
        )


def _check_touched(model: ModelClass) -> None:
    for field in introspection.touched_fields(model):
        if field.codec.step is None:
            raise DeclarationError(
                "HR146",
                f"{model.__name__}.{field.name}",
                "is Touched but not a time",
                "declare it as Touched[datetime], or Touched[Millis]",
            )


def _check_after(model: ModelClass, name: str, default: After) -> None:
    if default.other not in model.model_fields:
        raise DeclarationError(
            "HR139",
            f"{model.__name__}.{name}",
            f"is after {default.other!r}, which is not a field",
            f"name a field of this class: {', '.join(model.__times__)}",
        )
    for time in (name, default.other):
        if time not in model.__times__:
            raise DeclarationError(
                "HR147",
                f"{model.__name__}.{name}",
                f"is a time after {default.other}, and {time} is not a time",
                f"declare {time} as a datetime, Millis, Seconds or Ttl",
            )
