"""Groups the models of a query that one request reads: same key condition, or key ranges with nothing in between."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from hashrange.expr.nodes import Between, Condition, join_all, join_any, path_of, without_repeats
from hashrange.schema.declare import introspection
from hashrange.schema.declare.introspection import ModelClass
from hashrange.schema.declare.key_overlap import are_apart
from hashrange.schema.declare.key_template import HIGHEST
from hashrange.schema.declare.model import Item
from hashrange.schema.declare.variant_fields import distinguished_by_fields
from hashrange.schema.pattern import criterion
from hashrange.schema.pattern.expression_text import show
from hashrange.schema.pattern.value_source import FixedValue, Placeholders
from hashrange.schema.read.access_path import AccessPath, join_key
from hashrange.schema.read.key_range import RangeCheck


class RequestGroup(Struct, frozen=True):
    """Models that one request reads, and the conditions of the request."""

    paths: list[AccessPath]
    partition: Condition | None
    sort: Condition | None
    asked: Condition | None  # the filter of parameters and `@where`, if all models have the same
    filter: Condition | None

    @property
    def key(self) -> Condition | None:
        """The key condition; None for a Scan."""
        return join_key([self.partition, self.sort])

    @property
    def check(self) -> RangeCheck | None:
        """The check of what the key condition finds: the same for all models."""
        return self.paths[0].check

    @property
    def is_exact(self) -> bool:
        """Return whether no row of another declared model meets the conditions."""
        is_recognised = len({bool(access.recognition) for access in self.paths}) == 1
        if any(distinguished_by_fields(access.model) for access in self.paths):
            return False
        return is_recognised and not any(
            self.sort is None or _is_under(other, prefix)
            for other in _other_prefixes(self.paths)
            for prefix in _prefixes_of(self.paths)
        )

    @property
    def prefix(self) -> str | None:
        """What all sort keys of the models start with, if all of them are asked for."""
        return self.paths[0].prefix


class RequestGrouping(Struct, frozen=True):
    """Groups the access paths of one pattern."""

    chosen: list[AccessPath]
    placeholders: Placeholders

    def groups(self) -> list[RequestGroup]:
        """Return the groups, one for each request."""
        return list(self._join_neighbours([found for paths in self._by_key() for found in self._combine(paths)]))

    def _show(self, condition: Condition | None) -> str:
        return "" if condition is None else show(condition, self.placeholders.by_name)

    def _by_key(self) -> list[list[AccessPath]]:
        """Return the access paths with the same key condition together."""
        found: dict[tuple[str, str], list[AccessPath]] = {}
        for access in self.chosen:
            check = "" if access.check is None else f"{access.check.key_codec.template.text} {access.check.text}"
            found.setdefault((self._show(access.key(self.placeholders)), check), []).append(access)
        return list(found.values())

    def _combine(self, paths: list[AccessPath]) -> list[RequestGroup]:
        """Return one group if one filter gives each model what is asked of it; else a group for each model."""
        asked = [join_all([found.condition for found in access.filters]) for access in paths]
        if len(set(map(self._show, asked))) == 1:
            both = [found for found in (asked[0], _recognition_of(paths)) if found is not None]
            return [self._group(paths, asked[0], join_all(both))]
        if all(access.recognition for access in paths):
            each = [join_all([found.condition for found in (*a.filters, *a.recognition)]) for a in paths]
            return [self._group(paths, None, join_any([found for found in each if found is not None]))]
        return [group for access in paths for group in self._combine([access])]

    def _group(self, paths: list[AccessPath], asked: Condition | None, found: Condition | None) -> RequestGroup:
        return RequestGroup(paths, paths[0].partition_key(self.placeholders), paths[0].sort, asked, found)

    # ── neighbours ───────────────────────────────────────────────────────────────────────────────────────────────────
    def _join_neighbours(self, groups: list[RequestGroup]) -> Iterator[RequestGroup]:
        """Yield groups; those of one partition are one group where no other model has keys in between."""
        together: dict[tuple[str, ...], list[RequestGroup]] = {}
        for group in groups:
            alone = group.partition is None or group.prefix is None
            mark = str(len(together)) if alone else ""
            together.setdefault((self._show(group.partition), self._show(group.asked), mark), []).append(group)
        for neighbours in together.values():
            yield from self._join(neighbours) if len(neighbours) > 1 else neighbours

    def _join(self, groups: list[RequestGroup]) -> Iterator[RequestGroup]:
        """Yield the groups of one partition and filter, joined where nothing is in between."""
        others = _other_prefixes([access for group in groups for access in group.paths])
        ordered = sorted(groups, key=lambda group: group.prefix or "")
        run = [ordered[0]]
        end = ordered[0].prefix or ""
        for group in ordered[1:]:
            prefix = group.prefix or ""
            if any(_is_between(other, end, prefix) for other in others):
                yield self._joined(run, end, others)
                run = []
            run.append(group)
            end = end if len(run) > 1 and prefix.startswith(end) else prefix
        yield self._joined(run, end, others)

    def _joined(self, run: list[RequestGroup], end: str, others: list[str]) -> RequestGroup:
        first = run[0]
        if len(run) == 1:
            return first
        paths = [access for group in run for access in group.paths]
        found = [tree for tree in (first.asked, _recognition_of(paths)) if tree is not None]
        sort = None
        if others and first.prefix:
            low, high = FixedValue({"S": first.prefix}), FixedValue({"S": end + HIGHEST})
            placed = (criterion.operand(low, self.placeholders), criterion.operand(high, self.placeholders))
            sort = Between(path_of(paths[0].path.sort[0]), *placed)
        return RequestGroup(paths, first.partition, sort, first.asked, join_all(found))


def _recognition_of(paths: list[AccessPath]) -> Condition | None:
    """Return the filter that excludes other models; none if one model needs none, or if they are all that exist."""
    whole = introspection.whole_lifecycle(tuple(access.model for access in paths))
    if any(not access.recognition for access in paths) or all(introspection.root(a.model) in whole for a in paths):
        return None
    each = [join_all([found.condition for found in access.recognition]) for access in paths]
    return join_any(without_repeats([found for found in each if found is not None]))


def _prefixes_of(paths: list[AccessPath]) -> list[str]:
    """Return what the sort keys of the models start with."""
    keys = [introspection.keys(access.model).get(next(iter(access.path.sort), "")) for access in paths]
    return ["" if template is None else template.prefix for template in keys]


def _is_under(other: str, prefix: str) -> bool:
    """Return whether a key that starts with `other` may start with a prefix."""
    return other.startswith(prefix) or prefix.startswith(other)


def _other_prefixes(paths: list[AccessPath]) -> list[str]:
    """Return what the sort keys of each other model start with that may be in the same partition, or in the scan."""
    path, models = paths[0].path, [access.model for access in paths]
    table = introspection.table_of(models[0])
    known = dict.fromkeys(
        found for item in introspection.items_of(table) for found in introspection.item_and_states(item)
    )
    return [
        introspection.keys(other)[path.sort[0]].prefix if path.sort else ""
        for other in known
        if not any(_is_same_item(other, model) for model in models)
        and all(attr in introspection.keys(other) for attr in path.keys)
        and (not paths[0].partition or not are_apart(models[0], other, path.partition))
    ]


def _is_same_item(other: ModelClass, model: ModelClass) -> bool:
    """Return whether a model is another one, a variant of it, a class above it, or the item of a view."""
    above = issubclass(other, Item) and issubclass(introspection.item_of(model), other)
    return above or issubclass(other, model) or issubclass(model, other)


def _is_between(other: str, low: str, high: str) -> bool:
    """Return whether a key with one prefix may be after all keys with `low` and before all keys with `high`."""
    if other.startswith((low, high)):
        return False
    is_below = other < low and not low.startswith(other)
    is_above = other > high and not high.startswith(other)
    return not is_below and not is_above
