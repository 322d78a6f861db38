"""Reads a whole table page by page, in segments that run in parallel, from positions that can be stored."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from queue import Queue

from msgspec import Struct

from hashrange.client.transport import Transport
from hashrange.core.errors import PlanError
from hashrange.core.values import Item as Raw
from hashrange.core.wire import Wire

PAGE_SIZE = 500
MAX_SCAN_THREADS = 1_000  # each is read by a thread of its own; DynamoDB accepts a million
DONE: Raw = {}  # the position of a segment that was read to its end
BEGIN = None  # the position of a segment of which nothing was read


class ScannedPage(Struct, frozen=True):
    """Some items of a segment, and the position after them."""

    segment: int
    items: list[Raw]
    position: Raw | None


def check_segments(segments: int) -> None:
    """Refuse a number of segments that cannot be read in parallel."""
    if not 1 <= segments <= MAX_SCAN_THREADS:
        raise PlanError(f"segments is {segments:,}: give 1 to {MAX_SCAN_THREADS:,}.")


def scan_pages(database: Transport, name: str, positions: dict[int, Raw | None]) -> Iterator[ScannedPage]:
    """Yield the pages of a table; `positions` has where each segment begins. Each segment is read by a thread."""
    pages: Queue[ScannedPage | BaseException | None] = Queue(maxsize=2 * len(positions))
    stop = threading.Event()
    left = [segment for segment, position in positions.items() if position != DONE]

    def read(segment: int) -> None:
        try:
            for page in scan_segment(database, name, segment, len(positions), positions[segment]):
                pages.put(page)
                if stop.is_set():
                    return
            pages.put(None)
        except BaseException as error:  # noqa: BLE001 - it is raised in the thread that reads the pages
            pages.put(error)

    for segment in left:
        threading.Thread(target=read, args=(segment,), daemon=True).start()
    try:
        while left:
            page = pages.get()
            if isinstance(page, BaseException):
                raise page
            if page is None:
                left.pop()
            else:
                yield page
    finally:
        stop.set()
        while not pages.empty():  # lets threads that wait for room go on and end
            pages.get_nowait()


def scan_segment(
    database: Transport, name: str, segment: int, segments: int, position: Raw | None
) -> Iterator[ScannedPage]:
    """Yield the pages of one segment from a position."""
    request: Wire = {"TableName": name, "Segment": segment, "TotalSegments": segments, "Limit": PAGE_SIZE}
    while position != DONE:
        if position:
            request["ExclusiveStartKey"] = position
        response = database.call("Scan", request)
        position = response.get("LastEvaluatedKey", DONE)
        yield ScannedPage(segment, response["Items"], position)
