"""A write taken apart: which item it is about, what is left and entered, what is tested and what is changed.

What cannot be told from the signature is refused here: an item without its key, a state without what it requires.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

from hashrange.core.errors import DeclarationError
from hashrange.schema.declare import introspection
from hashrange.schema.declare.introspection import Attribute, Kind
from hashrange.schema.declare.table import Table
from hashrange.schema.pattern import criterion
from hashrange.schema.pattern.criterion import Criterion
from hashrange.schema.pattern.signature import Parameter, Signature
from hashrange.schema.pattern.value_source import (
    Argument,
    ArgumentField,
    ArgumentSource,
    Constant,
    OptionalArgument,
    Placeholders,
)
from hashrange.schema.write.write_plan import AttributeChange


class Move(Struct):
    """A write taken apart: what is left, what is entered, what is tested and what is changed."""

    signature: Signature
    subject: str | None
    sources: list[Kind]
    target: Kind
    beside: dict[str, list[Kind]]  # other lifecycles of the same item that must hold
    tests: dict[str, Parameter]
    changes: dict[str, Parameter]
    placeholders: Placeholders = field(default_factory=Placeholders)
    changed: dict[str, AttributeChange] = field(default_factory=dict)  # by stored name
    removed: dict[str, None] = field(default_factory=dict)
    moving: list[str] = field(default_factory=list)  # the key attributes that change
    conditions: list[Criterion] = field(default_factory=list)

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
        return introspection.known(self.target)

    @property
    def identity(self) -> frozenset[str]:
        """The fields that the primary key is made of."""
        return introspection.identity(self.target)

    def source_of(self, name: str) -> ArgumentSource | None:
        """Say where the new value of a field comes from: a parameter, the state entered, the item passed in."""
        held = (
            ArgumentField(self.subject, name)
            if self.subject and all(name in introspection.attributes(s) for s in self.sources)
            else None
        )
        parameter = self.signature.values.get(name)
        if parameter is not None and name not in self.tests:
            return OptionalArgument(name, held) if parameter.may_be_left_out else Argument(name)
        fixed = introspection.fixed_values(self.target)
        if name in fixed:
            return Constant(fixed[name])
        return Argument(name) if parameter is not None and parameter.operator == "=" else held


def take_apart(signature: Signature) -> Move:
    """Return a pattern that writes, taken apart, or refuse one that has no beginning."""
    target = signature.kinds[0]
    beside = {name: found.shapes for name, found in signature.parameters.items() if found.shapes}
    subject = _subject(beside, target)
    sources = beside.pop(subject) if subject else []
    _check_same_item(signature, target, [*sources, *(kind for kinds in beside.values() for kind in kinds)])
    in_where = criterion.parameters_in(signature.wheres)
    fields = introspection.known(target)
    for name in signature.values:
        if name not in in_where:
            signature.attribute(target, name, f"parameter {name!r}")
    move = Move(signature, subject, sources, target, beside, {}, {})
    for name, parameter in signature.values.items():
        if name not in fields:
            continue
        if parameter.compare or (name == signature.tenant and name not in move.identity):
            move.tests[name] = parameter
        elif name in move.identity and (signature.verb != "Upsert" or fields[name].stored in move.table.keys):
            continue  # it is in the key, which an update cannot set
        elif not fields[name].key_only:
            move.changes[name] = parameter
    _check_starts_somewhere(move)
    return move


def _subject(beside: Mapping[str, list[Kind]], target: Kind) -> str | None:
    """Return the parameter that is the item in the state it leaves."""
    same = (name for name, kinds in beside.items() if introspection.root(kinds[0]) is introspection.root(target))
    return next(same, next(iter(beside), None))


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


def _check_starts_somewhere(move: Move) -> None:
    known = {*move.signature.values, *(name for kind in move.sources for name in introspection.attributes(kind))}
    lacking = sorted(move.identity - known)
    if lacking:
        raise DeclarationError(
            "HR241",
            move.label,
            f"the key of {move.target.__name__} needs {', '.join(lacking)}",
            "take them as parameters",
        )
    told = introspection.fixed_values(move.target, own=True) or introspection.state_keys(move.target)
    if not move.subject and move.verb == "Update" and told:
        raise DeclarationError(
            "HR244",
            move.label,
            f"{move.target.__name__} is a state, and nothing says which state is left",
            "take the item in the state it leaves as a parameter",
        )


def check_complete(move: Move) -> None:
    """Refuse to enter a state without what it requires."""
    given = {*move.changes, *move.identity, *(found.name for found in introspection.touched(move.target))}
    for name, attribute in introspection.attributes(move.target).items():
        if not attribute.required or attribute.fixed is not introspection.NOTHING or name in given:
            continue
        if not move.sources and move.verb == "Upsert":
            _refuse_incomplete(move, name, "the item that it may create")
        for source in move.sources:
            held = introspection.attributes(source).get(name)
            wider = introspection.root(source) is not introspection.root(
                move.target
            )  # from a view to its item: it is stored already
            if (held is None or held.optional) and not wider:
                _refuse_incomplete(move, name, source.__name__)


def _refuse_incomplete(move: Move, name: str, place: str) -> None:
    raise DeclarationError(
        "HR243",
        move.label,
        f"{move.target.__name__} requires {name}, which {place} does not have",
        f"take {name} as a parameter",
    )


def check_changes(move: Move) -> None:
    """Refuse an update that changes nothing."""
    if move.verb == "Update" and not move.changed and not move.removed:
        raise DeclarationError(
            "HR245", move.label, "changes nothing", "take what it sets as a parameter, or return Ensure to test only"
        )


def left(move: Move) -> list[Kind]:
    """Return every variant that an item passed in may be of, save those that are of the target already."""
    found = [variant for kind in move.sources for variant in introspection.family(kind)]
    return [
        kind
        for kind in found
        if not issubclass(kind, move.target) and not issubclass(introspection.item_of(kind), move.target)
    ]
