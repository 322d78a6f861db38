"""What a migration makes of items, and what its previews, copies and verifications found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal, TypeAlias, get_args, get_type_hints

from msgspec import Struct, field

from hashrange.core.errors import Unreadable
from hashrange.core.values import Item as Raw
from hashrange.provision.key_collision import Collision, TableItem, show_key
from hashrange.schema.declare.model import Item
from hashrange.schema.declare.table import Table

MAX_EXAMPLES = 10  # of each kind of change, in a preview, and of each kind of difference
MAX_LISTED = 100


class Dropped(Struct, frozen=True):
    """What a conversion returns for an item that is left out, and why."""

    reason: str


Converted: TypeAlias = Item | Dropped | Iterable[Item]
Outcome: TypeAlias = tuple[str, str]  # the class of a source item, and what becomes of it
Difference: TypeAlias = Literal["missing", "differing", "surplus"]


class Conversion(Struct, frozen=True):
    """An item and what becomes of it."""

    source: Item
    targets: tuple[Item, ...]
    table: Table  # of the source item
    key: Raw  # of the source item, as it is stored
    dropped: str = ""
    stored: tuple[TableItem, ...] = ()  # the targets as they are stored, with their tables

    @property
    def outcome(self) -> Outcome:
        """The kind of change: from which class, to which classes or for which reason dropped."""
        names = [type(target).__name__ for target in self.targets]
        return type(self.source).__name__, f"dropped: {self.dropped}" if self.dropped else ", ".join(names) or "nothing"

    def __repr__(self) -> str:
        """Return the class and the key of the item, and not what is stored: that has its secrets open."""
        return f"<{type(self.source).__name__}, {show_key((self.table, self.key))}: {self.outcome[1]}>"

    def __str__(self) -> str:
        """Return the keys before and after; of a single target the fields that differ, of several the items."""
        source = show_key((self.table, self.key))
        keys = [show_key(each) for each in self.stored]
        if len(keys) == 1:
            return "\n".join([f"{source} -> {keys[0]}", *_show_changes(self.source, self.targets[0])])
        shown = [f"  -> {target!r}, {key}" for target, key in zip(self.targets, keys, strict=True)]
        return "\n".join([f"{source}: {self.source!r}", *shown])


def _show_changes(source: Item, target: Item) -> Iterator[str]:
    """Yield a line for each field that only one of two items has, or that differs; secrets are masked."""
    old, new = dict(source.__repr_args__()), dict(target.__repr_args__())
    for name in dict.fromkeys([*old, *new]):
        if name not in old:
            yield f"  + {name}: {new[name]!r}"
        elif name not in new:
            yield f"  - {name}: {old[name]!r}"
        elif old[name] != new[name]:
            yield f"    {name}: {old[name]!r} -> {new[name]!r}"


class MigrationReport(Struct):
    """What a preview, a copy or a verification found."""

    items: int = 0
    written: int = 0
    not_converted: int = 0  # items of the source of other classes, which are left alone
    outcomes: Counter[Outcome] = field(default_factory=Counter)
    examples: dict[Outcome, list[Conversion]] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)  # the first items that could not be converted: key and reason
    failed: int = 0
    missing: int = 0  # items that the target lacks
    differing: int = 0  # items that the target has in another form
    surplus: int = 0  # items of the target, of classes that are converted to, that no source item becomes
    keys: dict[Difference, list[str]] = field(default_factory=dict)  # the first of each kind, with their tables
    collisions: list[Collision] = field(default_factory=list)  # the first pairs of items that become the same one
    collided: int = 0
    classes: set[type[Item]] = field(default_factory=set)  # that items were converted to

    def __bool__(self) -> bool:
        """Return whether nothing is wrong."""
        return not (self.failed or self.missing or self.differing or self.surplus or self.collided)

    def add_failure(self, item: TableItem, error: Exception) -> None:
        """Count an item that could not be read or converted, and remember the first with their keys and reasons."""
        self.failed += 1
        if len(self.failures) < MAX_LISTED:
            self.failures.append(str(error) if isinstance(error, Unreadable) else f"{show_key(item)}: {error}")

    def add_collision(self, collision: Collision) -> None:
        """Count two items that become the same one, and remember the first with their keys."""
        self.collided += 1
        self.collisions.append(collision)

    def add_difference(self, kind: Difference, items: list[TableItem]) -> None:
        """Count items that are missing, differ or are surplus, and remember the first keys."""
        setattr(self, kind, getattr(self, kind) + len(items))
        known = self.keys.setdefault(kind, [])
        known += [show_key(item) for item in items[: MAX_EXAMPLES - len(known)]]

    @property
    def differences(self) -> str:
        """The numbers of what is wrong, with the first keys of missing, differing and surplus items."""
        counts: dict[Difference, int] = {"missing": self.missing, "differing": self.differing, "surplus": self.surplus}
        parts = [f"{count:,} {kind}{self._show_keys(kind, count)}" for kind, count in counts.items() if count]
        parts += [f"{self.failed:,} could not be converted"] if self.failed else []
        parts += [f"{self.collided:,} become what others become too{self._show_collisions()}"] if self.collided else []
        return "; ".join(parts) or "no differences"

    def _show_collisions(self) -> str:
        shown = [collision.keys for collision in self.collisions[:MAX_EXAMPLES]]
        more = ["..."] if self.collided > len(shown) else []
        return f": {', '.join([*shown, *more])}"

    def _show_keys(self, kind: Difference, count: int) -> str:
        shown = self.keys.get(kind, [])
        more = ["..."] if count > len(shown) else []
        return f": {', '.join([*shown, *more])}" if shown else ""


def classes_in(function: Callable[..., Any]) -> set[type[Item]]:
    """Return the classes of items in the annotation of what a conversion returns; none if it cannot be read."""
    try:
        hint = get_type_hints(function).get("return")
    except (NameError, TypeError):
        return set()
    return set(_find_classes(hint))


def _find_classes(hint: Any) -> Iterator[type[Item]]:
    if isinstance(hint, type) and issubclass(hint, Item) and hint is not Item:
        yield hint
    for argument in get_args(hint):
        yield from _find_classes(argument)
