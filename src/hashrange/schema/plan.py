"""Plans: what a pattern does, as a value. They build requests out of arguments, and can be read by people.

A plan holds no connection and sends nothing. `reading` and `writing` make them, the session runs them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import Struct, field

from hashrange.core.values import Item as Raw
from hashrange.core.values import Value
from hashrange.core.wire import Wire
from hashrange.expr.nodes import Condition, DocumentPath, Literal, Node, Placeholder, walk
from hashrange.expr.render import render
from hashrange.schema.anatomy import Kind
from hashrange.schema.codec import plain
from hashrange.schema.signature import Signature
from hashrange.schema.slot import Arguments, Slot, Slots
from hashrange.schema.table import Gsi, Table

if TYPE_CHECKING:
    from hashrange.expr.condition import CompiledPredicate

Names: TypeAlias = dict[str, str]


class Lint(Struct, frozen=True):
    """Something that works and should be known: a code, where, and what."""

    code: str
    place: str
    text: str

    def __str__(self) -> str:
        return f"{self.code} {self.place}: {self.text}"


class Aliases(Struct):
    """Gives every attribute name an alias, because 573 names are reserved and more may become so."""

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
        """Return a path in aliases."""
        head, *rest = path.elements
        shown = [f"[{part}]" if isinstance(part, int) else f".{self.name(part)}" for part in rest]
        return self.name(str(head)) + "".join(shown)

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


def show(node: Node, slots: Mapping[str, Slot]) -> str:
    """Return a tree as people read it: real names, and where each value comes from."""

    def path(found: DocumentPath) -> str:
        head, *rest = found.elements
        return str(head) + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in rest)

    def value(found: Placeholder | Literal) -> str:
        return slots[found.name].text if isinstance(found, Placeholder) else repr(plain(found.value))

    return render(node, path, value)


def used_slots(slots: Slots, trees: Iterable[Node | None]) -> dict[str, Slot]:
    """Return the slots that trees refer to."""
    names = {node.name for tree in trees if tree is not None for node in walk(tree) if isinstance(node, Placeholder)}
    return {name: slot for name, slot in slots.by_name.items() if name in names}


def values_of(slots: Mapping[str, Slot], arguments: Arguments) -> dict[str, Value]:
    """Return the values of a call by placeholder."""
    found: dict[str, Value] = {}
    for name, slot in slots.items():
        value = slot.value(arguments)
        if value is not None:
            found[name] = value
    return found


class Branch(Struct, frozen=True):
    """One Query or Scan: its fixed part, and the slots of its values."""

    key: Condition | None
    filter: Condition | None
    request: Wire
    slots: Mapping[str, Slot]
    constants: Mapping[str, Value]
    excluded: tuple[str, Slot] | None = None  # a sort key that an exclusive bound leaves out

    def build(self, arguments: Arguments) -> Wire:
        """Return the request of a call, without what the session adds."""
        values = {**values_of(self.slots, arguments), **self.constants}
        return {**self.request, "ExpressionAttributeValues": values} if values else dict(self.request)


class ReadPlan(Struct, frozen=True, dict=True):
    """A Get, Query, Latest or Scan."""

    label: str
    name: str
    verb: str
    kinds: tuple[Kind, ...]
    table: Table
    path: Gsi
    branches: tuple[Branch, ...]
    key: Mapping[str, Slot]  # of a Get
    check_slots: Mapping[str, Slot]
    check_tree: Condition | None  # of a Get, what its parameters ask besides the key
    projected: tuple[str, ...]  # the attributes asked for; none for all
    needs: tuple[str, ...]
    filtered: bool  # more is read than is returned
    signature: Signature

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of its parameters, in order."""
        return tuple(self.signature.parameters)

    @property
    def required(self) -> frozenset[str]:
        """The parameters that cannot be left out."""
        return frozenset(self.signature.parameters)

    @property
    def has_checks(self) -> bool:
        """Whether values are checked before it reads."""
        return bool(self.checked)

    @property
    def checked(self) -> Mapping[str, Any]:
        """The types of the values that are checked before it reads."""
        return self.signature.checked

    @cached_property
    def check(self) -> CompiledPredicate | None:
        """What the parameters of a Get ask besides the key, ready to be asked of items here."""
        from hashrange.expr.condition import compile_condition

        return None if self.check_tree is None else compile_condition(self.check_tree)

    @property
    def lints(self) -> tuple[Lint, ...]:
        """What works and should be known, as far as this pattern alone shows it."""
        from hashrange.schema.lint import lint_read

        return tuple(lint_read(self))

    @property
    def forward(self) -> bool:
        """Whether items come in ascending order."""
        return self.verb != "Latest"

    def key_of(self, arguments: Arguments) -> Raw:
        """Return the key of a Get."""
        found = {attr: slot.value(arguments) for attr, slot in self.key.items()}
        return {attr: value for attr, value in found.items() if value is not None}

    def accepts(self, raw: Raw, arguments: Arguments) -> bool:
        """Whether the item that a Get found is what its parameters ask for."""
        return self.check is None or self.check.bind(values_of(self.check_slots, arguments))(raw)

    def explain(self) -> str:
        """Return the plan as text."""
        order = "" if self.forward else "  descending"
        lines = [f"{self.name:<18} {self.verb} {_kinds(self.kinds)}  <- {self.path.name or 'table'}{order}"]
        if self.key:
            lines.append(f"    key     {' AND '.join(f'{attr} = {slot.text}' for attr, slot in self.key.items())}")
        keys = [show(branch.key, branch.slots) for branch in self.branches if branch.key is not None]
        lines += [f"    key     {text}" for text in keys]
        filters = dict.fromkeys(show(branch.filter, branch.slots) for branch in self.branches if branch.filter)
        lines += [f"    filter  {text}" for text in filters]
        if self.check_tree is not None:
            lines.append(f"    check   {show(self.check_tree, self.check_slots)}")
        lines.append(f"    project {_projection(self.path)}; needs {','.join(self.needs)}")
        return "\n".join([*lines, *(f"    lint    {lint.code} {lint.text}" for lint in self.lints)])


def _kinds(kinds: Iterable[Kind]) -> str:
    return " | ".join(kind.__name__ for kind in kinds)


def _projection(path: Gsi) -> str:
    return path.project if isinstance(path.project, str) else f"INCLUDE {','.join(path.project)}"


def make_branch(path: Gsi, slots: Slots, *, key: Condition | None, found: Condition | None, **more: Any) -> Branch:
    """Return a branch with the fixed part of its request put together."""
    aliases = Aliases()
    request: Wire = {"IndexName": path.name} if path.name else {}
    if key is not None:
        request["KeyConditionExpression"] = aliases.render(key)
    if found is not None:
        request["FilterExpression"] = aliases.render(found)
    if projected := more.pop("projected", ()):
        request["ProjectionExpression"] = ", ".join(aliases.name(stored) for stored in projected)
    if more.pop("descending", False):
        request["ScanIndexForward"] = False
    if aliases.names:
        request["ExpressionAttributeNames"] = aliases.names
    return Branch(key, found, request, used_slots(slots, (key, found)), aliases.constants, **more)
