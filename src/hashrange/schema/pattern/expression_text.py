"""Condition trees as text: for a request, with a placeholder for every name and value, and for `explain()`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

from msgspec import Struct, field

from hashrange.core.values import Value
from hashrange.expr.nodes import DocumentPath, Literal, Node, Placeholder, walk
from hashrange.expr.render import render
from hashrange.schema.declare.attribute_value import plain
from hashrange.schema.pattern.value_source import Placeholders, ValueSource

Names: TypeAlias = dict[str, str]


class Aliases(Struct):
    """Collects an alias for every attribute name, because 573 names are reserved, and constants."""

    names: Names = field(default_factory=dict)
    constants: dict[str, Value] = field(default_factory=dict)

    def name(self, stored: str) -> str:
        """Return the alias of an attribute."""
        for alias, known in self.names.items():
            if known == stored:
                return alias
        alias = f"#{stored}" if stored.replace("_", "").isalnum() and stored.isascii() else f"#n{len(self.names)}"
        self.names[alias] = stored
        return alias

    def path(self, path: DocumentPath) -> str:
        """Return a path with aliases."""
        head, *rest = path.elements
        return self.name(str(head)) + "".join(_show_element(part, self.name) for part in rest)

    def value(self, node: Placeholder | Literal) -> str:
        """Return a placeholder; a literal gets one of its own."""
        if isinstance(node, Placeholder):
            return node.name
        for name, known in self.constants.items():
            if known == node.value:
                return name
        name = f":c{len(self.constants)}"
        self.constants[name] = node.value
        return name

    def render(self, node: Node) -> str:
        """Return a tree as a request writes it."""
        return render(node, self.path, self.value)


def _show_element(element: str | int, name: Callable[[str], str]) -> str:
    """Return an element of a path; `[{index}]`, a position that an argument gives, stays as it is."""
    if isinstance(element, int):
        return f"[{element}]"
    return element if element.startswith("[{") else f".{name(element)}"


def show_path(path: DocumentPath) -> str:
    """Return a path as `explain()` shows it."""
    head, *rest = path.elements
    return str(head) + "".join(_show_element(part, str) for part in rest)


def show(node: Node, placeholders: Mapping[str, ValueSource]) -> str:
    """Return a tree as `explain()` shows it: attribute names, and the source of each value."""

    def path(found: DocumentPath) -> str:
        return show_path(found)

    def value(found: Placeholder | Literal) -> str:
        return placeholders[found.name].text if isinstance(found, Placeholder) else repr(plain(found.value))

    return render(node, path, value)


def used_values(placeholders: Placeholders, trees: Iterable[Node | None]) -> dict[str, ValueSource]:
    """Return the value sources that trees refer to, by placeholder."""
    names = {node.name for tree in trees if tree is not None for node in walk(tree) if isinstance(node, Placeholder)}
    return {name: value_source for name, value_source in placeholders.by_name.items() if name in names}
