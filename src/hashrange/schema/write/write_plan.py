"""Write plans: values that build the request of a pattern from its arguments, and explain it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import Any

from msgspec import Struct, field

from hashrange.core.article import with_article
from hashrange.core.errors import ValueInvalid
from hashrange.core.values import Item as Raw
from hashrange.core.values import Value
from hashrange.core.wire import Wire
from hashrange.expr.nodes import And, Condition, DocumentPath, join_all, path_of
from hashrange.schema.declare import hint as hints
from hashrange.schema.declare import introspection
from hashrange.schema.declare.codec import counts_millis
from hashrange.schema.declare.field_constraint import constraints_in
from hashrange.schema.declare.introspection import ModelClass
from hashrange.schema.declare.marker import Marker
from hashrange.schema.declare.model import Item, Model, loaded_keys
from hashrange.schema.declare.table import Table
from hashrange.schema.pattern.bound_source import BoundMinusArgument, ComparedWithDefault
from hashrange.schema.pattern.criterion import (
    allow_absence,
    exists,
    is_empty_range,
    placeholders_in,
    require_absence,
    split_ranges,
)
from hashrange.schema.pattern.expression_text import Aliases, show, show_path
from hashrange.schema.pattern.lint import Lint
from hashrange.schema.pattern.parameter_types import added_hint
from hashrange.schema.pattern.signature import Parameter, Signature
from hashrange.schema.pattern.value_source import (
    NOW,
    Arguments,
    FieldValue,
    KeyOfRecovered,
    LoadedValue,
    StateKey,
    ValueSource,
    values_of,
)

LENIENT = (
    LoadedValue,
    BoundMinusArgument,
    ComparedWithDefault,
    StateKey,
)  # sources of comparisons that may hold for an absent attribute too
SECTIONS = ("SET", "ADD", "DELETE", "REMOVE")


# What happens to an attribute in a call.
LEFT_ALONE, CHANGED, REMOVED = 0, 1, 2
NO_ELEMENTS: Value = {"L": []}


# What the text of a request depends on: outcomes of changes, values that are there, pins that apply, absences allowed,
# ranges that are empty.
_Case = tuple[tuple[int, ...], frozenset[str], tuple[bool, ...], frozenset[str], bool]


class _Text(Struct, frozen=True):
    """The fixed part of a request, for calls that have the same values."""

    request: Wire
    constants: dict[str, Value]
    sealed: dict[str, str]
    tested: tuple[str, ...]


class AttributeChange(Struct, frozen=True):
    """One attribute that a write changes."""

    stored: str
    action: str
    value_source: ValueSource
    depends: frozenset[str] = frozenset()  # it changes only if one of these arguments is given; always if none
    unless: str = ""  # it does not change if this argument is given
    recovered: KeyOfRecovered | None = None  # it changes only if the item passed in had the field in this key alone
    unset: Value | None = None  # the table's word for "no value"
    sealed: bool = False
    start: ValueSource | None = None  # what an absent attribute is counted from or appended to
    path: DocumentPath | None = None  # where it is inside the attribute; None for the whole
    repairs: str = ""  # the item whose TTL is rewritten in seconds if it was in milliseconds

    def applies(self, arguments: Arguments) -> bool:
        """Return whether a call changes it."""
        if self.repairs:
            return counts_millis(loaded_keys(arguments[self.repairs]).get(self.stored))
        if self.unless and self.unless in arguments:
            return False
        if self.recovered is not None and not self.recovered.applies(arguments):
            return False
        return not self.depends or any(name in arguments for name in self.depends)

    def value(self, arguments: Arguments) -> Value | None:
        """Return its new value in a call, or the table's word for no value."""
        return (self.value_source.value(arguments) or self.unset) if self.applies(arguments) else None

    def outcome_without_value(self, arguments: Arguments) -> int:
        """Return what happens to it in a call that has no value for it; SET removes it."""
        return REMOVED if self.action in {"SET", "REMOVE"} and self.applies(arguments) else LEFT_ALONE

    def clause(self, name: str, value: str, start: str) -> str:
        """Return its part of an update expression."""
        match self.action:
            case "SET":
                return f"{name} = {value}"
            case "REMOVE":
                return name
            case "ONCE":
                return f"{name} = if_not_exists({name}, {value})"
            case "APPEND":
                return f"{name} = list_append(if_not_exists({name}, {start}), {value})"
            case "ADD" if self.start is not None:
                return f"{name} = if_not_exists({name}, {start}) + {value}"
            case _:
                return f"{name} {value}"

    @property
    def text(self) -> str:
        """Its part of an update expression, with the sources of its values."""
        start = self.start.text if self.start is not None else ""
        return self.clause(show_path(self.location), self.value_source.text, start)

    @property
    def location(self) -> DocumentPath:
        """The attribute, or the path into it."""
        return self.path or path_of(self.stored)

    @property
    def section(self) -> str:
        """The clause of the update expression that it belongs to."""
        return self.action if self.action in SECTIONS and self.start is None else "SET"


class PinnedCondition(Struct, frozen=True):
    """A condition of only those calls that compute a key from a value which they do not set, or take one state."""

    condition: Condition
    unless: str = ""  # the argument that replaces the value
    depends: frozenset[str] = frozenset()  # the key is written only if one of these arguments is given; always if none
    state: tuple[str, ModelClass] | None = None  # the parameter, and the state that its argument must be in
    recovered: KeyOfRecovered | None = None  # the key that a field of the item passed in must have been read from

    @property
    def when(self) -> str:
        """The calls that need it, as text."""
        given = f"if {' or '.join(sorted(self.depends))} is given" if self.depends else ""
        unless = f"unless {self.unless} is given" if self.unless else ""
        state = f"if {self.state[0]} is {with_article(self.state[1].__name__)}" if self.state else ""
        recovered = f"if {self.recovered.name} was read from it" if self.recovered else ""
        return ", ".join(filter(None, (given, unless, state, recovered)))

    def applies(self, arguments: Arguments) -> bool:
        """Return whether a call needs it."""
        if self.state is not None and not isinstance(arguments[self.state[0]], self.state[1]):
            return False
        if self.recovered is not None and not self.recovered.applies(arguments):
            return False
        return self.unless not in arguments and (not self.depends or any(name in arguments for name in self.depends))


class WritePlan(Struct, frozen=True):
    """An Update, Upsert, Delete or Ensure."""

    label: str
    name: str
    verb: str
    target: ModelClass
    table: Table
    key: Mapping[str, ValueSource]
    subject: str | None
    changes: tuple[AttributeChange, ...]
    removes: tuple[str, ...]
    condition: Condition | None  # of every call
    pinned: tuple[PinnedCondition, ...]  # of some calls
    condition_values: Mapping[str, ValueSource]  # by placeholder
    lenient: tuple[
        tuple[str, LoadedValue | BoundMinusArgument | ComparedWithDefault | StateKey], ...
    ]  # those that may hold for an absent attribute too
    moving: tuple[str, ...]  # the index keys that it may change
    edges: tuple[tuple[str, str], ...]
    states: tuple[
        tuple[str, tuple[ModelClass, ...]], ...
    ]  # the states that each item passed in may be in, by parameter
    exact: bool
    signature: Signature
    sets: tuple[str, ...]  # the parameters that set a field
    nested_types: Mapping[str, Any]  # the types of the values that are set inside fields
    ranges: tuple[tuple[FieldValue, FieldValue], ...]  # the bounds of each BETWEEN in the condition
    texts: dict[_Case, _Text] = field(default_factory=dict)

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of its parameters, in order."""
        return self.signature.arguments

    @property
    def required(self) -> frozenset[str]:
        """The parameters that cannot be left out."""
        given = self.signature.parameters
        return frozenset(
            name for name in self.signature.arguments if name not in given or not given[name].may_be_left_out
        )

    @property
    def models(self) -> tuple[ModelClass, ...]:
        """The state entered."""
        return (self.target,)

    @property
    def start_models(self) -> list[ModelClass]:
        """The states that the item passed in may be in."""
        return self.signature.parameters[self.subject].models if self.subject else []

    @property
    def old_models(self) -> tuple[ModelClass, ...] | None:
        """The classes that the item may have been of before the write; None if that is not declared."""
        if self.signature.before:
            return self.signature.before
        return self.models if all(issubclass(model, self.target) for model in self.start_models) else None

    @property
    def has_checks(self) -> bool:
        """Whether values are checked before it writes."""
        return bool(self.sets or self.nested_types or self.signature.checked)

    @property
    def checked(self) -> Mapping[str, Any]:
        """The types of the values that are checked before it writes."""
        given = self.signature.parameters
        own = {name: _checked(self.target, name, given[name]) for name in self.sets}
        return {**self.signature.checked, **own, **self.nested_types}

    @property
    def lints(self) -> tuple[Lint, ...]:
        """Always empty: the lint rules about writes need the whole table."""
        return ()

    @property
    def costs(self) -> tuple[tuple[str, int], ...]:
        """The write units of a call for a small item, by table and index."""
        return _count_write_units(self)

    def key_of(self, arguments: Arguments) -> Raw:
        """Return the primary key of the item that is written."""
        found = {attr: value_source.value(arguments) for attr, value_source in self.key.items()}
        return {attr: value for attr, value in found.items() if value is not None}

    def bounds_of_new_item(self, arguments: Arguments) -> list[str]:
        """Return the bounds that an item which a call creates would break."""
        bounds = [source for _, source in self.lenient if isinstance(source, BoundMinusArgument)]
        return [bound.limit for bound in bounds if bound.name in arguments and not bound.holds_if_absent(arguments)]

    def build(self, arguments: Arguments) -> tuple[Wire, dict[str, str]]:
        """Return the request of a call, and the placeholders whose values are to be sealed, by attribute."""
        outcomes: list[int] = []
        values: dict[str, Value] = {}
        for at, change in enumerate(self.changes):
            value = change.value(arguments)
            outcomes.append(CHANGED if value is not None else change.outcome_without_value(arguments))
            if value is not None:
                values[f":s{at}"] = value
                if change.start is not None:
                    values[f":d{at}"] = change.start.value(arguments) or NO_ELEMENTS
        tested = values_of(self.condition_values, arguments)
        pins = tuple([pin.applies(arguments) for pin in self.pinned])
        lenient = [(name, source) for name, source in self.lenient if name in tested]
        absent = frozenset([name for name, source in lenient if source.holds_if_absent(arguments)])
        is_empty = any(is_empty_range(low, high, arguments) for low, high in self.ranges)
        case = (tuple(outcomes), frozenset(tested), pins, absent, is_empty)
        if case not in self.texts:
            condition = self._condition(tested.keys(), pins, absent)
            self.texts[case] = self._texts(outcomes, split_ranges(condition) if is_empty and condition else condition)
        text = self.texts[case]
        values.update((name, tested[name]) for name in text.tested)
        request = {"Key": self.key_of(arguments), **text.request}
        if values or text.constants:
            request["ExpressionAttributeValues"] = {**text.constants, **values}
        if self.signature.in_paths:
            self._fill_paths(request, arguments)
        return request, text.sealed

    def _fill_paths(self, request: Wire, arguments: Arguments) -> None:
        """Put the arguments that are names of members or positions into the expressions."""
        for name in self.signature.in_paths:
            given = arguments[name]
            if not (isinstance(given, str) and given) and not (type(given) is int and given >= 0):
                raise ValueInvalid(
                    f"{self.label}: {name} is {given!r}: give the name of a member, or a position from 0"
                )
            for expression in ("UpdateExpression", "ConditionExpression"):
                request[expression] = request[expression].replace(f"[{{{name}}}]", f"[{given}]")
            names: dict[str, str] = request["ExpressionAttributeNames"]
            request["ExpressionAttributeNames"] = {
                alias: str(given) if stored == f"{{{name}}}" else stored for alias, stored in names.items()
            }

    def _condition(self, present: AbstractSet[str], pins: Iterable[bool], absent: AbstractSet[str]) -> Condition | None:
        """Return the condition of a call, with the pins that it needs.

        An attribute whose value is None must be absent; one of those in `absent` may be.
        """
        needed = [pin.condition for pin, applies in zip(self.pinned, pins, strict=True) if applies]
        condition = join_all([*([self.condition] if self.condition is not None else []), *needed])
        if condition is None or (not absent and present >= set(placeholders_in(condition))):
            return condition
        adjusted = require_absence(condition, present, self.label, self.table.unset)
        adjusted = allow_absence(adjusted, absent, self.table.unset)
        return And((exists(self.table.pk).condition, adjusted)) if self.verb != "Upsert" else adjusted

    def _texts(self, outcomes: list[int], condition: Condition | None) -> _Text:
        """Render the expressions of a call."""
        aliases = Aliases()
        sections: dict[str, list[str]] = {section: [] for section in SECTIONS}
        applied = [(at, change) for at, change in enumerate(self.changes) if outcomes[at] == CHANGED]
        for at, change in applied:
            sections[change.section].append(change.clause(aliases.path(change.location), f":s{at}", f":d{at}"))
        removed = [
            change.location for change, outcome in zip(self.changes, outcomes, strict=True) if outcome == REMOVED
        ]
        sections["REMOVE"] = [aliases.path(path) for path in (*removed, *map(path_of, self.removes))]
        request: Wire = {}
        update = " ".join(f"{word} {', '.join(parts)}" for word, parts in sections.items() if parts)
        if update and self.verb in {"Update", "Upsert"}:
            request["UpdateExpression"] = update
        if condition is not None:
            request["ConditionExpression"] = aliases.render(condition)
        if aliases.names:
            request["ExpressionAttributeNames"] = aliases.names
        sealed = {f":s{at}": change.stored for at, change in applied if change.sealed}
        return _Text(request, dict(aliases.constants), sealed, tuple(placeholders_in(condition)))

    def outcome(self, arguments: Arguments) -> Model:
        """Return the state entered, where it follows from the arguments alone (`exact`)."""
        assert self.subject is not None
        subject: Model = arguments[self.subject]
        fields = introspection.stored_fields(self.target)
        values: dict[str, Any] = {name: getattr(subject, name) for name in fields if name in type(subject).model_fields}
        values |= {name: arguments[name] for name in fields if name in arguments}
        values |= {
            found.name: arguments[NOW]
            for found in introspection.touched_fields(self.target)
            if found.name not in arguments and found.name in fields
        }
        version = introspection.version_of(self.target)
        if version is not None:
            values[version.name] += 1
        fixed = {name: found.fixed for name, found in fields.items() if found.fixed is not introspection.NOTHING}
        return self.target.model_validate(values | fixed)

    def explain(self) -> str:
        """Return the plan as text."""
        lines = [f"{self.name:<18} {self.verb} {self.target.__name__}  <- table"]
        lines.append(f"    key     {' AND '.join(f'{attr} = {source.text}' for attr, source in self.key.items())}")
        sections: dict[str, list[str]] = {section: [] for section in SECTIONS}
        for change in self.changes:
            if not change.repairs and change.recovered is None:
                sections[change.section].append(change.text)
        sections["REMOVE"] += self.removes
        if self.verb in {"Update", "Upsert"}:
            lines += [f"    write   {word} {', '.join(parts)}" for word, parts in sections.items() if parts]
            lines += [
                f"    write   SET {change.text}  (if {found.name} was read from {found.attr} alone)"
                for change in self.changes
                if (found := change.recovered) is not None
            ]
        if self.condition is not None:
            lines.append(f"    if      {show(self.condition, self.condition_values)}")
        lines += [f"    if      {show(pin.condition, self.condition_values)}  ({pin.when})" for pin in self.pinned]
        if self.verb != "Delete" and introspection.can_expire(self.target):
            lines.append(f"    if      NOT {self.table.ttl} <= {{now}}")
        lines.append(f"    cost    {' + '.join(f'{path_name} {units}' for path_name, units in self.costs)}")
        return "\n".join(lines)


def _checked(target: ModelClass, name: str, parameter: Parameter) -> Any:
    """Return the type of a value that is set: the field's own with its constraints, where the parameter has it too."""
    models = (target, *introspection.with_variants(introspection.root(introspection.item_of(target))))
    info = next((each.model_fields[name] for each in models if name in each.model_fields), None)
    if info is not None and parameter.change in {"ADD", "APPEND", "DELETE"}:
        return added_hint(parameter, info.annotation, constraints_in(info.annotation, info.metadata))
    if info is None or not _is_own_type(info.annotation, parameter.hint):
        return hints.constrain(parameter.hint, parameter.constraints)
    hint = info.annotation if hints.is_optional(parameter.hint) else hints.drop_none(info.annotation)
    own = [fact for fact in info.metadata if not isinstance(fact, Marker) or fact.validates]
    return hints.constrain(hint, (*own, *parameter.constraints))


def _is_own_type(own: Any, given: Any) -> bool:
    """Return whether a field's type checks the values of a parameter: it is the same, or has fewer values."""
    own, given = hints.without_none(own), hints.without_none(given)
    return bool(own == given or (hints.literals(own) and not hints.literals(given)))


def _count_write_units(plan: WritePlan) -> tuple[tuple[str, int], ...]:
    """Count write units for a small item: the table 1, an index whose key moves 2, one whose projection changes 1."""
    found = [("table", 1)]
    if plan.verb == "Ensure":
        return tuple(found)
    usual = [change for change in plan.changes if change.recovered is None]  # an older item is completed once
    changed = {*(change.stored for change in usual), *plan.removes}
    models = [model for each in (plan.target, *plan.start_models) for model in introspection.with_variants(each)]
    for index in plan.table.indexes:
        if not any(_is_in(index.keys, model) for model in models):
            continue
        moves = not set(index.keys).isdisjoint(plan.moving)
        if moves or plan.verb == "Delete" or index.projects_all or not changed.isdisjoint(index.attributes):
            found.append((index.name, 2 if moves else 1))
    return tuple(found)


def _is_in(keys: tuple[str, ...], model: ModelClass) -> bool:
    item = introspection.item_of(model)
    states = [state for models in introspection.lifecycles(item).values() for state in models]
    holder = model if issubclass(model, Item) else item
    return all(
        introspection.fillable_template(attr, holder)
        or any(attr in introspection.variant_keys(state) for state in states)
        for attr in keys
    )
