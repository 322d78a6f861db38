"""Reads a signature that writes: the item, the states it leaves and enters, the parameters it compares and sets.

A signature that does not give the item's key, or the state that is left, is refused.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from hashrange.core.errors import DeclarationError
from hashrange.schema.declare import introspection
from hashrange.schema.declare.introspection import Attribute, Kind
from hashrange.schema.declare.table import Table
from hashrange.schema.pattern import criterion
from hashrange.schema.pattern.signature import Parameter, Signature
from hashrange.schema.pattern.value_source import ArgumentField, DefaultOf


class WriteIntent(Struct, frozen=True):
    """A signature that writes, with each parameter in its role."""

    signature: Signature
    subject: str | None  # the parameter that is the item in the state it leaves
    start_kinds: tuple[Kind, ...]  # the states that the subject may be in
    target: Kind  # the state that is entered
    beside: Mapping[str, list[Kind]]  # other parameters that are states of the same item, which must hold
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
    def fields(self) -> dict[str, Attribute]:
        """Every field of the item."""
        return introspection.all_attributes(self.target)

    @property
    def identity(self) -> frozenset[str]:
        """The fields that the primary key is made of."""
        return introspection.primary_key_fields(self.target)

    @property
    def changes_items(self) -> bool:
        """Whether it sets attributes; Delete and Ensure do not."""
        return self.verb in {"Update", "Upsert"}

    def held(self, name: str) -> ArgumentField | None:
        """Return the value of a field in the subject, where each state that it may be in has the field."""
        if self.subject and all(name in introspection.attributes(kind) for kind in self.start_kinds):
            return ArgumentField(self.subject, name)
        return None

    def left_kinds(self) -> list[Kind]:
        """Return every variant that the subject may be of, except those that are of the target already."""
        found = [variant for kind in self.start_kinds for variant in introspection.with_variants(kind)]
        return [
            kind
            for kind in found
            if not issubclass(kind, self.target) and not issubclass(introspection.item_of(kind), self.target)
        ]


def read_intent(signature: Signature) -> WriteIntent:
    """Return the intent of a signature, or refuse one that lacks the key, the state or a required field."""
    target = signature.kinds[0]
    beside = {name: found.shapes for name, found in signature.parameters.items() if found.shapes}
    subject = _find_subject(beside, target)
    start_kinds = tuple(beside.pop(subject)) if subject else ()
    _check_same_item(signature, target, [*start_kinds, *(kind for kinds in beside.values() for kind in kinds)])
    tests, sets = _split_parameters(signature, target)
    intent = WriteIntent(
        signature=signature,
        subject=subject,
        start_kinds=start_kinds,
        target=target,
        beside=beside,
        tests=tests,
        sets=sets,
    )
    _check_key_is_given(intent)
    _check_state_is_left(intent)
    if intent.changes_items:
        _check_complete(intent)
    if intent.verb == "Upsert":
        _check_defaults_are_indexed(intent)
    return intent


def _find_subject(beside: Mapping[str, list[Kind]], target: Kind) -> str | None:
    """Return the parameter that is the item in the state it leaves."""
    same = (name for name, kinds in beside.items() if introspection.root(kinds[0]) is introspection.root(target))
    return next(same, next(iter(beside), None))


def _split_parameters(signature: Signature, target: Kind) -> tuple[dict[str, Parameter], dict[str, Parameter]]:
    """Return the parameters that are compared, and those that set a field; what remains is part of the key."""
    in_where = criterion.parameters_in(signature.wheres)
    fields, identity, table = (
        introspection.all_attributes(target),
        introspection.primary_key_fields(target),
        introspection.table_of(target),
    )
    tests: dict[str, Parameter] = {}
    sets: dict[str, Parameter] = {}
    for name, parameter in signature.values.items():
        if name not in in_where:
            signature.attribute(target, name, f"parameter {name!r}")
        if name not in fields:
            continue
        if parameter.compare or (name == signature.tenant and name not in identity):
            tests[name] = parameter
        elif name in identity and (signature.verb != "Upsert" or fields[name].stored in table.keys):
            continue  # it is in the key, which an update cannot set
        else:
            sets[name] = parameter
    return tests, sets


def _check_same_item(signature: Signature, target: Kind, others: list[Kind]) -> None:
    item = introspection.root(introspection.item_of(target))
    for kind in others:
        if introspection.root(introspection.item_of(kind)) is not item:
            raise DeclarationError(
                "HR240",
                signature.label,
                f"{kind.__name__} and {target.__name__} are of different items",
                "write one pattern for each, and run them in transact()",
            )


def _check_key_is_given(intent: WriteIntent) -> None:
    held = (name for kind in intent.start_kinds for name in introspection.attributes(kind))
    lacking = sorted(intent.identity - {*intent.signature.values, *held})
    if lacking:
        raise DeclarationError(
            "HR241",
            intent.label,
            f"the key of {intent.target.__name__} needs {', '.join(lacking)}",
            "take them as parameters",
        )


def _check_state_is_left(intent: WriteIntent) -> None:
    target = intent.target
    is_state = introspection.fixed_values(target, own=True) or introspection.state_keys(target)
    if not intent.subject and intent.verb == "Update" and is_state:
        raise DeclarationError(
            "HR244",
            intent.label,
            f"{target.__name__} is a state, and nothing says which state is left",
            "take the item in the state it leaves as a parameter",
        )


def _check_complete(intent: WriteIntent) -> None:
    """Refuse to enter a state without what it requires."""
    creates = not intent.start_kinds and intent.verb == "Upsert"
    sets = {name for name, parameter in intent.sets.items() if not (creates and parameter.may_be_left_out)}
    given = {*sets, *intent.identity, *(found.name for found in introspection.touched_attributes(intent.target))}
    for name, attribute in introspection.attributes(intent.target).items():
        if not attribute.required or attribute.fixed is not introspection.NOTHING or name in given:
            continue
        if creates:
            raise _incomplete(intent, name, "the item that it may create")
        for kind in intent.start_kinds:
            held = introspection.attributes(kind).get(name)
            is_view_of_it = introspection.root(kind) is not introspection.root(intent.target)  # it is stored already
            if (held is None or held.optional) and not is_view_of_it:
                raise _incomplete(intent, name, kind.__name__)


def _check_defaults_are_indexed(intent: WriteIntent) -> None:
    """Refuse to create an item without a default that is in an index key, when its parameter is left out."""
    templates = introspection.keys(intent.target)
    for name, parameter in intent.sets.items():
        in_keys = [attr for attr, template in templates.items() if name in template.fields]
        is_field = name in introspection.attributes(intent.target)
        if in_keys and is_field and parameter.may_be_left_out and DefaultOf(intent.target, name).is_there:
            raise DeclarationError(
                "HR249",
                intent.label,
                f"{name} may be left out, and an item created with its default is not in the index of {in_keys[0]}",
                f"take {name} without a default, or return Update",
            )


def _incomplete(intent: WriteIntent, name: str, place: str) -> DeclarationError:
    return DeclarationError(
        "HR243",
        intent.label,
        f"{intent.target.__name__} requires {name}, which {place} does not have",
        f"take {name} as a parameter{' without a default' if name in intent.sets else ''}",
    )
