"""Document paths: reading the value at a path, and the tree of several paths that share prefixes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias, cast

from hashrange.core.values import Item, Value
from hashrange.expr.errors import ExpressionError
from hashrange.expr.nodes import DocumentPath, Elements, format_path

Getter: TypeAlias = Callable[[Item], Value | None]
# Maps each element to the tree below it, or to the position of the path that ends there.
PathTree: TypeAlias = "dict[str | int, PathTree | int]"


def make_getter(elements: Elements) -> Getter:
    """Return a function that returns the value at a path of an item; None if there is none."""
    head = cast("str", elements[0])
    rest = elements[1:]

    def get_attribute(item: Item) -> Value | None:
        return item.get(head)

    def get_nested(item: Item) -> Value | None:
        value = item.get(head)
        for element in rest:
            if value is None:
                return None
            value = step(value, element)
        return value

    return get_nested if rest else get_attribute


def step(value: Value, element: str | int) -> Value | None:
    """Return a map's member or a list's element; None if there is none."""
    if isinstance(element, str):
        members: Item = value.get("M") or {}
        return members.get(element)
    elements: list[Value] = value.get("L") or []
    return elements[element] if element < len(elements) else None


def top_level_attributes(paths: Iterable[DocumentPath]) -> frozenset[str]:
    """Return the top-level attributes of paths."""
    return frozenset(cast("str", path.elements[0]) for path in paths)


def document_attributes(paths: Iterable[DocumentPath]) -> tuple[str, ...]:
    """Return the top-level attributes of the paths with more than one element, in order of appearance."""
    return tuple(dict.fromkeys(cast("str", path.elements[0]) for path in paths if len(path.elements) > 1))


def make_path_tree(paths: tuple[DocumentPath, ...]) -> PathTree:
    """Return the tree of paths, list elements sorted by index; raise ExpressionError if paths overlap or conflict."""
    tree: PathTree = {}
    for position, path in enumerate(paths):
        if not _insert(tree, path.elements, position):
            raise _find_overlap(paths) or _clash_error("conflict", paths[:position], path)
    return _sort_lists(tree)


def _insert(tree: PathTree, elements: Elements, position: int) -> bool:
    """Add a path; return False if it overlaps or conflicts with an earlier one."""
    for element in elements[:-1]:
        if not _fits(tree, element):
            return False
        below = tree.setdefault(element, {})
        if isinstance(below, int):
            return False
        tree = below
    if not _fits(tree, elements[-1]):
        return False
    return tree.setdefault(elements[-1], position) == position


def _fits(tree: PathTree, element: str | int) -> bool:
    return not tree or type(next(iter(tree))) is type(element)


def _sort_lists(tree: PathTree) -> PathTree:
    ordered = tree
    if isinstance(next(iter(tree)), int):
        ordered = dict(sorted(tree.items(), key=lambda entry: cast("int", entry[0])))
    return {element: below if isinstance(below, int) else _sort_lists(below) for element, below in ordered.items()}


def _find_overlap(paths: tuple[DocumentPath, ...]) -> ExpressionError | None:
    """Return the first overlap in the order written; overlaps are reported before conflicts."""
    whole: set[Elements] = set()
    begun: set[Elements] = set()
    for position, path in enumerate(paths):
        beginnings = [path.elements[:length] for length in range(1, len(path.elements) + 1)]
        if path.elements in begun or not whole.isdisjoint(beginnings):
            return _clash_error("overlap", paths[:position], path)
        whole.add(path.elements)
        begun.update(beginnings)
    return None


def _clash_error(how: str, earlier: tuple[DocumentPath, ...], second: DocumentPath) -> ExpressionError:
    first = next(path for path in earlier if _clash(path.elements, second.elements) == how)
    return ExpressionError(
        f"Two document paths {how} with each other; must remove or rewrite one of these paths; "
        f"path one: {format_path(first)}, path two: {format_path(second)}"
    )


def _clash(first: Elements, second: Elements) -> str:
    for one, other in zip(first, second, strict=False):
        if type(one) is not type(other):
            return "conflict"
        if one != other:
            return ""
    return "overlap"
