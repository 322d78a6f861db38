"""Step 3 of the write compiler: what must hold for a write to happen.

That is what was pinned, the states that are left, the parameters that compare, `@where`, and that the item exists.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct

from hashrange.expr.nodes import (
    And,
    Comparison,
    Condition,
    Or,
    join_all,
    join_any,
    path_of,
    without_repeats,
)
from hashrange.schema.declare import introspection
from hashrange.schema.declare.introspection import ModelClass, ModelField
from hashrange.schema.declare.key_codec import key_codecs
from hashrange.schema.pattern import criterion
from hashrange.schema.pattern.criterion import Criterion
from hashrange.schema.pattern.expression_text import used_values
from hashrange.schema.pattern.value_source import (
    Argument,
    ArgumentField,
    FieldValue,
    FixedValue,
    KeyValue,
    LoadedValue,
    Placeholders,
    StateKey,
    StateValue,
    ValueSource,
)
from hashrange.schema.write.absent_defaults import accept_absent_defaults
from hashrange.schema.write.delta import Delta
from hashrange.schema.write.index_keys import IndexKey, Pin, keys_with_field
from hashrange.schema.write.nested_update import NestedChange, nested_conditions
from hashrange.schema.write.stored_defaults import dependent_default_conditions, initial_state_conditions
from hashrange.schema.write.sum_bounds import Addition, bound_conditions
from hashrange.schema.write.write_intent import WriteIntent, states_with_field
from hashrange.schema.write.write_plan import PinnedCondition


class WriteConditions(Struct, frozen=True):
    """What is tested in every call, what is tested in some, and the values of both by placeholder."""

    condition: Condition | None
    pinned: tuple[PinnedCondition, ...]
    values: Mapping[str, ValueSource]


def compute_conditions(
    intent: WriteIntent, delta: Delta, keys: Iterable[IndexKey], nested: tuple[NestedChange, ...]
) -> WriteConditions:
    """Return what must hold for a write to happen."""
    placeholders = Placeholders()
    pins = _merge_pins(pin for key in keys for pin in key.pins)
    added = [*_require_added_fields(intent, placeholders), *_require_owners(intent, placeholders)]
    tests = [
        *_require_version(delta, placeholders),
        *(criterion.equal(pin.stored, pin.value_source, placeholders) for pin in pins if _is_always_needed(pin)),
        *_require_states(intent, placeholders),
        *(Criterion(test.condition) for test, is_needed in added if is_needed),
        *_require_parameters(intent, placeholders),
        *(dependent_default_conditions(intent, delta) if intent.verb == "Update" else ()),
    ]
    implied = any(_implies_existence(found.condition) for found in tests)
    if intent.verb in {"Update", "Ensure"} and not implied:  # an update that creates would store half an item
        tests.insert(0, criterion.exists(intent.table.pk))
    condition = join_all([found.condition for found in tests])
    pinned = (
        *(
            PinnedCondition(
                criterion.equal(pin.stored, pin.value_source, placeholders).condition, pin.unless, pin.depends
            )
            for pin in pins
            if not _is_always_needed(pin)
        ),
        *(test for test, is_needed in added if not is_needed),
        *_require_recovered(intent, pins, placeholders),
        *_require_bounds(intent, delta, placeholders),
        *nested_conditions(intent.label, nested, placeholders),
    )
    values = used_values(placeholders, (condition, *(found.condition for found in pinned)))
    return WriteConditions(condition, pinned, values)


def _is_always_needed(pin: Pin) -> bool:
    return not pin.unless and not pin.depends


def _merge_pins(pins: Iterable[Pin]) -> list[Pin]:
    """Return each pin once; a pin of two keys is needed if either key is written."""
    found: dict[tuple[str, str], Pin] = {}
    for pin in pins:
        same = found.get((pin.stored, pin.unless))
        both = same.depends | pin.depends if same and same.depends and pin.depends else frozenset[str]()
        found[pin.stored, pin.unless] = Pin(pin.stored, pin.value_source, pin.unless, both if same else pin.depends)
    return list(found.values())


def _require_bounds(intent: WriteIntent, delta: Delta, placeholders: Placeholders) -> Iterator[PinnedCondition]:
    """Yield the tests that what is added to stays within the bounds of its field."""
    for name, change in delta.fields.items():
        if change.parameter:
            addition = Addition(
                label=intent.label,
                parameter=change.parameter,
                action=change.action,
                path=path_of(change.field.stored),
                codec=change.field.codec,
                is_set=change.field.codec.tag in {"SS", "NS", "BS"},
                constraints=introspection.constraints_of(intent.target, name),
                start=change.start,
            )
            yield from bound_conditions(addition, placeholders)


def _require_version(delta: Delta, placeholders: Placeholders) -> Iterator[Criterion]:
    """Yield the test that the version is still the one that is counted up."""
    for change in delta.fields.values():
        if change.counted_from is not None:
            held, version = change.counted_from, change.field
            current = LoadedValue(held.parameter, version.stored, FieldValue(held, version.codec), version.name)
            yield criterion.equal(version.stored, current, placeholders)


def _require_states(intent: WriteIntent, placeholders: Placeholders) -> Iterator[Criterion]:
    """Yield the tests that the item is in the states passed in, each by the key or the value that was loaded."""
    for parameter, models in _passed_states(intent).items():
        trees = [
            tree for model in models if (tree := _require_state(intent, model, parameter, placeholders)) is not None
        ]
        if trees and len(trees) == len(models):  # a state without a test could be any
            yield Criterion(join_any(without_repeats(trees)))
    if intent.verb in {"Delete", "Ensure"} and not _is_of_target(intent):
        yield from _require_model(intent, intent.target, placeholders)
    if intent.verb == "Upsert":
        yield from initial_state_conditions(intent)


def _passed_states(intent: WriteIntent) -> dict[str, tuple[ModelClass, ...]]:
    """Return the states that each parameter which is an item may be in."""
    subject = {intent.subject: intent.start_models} if intent.subject else {}
    return {**subject, **{name: tuple(models) for name, models in intent.beside.items()}}


def _is_of_target(intent: WriteIntent) -> bool:
    """Return whether an item that is in a state passed in is of the target's model."""
    starts = intent.start_models
    return bool(starts) and all(
        issubclass(model, intent.target)
        and introspection.state_attributes(model) >= introspection.state_attributes(intent.target)
        for model in starts
    )


def _require_state(
    intent: WriteIntent, model: ModelClass, parameter: str, placeholders: Placeholders
) -> Condition | None:
    tests = list(_require_state_attributes(intent, model, parameter, placeholders))
    for attr, template in introspection.state_keys(model).items():
        key_codec = key_codecs(model)[attr]
        fields = {name: ArgumentField(parameter, name) for name in template.fields}
        rendered = KeyValue(key_codec, fields, len(key_codec.steps), key_codec.tail)
        tests.append(criterion.equal(attr, StateKey(parameter, attr, model, rendered), placeholders))
    return join_all([test.condition for test in tests])


def _require_state_attributes(
    intent: WriteIntent, model: ModelClass, parameter: str, placeholders: Placeholders
) -> Iterator[Criterion]:
    """Yield the tests of the fields that store a state: the values that it always has, or those of the item."""
    for name, value in introspection.fixed_values(model).items():
        field = intent.fields[name]
        mark = StateValue(parameter, model, FixedValue(field.codec.encode(value)))
        yield criterion.equal(field.stored, mark, placeholders)
    stored_state = introspection.state_attributes(intent.target) if intent.verb == "Update" else frozenset[str]()
    for field in introspection.stored_fields(model).values():
        if field.fixed is None:
            yield criterion.is_absent(field.stored)
        elif field.stored in stored_state and not field.is_fixed and not field.sealed:
            value_source = FieldValue(ArgumentField(parameter, field.name), field.codec)
            yield criterion.equal(field.stored, StateValue(parameter, model, value_source), placeholders)


def _require_added_fields(intent: WriteIntent, placeholders: Placeholders) -> Iterator[tuple[PinnedCondition, bool]]:
    """Yield the tests of fields that a state adds to the one that it is a kind of (the worker of a lease).

    Each comes with whether every call needs it, because no other state can be passed.
    """
    for parameter, models in _passed_states(intent).items():
        for model in models:
            for field in introspection.added_fields(model):
                held = FieldValue(ArgumentField(parameter, field.name), field.codec)
                loaded = LoadedValue(parameter, field.stored, held, field.name)
                test = criterion.equal(field.stored, loaded, placeholders)
                yield PinnedCondition(test.condition, state=(parameter, model)), len(models) == 1


def _require_recovered(intent: WriteIntent, pins: list[Pin], placeholders: Placeholders) -> Iterator[PinnedCondition]:
    """Yield the tests of the keys that pinned fields were read from, where they have no attribute of their own."""
    for pin in pins:
        if isinstance(pin.value_source, LoadedValue):
            for key in keys_with_field(intent, pin.value_source.parameter, pin.value_source.name):
                test = criterion.equal(key.attr, key, placeholders)
                yield PinnedCondition(test.condition, pin.unless, pin.depends, recovered=key)


def _require_owners(intent: WriteIntent, placeholders: Placeholders) -> Iterator[tuple[PinnedCondition, bool]]:
    """Yield the tests that the item is in a state that has the field which is set: in another, nobody would read it.

    Each comes with whether every call needs it, because the parameter cannot be left out.
    """
    if intent.verb != "Update":
        return
    for name, parameter in intent.sets.items():
        owners = states_with_field(intent.target, name)
        enters = introspection.state_attributes(intent.target) and name in introspection.stored_fields(intent.target)
        if parameter.is_none or enters or intent.held(name) is not None:
            continue
        tests = [list(_require_state_of(intent, owner, placeholders)) for owner in owners]
        trees = [tree for each in tests if (tree := join_all([test.condition for test in each])) is not None]
        if owners and len(trees) == len(owners):
            test = join_any(without_repeats(trees))
            yield PinnedCondition(test, depends=frozenset({name})), not parameter.may_be_left_out


def _require_state_of(intent: WriteIntent, model: ModelClass, placeholders: Placeholders) -> Iterator[Criterion]:
    """Yield the tests that an item, given by its key alone, is in a state."""
    yield from _require_fixed_values(intent, model, placeholders)
    for attr, template in introspection.state_keys(model).items():
        test = criterion.starts if template.fields else criterion.equal
        yield test(attr, FixedValue({"S": template.prefix}), placeholders)


def _require_model(intent: WriteIntent, model: ModelClass, placeholders: Placeholders) -> Iterator[Criterion]:
    """Yield the tests that an item, given by its key alone, is of a model."""
    yield from _require_state_of(intent, model, placeholders)
    for field in introspection.added_fields(model):
        if field.required and not field.optional:
            yield criterion.exists(field.stored)


def _require_fixed_values(intent: WriteIntent, model: ModelClass, placeholders: Placeholders) -> Iterator[Criterion]:
    """Yield the tests of the fields that have one value in a state, and of those that it never has."""
    for name, value in introspection.fixed_values(model).items():
        field = intent.fields[name]
        yield criterion.equal(field.stored, FixedValue(field.codec.encode(value)), placeholders)
    for field in introspection.stored_fields(model).values():
        if field.fixed is None:
            yield criterion.is_absent(field.stored)


def _require_parameters(intent: WriteIntent, placeholders: Placeholders) -> Iterator[Criterion]:
    """Yield the tests of parameters that compare, and of `@where`."""
    for name, parameter in intent.tests.items():
        criterion.check_is_stored(intent.signature, intent.target, intent.fields[name], f"parameter {name!r}")
        compared = criterion.compare(intent.fields[name], parameter, placeholders)
        yield accept_absent_defaults(intent, compared, placeholders)
    for name in sorted(intent.sets.keys() & intent.identity - intent.identifying):
        yield _require_same_name(intent.fields[name], placeholders)
    for expression in intent.signature.wheres:
        written = criterion.read_where(intent.signature, intent.target, expression, placeholders)
        yield accept_absent_defaults(intent, written, placeholders)


def _require_same_name(field: ModelField, placeholders: Placeholders) -> Criterion:
    """Return the test of a field that the primary key has another form of: it is not given another value."""
    same = criterion.equal(field.stored, FieldValue(Argument(field.name), field.codec), placeholders)
    return Criterion(join_any([same.condition, criterion.is_absent(field.stored).condition]))


def _implies_existence(tree: Condition) -> bool:
    match tree:
        case Comparison():
            return tree.operator != "<>"
        case And():
            return any(map(_implies_existence, tree.operands))
        case Or():
            return all(map(_implies_existence, tree.operands))
        case _:
            return False
