"""The read compiler: chooses the index, the key condition and the filter of a pattern.

The returned shape matters as much as the parameters: its key templates give prefixes, its fixed fields give values, and
its fields must be projected.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from hashrange.core.errors import DeclarationError
from hashrange.expr.nodes import Condition, join_all, join_any, without_repeats
from hashrange.schema.declare import introspection
from hashrange.schema.declare.introspection import Kind
from hashrange.schema.declare.shape import View
from hashrange.schema.declare.table import Gsi
from hashrange.schema.pattern import criterion
from hashrange.schema.pattern.expression_text import show, used_values
from hashrange.schema.pattern.signature import Signature
from hashrange.schema.pattern.value_source import Placeholders
from hashrange.schema.read.access_path import AccessPath, choose
from hashrange.schema.read.read_plan import ReadPlan, make_branch


def plan_read(signature: Signature) -> ReadPlan:
    """Return the plan of a pattern that reads."""
    placeholders = Placeholders()
    kinds = introspection.whole_lifecycle(signature.kinds)
    chosen = [
        choose(_applicable(signature, kind) if len(kinds) > 1 else signature, kind, placeholders) for kind in kinds
    ]
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
    reads = _Reads(signature, path, placeholders, chosen, needs)
    return reads.get() if signature.verb == "Get" else reads.query()


class _Reads(Struct, frozen=True):
    """The chosen access paths of a pattern, from which its plan is made."""

    signature: Signature
    path: Gsi
    placeholders: Placeholders
    chosen: list[AccessPath]
    needs: tuple[str, ...]

    def get(self) -> ReadPlan:
        access = self.chosen[0]
        assert access.partition is not None
        _check_one_key(self.signature, self.chosen)
        key = {self.path.pk: access.partition}
        if self.path.sk is not None and access.sort_value is not None:
            key[self.path.sk] = access.sort_value
        asked = [found.condition for found in access.filters]
        tree = join_all(asked)
        return self._plan(key=key, check_tree=tree, check_values=used_values(self.placeholders, (tree,)))

    def query(self) -> ReadPlan:
        projected = self._projected()
        groups = self._groups()
        branches = tuple(
            make_branch(
                self.path,
                self.placeholders,
                key=key,
                found=_merge(group),
                projected=projected,
                descending=self.signature.verb == "Latest",
                excluded=group[0].excluded if len(group) == 1 else None,
            )
            for key, group in groups
        )
        return self._plan(branches=branches, projected=projected)

    def _groups(self) -> list[tuple[Condition | None, list[AccessPath]]]:
        """Group the access paths that one request serves."""
        if self.signature.verb == "Scan":
            return [(None, self.chosen)]
        if len(self.chosen) == 1:
            return [(self.chosen[0].key(self.placeholders), self.chosen)]
        if _covers(self.chosen):
            first = replace(self.chosen[0], sort=None)
            return [(first.key(self.placeholders), self.chosen)]
        groups: dict[str, tuple[Condition | None, list[AccessPath]]] = {}
        for access in self.chosen:
            key = access.key(self.placeholders)
            assert key is not None
            groups.setdefault(show(key, self.placeholders.by_name), (key, []))[1].append(access)
        return list(groups.values())

    def _projected(self) -> tuple[str, ...]:
        """Return the attributes to request for views, with the keys that cursors and conditions need."""
        if not self.path.projects_all or not all(issubclass(kind, View) for kind in self.signature.kinds):
            return ()
        table = introspection.table_of(self.chosen[0].kind)
        keys = [attr for path in (table.primary, self.path) for attr in path.keys]
        named = {
            found.stored
            for kind in self.signature.kinds
            for found in introspection.all_attributes(kind).values()
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
        given = {"branches": (), "key": {}, "check_tree": None, "check_values": {}, "projected": (), **more}
        return ReadPlan(
            label=signature.label,
            name=signature.name,
            verb=signature.verb,
            kinds=signature.kinds,
            table=introspection.table_of(signature.kinds[0]),
            path=self.path,
            needs=self.needs,
            filtered=any(access.filters for access in self.chosen),
            signature=signature,
            **given,
        )


def _merge(group: list[AccessPath]) -> Condition | None:
    """Return the filter of a request for several shapes: any of theirs, or none if one needs none."""
    each = [join_all([found.condition for found in access.filters]) for access in group]
    if any(tree is None for tree in each):
        return None if not all(tree == each[0] for tree in each) else each[0]
    trees = [tree for tree in each if tree is not None]
    return join_any(without_repeats(trees))


def _applicable(signature: Signature, kind: Kind) -> Signature:
    """Return the signature for one member of a union: parameters apply to the members that have the field."""
    mine = {
        *introspection.attributes(kind),
        *introspection.attributes(introspection.item_of(kind)),
        *criterion.parameters_in(signature.wheres),
    }
    theirs = {name for other in signature.kinds for name in introspection.all_attributes(other)}
    unknown = (
        signature.parameters.keys() - theirs
    )  # a key attribute that is no field, or an error that is reported later
    kept = {name: found for name, found in signature.parameters.items() if name in mine | unknown}
    return replace(signature, parameters=kept)


def _covers(chosen: list[AccessPath]) -> bool:
    """Whether the shapes cover everything that can be in the partition."""
    path = chosen[0].path
    table = introspection.table_of(chosen[0].kind)
    partition = introspection.keys(chosen[0].kind).get(path.pk)
    if any(introspection.keys(access.kind).get(path.pk) != partition for access in chosen):
        return False
    inside = [item for item in introspection.items_of(table) if introspection.keys(item).get(path.pk) == partition]
    return all(
        any(issubclass(item, access.kind) or issubclass(access.kind, item) for access in chosen) for item in inside
    )


def _check_one_key(signature: Signature, chosen: list[AccessPath]) -> None:
    """Refuse a Get whose shapes have different keys."""
    if len(chosen) == 1:
        return
    keys = [
        [value_source.text for value_source in (access.partition, access.sort_value) if value_source is not None]
        for access in chosen
    ]
    for access, key in zip(chosen, keys, strict=True):
        if key != keys[0]:
            raise DeclarationError(
                "HR236",
                signature.label,
                f"{chosen[0].kind.__name__} and {access.kind.__name__} have different keys, and a Get reads one",
                "write a pattern for each, and run both with fetch()",
            )


def _check_projection(signature: Signature, path: Gsi, chosen: list[AccessPath]) -> None:
    missing = list(dict.fromkeys(stored for access in chosen for stored in access.missing))
    if missing:
        raise DeclarationError(
            "HR234",
            signature.label,
            f"{path.name or 'the table'} lacks {', '.join(missing)}",
            "narrow the view, widen the index, or read the table",
        )
