"""THE write compiler: turns a pattern's signature into one conditional UpdateItem, DeleteItem or condition check.

It knows every key template that an attribute feeds. Whatever a pattern changes, each index key that depends on it is
written anew in the same request, or the pattern is refused when it is declared: there is no stale index key.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from hashrange.core.errors import DeclarationError
from hashrange.core.values import Value
from hashrange.expr.nodes import And, Comparison, Condition, Or
from hashrange.expr.render import join_all, join_any, without_repeats
from hashrange.schema import anatomy, criterion
from hashrange.schema.anatomy import Attribute, Kind
from hashrange.schema.change import Change, WritePlan
from hashrange.schema.criterion import Criterion
from hashrange.schema.keymaker import KeyMaker
from hashrange.schema.layout import makers
from hashrange.schema.marker import Marker
from hashrange.schema.plan import used_slots
from hashrange.schema.shape import Item, View
from hashrange.schema.signature import Parameter, Signature
from hashrange.schema.slot import (
    Constant,
    FieldOf,
    FieldSlot,
    FixedSlot,
    Given,
    GivenOr,
    KeySlot,
    Next,
    Now,
    SeenSlot,
    Slot,
    Slots,
    Source,
)
from hashrange.schema.table import Table
from hashrange.schema.template import Template


@dataclass(slots=True)
class Move:
    """A write taken apart: what is left, what is entered, what is tested and what is changed."""

    signature: Signature
    subject: str | None
    sources: list[Kind]
    target: Kind
    beside: dict[str, list[Kind]]  # other lifecycles of the same item that must hold
    tests: dict[str, Parameter]
    changes: dict[str, Parameter]
    slots: Slots = field(default_factory=Slots)
    changed: dict[str, Change] = field(default_factory=dict)  # by stored name
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
        return anatomy.table_of(self.target)

    @property
    def fields(self) -> dict[str, Attribute]:
        """Every field of the item."""
        return anatomy.known(self.target)

    @property
    def identity(self) -> set[str]:
        """The fields that the primary key is made of."""
        ours = anatomy.keys(self.target)
        return {name for attr in self.table.keys for name in ours[attr].fields}

    def source_of(self, name: str) -> Source | None:
        """Say where the new value of a field comes from: a parameter, the state entered, the item passed in."""
        held = (
            FieldOf(self.subject, name)
            if self.subject and all(name in anatomy.attributes(s) for s in self.sources)
            else None
        )
        parameter = self.signature.values.get(name)
        if parameter is not None and name not in self.tests:
            return GivenOr(name, held) if parameter.may_be_left_out else Given(name)
        fixed = anatomy.fixed_values(self.target)
        if name in fixed:
            return Constant(fixed[name])
        return Given(name) if parameter is not None and parameter.operator == "=" else held


def plan_write(signature: Signature) -> WritePlan:
    """Return the plan of a pattern that writes."""
    move = _take_apart(signature)
    key = _key(move)
    if signature.verb in {"Update", "Upsert"}:
        _check_complete(move)
        _set_parameters(move)
        _enter_state(move)
        _keep_count(move)
        _move_keys(move)
        _drop_fields(move)
    _leave_states(move)
    _test_parameters(move)
    _require_existence(move)
    tree = join_all([found.condition for found in move.conditions])
    return WritePlan(
        label=signature.label,
        name=signature.name,
        verb=signature.verb,
        target=move.target,
        table=move.table,
        key=key,
        subject=move.subject,
        changes=tuple(move.changed.values()),
        removes=tuple(stored for stored in move.removed if stored not in move.changed),
        condition=tree,
        slots=used_slots(move.slots, (tree,)),
        costs=tuple(_costs(move)),
        edges=tuple((source.__name__, move.target.__name__) for source in move.sources),
        exact=_is_exact(move),
        signature=signature,
        checked={name: _checked(move, name, found) for name, found in move.changes.items()},
    )


def _take_apart(signature: Signature) -> Move:
    target = signature.kinds[0]
    beside = {name: found.shapes for name, found in signature.parameters.items() if found.shapes}
    subject = _subject(beside, target)
    sources = beside.pop(subject) if subject else []
    _check_same_item(signature, target, [*sources, *(kind for kinds in beside.values() for kind in kinds)])
    in_where = criterion.placeholders(signature.wheres)
    fields = anatomy.known(target)
    for name in signature.values:
        if name not in in_where:
            signature.attribute(target, name, f"parameter {name!r}")
    move = Move(signature, subject, sources, target, beside, {}, {})
    for name, parameter in signature.values.items():
        if name not in fields:
            continue
        if parameter.compare or (name == signature.tenant and name not in move.identity):
            move.tests[name] = parameter
        elif (name not in move.identity or signature.verb == "Upsert") and not fields[name].key_only:
            move.changes[name] = parameter
    _check_starts_somewhere(move)
    return move


def _checked(move: Move, name: str, parameter: Parameter) -> Any:
    """Return the type of a value that is set, with the constraints of its field."""
    shapes = (move.target, *anatomy.family(anatomy.root(anatomy.item_of(move.target))))
    metadata = next((shape.model_fields[name].metadata for shape in shapes if name in shape.model_fields), [])
    constraints = [fact for fact in metadata if not isinstance(fact, Marker)]
    return Annotated[(parameter.hint, *constraints)] if constraints else parameter.hint


def _subject(beside: Mapping[str, list[Kind]], target: Kind) -> str | None:
    """Return the parameter that is the item in the state it leaves."""
    same = (name for name, kinds in beside.items() if anatomy.root(kinds[0]) is anatomy.root(target))
    return next(same, next(iter(beside), None))


def _check_same_item(signature: Signature, target: Kind, others: list[Kind]) -> None:
    item = anatomy.root(anatomy.item_of(target))
    for kind in others:
        if anatomy.root(anatomy.item_of(kind)) is not item:
            raise DeclarationError(
                "HR240",
                signature.label,
                f"{kind.__name__} and {target.__name__} are of different items",
                "write one pattern for each, and run them in transact()",
            )


def _check_starts_somewhere(move: Move) -> None:
    known = {*move.signature.values, *(name for kind in move.sources for name in anatomy.attributes(kind))}
    lacking = sorted(move.identity - known)
    if lacking:
        raise DeclarationError(
            "HR241",
            move.label,
            f"the key of {move.target.__name__} needs {', '.join(lacking)}",
            "take them as parameters",
        )
    told = anatomy.fixed_values(move.target, own=True) or anatomy.state_keys(move.target)
    if not move.subject and move.verb == "Update" and told:
        raise DeclarationError(
            "HR244",
            move.label,
            f"{move.target.__name__} is a state, and nothing says which state is left",
            "take the item in the state it leaves as a parameter",
        )


def _check_complete(move: Move) -> None:
    """Refuse to enter a state without what it requires."""
    for name, attribute in anatomy.attributes(move.target).items():
        if not attribute.required or attribute.fixed is not anatomy.NOTHING or name in move.changes:
            continue
        if name in move.identity or name in {found.name for found in anatomy.touched(move.target)}:
            continue
        if not move.sources and move.verb == "Upsert":
            _refuse_incomplete(move, name, "the item that it may create")
        for source in move.sources:
            held = anatomy.attributes(source).get(name)
            wider = anatomy.root(source) is not anatomy.root(
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


# ── what changes ─────────────────────────────────────────────────────────────────────────────────────────────────────
def _set_parameters(move: Move) -> None:
    for name, parameter in move.changes.items():
        attribute = move.fields[name]
        if parameter.is_none:
            _remove(move, attribute)
            continue
        depends = frozenset({name}) if parameter.may_be_left_out else frozenset()
        _change(move, attribute, Given(name), action=parameter.change or "SET", depends=depends)


def _change(
    move: Move, attribute: Attribute, source: Source, *, action: str = "SET", depends: frozenset[str] = frozenset()
) -> None:
    slot = FieldSlot(source, attribute.codec)
    unset = _unset(move, attribute)
    move.changed[attribute.stored] = Change(attribute.stored, action, slot, depends, unset, sealed=attribute.sealed)


def _unset(move: Move, attribute: Attribute) -> Value | None:
    """Return the table's word for "no value", where this attribute can hold it."""
    word = move.table.unset
    can = word is not None and attribute.codec.tag == "S" and attribute.stored not in move.table.key_names
    return {"S": word} if can else None


def _remove(move: Move, attribute: Attribute) -> None:
    unset = _unset(move, attribute)
    if unset is None:
        move.removed[attribute.stored] = None
    else:
        move.changed[attribute.stored] = Change(attribute.stored, "SET", FixedSlot(unset))


def _enter_state(move: Move) -> None:
    """Set the fields that have one value in the state entered and had another, and drop those that are never there."""
    for name, value in anatomy.fixed_values(move.target).items():
        same = move.sources and all(anatomy.fixed_values(kind).get(name) == value for kind in move.sources)
        if name not in move.changes and (move.verb == "Upsert" or (move.sources and not same)):
            _change(move, move.fields[name], Constant(value))
    for name, attribute in anatomy.attributes(move.target).items():
        if attribute.fixed is None and name not in move.changes:
            _remove(move, move.fields[name])


def _keep_count(move: Move) -> None:
    """Count the version up, and set the time of the last write."""
    for attribute in anatomy.touched(move.target):
        if attribute.name not in move.changes:
            _change(move, attribute, Now())
    version = anatomy.version_of(move.target)
    if version is None:
        return
    if move.subject and all(version.name in anatomy.attributes(kind) for kind in move.sources):
        held = FieldOf(move.subject, version.name)
        move.conditions.append(criterion.equal(version.stored, FieldSlot(held, version.codec), move.slots))
        _change(move, version, Next(held))
    else:
        _change(move, version, Constant(1), action="ADD")


def _move_keys(move: Move) -> None:
    """Write anew every index key that changes, or refuse the pattern."""
    by_stored = {attribute.stored: name for name, attribute in move.fields.items() if not attribute.key_only}
    leaving = _left(move)
    for attr in sorted(move.table.key_names - set(move.table.keys)):
        after = _carried(attr, move.target)
        held = any(_carried(attr, kind) for kind in leaving)
        moves = held if after is None else _moves(move, attr, after, leaving)
        if not moves:
            continue
        move.moving.append(attr)
        if attr in by_stored:
            _fence(move, attr, by_stored[attr])
        elif after is None:
            move.removed[attr] = None
        else:
            _set_key(move, attr, after)


def _moves(move: Move, attr: str, after: Template, leaving: list[Kind]) -> bool:
    """Whether a key may change: its template is another, or one of its fields is."""
    if move.verb == "Upsert" or set(after.fields) & set(move.changes):
        return True
    if any(_carried(attr, kind) != after for kind in leaving):
        return True
    fixed = anatomy.fixed_values(move.target)
    return any(anatomy.fixed_values(kind).get(name) != fixed.get(name) for kind in leaving for name in after.fields)


def _set_key(move: Move, attr: str, after: Template) -> None:
    sources: dict[str, Source] = {}
    for name in after.fields:
        source = move.source_of(name)
        changed = move.changes.get(name)
        if changed is not None and changed.change:
            raise DeclarationError(
                "HR246",
                move.label,
                f"{attr}={after.text!r} is made of {name}, whose new value only the database will know",
                f"set {name} to a value instead",
            )
        if source is None or (isinstance(source, GivenOr) and source.otherwise is None and len(after.fields) > 1):
            raise DeclarationError(
                "HR242",
                move.label,
                f"{attr}={after.text!r} would go stale, because {name} is not known here",
                f"take {name} as a parameter, or start from a wider shape",
            )
        sources[name] = source
    maker = makers(move.target)[attr]
    depends = [name for name in after.fields if name in move.changes]
    left_out = all(move.changes[name].may_be_left_out for name in depends) and bool(depends)
    slot = KeySlot(maker, sources, len(maker.steps), maker.tail)
    move.changed[attr] = Change(attr, "SET", slot, frozenset(depends) if left_out else frozenset())


def _fence(move: Move, attr: str, name: str) -> None:
    """Where the item passed in shows the key that it moves from, the item must still be there."""
    if name in move.changes and move.subject and all(name in anatomy.attributes(kind) for kind in move.sources):
        old = FieldSlot(FieldOf(move.subject, name), move.fields[name].codec)
        move.conditions.append(criterion.equal(attr, SeenSlot(move.subject, attr, old), move.slots))


def _left(move: Move) -> list[Kind]:
    """Return every variant that an item passed in may be of, save those that are of the target already."""
    found = [variant for kind in move.sources for variant in anatomy.family(kind)]
    return [kind for kind in found if not issubclass(kind, move.target)]


def _carried(attr: str, kind: Kind) -> Template | None:
    """Return the template by which an item of this class carries a key attribute, if it does."""
    template = anatomy.keys(kind).get(attr)
    if template is None or issubclass(kind, View):
        return template
    states = [state for kinds in anatomy.parts(kind).values() for state in kinds]
    mine = {*anatomy.attributes(kind), *(name for state in states for name in anatomy.attributes(state))}
    return template if all(name in mine for name in template.fields) else None


def _drop_fields(move: Move) -> None:
    """Drop what belonged to the state that is left and is no part of the one entered."""
    if not move.sources or anatomy.root(move.sources[0]) is not anatomy.root(move.target):
        return
    kept = {*anatomy.attributes(move.target), *move.changes, *anatomy.attributes(anatomy.root(move.target))}
    for kind in _left(move):
        for name, attribute in anatomy.attributes(kind).items():
            if name not in kept and not attribute.key_only:
                _remove(move, attribute)


# ── what must hold ───────────────────────────────────────────────────────────────────────────────────────────────────
def _leave_states(move: Move) -> None:
    """Test that the item is in the state that was passed in: by the very key that was seen, so that a move fences."""
    for subject, kinds in {move.subject or "": move.sources, **move.beside}.items():
        trees = [tree for kind in kinds if (tree := _state_test(move, kind, subject)) is not None]
        if trees:
            move.conditions.append(Criterion(join_any(without_repeats(trees))))


def _state_test(move: Move, kind: Kind, subject: str) -> Condition | None:
    tests = [
        criterion.equal(move.fields[name].stored, FixedSlot(move.fields[name].codec.encode(value)), move.slots)
        for name, value in anatomy.fixed_values(kind).items()
    ]
    for attr, template in anatomy.state_keys(kind).items():
        maker = makers(kind)[attr]
        sources: dict[str, Source] = {name: FieldOf(subject, name) for name in template.fields}
        rendered = KeySlot(maker, sources, len(maker.steps), maker.tail)
        slot: Slot = SeenSlot(subject, attr, rendered) if template.fields else rendered
        tests.append(criterion.equal(attr, slot, move.slots))
    return join_all([test.condition for test in tests])


def _test_parameters(move: Move) -> None:
    for name, parameter in move.tests.items():
        move.conditions.append(criterion.compare(move.fields[name], parameter, move.slots))
    for expression in move.signature.wheres:
        move.conditions.append(criterion.read_where(move.signature, move.target, expression, move.slots))


def _require_existence(move: Move) -> None:
    """See to it that an update finds its item: a phantom would be half an item."""
    implied = any(_implies_existence(found.condition) for found in move.conditions)
    if move.verb in {"Update", "Ensure"} and not implied:
        move.conditions.insert(0, criterion.exists(move.table.pk))


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


def _key(move: Move) -> dict[str, Slot]:
    return {attr: _key_slot(move, makers(move.target)[attr]) for attr in move.table.keys}


def _key_slot(move: Move, maker: KeyMaker) -> Slot:
    given = {name for name in maker.template.fields if name in move.signature.values}
    sources: dict[str, Source] = {
        name: Given(name) if name in given or not move.subject else FieldOf(move.subject, name)
        for name in maker.template.fields
    }
    slot = KeySlot(maker, sources, len(maker.steps), maker.tail)
    return slot if given or not move.subject else SeenSlot(move.subject, maker.attr, slot)


# ── what it costs, and what it leaves ────────────────────────────────────────────────────────────────────────────────
def _costs(move: Move) -> list[tuple[str, int]]:
    """Count write units for a small item: the table 1, an index whose key moves 2, one whose projection changes 1."""
    found = [("table", 1)]
    changed = {*move.changed, *move.removed}
    if move.verb == "Ensure":
        return found
    for index in move.table.indexes:
        if not any(
            _is_in(index.keys, kind) for source in (move.target, *move.sources) for kind in anatomy.family(source)
        ):
            continue
        if move.verb == "Delete" or index.projects_all or set(index.attributes) & changed:
            found.append((index.name, 2 if set(index.keys) & set(move.moving) else 1))
        elif set(index.keys) & set(move.moving):
            found.append((index.name, 2))
    return found


def _is_in(keys: tuple[str, ...], kind: Kind) -> bool:
    item = anatomy.item_of(kind)
    states = [state for kinds in anatomy.parts(item).values() for state in kinds]
    shape = kind if issubclass(kind, Item) else item
    return all(_carried(attr, shape) or any(attr in anatomy.variants(state) for state in states) for attr in keys)


def _is_exact(move: Move) -> bool:
    """Whether the outcome follows from the arguments alone, fenced by the state or the version that was seen."""
    if move.verb != "Update" or not move.subject or anatomy.parts(move.target):
        return False
    if any(change.action != "SET" for change in move.changed.values()):
        return False
    fenced = anatomy.version_of(move.target) is not None or issubclass(move.target, View)
    held = set.intersection(*(set(anatomy.attributes(kind)) for kind in move.sources))
    fixed: dict[str, Any] = anatomy.fixed_values(move.target)
    needed = {name for name, found in anatomy.attributes(move.target).items() if found.fixed is not None}
    same = all(anatomy.root(kind) is anatomy.root(move.target) for kind in move.sources)
    return fenced and same and needed <= {*held, *move.changes, *fixed, *(t.name for t in anatomy.touched(move.target))}
