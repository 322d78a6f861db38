"""The read compiler: chooses the index, the key condition and the filter of a pattern.

The returned model matters as much as the parameters: its key templates give prefixes, its fixed fields give values, and
its fields must be projected.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from hashrange.core.errors import DeclarationError
from hashrange.expr.nodes import Condition, join_all, join_any
from hashrange.schema.declare import introspection
from hashrange.schema.declare.introspection import ModelClass
from hashrange.schema.declare.model import View
from hashrange.schema.declare.table import Gsi
from hashrange.schema.pattern import criterion
from hashrange.schema.pattern.expression_text import used_values
from hashrange.schema.pattern.signature import Signature
from hashrange.schema.pattern.value_source import Placeholders
from hashrange.schema.read.access_path import AccessPath, ReadNotServed, choose_path, find_access_paths
from hashrange.schema.read.read_plan import Branch, ReadPlan, make_branch, scatter
from hashrange.schema.read.request_group import RequestGroup, RequestGrouping


def plan_read(signature: Signature) -> ReadPlan:
    """Return the plan of a pattern that reads."""
    placeholders = Placeholders()
    models = [model for model in signature.models if not _is_part_of_another(model, signature.models)]
    found = [
        find_access_paths(_applicable(signature, model) if len(models) > 1 else signature, model, placeholders)
        for model in models
    ]
    chosen = choose_path(signature, found)
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
        _check_one_key(self.signature, self.chosen)
        key = dict(access.partition)
        if access.sort_value is not None:
            key[self.path.sort[0]] = access.sort_value
        tree = self._check_of_get()
        return self._plan(key=key, check_tree=tree, check_values=used_values(self.placeholders, (tree,)))

    def _check_of_get(self) -> Condition | None:
        """Return what is asked of the item that a Get finds: of each model its own, where they differ."""
        asked = [join_all([found.condition for found in access.filters]) for access in self.chosen]
        if all(tree == asked[0] for tree in asked):
            return asked[0]
        each = [join_all([found.condition for found in (*a.recognition, *a.filters)]) for a in self.chosen]
        return join_any([tree for tree in each if tree is not None])

    def query(self) -> ReadPlan:
        projected = self._projected()
        branches = tuple(
            branch
            for group in RequestGrouping(self.chosen, self.placeholders).groups()
            for branch in scatter(self._branch(group, projected), group.paths[0].shards)
        )
        return self._plan(branches=branches, projected=projected)

    def _branch(self, group: RequestGroup, projected: tuple[str, ...]) -> Branch:
        return make_branch(
            self.path,
            self.placeholders,
            key=group.key,
            found=group.filter,
            projected=projected,
            descending=self.signature.verb == "Latest",
            models=self._models_of(group.paths),
            sort=group.sort,
            check=group.check,
            is_exact=group.is_exact,
        )

    def _models_of(self, paths: list[AccessPath]) -> tuple[ModelClass, ...]:
        """Return the classes of the pattern that the access paths find."""
        found = tuple(access.model for access in paths)
        return tuple(model for model in self.signature.models if issubclass(model, found))

    def _projected(self) -> tuple[str, ...]:
        """Return the attributes to request for views, with the keys that cursors and conditions need."""
        if not self.path.projects_all or not all(issubclass(model, View) for model in self.signature.models):
            return ()
        table = introspection.table_of(self.chosen[0].model)
        keys = [attr for path in (table.primary, self.path) for attr in path.keys]
        named = {
            found.stored
            for model in self.signature.models
            for found in introspection.all_fields(model).values()
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
            models=signature.models,
            table=signature.table,
            path=self.path,
            needs=self.needs,
            filtered=any(branch.filter is not None or branch.check is not None for branch in given["branches"]),
            signature=signature,
            **given,
        )


def _is_part_of_another(model: ModelClass, models: tuple[ModelClass, ...]) -> bool:
    """Return whether a union has a class above a model, with which it is read."""
    return any(issubclass(model, other) and model is not other for other in models)


def _applicable(signature: Signature, model: ModelClass) -> Signature:
    """Return the signature for one member of a union: parameters apply to the members that have the field."""
    mine = {
        *introspection.stored_fields(model),
        *introspection.stored_fields(introspection.item_of(model)),
        *criterion.parameters_in(signature.wheres),
    }
    theirs = {name for other in signature.models for name in introspection.all_fields(other)}
    unknown = (
        signature.parameters.keys() - theirs
    )  # a key attribute that is no field, or an error that is reported later
    kept = {name: found for name, found in signature.parameters.items() if name in mine | unknown}
    return replace(signature, parameters=kept)


def _check_one_key(signature: Signature, chosen: list[AccessPath]) -> None:
    """Refuse a Get whose models have different keys."""
    if len(chosen) == 1:
        return
    keys = [
        [found.text for found in (*access.partition.values(), access.sort_value) if found is not None]
        for access in chosen
    ]
    for access, key in zip(chosen, keys, strict=True):
        if key != keys[0]:
            raise DeclarationError(
                "HR236",
                signature.label,
                f"{chosen[0].model.__name__} and {access.model.__name__} have different keys, and a Get reads one",
                "write a pattern for each, and run both with fetch()",
            )


def _check_projection(signature: Signature, path: Gsi, chosen: list[AccessPath]) -> None:
    missing = list(dict.fromkeys(stored for access in chosen for stored in access.missing))
    if missing:
        raise ReadNotServed(
            "HR234",
            signature.label,
            f"{path.name or 'the table'} lacks {', '.join(missing)}",
            "leave it to the query that is filtered"
            if signature.verb == "Filter"
            else "narrow the view, widen the index, or read the table",
        )
