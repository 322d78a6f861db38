"""Finds how a model can be read: each table or index whose key is given, the filters, the projection needed.

One path serves all models of a pattern. The best is chosen; between two equally good ones the user chooses with `@via`.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct, field
from msgspec.structs import replace

from hashrange.core.errors import DeclarationError
from hashrange.expr.nodes import And, Condition, join_all
from hashrange.schema.declare import introspection
from hashrange.schema.declare.field_kind import KINDS
from hashrange.schema.declare.introspection import ModelClass
from hashrange.schema.declare.key_codec import KeyCodec, key_codecs
from hashrange.schema.declare.key_format import Order
from hashrange.schema.declare.key_overlap import are_apart
from hashrange.schema.declare.table import Gsi
from hashrange.schema.pattern import criterion
from hashrange.schema.pattern.criterion import Criterion
from hashrange.schema.pattern.signature import Signature
from hashrange.schema.pattern.value_source import (
    Argument,
    FieldValue,
    FixedValue,
    Placeholders,
    ValueSource,
    WriteShard,
)
from hashrange.schema.read.key_condition import Filled, fill
from hashrange.schema.read.key_range import RANGES, RangeCheck, find_coarse_range, find_range


class ReadNotServed(DeclarationError):
    """No index serves a read: there is none, there are two equal ones, or the one lacks an attribute."""


class AccessPath(Struct):
    """How to read one model from a table or index."""

    path: Gsi
    model: ModelClass
    partition: dict[str, ValueSource] = field(default_factory=dict)  # by attribute
    sort: Condition | None = None
    sort_value: ValueSource | None = None  # if the whole sort key is given
    check: RangeCheck | None = None  # of what the condition on the sort key finds
    prefix: str | None = None  # what all sort keys of the model start with, if all of them are asked for
    filters: list[Criterion] = field(default_factory=list)  # what parameters and `@where` ask for
    recognition: list[Criterion] = field(default_factory=list)  # what excludes other models with such keys
    has_others: bool = True  # whether a query without the recognition would find other models of the item
    consumed: set[str] = field(default_factory=set)  # the fields that need no filter
    narrowed: set[str] = field(default_factory=set)  # the fields that the key condition contains
    shards: int = 0  # the number of partitions to read, where the key has a shard of a field that is not given
    needs: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)

    @property
    def rank(self) -> tuple[int, ...]:
        """The order of preference: complete projection, few filters, most of the key used, table, narrow index."""
        width = {"KEYS_ONLY": 0, "ALL": 2}[self.path.project] if isinstance(self.path.project, str) else 1
        filters = len(self.filters) + (len(self.recognition) if self.has_others else 0)
        used = len(self.consumed | self.narrowed)
        return (len(self.missing) > 0, filters, self.shards, -used, self.path.name != "", width)

    def key(self, placeholders: Placeholders) -> Condition | None:
        """The key condition."""
        return join_key([self.partition_key(placeholders), self.sort])

    def partition_key(self, placeholders: Placeholders) -> Condition | None:
        """The condition on the partition key; None for a Scan."""
        return join_all(
            [criterion.equal(attr, found, placeholders).condition for attr, found in self.partition.items()]
        )


def join_key(parts: Iterable[Condition | None]) -> Condition | None:
    """Return a key condition made of parts, without parentheses."""
    found = [part for part in parts if part is not None]
    return join_all([one for part in found for one in (part.operands if isinstance(part, And) else [part])])


def choose_path(signature: Signature, found: list[list[AccessPath]]) -> list[AccessPath]:
    """Return the access paths by the best table or index of those that serve every model."""
    shared = [
        [access for options in found for access in options if access.path is path]
        for path in introspection.table_of(signature.models[0]).paths
    ]
    served = sorted((paths for paths in shared if len(paths) == len(found)), key=_rank_all)
    if not served:
        each = [f"{options[0].model.__name__} is in {_names(options)}" for options in found]
        raise DeclarationError(
            "HR232",
            signature.label,
            f"no index serves all its models: {', '.join(each)}",
            "give one index the keys of all of them, which is then chosen without @via, or write a pattern for each",
        )
    if len(served) > 1 and _rank_all(served[0]) == _rank_all(served[1]):
        options = [paths[0] for paths in served[:2]]
        raise ReadNotServed(
            "HR231",
            signature.label,
            f"{_names(options, ' and ')} can each serve it",
            f"choose one: {' or '.join(f'@via({access.path.name!r})' for access in options)}",
        )
    return served[0]


def _rank_all(paths: list[AccessPath]) -> tuple[int, ...]:
    """Return the rank of an index for all models of a pattern."""
    return tuple(map(sum, zip(*(access.rank for access in paths), strict=True)))


def _names(paths: list[AccessPath], between: str = ", ") -> str:
    return between.join(access.path.name or "the table" for access in paths)


def find_access_paths(signature: Signature, model: ModelClass, placeholders: Placeholders) -> list[AccessPath]:
    """Return the access paths for a model; refuse a pattern that has none."""
    table = introspection.table_of(model)
    if signature.via and table.find_index(signature.via) is None:
        names = ", ".join(index.name for index in table.indexes) or "none"
        raise DeclarationError(
            "HR233", signature.label, f"{table.name} has no index {signature.via!r}", f"it has {names}"
        )
    in_where = criterion.parameters_in(signature.wheres)
    for name in signature.parameters:
        if name not in in_where and not _is_raw_key(model, name):
            signature.field(model, name, f"parameter {name!r}")
    if signature.verb in {"Scan", "Filter"}:
        return [_finish(signature, AccessPath(table.primary, model), placeholders)]
    paths = [path for path in table.paths if signature.via in {None, path.name}]
    found = [access for path in paths if (access := _attempt(signature, model, path, placeholders))]
    if signature.verb == "Get":
        return [_whole_key(signature, model, found)]
    if not found:
        raise _not_served(signature, model, placeholders)
    return found


def _not_served(signature: Signature, model: ModelClass, placeholders: Placeholders) -> ReadNotServed:
    table = introspection.table_of(model)
    given = f"by {', '.join(signature.parameters)}" if signature.parameters else "without parameters"
    problem = f"no index of {table.name} finds {model.__name__} {given}"
    remedy = f"give the partition key's fields of an index that {model.__name__} is in, or return Scan"
    if signature.via:
        others = [access for path in table.paths if (access := _attempt(signature, model, path, placeholders))]
        problem = f"{signature.via} of {table.name} does not find {model.__name__} {given}"
        remedy = f"remove @via: {_names(others, ' and ')} can" if others else "give the fields of its partition key"
    return ReadNotServed("HR230", signature.label, problem, remedy)


def _whole_key(signature: Signature, model: ModelClass, found: list[AccessPath]) -> AccessPath:
    whole = [access for access in found if not access.path.name and (not access.path.sort or access.sort_value)]
    if not whole:
        fields = [
            name for attr in introspection.table_of(model).keys for name in introspection.keys(model)[attr].fields
        ]
        raise DeclarationError(
            "HR235",
            signature.label,
            f"does not give the whole key of {model.__name__}",
            f"take {', '.join(fields)}, or return Query",
        )
    return whole[0]


def _is_raw_key(model: ModelClass, name: str) -> bool:
    """Return whether a parameter is the value of a key attribute that is no field."""
    table = introspection.table_of(model)
    return name not in introspection.all_fields(model) and table.naming(name) in table.key_names


def _attempt(signature: Signature, model: ModelClass, path: Gsi, placeholders: Placeholders) -> AccessPath | None:
    """Return the access by one table or index; None if its partition key is not given or lacks these items."""
    ours = key_codecs(model)
    if not _is_inside(model, path) or not ours.keys() >= set(path.partition):
        return None
    access = AccessPath(path, model)
    if not all(_add_partition(access, signature, ours[attr]) for attr in path.partition):
        return None
    for attr in path.sort:
        if attr not in ours or not _add_sort(access, fill(ours[attr], signature, model), placeholders):
            break  # DynamoDB compares the attributes of a sort key from the left; the last may have a range
    if any(found.by_key and name not in access.consumed for name, found in signature.parameters.items()):
        return None
    return _finish(signature, access, placeholders)


def _add_partition(access: AccessPath, signature: Signature, key_codec: KeyCodec) -> bool:
    """Set the value of one attribute of the partition key; return whether it is given."""
    table = introspection.table_of(access.model)
    for name in signature.parameters:
        if _is_raw_key(access.model, name) and table.naming(name) == key_codec.attr:
            access.partition[key_codec.attr] = FieldValue(Argument(name), KINDS[str].codec)
            access.consumed.add(name)
            return True
    filled = fill(key_codec, signature, access.model, scatter=signature.verb != "Get" and not access.shards)
    if filled.whole:
        sharded = [step for step in key_codec.steps if isinstance(filled.sources[step.name], WriteShard)]
        if len(sharded) > 1:
            return False
        access.shards += sum(step.format.shards for step in sharded)
        access.partition[key_codec.attr] = filled.value_source()
        access.consumed |= set(filled.used)
        access.narrowed |= filled.sources.keys() - {step.name for step in sharded}
    return filled.whole


def _is_inside(model: ModelClass, path: Gsi) -> bool:
    """Return whether items of this class, or of a variant, are in a table or index."""
    return all(
        any(attr in introspection.keys(variant) for variant in introspection.with_variants(model)) for attr in path.keys
    )


def _add_sort(access: AccessPath, filled: Filled, placeholders: Placeholders) -> bool:
    """Add the condition on one attribute of the sort key; return whether it is an equality."""
    access.consumed |= set(filled.used)
    access.narrowed |= filled.sources.keys()
    access.prefix = filled.constant_prefix if len(access.path.sort) == 1 else None
    found: Condition | None
    if filled.whole:
        access.sort_value = filled.value_source()
        found = criterion.equal(filled.key_codec.attr, access.sort_value, placeholders).condition
    else:
        access.sort_value = None
        found = _find_partial(access, filled, placeholders)
    if found is not None:
        access.sort = found if access.sort is None else join_all([access.sort, found])
    return filled.whole


def _find_partial(access: AccessPath, filled: Filled, placeholders: Placeholders) -> Condition | None:
    """Return the condition on an attribute that is given in part: a range, or a prefix."""
    ranged = filled.ranged
    order = filled.range_order if ranged is not None and ranged.operator in RANGES else Order.NONE
    if ranged is not None and order is Order.EXACT:
        access.consumed.add(ranged.name)
        if filled.key_codec.alone is not None:
            access.prefix = None
            return criterion.compare(filled.key_codec.alone, ranged, placeholders, filled.key_codec.attr).condition
        access.prefix = None
        found, check = find_range(filled, ranged, placeholders)
        of_state = filled.key_codec.attr in introspection.state_keys(access.model)
        access.check = None if check is None else replace(check, of_state=of_state)
        return found
    if ranged is not None and order is Order.COARSE:
        access.narrowed.add(ranged.name)
        access.prefix = None
        return find_coarse_range(filled, ranged, placeholders)
    if filled.count or filled.prefix:
        return criterion.starts(filled.key_codec.attr, filled.value_source(), placeholders).condition
    return None


def _finish(signature: Signature, access: AccessPath, placeholders: Placeholders) -> AccessPath:
    """Add filters for parameters that the key does not cover, and the attributes that the model needs."""
    model, fields = access.model, introspection.all_fields(access.model)
    in_where = criterion.parameters_in(signature.wheres)
    for name, parameter in signature.parameters.items():
        if name not in access.consumed and name not in in_where:
            access.filters.append(criterion.compare(fields[name], parameter, placeholders))
    if signature.verb != "Filter" and (signature.verb == "Get" or not _is_alone(access)):
        access.recognition = _recognition(access, placeholders)
        access.has_others = introspection.root(model) not in introspection.whole_lifecycle(signature.models)
    access.filters += [criterion.read_where(signature, model, text, placeholders) for text in signature.wheres]
    asked = access.filters if signature.verb == "Get" else [*access.filters, *access.recognition]
    read = [stored for found in asked for stored in found.attributes]
    keys = set(access.path.keys)
    hidden = [
        name for name in signature.parameters if name in fields and criterion.is_only_in_keys(model, fields[name])
    ]
    access.missing += [
        f"a filter on {name}, which is stored only inside keys"
        for name in hidden
        if name not in access.consumed and name not in in_where
    ]
    if signature.verb not in {"Get", "Scan", "Filter"}:
        access.missing += [f"a filter on {stored}, which is its key" for stored in read if stored in keys]
    access.needs = list(dict.fromkeys([*_needed(signature, model), *read]))
    if not access.path.projects_all:
        access.missing += [stored for stored in access.needs if stored not in _held(access)]
    return access


def _is_alone(access: AccessPath) -> bool:
    """Return whether only this model is stored under such keys: the others of its item have other keys, or none."""
    model = access.model
    return all(
        issubclass(other, model) or are_apart(model, other, access.path.keys)
        for other in introspection.item_and_states(model)
    )


def _recognition(access: AccessPath, placeholders: Placeholders) -> list[Criterion]:
    """Return the filters that exclude the other models of an item."""
    found: list[Criterion] = []
    for name, declared in introspection.stored_fields(access.model).items():
        if declared.fixed is None:
            found.append(criterion.is_absent(declared.stored))
        elif declared.is_fixed and name not in access.consumed:
            found.append(
                criterion.equal(declared.stored, FixedValue(declared.codec.encode(declared.fixed)), placeholders)
            )
    for attr, template in introspection.state_keys(access.model).items():
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
    table, model = introspection.table_of(access.model), access.model
    held = {*access.path.attributes, *access.path.keys, *table.keys}
    ours, fields = introspection.keys(model), introspection.all_fields(model)
    inside = {name for attr in held if attr in ours for name in ours[attr].recoverable}
    return held | {fields[name].stored for name in inside}


def _needed(signature: Signature, model: ModelClass) -> list[str]:
    """Return the attributes that the model is built from, its lifecycles included."""
    models = [found for found in signature.models if issubclass(found, model)] or [model]
    models += [state for found in models for states in introspection.lifecycles(found).values() for state in states]
    fields = [field.stored for found in models for field in introspection.stored_fields(found).values()]
    return [*fields, *(attr for found in models for attr in introspection.state_keys(found))]
