"""Pages of lists in the order of time, also where stored times have different widths.

An index compares texts: within a second, `…:00Z` comes after `…:00.5Z`. The entries of one second are therefore read
together and sorted by their fractions; a cursor names the last entry of its page, not a key of the index.

A second with more than MAX_TOGETHER entries, such as those of an import that gave all of them one time, keeps the
order of the index, because reading it whole would make every page of it cost as much as all of it. Pages end where
such a second begins and ends.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Generic, Protocol, TypeVar

from hashrange import CursorInvalid
from hashrange_systems.shared.errors import TokenInvalid
from hashrange_systems.shared.signed_token import TokenSigner

MAX_TOGETHER = 100  # entries of one second that are sorted
SECOND = timedelta(seconds=1)
TO_THE_SECOND = len("2026-01-15T12:00:00")
WHOLE_SECOND = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", re.ASCII)
FRACTION = re.compile(r"\.(\d+)", re.ASCII)
NEVER = 2**53  # a cursor does not expire

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True, slots=True, order=True)
class ListPosition:
    """The position of an entry in a list: positions compare as their times do."""

    second: str
    fraction: str = ""  # its digits, without zeros at the end
    slug: str = ""

    @classmethod
    def of(cls, text: str, slug: str) -> ListPosition:
        """Return the position of a stored time, of any width; another text is its own second."""
        fraction = FRACTION.match(text, TO_THE_SECOND)
        return cls(text[:TO_THE_SECOND], fraction[1].rstrip("0") if fraction else "", slug)

    @property
    def time(self) -> datetime | None:
        """The second as a time; None if the text is none."""
        try:
            return datetime.fromisoformat(self.second + "Z") if WHOLE_SECOND.fullmatch(self.second) else None
        except ValueError:
            return None


@dataclass(frozen=True, slots=True)
class PositionedEntry(Generic[T_co]):
    """An entry with its position."""

    position: ListPosition
    entry: T_co


@dataclass(frozen=True, slots=True)
class Chunk(Generic[T_co]):
    """What one read of an index found, in its order; `last` is the second that it ends in."""

    entries: Sequence[PositionedEntry[T_co]]
    last: str
    cursor: str | None


class TimeIndex(Protocol[T_co]):
    """An index that is ordered by a stored time."""

    @property
    def name(self) -> str:
        """The list with its filters, which a cursor is bound to."""

    @property
    def backwards(self) -> bool:
        """Whether the latest come first."""

    async def read(self, since: datetime | None, count: int, after: str | None) -> Chunk[T_co]:
        """Return about so many entries, from the beginning of a second on, or after the cursor of a chunk."""


@dataclass(frozen=True, slots=True)
class Start:
    """Where a page begins: at a second, after a position in it; or inside of a second in the order of the index."""

    time: datetime | None = None
    after: ListPosition | None = None
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class OrderedPage(Generic[T_co]):
    """A page of a list; `cursor` is None on the last one."""

    entries: list[T_co]
    cursor: str | None


@dataclass(frozen=True, slots=True)
class TimeOrderedList(Generic[T_co]):
    """A list over an index."""

    index: TimeIndex[T_co]
    signer: TokenSigner

    async def read_page(self, size: int, after: str | None) -> OrderedPage[T_co]:
        """Return a page; raise CursorInvalid for a cursor of another list."""
        start = self._open_cursor(after) if after is not None else Start()
        if start.cursor is not None and start.time is not None:
            chunk = await self.index.read(start.time, size, start.cursor)
            inside = [each for each in chunk.entries if each.position.time == start.time]
            if inside:
                return self._end_in_second(inside, chunk, start.time)
            start = Start(self._next_second(start.time))
        return await self._read_sorted(size, start)

    async def _read_sorted(self, size: int, start: Start) -> OrderedPage[T_co]:
        """Read on until the second in which the page ends is complete."""
        found: dict[str, PositionedEntry[T_co]] = {}
        chunk = await self.index.read(start.time, size + 1 + (start.after is not None), None)
        while True:
            found |= {each.position.slug: each for each in chunk.entries if self._is_after(each.position, start.after)}
            ordered = sort_positioned(found.values(), backwards=self.index.backwards)
            end = find_end(ordered, size)
            if chunk.cursor is None or (end < len(ordered) and ordered[end - 1].position.second != chunk.last):
                return self._end(ordered, end)
            together = [each for each in ordered if each.position.second == chunk.last]
            time = ListPosition(chunk.last).time
            if time is not None and len(together) > MAX_TOGETHER:
                before = [each for each in ordered if each.position.second != chunk.last]
                return self._end(before, len(before), Start(time)) if before else await self._enter(time, size)
            chunk = await self.index.read(start.time, MAX_TOGETHER, chunk.cursor)

    async def _enter(self, time: datetime, size: int) -> OrderedPage[T_co]:
        """Return the first page of a second with many entries."""
        chunk = await self.index.read(time, size, None)
        return self._end_in_second([each for each in chunk.entries if each.position.time == time], chunk, time)

    def _end_in_second(
        self, inside: Sequence[PositionedEntry[T_co]], chunk: Chunk[T_co], time: datetime
    ) -> OrderedPage[T_co]:
        goes_on = ListPosition(chunk.last).time == time
        following = Start(time, cursor=chunk.cursor) if goes_on else Start(self._next_second(time))
        return OrderedPage(
            [each.entry for each in inside],
            self._seal_cursor(following) if chunk.cursor is not None or not goes_on else None,
        )

    def _end(
        self, ordered: Sequence[PositionedEntry[T_co]], end: int, following: Start | None = None
    ) -> OrderedPage[T_co]:
        """Return a page of the first entries; it goes on after the last of them unless something else is said."""
        if following is None and end < len(ordered):
            position = ordered[end - 1].position
            following = Start(position.time, position)
        cursor = self._seal_cursor(following) if following is not None else None
        return OrderedPage([each.entry for each in ordered[:end]], cursor)

    def _is_after(self, position: ListPosition, shown: ListPosition | None) -> bool:
        return shown is None or (position < shown if self.index.backwards else position > shown)

    def _next_second(self, time: datetime) -> datetime:
        return time - SECOND if self.index.backwards else time + SECOND

    # ── cursors ──────────────────────────────────────────────────────────────────────────────────────────────────────
    def _seal_cursor(self, start: Start) -> str:
        position = start.after or ListPosition("")
        time = start.time.isoformat() if start.time else ""
        words = [self.index.name, time, position.second, position.fraction, position.slug]
        return f"{start.cursor or ''}.{self.signer.sign('page', words, NEVER)}"

    def _open_cursor(self, cursor: str) -> Start:
        inner, _, token = cursor.partition(".")
        try:
            name, time, second, fraction, slug = self.signer.open("page", token, 0)
        except (TokenInvalid, ValueError) as error:
            raise CursorInvalid("The cursor is damaged: begin again.") from error
        if name != self.index.name:
            raise CursorInvalid("The cursor is from another list: begin again.")
        position = ListPosition(second, fraction, slug) if second else None
        return Start(datetime.fromisoformat(time) if time else None, position, inner or None)


def find_end(ordered: Sequence[PositionedEntry[object]], size: int) -> int:
    """Return how many entries a page has: so many, and those after them whose time is none, where it cannot go on."""
    return next((at for at in range(size, len(ordered)) if ordered[at - 1].position.time is not None), len(ordered))


def sort_positioned(entries: Iterable[PositionedEntry[T]], *, backwards: bool) -> list[PositionedEntry[T]]:
    """Return entries in the order of time."""
    return sorted(entries, key=lambda each: each.position, reverse=backwards)


def to_bound(time: datetime, *, backwards: bool) -> datetime:
    """Return what the key of an index is compared with to read from the beginning of a second: `<=` or `>`."""
    return time.astimezone(UTC) if backwards else time.astimezone(UTC) - SECOND
