"""Projections: the parts of an item that document paths select."""

from __future__ import annotations

from typing import Any, cast

from hashrange.core.values import Item, Value
from hashrange.expr.nodes import DocumentPath, Elements, path_of
from hashrange.expr.path import PathTree, document_attributes, make_path_tree, top_level_attributes


class Projection:
    """Selects document paths of an item. Maps and lists contain only what is selected, lists without gaps."""

    __slots__ = ("_nested", "_tree", "attributes", "document_attributes", "paths")

    def __init__(self, paths: tuple[DocumentPath, ...]) -> None:
        self.attributes: frozenset[str] = top_level_attributes(paths)
        self.document_attributes: tuple[str, ...] = document_attributes(paths)
        self.paths: tuple[Elements, ...] = tuple(path.elements for path in paths)
        self._tree: PathTree = make_path_tree(paths)
        self._nested = bool(self.document_attributes)

    def __call__(self, item: Item) -> Item:
        """Return a new item with what the paths select; it shares unchanged values with the given one."""
        if self._nested:
            return _pick_members(item, self._tree)
        return {name: item[name] for name in self.attributes if name in item}


def project_attributes(names: list[str]) -> Projection:
    """Return the projection onto top-level attributes."""
    return Projection(tuple(map(path_of, names)))


def _pick_members(members: Item, tree: PathTree) -> Item:
    picked: Item = {}
    for name, below in tree.items():
        value = members.get(cast("str", name))
        kept = _pick(value, below)
        if kept is not None:
            picked[cast("str", name)] = kept
    return picked


def _pick(value: Value | None, below: PathTree | int) -> Value | None:
    """Return the selected part of a value; None if nothing is selected."""
    if value is None or isinstance(below, int):
        return value
    tag = "L" if isinstance(next(iter(below)), int) else "M"
    content: Any = value.get(tag)
    if content is None:
        return None
    picked: Any = _pick_members(content, below) if tag == "M" else _pick_elements(content, below)
    return {tag: picked} if picked else None


def _pick_elements(elements: list[Value], tree: PathTree) -> list[Value]:
    present = [(index, below) for index, below in tree.items() if cast("int", index) < len(elements)]
    kept = [_pick(elements[cast("int", index)], below) for index, below in present]
    return [value for value in kept if value is not None]
