"""Facts about the classes of a schema: attributes, lifecycles, variants, key templates.

They are computed when first needed and cached until the next class is declared.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar, cast

from msgspec import Struct
from msgspec.structs import replace
from pydantic.fields import FieldInfo

from hashrange.core.errors import DeclarationError
from hashrange.schema.declare import hint as hints
from hashrange.schema.declare.class_cache import cached_by_class
from hashrange.schema.declare.codec import make_codec
from hashrange.schema.declare.field_constraint import constraints_in
from hashrange.schema.declare.field_kind import Codec
from hashrange.schema.declare.key_format import find_format, list_formats
from hashrange.schema.declare.key_template import Template, read_template
from hashrange.schema.declare.marker import Counted, Encrypted, Epoch, KeyOnly, Marker, Stored, Touch
from hashrange.schema.declare.model import Item, Model, View
from hashrange.schema.declare.table import Table

M = TypeVar("M", bound=Marker)
ModelClass = type[Model]

NOTHING: Any = object()


class ModelField(Struct, frozen=True):
    """One field of a class, as it is stored."""

    name: str
    stored: str
    hint: Any
    markers: tuple[Marker, ...]
    codec: Codec
    fixed: Any = NOTHING  # the only value that the class allows; None if the attribute is always absent
    optional: bool = False
    required: bool = True
    key_only: bool = False  # it is stored inside keys only
    sealed: bool = False  # it is stored encrypted

    def marker(self, model: type[M]) -> M | None:
        """Return its marker of a kind."""
        return hints.find(self.markers, model) if self.markers else None

    @property
    def is_fixed(self) -> bool:
        """Whether the class allows one value only, and not just its absence."""
        return self.fixed is not NOTHING and self.fixed is not None


def is_model(model: Any) -> bool:
    """Return whether something is an item class or a view class."""
    return isinstance(model, type) and issubclass(model, Model)


@cached_by_class
def item_of(cls: ModelClass) -> type[Item]:
    """Return the item that a model belongs to: itself, or the one that its View names."""
    if issubclass(cls, Item):
        return cls
    if cls.__viewed_item__ is not None:
        return cls.__viewed_item__
    for base in cls.__mro__:
        generic = getattr(base, "__pydantic_generic_metadata__", {})
        if generic.get("origin") is View:
            argument = generic["args"][0]
            found = _find_item(argument, cls) if not isinstance(argument, type) else argument
            if found is not None and issubclass(found, Item):
                return found
    raise DeclarationError(
        "HR112",
        cls.__name__,
        "does not say of which item it is a view",
        'write View[TheItem], or View["TheItem"] for an Item of the same module that is declared below',
    )


def _find_item(argument: Any, cls: ModelClass) -> type[Item] | None:
    """Find the item that a view names in quotes: in the same module and the nearest scope, the last of that name."""
    name = argument if isinstance(argument, str) else getattr(argument, "__forward_arg__", "")
    items = {item.__qualname__: item for item in subclasses_of(Item) if item.__module__ == cls.__module__}
    scope = cls.__qualname__
    while scope:
        scope = scope.rpartition(".")[0]
        found = items.get(f"{scope}.{name}" if scope else name)
        if found is not None:
            return cast("type[Item]", found)
    return None


def pin_item(cls: ModelClass) -> None:
    """Keep the item that a view names, also when another item of that name is declared later."""
    root(cls).__viewed_item__ = item_of(cls)


def items_of(table: Table) -> list[type[Item]]:
    """Return the item classes of a table."""
    return table.items


def subclasses_of(cls: ModelClass) -> Iterator[ModelClass]:
    """Yield the subclasses of a class, recursively, in the order of declaration."""
    for child in cls.__subclasses__():
        yield child
        yield from subclasses_of(child)


@cached_by_class
def with_variants(cls: ModelClass) -> list[ModelClass]:
    """Return a class and its variants, most specific last."""
    return [cls, *subclasses_of(cls)]


@cached_by_class
def root(cls: ModelClass) -> ModelClass:
    """Return the base of a class and its variants: the class directly below Item or View[...]."""
    line = [base for base in cls.__mro__ if is_model(base) and base not in {Item, View, Model}]
    return [base for base in line if not getattr(base, "__pydantic_generic_metadata__", {}).get("origin")][-1]


@cached_by_class
def table_of(cls: ModelClass) -> Table:
    """Return the table that a model is stored in."""
    table = item_of(cls).__own_table__
    if table is None:
        name = item_of(cls).__name__
        raise DeclarationError("HR113", name, "has no table", f"write class {name}(Item, table=...)")
    return table


@cached_by_class
def pydantic_fields(cls: ModelClass) -> dict[str, FieldInfo]:
    """Return pydantic's fields of a class, with forward references resolved."""
    if not cls.__pydantic_fields_complete__:
        cls.model_rebuild(raise_errors=False)
    return cls.__pydantic_fields__


@cached_by_class
def lifecycles(cls: ModelClass) -> dict[str, list[ModelClass]]:
    """Return the states of each lifecycle by field: a field whose type is a union of views of this item."""
    found = {name: _states_in(info.annotation) for name, info in pydantic_fields(cls).items()}
    states = {name: models for name, models in found.items() if models}
    for name, models in states.items():
        for model in models:
            if root(item_of(model)) is not root(item_of(cls)):
                raise DeclarationError(
                    "HR114",
                    f"{cls.__name__}.{name}",
                    f"holds {model.__name__}, a view of {item_of(model).__name__}",
                    f"a lifecycle is made of views of its own item: View[{cls.__name__}]",
                )
    return states


def _states_in(hint: Any) -> list[ModelClass]:
    """Return the members of a union of views; none for any other type."""
    if isinstance(hint, type) and not issubclass(hint, View):
        return []
    models = hints.members(hint)
    return models if all(isinstance(model, type) and issubclass(model, View) for model in models) else []


@cached_by_class
def stored_fields(cls: ModelClass) -> dict[str, ModelField]:
    """Return the stored fields of one class by name, without those of its lifecycles."""
    states, line = lifecycles(cls), [cast("ModelClass", base) for base in cls.__mro__[1:] if is_model(base)]
    return {
        name: _inherited(cls, name, info, line) or _make_field(cls, name, info)
        for name, info in pydantic_fields(cls).items()
        if name not in states
    }


def _inherited(cls: ModelClass, name: str, info: FieldInfo, line: list[ModelClass]) -> ModelField | None:
    """Return the attribute of the base class, if this class does not change it."""
    for above in line:
        held = above.__pydantic_fields__.get(name)
        if held is not None:
            same = held.annotation is info.annotation and table_of(above) is table_of(cls)
            same = same and held.is_required() == info.is_required() and held.metadata == info.metadata
            return stored_fields(above).get(name) if same else None
    return None


def _apply_table_rules(table: Table, markers: tuple[Marker, ...]) -> tuple[Marker, ...]:
    """Return the markers of a field, the TTL with the rule of its table."""
    if table.former_ttl is None:
        return markers
    return tuple(
        replace(marker, was_millis=True) if isinstance(marker, Epoch) and marker.ttl else marker for marker in markers
    )


def _make_field(cls: ModelClass, name: str, info: FieldInfo) -> ModelField:
    hint = info.annotation
    markers = (*(marker for marker in info.metadata if isinstance(marker, Marker)), *hints.markers_of(hint))
    renamed = hints.find(markers, Stored)
    values = hints.literals(hint)
    models, bare = hints.members(hint), hints.without_none(hint)
    only = values[0] if len(values) == 1 else NOTHING
    return ModelField(
        name=name,
        stored=renamed.name if renamed else table_of(cls).naming(name),
        hint=bare,
        markers=markers,
        codec=make_codec(bare, _apply_table_rules(table_of(cls), markers)),
        fixed=None if models == [type(None)] else only,
        optional=type(None) in models,
        required=info.is_required(),
        key_only=hints.find(markers, KeyOnly) is not None,
        sealed=hints.find(markers, Encrypted) is not None,
    )


@cached_by_class
def item_and_states(cls: ModelClass) -> list[ModelClass]:
    """Return an item, its variants, and every state of their lifecycles."""
    top = root(item_of(cls))
    if cls is not top:
        return item_and_states(top)
    states = [
        state
        for item in with_variants(top)
        for models in lifecycles(item).values()
        for model in models
        for state in with_variants(root(model))
    ]
    return [*with_variants(top), *dict.fromkeys(states)]


@cached_by_class
def all_fields(cls: ModelClass) -> dict[str, ModelField]:
    """Return every attribute that an item may have, in any variant and state, by field name."""
    top = root(item_of(cls))
    if cls is not top:
        return all_fields(top)
    found: dict[str, ModelField] = {}
    for model in item_and_states(cls):
        for name, field in stored_fields(model).items():
            if name not in found or found[name].fixed is None:  # an absent attribute has no storage type
                found[name] = field
            elif found[name].stored != field.stored or found[name].codec.tag != field.codec.tag != "NULL":
                check_same(model, found[name], field)
    return {name: field if field.fixed is NOTHING else replace(field, fixed=NOTHING) for name, field in found.items()}


def check_same(cls: ModelClass, first: ModelField, other: ModelField) -> None:
    """Refuse a field that classes of one item store in different ways."""
    if other.fixed is None:
        return
    raise DeclarationError(
        "HR115",
        f"{cls.__name__}.{other.name}",
        f"is stored as {other.stored} ({other.codec.tag}) here and as {first.stored} ({first.codec.tag}) by a relative",
        "give both the same type and name",
    )


@cached_by_class
def keys(cls: ModelClass) -> dict[str, Template]:
    """Return the key templates of a class by attribute: its own, its item's, and plain fields that are keys."""
    table, found = table_of(cls), dict[str, Template]()
    for base in (*reversed(item_of(cls).__mro__), *reversed(cls.__mro__)):
        for attr, text in base.__dict__.get("__own_keys__", {}).items():
            _check_key(cast("ModelClass", base), table, attr, text)
            found[attr] = read_template(text)
    by_stored = names_by_attribute(cls)
    for attr in sorted(table.key_names - found.keys()):
        if attr in by_stored:
            found[attr] = read_template(f"{{{by_stored[attr]}}}")
    for attr, template in found.items():
        _check_fields(cls, attr, template)
    return found


@cached_by_class
def names_by_attribute(cls: ModelClass) -> dict[str, str]:
    """Return the field of each attribute that an item may have, without fields that are stored in keys only."""
    top = root(item_of(cls))
    if cls is not top:
        return names_by_attribute(top)
    return {field.stored: name for name, field in all_fields(cls).items() if not field.key_only}


def _check_key(base: ModelClass, table: Table, attr: str, text: object) -> None:
    if attr not in table.key_names:
        options = ", ".join(sorted(table.key_names))
        raise DeclarationError(
            "HR120", base.__name__, f"{table.name} has no key attribute {attr!r}", f"it has {options}"
        )
    if not text:
        raise DeclarationError(
            "HR121",
            f"{base.__name__}.{attr}",
            f"is {text!r}, which is not a key",
            'give a template such as "SHOP#{domain}"',
        )


def _check_fields(cls: ModelClass, attr: str, template: Template) -> None:
    fields = all_fields(cls)
    for part in template.parts:
        if part.field and part.field not in fields:
            near = ", ".join(sorted(fields))
            raise DeclarationError(
                "HR122",
                f"{cls.__name__}.{attr}",
                f"{template.text!r} names no field {part.field!r}",
                f"there are {near}",
            )
        if find_format(part.format_name) is None:
            raise DeclarationError(
                "HR123",
                f"{cls.__name__}.{attr}",
                f"{template.text!r} has an unknown format {part.format_name!r}",
                f"there are {list_formats()}",
            )


@cached_by_class
def primary_key_fields(cls: ModelClass) -> frozenset[str]:
    """Return the fields that the primary key is made of."""
    ours = keys(cls)
    return frozenset(name for attr in table_of(cls).keys if attr in ours for name in ours[attr].fields)


@cached_by_class
def identifying_fields(cls: ModelClass) -> frozenset[str]:
    """Return the fields whose values follow from the primary key: it has no other form of them, such as a month."""
    ours = keys(cls)
    parts = [part for attr in table_of(cls).keys if attr in ours for part in ours[attr].parts]
    return frozenset(part.field for part in parts if part.field and not part.format.is_derived)


@cached_by_class
def variant_keys(cls: ModelClass) -> dict[str, Template]:
    """Return the key templates that a variant or state declares itself."""
    top = root(cls)
    if cls is top:
        return {}
    own = {
        attr
        for base in cls.__mro__
        if is_model(base) and base is not top
        for attr in base.__dict__.get("__own_keys__", {})
    }
    shared = item_of(top).__dict__.get("__own_keys__", {})
    return {attr: keys(cls)[attr] for attr in sorted(own) if attr not in shared}


@cached_by_class
def can_expire(cls: ModelClass) -> bool:
    """Return whether items of a class may have the attribute by which their table expires them."""
    ttl = table_of(cls).ttl
    return ttl is not None and any(field.stored == ttl for field in all_fields(cls).values())


@cached_by_class
def state_keys(cls: ModelClass) -> dict[str, Template]:
    """Return the key templates by which a state is recognised; none where fixed fields identify it."""
    return {} if fixed_values(cls, own=True) else variant_keys(cls)


@cached_by_class
def state_attributes(cls: ModelClass) -> frozenset[str]:
    """Return the attributes that distinguish a state from the others of its item; none for a class that is not a state.

    They are fields that have one value in the state and not in every state; else keys; else fields that it never has.
    """
    always = stored_fields(root(item_of(cls)))
    shared = {name for name, field in always.items() if field.fixed is not NOTHING}
    fixed = [name for name in fixed_values(cls) if name not in shared]
    never = [name for name, field in stored_fields(cls).items() if field.fixed is None and name not in shared]
    names = fixed or ([] if state_keys(cls) else never)
    return frozenset(all_fields(cls)[name].stored for name in names) or frozenset(state_keys(cls))


def determines_state(cls: ModelClass, state: ModelClass) -> bool:
    """Return whether objects of a class say in which state they are, of the lifecycle that a state belongs to."""
    attributes = state_attributes(state)
    fields = {field.stored for field in stored_fields(cls).values()}
    if attributes <= fields:  # the attributes that store the state
        return True
    return not attributes.isdisjoint(state_attributes(cls)) and not any(
        state_attributes(variant) & attributes - state_attributes(cls) for variant in subclasses_of(cls)
    )


def states_in(cls: ModelClass, state: ModelClass) -> list[ModelClass]:
    """Return a class if it says in which state its objects are, else those of its variants that do."""
    if determines_state(cls, state):
        return [cls]
    return [found for child in cls.__subclasses__() for found in states_in(child, state)]


@cached_by_class
def added_fields(cls: ModelClass) -> list[ModelField]:
    """Return the fields that a state adds to the state that it is a kind of, where DynamoDB can compare them."""
    same = [base for base in cls.__mro__[1:] if is_model(base) and issubclass(base, root(cls))]
    same = [base for base in same if state_keys(base) == state_keys(cls) and _fixed(base) == _fixed(cls)]
    if not same or not state_attributes(cls):
        return []
    known = stored_fields(same[-1])
    return [
        field
        for name, field in stored_fields(cls).items()
        if name not in known
        and field.codec.tag in {"S", "N", "B", "BOOL"}
        and not (field.key_only or field.sealed or field.marker(Counted) or field.marker(Touch))
        and field.fixed is NOTHING
    ]


def allowed_values(cls: ModelClass, name: str) -> tuple[Any, ...]:
    """Return the values that a field's Literals allow in any class of the item; none if any class allows all."""
    found: dict[Any, None] = {}
    for model in item_and_states(cls):
        if name in model.model_fields:
            values = hints.literals(hints.without_none(model.model_fields[name].annotation))
            if not values and hints.members(model.model_fields[name].annotation) != [type(None)]:
                return ()
            found |= dict.fromkeys(values)
    return tuple(found)


def fixed_values(cls: ModelClass, *, own: bool = False) -> dict[str, Any]:
    """Return the fields that have one value in this class; for a view without any, those of its item."""
    found = _fixed(cls)
    return found if found or own or issubclass(cls, Item) else _fixed(item_of(cls))


@cached_by_class
def _fixed(cls: ModelClass) -> dict[str, Any]:
    return {name: field.fixed for name, field in stored_fields(cls).items() if field.is_fixed}


@cached_by_class
def version_of(cls: ModelClass) -> ModelField | None:
    """Return the attribute that counts an item's writes."""
    return next((found for found in all_fields(cls).values() if found.marker(Counted)), None)


@cached_by_class
def initial_variants(cls: ModelClass) -> tuple[ModelClass, ...]:
    """Return the variants of an item in which it may be created; none if it may be created in any."""
    return tuple(model for model in with_variants(root(cls)) if model.__dict__.get("__initial__"))


@cached_by_class
def touched_fields(cls: ModelClass) -> list[ModelField]:
    """Return the attributes that hold the time of the last write."""
    return [found for found in all_fields(cls).values() if found.marker(Touch)]


def pattern_of(cls: ModelClass, name: str) -> str | None:
    """Return the regular expression that a field must match, as `Field(pattern=...)` declares it."""
    for model in (cls, *with_variants(root(item_of(cls)))):
        for fact in model.model_fields[name].metadata if name in model.model_fields else ():
            pattern = getattr(fact, "pattern", None)
            if pattern is not None:
                return str(pattern)
    return None


def constraints_of(cls: ModelClass, name: str) -> list[Any]:
    """Return the constraints that a field declares, as `Field(ge=...)` and the like."""
    models = (cls, *with_variants(root(item_of(cls))))
    info = next((model.model_fields[name] for model in models if name in model.model_fields), None)
    return [] if info is None else constraints_in(info.annotation, info.metadata)


def fillable_template(attr: str, model: ModelClass) -> Template | None:
    """Return the template of a key attribute, if items of this class have all of its fields."""
    return _fillable_templates(model).get(attr)


@cached_by_class
def _fillable_templates(model: ModelClass) -> dict[str, Template]:
    if issubclass(model, View):
        return keys(model)
    states = [state for models in lifecycles(model).values() for state in models]
    mine = {*stored_fields(model), *(name for state in states for name in stored_fields(state))}
    return {attr: template for attr, template in keys(model).items() if mine.issuperset(template.fields)}


def whole_lifecycle(models: tuple[ModelClass, ...]) -> tuple[ModelClass, ...]:
    """Replace a union of all variants of a class by the class itself, which needs no filter."""
    found: dict[ModelClass, None] = {}
    for model in models:
        top = root(model)
        every = set(top.__subclasses__())
        found[top if len(models) > 1 and every and every <= set(models) else model] = None
    return tuple(found)
