"""Chooses how to read a shape: the table or index whose key is given, the filter, the projection needed.

The best access path is chosen; between two equally good ones the user chooses with `@via`.
"""

from __future__ import annotations

from msgspec import Struct, field

from hashrange.core.errors import DeclarationError
from hashrange.expr.nodes import Condition, join_all
from hashrange.schema.declare import introspection
from hashrange.schema.declare.field_kind import KINDS
from hashrange.schema.declare.introspection import Kind
from hashrange.schema.declare.key_codec import key_codecs
from hashrange.schema.declare.table import Gsi
from hashrange.schema.pattern import criterion
from hashrange.schema.pattern.criterion import Criterion
from hashrange.schema.pattern.signature import Signature
from hashrange.schema.pattern.value_source import Argument, FieldValue, FixedValue, Placeholders, ValueSource
from hashrange.schema.read.key_condition import RANGES, Filled, fill, find_range


class AccessPath(Struct):
    """How to read one shape from a table or index."""

    path: Gsi
    kind: Kind
    partition: ValueSource | None = None
    sort: Condition | None = None
    sort_value: ValueSource | None = None  # if the whole sort key is given
    excluded: tuple[str, ValueSource] | None = None
    filters: list[Criterion] = field(default_factory=list)
    consumed: set[str] = field(default_factory=set)
    needs: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)

    @property
    def rank(self) -> tuple[int, ...]:
        """The order of preference: complete projection, few filters, most of the key used, table, narrow index."""
        width = {"KEYS_ONLY": 0, "ALL": 2}[self.path.project] if isinstance(self.path.project, str) else 1
        return (len(self.missing) > 0, len(self.filters), -len(self.consumed), self.path.name != "", width)

    def key(self, placeholders: Placeholders) -> Condition | None:
        """The key condition."""
        if self.partition is None:
            return None
        whole = criterion.equal(self.path.pk, self.partition, placeholders).condition
        return whole if self.sort is None else join_all([whole, self.sort])


def choose(signature: Signature, kind: Kind, placeholders: Placeholders) -> AccessPath:
    """Return the best access path for a shape; refuse a pattern that has none, or two equally good ones."""
    table = introspection.table_of(kind)
    if signature.via and table.find_index(signature.via) is None:
        names = ", ".join(index.name for index in table.indexes) or "none"
        raise DeclarationError(
            "HR233", signature.label, f"{table.name} has no index {signature.via!r}", f"it has {names}"
        )
    in_where = criterion.parameters_in(signature.wheres)
    for name in signature.parameters:
        if name not in in_where and not _is_raw_key(kind, name):
            signature.attribute(kind, name, f"parameter {name!r}")
    if signature.verb == "Scan":
        return _finish(signature, AccessPath(table.primary, kind), placeholders)
    paths = [path for path in table.paths if signature.via in {None, path.name}]
    found = [access for path in paths if (access := _attempt(signature, kind, path, placeholders))]
    if signature.verb == "Get":
        return _whole_key(signature, kind, found)
    if not found:
        given = f"by {', '.join(signature.parameters)}" if signature.parameters else "without parameters"
        raise DeclarationError(
            "HR230",
            signature.label,
            f"no index of {table.name} finds {kind.__name__} {given}",
            f"give the partition key's fields of an index that {kind.__name__} is in, or return Scan",
        )
    found.sort(key=lambda access: access.rank)
    if len(found) > 1 and found[0].rank == found[1].rank:
        names = " and ".join(access.path.name or "the table" for access in found[:2])
        raise DeclarationError("HR231", signature.label, f"{names} serve it alike", f"add @via({found[0].path.name!r})")
    return found[0]


def _whole_key(signature: Signature, kind: Kind, found: list[AccessPath]) -> AccessPath:
    whole = [access for access in found if not access.path.name and (access.path.sk is None or access.sort_value)]
    if not whole:
        fields = [name for attr in introspection.table_of(kind).keys for name in introspection.keys(kind)[attr].fields]
        raise DeclarationError(
            "HR235",
            signature.label,
            f"does not give the whole key of {kind.__name__}",
            f"take {', '.join(fields)}, or return Query",
        )
    return whole[0]


def _is_raw_key(kind: Kind, name: str) -> bool:
    """Whether a parameter is the value of a key attribute that is no field."""
    table = introspection.table_of(kind)
    return name not in introspection.all_attributes(kind) and table.naming(name) in table.key_names


def _attempt(signature: Signature, kind: Kind, path: Gsi, placeholders: Placeholders) -> AccessPath | None:
    """Return the access by one table or index; None if its partition key is not given or lacks these items."""
    ours = key_codecs(kind)
    if path.pk not in ours or not _is_inside(kind, path):
        return None
    access = AccessPath(path, kind)
    table = introspection.table_of(kind)
    raw = next(
        (name for name in signature.parameters if _is_raw_key(kind, name) and table.naming(name) == path.pk), None
    )
    if raw is not None:
        access.partition, access.consumed = FieldValue(Argument(raw), KINDS[str].codec), {raw}
    else:
        filled = fill(ours[path.pk], signature, kind)
        if not filled.whole:
            return None
        access.partition, access.consumed = filled.value_source(), set(filled.used)
    if path.sk in ours:
        _add_sort(access, fill(ours[path.sk], signature, kind), placeholders)
    return _finish(signature, access, placeholders)


def _is_inside(kind: Kind, path: Gsi) -> bool:
    """Whether items of this class, or of a variant, are in a table or index."""
    return all(
        any(attr in introspection.keys(variant) for variant in introspection.with_variants(kind)) for attr in path.keys
    )


def _add_sort(access: AccessPath, filled: Filled, placeholders: Placeholders) -> None:
    """Set the condition on the sort key: equality, a range, or a prefix."""
    attr = filled.key_codec.attr
    access.consumed |= set(filled.used)
    if filled.whole:
        access.sort_value = filled.value_source()
        access.sort = criterion.equal(attr, access.sort_value, placeholders).condition
        return
    ranged = filled.ranged
    if ranged is not None and ranged.operator in RANGES:
        access.consumed.add(ranged.name)
        if filled.key_codec.alone is not None:
            access.sort = criterion.compare(filled.key_codec.alone, ranged, placeholders).condition
        else:
            access.sort, access.excluded = find_range(filled, ranged, placeholders)
    elif filled.count or filled.prefix:
        access.sort = criterion.starts(attr, filled.value_source(), placeholders).condition


def _finish(signature: Signature, access: AccessPath, placeholders: Placeholders) -> AccessPath:
    """Add filters for parameters that the key does not cover, and the attributes that the shape needs."""
    kind, fields = access.kind, introspection.all_attributes(access.kind)
    in_where = criterion.parameters_in(signature.wheres)
    for name, parameter in signature.parameters.items():
        if name not in access.consumed and name not in in_where:
            access.filters.append(criterion.compare(fields[name], parameter, placeholders))
    if signature.verb != "Get":  # the shape of what a Get returns is checked when it is loaded
        access.filters += _shape_filters(access, placeholders)
    access.filters += [criterion.read_where(signature, kind, text, placeholders) for text in signature.wheres]
    read = [stored for found in access.filters for stored in found.attributes]
    keys = set(access.path.keys)
    hidden = [name for name in signature.parameters if name in fields and criterion.is_only_in_keys(kind, fields[name])]
    access.missing += [
        f"a filter on {name}, which is stored only inside keys"
        for name in hidden
        if name not in access.consumed and name not in in_where
    ]
    if signature.verb not in {"Get", "Scan"}:
        access.missing += [f"a filter on {stored}, which is its key" for stored in read if stored in keys]
    access.needs = list(dict.fromkeys([*_needed(signature, kind), *read]))
    if not access.path.projects_all:
        access.missing += [stored for stored in access.needs if stored not in _held(access)]
    return access


def _shape_filters(access: AccessPath, placeholders: Placeholders) -> list[Criterion]:
    """Return the filters that exclude other shapes which match the key condition."""
    found: list[Criterion] = []
    for name, attribute in introspection.attributes(access.kind).items():
        if attribute.fixed is None:
            found.append(criterion.is_absent(attribute.stored))
        elif attribute.is_fixed and name not in access.consumed:
            found.append(
                criterion.equal(attribute.stored, FixedValue(attribute.codec.encode(attribute.fixed)), placeholders)
            )
    for attr, template in introspection.state_keys(access.kind).items():
        if attr in access.path.keys or not template.prefix:
            continue
        value_source = FixedValue({"S": template.prefix})
        found.append(
            criterion.starts(attr, value_source, placeholders)
            if template.fields
            else criterion.equal(attr, value_source, placeholders)
        )
    return found


def _held(access: AccessPath) -> set[str]:
    """Return the attributes that an index projects, those inside its keys included."""
    table, kind = introspection.table_of(access.kind), access.kind
    held = {*access.path.attributes, *access.path.keys, *table.keys}
    ours, fields = introspection.keys(kind), introspection.all_attributes(kind)
    inside = {name for attr in held if attr in ours for name in ours[attr].recoverable}
    return held | {fields[name].stored for name in inside}


def _needed(signature: Signature, kind: Kind) -> list[str]:
    """Return the attributes that the shape is built from, its lifecycles included."""
    kinds = [found for found in signature.kinds if issubclass(found, kind)] or [kind]
    kinds += [state for found in kinds for states in introspection.lifecycles(found).values() for state in states]
    fields = [attribute.stored for found in kinds for attribute in introspection.attributes(found).values()]
    return [*fields, *(attr for found in kinds for attr in introspection.state_keys(found))]
