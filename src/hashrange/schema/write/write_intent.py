"""Reads a signature that writes: the item, the states it leaves and enters, the parameters it compares and sets.

A signature that does not give the item's key, or the state that is left, is refused.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from hashrange.core.article import with_article
from hashrange.core.errors import DeclarationError
from hashrange.schema.declare import hint as hints
from hashrange.schema.declare import introspection
from hashrange.schema.declare.introspection import ModelClass, ModelField
from hashrange.schema.declare.model import View
from hashrange.schema.declare.table import Table
from hashrange.schema.pattern import criterion
from hashrange.schema.pattern.signature import Parameter, Signature
from hashrange.schema.pattern.value_source import ArgumentField, DefaultOf


class WriteIntent(Struct, frozen=True):
    """A signature that writes, with each parameter in its role."""

    signature: Signature
    subject: str | None  # the parameter that is the item in the state it leaves
    start_models: tuple[ModelClass, ...]  # the states that the subject may be in
    target: ModelClass  # the state that is entered
    beside: Mapping[str, list[ModelClass]]  # other parameters that are states of the same item, which must hold
    tests: Mapping[str, Parameter]  # parameters that are compared
    sets: Mapping[str, Parameter]  # parameters that change a field

    @property
    def label(self) -> str:
        """Where it is declared."""
        return self.signature.label

    @property
    def verb(self) -> str:
        """Its verb."""
        return self.signature.verb

    @property
    def table(self) -> Table:
        """The table it writes to."""
        return introspection.table_of(self.target)

    @property
    def fields(self) -> dict[str, ModelField]:
        """Every field of the item."""
        return introspection.all_fields(self.target)

    @property
    def identity(self) -> frozenset[str]:
        """The fields that the primary key is made of."""
        return introspection.primary_key_fields(self.target)

    @property
    def identifying(self) -> frozenset[str]:
        """The fields whose values follow from the primary key."""
        return introspection.identifying_fields(self.target)

    @property
    def changes_items(self) -> bool:
        """Whether it sets attributes; Delete and Ensure do not."""
        return self.verb in {"Update", "Upsert"}

    def held(self, name: str) -> ArgumentField | None:
        """Return the value of a field in the subject, where each state that it may be in has the field."""
        if self.subject and all(name in introspection.stored_fields(model) for model in self.start_models):
            return ArgumentField(self.subject, name)
        return None

    def left_models(self) -> list[ModelClass]:
        """Return every variant that the item may be of, except those that are of the target already.

        An Upsert without a subject may find the item in any state. A view that is no state leaves the item what it is.
        """
        starts = self.start_models
        if issubclass(self.target, View) and not introspection.state_attributes(self.target):
            return []
        if self.verb == "Upsert" and not starts and introspection.state_attributes(self.target):
            starts = (introspection.root(self.target),)
        found = [variant for model in starts for variant in introspection.with_variants(model)]
        return [
            model
            for model in found
            if not issubclass(model, self.target) and not issubclass(introspection.item_of(model), self.target)
        ]


def read_intent(signature: Signature) -> WriteIntent:
    """Return the intent of a signature, or refuse one that lacks the key, the state or a required field."""
    target = signature.models[0]
    beside = {name: found.models for name, found in signature.parameters.items() if found.models}
    subject = _find_subject(beside, target)
    start_models = _find_states(beside.pop(subject), target, signature.verb) if subject else ()
    _check_same_item(signature, target, [*start_models, *(model for models in beside.values() for model in models)])
    tests, sets = _split_parameters(signature, target)
    intent = WriteIntent(
        signature=signature,
        subject=subject,
        start_models=start_models,
        target=target,
        beside=beside,
        tests=tests,
        sets=sets,
    )
    _check_before(intent)
    _check_creates_initial_state(intent)
    _check_key_is_given(intent)
    _check_key_is_kept(intent)
    _check_state_is_left(intent)
    if intent.changes_items:
        _check_complete(intent)
        _check_fixed_fields(intent)
        _check_fields_of_state(intent)
    if intent.verb == "Upsert":
        _check_defaults_are_indexed(intent)
    return intent


def _find_subject(beside: Mapping[str, list[ModelClass]], target: ModelClass) -> str | None:
    """Return the parameter that is the item in the state it leaves."""
    same = (name for name, models in beside.items() if introspection.root(models[0]) is introspection.root(target))
    return next(same, next(iter(beside), None))


def _find_states(models: list[ModelClass], target: ModelClass, verb: str) -> tuple[ModelClass, ...]:
    """Return the states that the subject of a transition may be in: those of a class that has several."""
    if verb != "Update" or not introspection.state_attributes(target):
        return tuple(models)
    found = [state for model in models for state in introspection.states_in(model, target) or [model]]
    return tuple(dict.fromkeys(found))


def _split_parameters(signature: Signature, target: ModelClass) -> tuple[dict[str, Parameter], dict[str, Parameter]]:
    """Return the parameters that are compared, and those that set a field; what remains is part of the key."""
    in_where = criterion.parameters_in(signature.wheres)
    fields, table = introspection.all_fields(target), introspection.table_of(target)
    identity, identifying = introspection.primary_key_fields(target), introspection.identifying_fields(target)
    tests: dict[str, Parameter] = {}
    sets: dict[str, Parameter] = {}
    for name, parameter in signature.values.items():
        if name in signature.in_paths and name not in identity:
            continue  # the name of a member, or a position
        if name not in in_where:
            signature.field(target, name, f"parameter {name!r}")
        if name not in fields or parameter.by_key:
            continue
        if parameter.compare or (name == signature.tenant and name not in identity):
            tests[name] = parameter
        elif name in identifying and (signature.verb != "Upsert" or fields[name].stored in table.keys):
            continue  # it is in the key, which an update cannot set
        elif name in identity and signature.verb in {"Delete", "Ensure"}:
            tests[name] = parameter  # the key has another form of it
        else:
            sets[name] = parameter
    return tests, sets


def _check_same_item(signature: Signature, target: ModelClass, others: list[ModelClass]) -> None:
    item = introspection.root(introspection.item_of(target))
    for model in others:
        if introspection.root(introspection.item_of(model)) is not item:
            raise DeclarationError(
                "HR240",
                signature.label,
                f"{model.__name__} and {target.__name__} are of different items",
                "write one pattern for each, and run them in transact()",
            )


def _check_before(intent: WriteIntent) -> None:
    """Refuse `Update[New, Old]` if the item may have been something else than Old."""
    old = intent.signature.before
    starts = intent.start_models or (intent.target,)
    if old and not all(issubclass(model, old) for model in starts):
        names = " | ".join(model.__name__ for model in starts)
        raise DeclarationError(
            "HR251",
            intent.label,
            f"says that the item was {' | '.join(model.__name__ for model in old)} before, and it may be {names}",
            f"return {intent.verb}[{intent.target.__name__}, {names}]",
        )


def _check_creates_initial_state(intent: WriteIntent) -> None:
    initial = introspection.initial_variants(intent.target)
    if intent.verb == "Upsert" and initial and not issubclass(intent.target, initial):
        raise DeclarationError(
            "HR252",
            intent.label,
            f"may create {with_article(intent.target.__name__)}, and an item starts as {initial[0].__name__}",
            f"return Update, or declare class {intent.target.__name__}(..., initial=True)",
        )


def _check_key_is_given(intent: WriteIntent) -> None:
    held = (name for model in intent.start_models for name in introspection.stored_fields(model))
    lacking = sorted(intent.identity - {*intent.signature.values, *held})
    if lacking:
        raise DeclarationError(
            "HR241",
            intent.label,
            f"the key of {intent.target.__name__} needs {', '.join(lacking)}",
            "take them as parameters",
        )


def _check_key_is_kept(intent: WriteIntent) -> None:
    """Refuse to set a field that every write sets, where the primary key is made of it: the key would go stale."""
    stale = [found.name for found in introspection.touched_fields(intent.target) if found.name in intent.identity]
    if stale and intent.changes_items:
        raise DeclarationError(
            "HR258",
            intent.label,
            f"would set {stale[0]}, and the primary key of {intent.target.__name__} is made of it",
            f"declare {stale[0]} without Touched, or leave it out of the key",
        )


def _check_state_is_left(intent: WriteIntent) -> None:
    """Refuse a transition of which the state that is left is not known: nothing could be tested."""
    target = intent.target
    if intent.verb != "Update" or not introspection.state_attributes(target):
        return
    silent = [model for model in intent.start_models if not introspection.determines_state(model, target)]
    if silent or not intent.subject:
        says = f"{intent.subject}: {silent[0].__name__} does not say" if silent else "nothing says"
        states = introspection.states_in(introspection.root(target), target)
        raise DeclarationError(
            "HR244",
            intent.label,
            f"{target.__name__} is a state, and {says} which state is left",
            f"take the item in the states that it may leave: {' | '.join(state.__name__ for state in states)}",
        )


def _check_complete(intent: WriteIntent) -> None:
    """Refuse to enter a state without what it requires."""
    creates = not intent.start_models and intent.verb == "Upsert"
    sets = {name for name, parameter in intent.sets.items() if not parameter.may_be_left_out}
    given = {*sets, *intent.identifying, *(found.name for found in introspection.touched_fields(intent.target))}
    needed = introspection.stored_fields(intent.target)
    if creates:  # the whole item, of which the target may be a view
        needed = {**introspection.stored_fields(introspection.item_of(intent.target)), **needed}
    for name, field in needed.items():
        if not field.required or field.fixed is not introspection.NOTHING or name in given:
            continue
        if creates:
            raise _incomplete(intent, name, "the item that it may create")
        for model in intent.start_models:
            held = introspection.stored_fields(model).get(name)
            is_view_of_it = introspection.root(model) is not introspection.root(intent.target)  # it is stored already
            if (held is None or held.optional) and not is_view_of_it:
                raise _incomplete(intent, name, model.__name__)


def _check_fixed_fields(intent: WriteIntent) -> None:
    """Refuse to set a field that has one value in the class entered to another: the item would be of another class."""
    for name, parameter in intent.sets.items():
        field = introspection.stored_fields(intent.target).get(name)
        if field is None or field.fixed is introspection.NOTHING:
            continue
        given = (None,) if parameter.is_none else hints.literals(hints.without_none(parameter.hint))
        if any(value != field.fixed for value in given):  # other types are checked when it is called
            raise DeclarationError(
                "HR264",
                intent.label,
                f"sets {name}, which is always {field.fixed!r} in {intent.target.__name__}",
                f"drop it: the write sets {name} to {field.fixed!r}",
            )


def _check_fields_of_state(intent: WriteIntent) -> None:
    """Refuse to set a field that only other states have: nobody would read it, and keys would be made of it."""
    item = introspection.root(introspection.item_of(intent.target))
    for name in intent.sets:
        if not intent.sets[name].is_none and (lacking := _find_state_without(intent, name)) is not None:
            raise DeclarationError(
                "HR263",
                intent.label,
                f"sets {name}, which {lacking.__name__} does not have",
                f"drop it, or declare {name} in {' or '.join(dict.fromkeys([lacking.__name__, item.__name__]))}",
            )


def _find_state_without(intent: WriteIntent, name: str) -> ModelClass | None:
    """Return a state that the item has after the write, if its items never have the field."""
    owners = states_with_field(intent.target, name)
    related = [introspection.root(owner) for owner in owners]
    if not owners or _has_field(intent.target, name):
        return None
    if introspection.state_attributes(intent.target) and introspection.root(intent.target) in related:
        return intent.target
    stays = [start for start in intent.start_models if introspection.root(start) in related]
    if stays and not any(_has_field(start, name) for start in stays):
        return stays[0]
    return introspection.item_of(intent.target) if intent.verb == "Upsert" else None


def states_with_field(cls: ModelClass, name: str) -> list[ModelClass]:
    """Return the states and variants that alone have a field; none if an item may have it in every state."""
    top = introspection.root(introspection.item_of(cls))
    if name in introspection.stored_fields(top):
        return []
    found = [model for model in introspection.subclasses_of(top) if name in introspection.stored_fields(model)]
    for states in (
        states for item in introspection.with_variants(top) for states in introspection.lifecycles(item).values()
    ):
        having = [
            state
            for state in states
            if any(name in introspection.stored_fields(model) for model in introspection.with_variants(state))
        ]
        if len(having) == len(states):
            return []
        found += having
    return found if all(introspection.state_attributes(model) for model in found) else []


def _has_field(model: ModelClass, name: str) -> bool:
    return any(name in introspection.stored_fields(variant) for variant in introspection.with_variants(model))


def _check_defaults_are_indexed(intent: WriteIntent) -> None:
    """Refuse to create an item without a default that is in an index key, when its parameter is left out."""
    templates = introspection.keys(intent.target)
    for name, parameter in intent.sets.items():
        in_keys = [attr for attr, template in templates.items() if name in template.fields]
        is_field = name in introspection.stored_fields(intent.target)
        if in_keys and is_field and parameter.may_be_left_out and DefaultOf(intent.target, name).is_there:
            raise DeclarationError(
                "HR249",
                intent.label,
                f"{name} may be left out, and an item created with its default is not in the index of {in_keys[0]}",
                f"take {name} without a default, or return Update",
            )


def _incomplete(intent: WriteIntent, name: str, lacking: str) -> DeclarationError:
    return DeclarationError(
        "HR243",
        intent.label,
        f"{intent.target.__name__} requires {name}, which {lacking} does not have",
        f"take {name} as a parameter{' without a default' if name in intent.sets else ''}",
    )
