"""One way to read one shape: which keys of a path are given, what a filter must settle, what the index must hold.

Of several ways the best is chosen; two that are equally good must be told apart by the user.
"""

from __future__ import annotations

from msgspec import Struct, field

from hashrange.core.errors import DeclarationError
from hashrange.expr.nodes import Condition, join_all
from hashrange.schema import anatomy, criterion
from hashrange.schema.anatomy import Kind
from hashrange.schema.codec import SIMPLE
from hashrange.schema.criterion import Criterion
from hashrange.schema.keyfill import RANGES, Filled, fill, find_range
from hashrange.schema.layout import makers
from hashrange.schema.signature import Signature
from hashrange.schema.slot import FieldSlot, FixedSlot, Given, Slot, Slots
from hashrange.schema.table import Gsi


class Access(Struct):
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


def choose(signature: Signature, kind: Kind, slots: Slots) -> Access:
    """Return the best way to read a shape, or refuse a pattern that none or two alike serve."""
    table = anatomy.table_of(kind)
    if signature.via and table.find_index(signature.via) is None:
        names = ", ".join(index.name for index in table.indexes) or "none"
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
            f"give the partition key's fields of an index that {kind.__name__} is in, or return Scan",
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
        filled = fill(ours[path.pk], signature, kind)
        if not filled.whole:
            return None
        access.partition, access.consumed = filled.slot(), set(filled.used)
    if path.sk in ours:
        _add_sort(access, fill(ours[path.sk], signature, kind), slots)
    return _finish(signature, access, slots)


def _is_inside(kind: Kind, path: Gsi) -> bool:
    """Whether items of this kind, or of a variant, carry the keys of a path."""
    return all(any(attr in anatomy.keys(variant) for variant in anatomy.family(kind)) for attr in path.keys)


def _add_sort(access: Access, filled: Filled, slots: Slots) -> None:
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
            access.sort, access.excluded = find_range(filled, ranged, slots)
    elif filled.count or filled.prefix:
        access.sort = criterion.starts(attr, filled.slot(), slots).condition


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
        access.missing += [f"a filter on {stored}, which is its key" for stored in read if stored in keys]
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
