"""Plans reads: which index serves a pattern, with which key condition, and what is left for a filter.

The shape that a pattern returns says as much as its parameters: its key templates give prefixes, its fixed fields give
values, its fields say what the index must project.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from hashrange.core.errors import DeclarationError
from hashrange.expr.nodes import Between, Call, Comparison, Condition, path_of
from hashrange.expr.render import join_all, join_any, without_repeats
from hashrange.schema import anatomy, criterion
from hashrange.schema import hint as hints
from hashrange.schema.anatomy import Kind
from hashrange.schema.codec import SIMPLE
from hashrange.schema.criterion import FINER, Criterion
from hashrange.schema.keymaker import KeyMaker
from hashrange.schema.layout import makers
from hashrange.schema.plan import Lint, ReadPlan, compile_check, make_branch, show, used_slots
from hashrange.schema.shape import View
from hashrange.schema.signature import Parameter, Signature
from hashrange.schema.slot import Constant, EndOf, FieldSlot, FixedSlot, Given, KeySlot, Slot, Slots, Source
from hashrange.schema.table import Gsi
from hashrange.schema.template import HIGHEST


@dataclass(slots=True)
class Access:
    """One way to read one shape."""

    path: Gsi
    kind: Kind
    partition: Slot | None = None
    sort: Condition | None = None
    sort_slot: Slot | None = None  # where the sort key is given whole
    excluded: tuple[str, Slot] | None = None
    filters: list[Criterion] = field(default_factory=list)
    consumed: set[str] = field(default_factory=set)
    needs: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)

    @property
    def rank(self) -> tuple[int, ...]:
        """How good it is, least first: all there, few filters, most of the key used, the table, a narrow index."""
        width = {"KEYS_ONLY": 0, "ALL": 2}[self.path.project] if isinstance(self.path.project, str) else 1
        return (len(self.missing) > 0, len(self.filters), -len(self.consumed), self.path.name != "", width)

    def key(self, slots: Slots) -> Condition | None:
        """The key condition."""
        if self.partition is None:
            return None
        whole = criterion.equal(self.path.pk, self.partition, slots).condition
        return whole if self.sort is None else join_all([whole, self.sort])


def plan_read(signature: Signature) -> ReadPlan:
    """Return the plan of a pattern that reads."""
    slots = Slots()
    kinds = _whole_lifecycle(signature.kinds)
    chosen = [_choose(_applicable(signature, kind) if len(kinds) > 1 else signature, kind, slots) for kind in kinds]
    paths = {access.path.name: access.path for access in chosen}
    if len(paths) > 1:
        raise DeclarationError(
            "HR232",
            signature.label,
            f"its shapes live in different indexes: {', '.join(n or 'the table' for n in paths)}",
            "split it",
        )
    path = chosen[0].path
    _check_projection(signature, path, chosen)
    needs = tuple(dict.fromkeys(stored for access in chosen for stored in access.needs))
    reads = _Reads(signature, path, slots, chosen, needs)
    return reads.get() if signature.verb == "Get" else reads.query()


@dataclass(frozen=True, slots=True)
class _Reads:
    """The ways chosen for a pattern, about to become its plan."""

    signature: Signature
    path: Gsi
    slots: Slots
    chosen: list[Access]
    needs: tuple[str, ...]

    def get(self) -> ReadPlan:
        access = self.chosen[0]
        assert access.partition is not None
        key = {self.path.pk: access.partition}
        if self.path.sk is not None and access.sort_slot is not None:
            key[self.path.sk] = access.sort_slot
        asked = [found.condition for found in access.filters]
        tree = join_all(asked)
        return self._plan(key=key, check_tree=tree, check_slots=used_slots(self.slots, (tree,)))

    def query(self) -> ReadPlan:
        projected = self._projected()
        groups = self._groups()
        branches = tuple(
            make_branch(
                self.path,
                self.slots,
                key=key,
                found=_merge(group),
                projected=projected,
                descending=self.signature.verb == "Latest",
                excluded=group[0].excluded if len(group) == 1 else None,
            )
            for key, group in groups
        )
        return self._plan(branches=branches, projected=projected)

    def _groups(self) -> list[tuple[Condition | None, list[Access]]]:
        """Put the accesses that one request serves together."""
        if self.signature.verb == "Scan":
            return [(None, self.chosen)]
        if len(self.chosen) > 1 and _covers(self.chosen):
            first = replace(self.chosen[0], sort=None)
            return [(first.key(self.slots), self.chosen)]
        groups: dict[str, tuple[Condition | None, list[Access]]] = {}
        for access in self.chosen:
            key = access.key(self.slots)
            assert key is not None
            groups.setdefault(show(key, self.slots.by_name), (key, []))[1].append(access)
        return list(groups.values())

    def _projected(self) -> tuple[str, ...]:
        """Ask a wide index for a view's attributes only; the keys come along for cursors and fences."""
        if not self.path.projects_all or not all(issubclass(kind, View) for kind in self.signature.kinds):
            return ()
        table = anatomy.table_of(self.chosen[0].kind)
        keys = [attr for path in (table.primary, self.path) for attr in path.keys]
        named = {
            found.stored
            for kind in self.signature.kinds
            for found in anatomy.known(kind).values()
            if not found.key_only
        }
        wanted = [
            *keys,
            *(stored for stored in self.needs if stored in named | table.key_names),
            *filter(None, [table.ttl]),
        ]
        return tuple(dict.fromkeys(wanted))

    def _plan(self, **more: Any) -> ReadPlan:
        signature = self.signature
        given = {"branches": (), "key": {}, "check_tree": None, "check_slots": {}, "projected": (), **more}
        return ReadPlan(
            label=signature.label,
            name=signature.name,
            verb=signature.verb,
            kinds=signature.kinds,
            table=anatomy.table_of(signature.kinds[0]),
            path=self.path,
            check=compile_check(given["check_tree"]),
            needs=self.needs,
            lints=tuple(_lints(signature, self.chosen)),
            signature=signature,
            **given,
        )


def _merge(group: list[Access]) -> Condition | None:
    """Return the filter of a request that serves several shapes: each has its own, or none is needed."""
    each = [join_all([found.condition for found in access.filters]) for access in group]
    if any(tree is None for tree in each):
        return None if not all(tree == each[0] for tree in each) else each[0]
    trees = [tree for tree in each if tree is not None]
    return join_any(without_repeats(trees))


def _applicable(signature: Signature, kind: Kind) -> Signature:
    """In a union, a parameter speaks of the members that have the field."""
    mine = {
        *anatomy.attributes(kind),
        *anatomy.attributes(anatomy.item_of(kind)),
        *criterion.placeholders(signature.wheres),
    }
    raw = {name for name in signature.parameters if name not in anatomy.known(kind)}
    kept = {name: found for name, found in signature.parameters.items() if name in mine | raw}
    return replace(signature, parameters=kept)


def _whole_lifecycle(kinds: tuple[Kind, ...]) -> tuple[Kind, ...]:
    """A union of all variants is no condition at all."""
    top = anatomy.root(kinds[0])
    every = set(top.__subclasses__())
    return (top,) if len(kinds) > 1 and every and every <= set(kinds) else kinds


def _covers(chosen: list[Access]) -> bool:
    """Whether the shapes make up everything that can be in the partition."""
    path = chosen[0].path
    table = anatomy.table_of(chosen[0].kind)
    partition = anatomy.keys(chosen[0].kind).get(path.pk)
    inside = [item for item in table.items if anatomy.keys(item).get(path.pk) == partition]
    return all(
        any(issubclass(item, access.kind) or issubclass(access.kind, item) for access in chosen) for item in inside
    )


def _choose(signature: Signature, kind: Kind, slots: Slots) -> Access:
    table = anatomy.table_of(kind)
    if signature.via and table.find_index(signature.via) is None:
        names = ", ".join(index.name for index in table.indexes)
        raise DeclarationError(
            "HR233", signature.label, f"{table.name} has no index {signature.via!r}", f"it has {names}"
        )
    in_where = criterion.placeholders(signature.wheres)
    for name in signature.parameters:
        if name not in in_where and not _is_raw_key(kind, name):
            signature.attribute(kind, name, f"parameter {name!r}")
    if signature.verb == "Scan":
        return _finish(signature, Access(table.primary, kind), slots)
    paths = [path for path in table.paths if signature.via in {None, path.name}]
    found = [access for path in paths if (access := _attempt(signature, kind, path, slots))]
    if signature.verb == "Get":
        return _whole_key(signature, kind, found)
    if not found:
        given = ", ".join(signature.parameters) or "nothing"
        raise DeclarationError(
            "HR230",
            signature.label,
            f"no index of {table.name} serves {given} -> {kind.__name__}",
            "give a partition key's fields, or return Scan",
        )
    found.sort(key=lambda access: access.rank)
    if len(found) > 1 and found[0].rank == found[1].rank:
        names = " and ".join(access.path.name or "the table" for access in found[:2])
        raise DeclarationError("HR231", signature.label, f"{names} serve it alike", f"add @via({found[0].path.name!r})")
    return found[0]


def _whole_key(signature: Signature, kind: Kind, found: list[Access]) -> Access:
    whole = [access for access in found if not access.path.name and (access.path.sk is None or access.sort_slot)]
    if not whole:
        fields = [name for attr in anatomy.table_of(kind).keys for name in anatomy.keys(kind)[attr].fields]
        raise DeclarationError(
            "HR235",
            signature.label,
            f"does not give the whole key of {kind.__name__}",
            f"take {', '.join(fields)}, or return Query",
        )
    return whole[0]


def _is_raw_key(kind: Kind, name: str) -> bool:
    """Whether a parameter gives the value of a key attribute that is no field."""
    table = anatomy.table_of(kind)
    return name not in anatomy.known(kind) and table.naming(name) in table.key_names


def _attempt(signature: Signature, kind: Kind, path: Gsi, slots: Slots) -> Access | None:
    """Try a path; None when its partition key is not given, or items of this kind are not in it."""
    ours = makers(kind)
    if path.pk not in ours or not _is_inside(kind, path):
        return None
    access = Access(path, kind)
    table = anatomy.table_of(kind)
    raw = next(
        (name for name in signature.parameters if _is_raw_key(kind, name) and table.naming(name) == path.pk), None
    )
    if raw is not None:
        access.partition, access.consumed = FieldSlot(Given(raw), SIMPLE[str]), {raw}
    else:
        filled = _fill(ours[path.pk], signature, kind)
        if not filled.whole:
            return None
        access.partition, access.consumed = filled.slot(), set(filled.used)
    if path.sk in ours:
        _add_sort(access, _fill(ours[path.sk], signature, kind), slots)
    return _finish(signature, access, slots)


def _is_inside(kind: Kind, path: Gsi) -> bool:
    """Whether items of this kind, or of a variant, carry the keys of a path."""
    return all(any(attr in anatomy.keys(variant) for variant in anatomy.family(kind)) for attr in path.keys)


@dataclass(frozen=True, slots=True)
class _Filled:
    """A template filled from the left, as far as the parameters go."""

    maker: KeyMaker
    sources: dict[str, Source]
    count: int
    used: tuple[str, ...]
    ranged: Parameter | None  # the parameter that gives a range where it stopped

    @property
    def whole(self) -> bool:
        return self.count == len(self.maker.steps)

    @property
    def prefix(self) -> str:
        """The fixed text after what is filled."""
        return self.maker.tail if self.whole else self.maker.steps[self.count].literal

    def slot(self) -> KeySlot:
        return KeySlot(self.maker, self.sources, self.count, self.prefix)


def _fill(maker: KeyMaker, signature: Signature, kind: Kind) -> _Filled:
    fixed, given = anatomy.fixed_values(kind, own=True), signature.parameters
    sources: dict[str, Source] = {}
    used: list[str] = []
    for count, step in enumerate(maker.steps):
        parameter = given.get(step.field)
        if step.field in fixed:
            sources[step.field] = Constant(fixed[step.field])
        elif parameter is not None and parameter.operator == "=":
            sources[step.field] = Given(step.field)
        else:
            return _Filled(maker, sources, count, tuple(used), parameter)
        used.append(step.field)
    return _Filled(maker, sources, len(maker.steps), tuple(used), None)


def _add_sort(access: Access, filled: _Filled, slots: Slots) -> None:
    """Put the condition on the sort key together: whole, a range, or a prefix."""
    attr = filled.maker.attr
    access.consumed |= set(filled.used)
    if filled.whole:
        access.sort_slot = filled.slot()
        access.sort = criterion.equal(attr, access.sort_slot, slots).condition
        return
    ranged = filled.ranged
    if ranged is not None and ranged.operator in RANGES:
        access.consumed.add(ranged.name)
        if filled.maker.alone is not None:
            access.sort = criterion.compare(filled.maker.alone, ranged, slots).condition
        else:
            access.sort, access.excluded = _range(filled, ranged, slots)
    elif filled.count or filled.prefix:
        access.sort = criterion.starts(attr, filled.slot(), slots).condition


RANGES = {"<", "<=", ">", ">=", "BETWEEN", "begins_with"}


def _range(filled: _Filled, ranged: Parameter, slots: Slots) -> tuple[Condition, tuple[str, Slot] | None]:
    """Return the condition that keys up to a prefix are equal, and their next field lies in a range."""
    attr, operator = filled.maker.attr, ranged.operator
    path = path_of(attr)
    bounds = _Bounds(filled, ranged, slots)
    if operator == "begins_with":
        return Call("begins_with", (path, bounds.at(Given(ranged.name)))), None
    if operator == "BETWEEN":
        return Between(path, bounds.at(EndOf(ranged.name, 0), up=True), bounds.past(EndOf(ranged.name, 1))), None
    given = Given(ranged.name)
    near, far = bounds.at(given, up=operator in FINER), bounds.past(given)
    bound = near if operator in {"<", ">="} else far
    if not filled.count and not filled.prefix:
        return Comparison(operator, path, bound), None
    low, high = (bounds.start, bound) if operator in {"<", "<="} else (bound, bounds.end)
    left_out = slots.by_name[bound.name] if operator in {"<", ">"} else None
    return Between(path, low, high), (attr, left_out) if left_out else None


@dataclass(frozen=True, slots=True)
class _Bounds:
    """The texts between which the keys of a range lie."""

    filled: _Filled
    ranged: Parameter
    slots: Slots

    @property
    def start(self) -> Any:
        return criterion.operand_of(self.filled.slot(), self.slots)

    @property
    def end(self) -> Any:
        filled = self.filled
        return criterion.operand_of(
            KeySlot(filled.maker, filled.sources, filled.count, filled.prefix + HIGHEST), self.slots
        )

    def at(self, source: Source, *, up: bool = False) -> Any:
        """The first key with a value."""
        return self._with(source, "", up=up)

    def past(self, source: Source) -> Any:
        """The last key with a value."""
        maker, after = self.filled.maker, self.filled.count + 1
        last = after == len(maker.steps)
        rest = maker.tail if last else maker.steps[after].literal
        return self._with(source, rest if last else rest + HIGHEST)

    def _with(self, source: Source, tail: str, *, up: bool = False) -> Any:
        filled = self.filled
        sources = {**filled.sources, self.ranged.name: source}
        return criterion.operand_of(KeySlot(filled.maker, sources, filled.count + 1, tail, up), self.slots)


def _finish(signature: Signature, access: Access, slots: Slots) -> Access:
    """Add what the key did not settle as filters, and what the shape needs from the projection."""
    kind, fields = access.kind, anatomy.known(access.kind)
    in_where = criterion.placeholders(signature.wheres)
    for name, parameter in signature.parameters.items():
        if name not in access.consumed and name not in in_where:
            access.filters.append(criterion.compare(fields[name], parameter, slots))
    if signature.verb != "Get":  # what a Get finds is told by its shape
        access.filters += _shape_filters(access, slots)
    access.filters += [criterion.read_where(signature, kind, text, slots) for text in signature.wheres]
    read = [stored for found in access.filters for stored in found.attributes]
    keys = set(access.path.keys)
    if signature.verb not in {"Get", "Scan"}:
        access.missing += [f"{stored}, a key that cannot be filtered" for stored in read if stored in keys]
    access.needs = list(dict.fromkeys([*_needed(signature, kind), *read]))
    if not access.path.projects_all:
        access.missing += [stored for stored in access.needs if stored not in _held(access)]
    return access


def _shape_filters(access: Access, slots: Slots) -> list[Criterion]:
    """Return the tests that tell this shape from others that the key condition lets through."""
    found: list[Criterion] = []
    for name, attribute in anatomy.attributes(access.kind).items():
        if attribute.fixed is None:
            found.append(criterion.never_there(attribute.stored))
        elif attribute.is_fixed and name not in access.consumed:
            found.append(criterion.equal(attribute.stored, FixedSlot(attribute.codec.encode(attribute.fixed)), slots))
    for attr, template in anatomy.state_keys(access.kind).items():
        if attr in access.path.keys or not template.prefix:
            continue
        slot = FixedSlot({"S": template.prefix})
        found.append(criterion.starts(attr, slot, slots) if template.fields else criterion.equal(attr, slot, slots))
    return found


def _held(access: Access) -> set[str]:
    """Return the attributes that an index holds, those inside its keys included."""
    table, kind = anatomy.table_of(access.kind), access.kind
    held = {*access.path.attributes, *access.path.keys, *table.keys}
    ours, fields = anatomy.keys(kind), anatomy.known(kind)
    inside = {name for attr in held if attr in ours for name in ours[attr].recoverable}
    return held | {fields[name].stored for name in inside}


def _needed(signature: Signature, kind: Kind) -> list[str]:
    """Return the stored names that the shape is built from, its lifecycles included."""
    kinds = [found for found in signature.kinds if issubclass(found, kind)] or [kind]
    kinds += [state for found in kinds for states in anatomy.parts(found).values() for state in states]
    fields = [attribute.stored for found in kinds for attribute in anatomy.attributes(found).values()]
    return [*fields, *(attr for found in kinds for attr in anatomy.state_keys(found))]


def _check_projection(signature: Signature, path: Gsi, chosen: list[Access]) -> None:
    missing = list(dict.fromkeys(stored for access in chosen for stored in access.missing))
    if missing:
        raise DeclarationError(
            "HR234",
            signature.label,
            f"{path.name or 'the table'} lacks {', '.join(missing)}",
            "narrow the view, widen the index, or read the table",
        )


def _lints(signature: Signature, chosen: list[Access]) -> list[Lint]:
    label, verb = signature.label, signature.verb
    if verb == "Scan":
        return [Lint("HR401", label, "reads the whole table")]
    if verb == "Get":
        return []
    found: list[Lint] = []
    if any(access.filters for access in chosen):
        found.append(Lint("HR402", label, "is served by a filter: a page is filled by reading more than it returns"))
    few = _few_values(chosen[0])
    if few:
        found.append(Lint("HR403", label, f"reads a partition key with few values: {few}"))
    return found


def _few_values(access: Access) -> str:
    template, fields = anatomy.keys(access.kind)[access.path.pk], anatomy.known(access.kind)
    if any(piece.format.startswith("shard") for piece in template.pieces):
        return ""
    few = all(hints.literals(fields[name].hint) or fields[name].hint is bool for name in template.fields)
    return f"{access.path.pk} = {template.text!r}" if few else ""
