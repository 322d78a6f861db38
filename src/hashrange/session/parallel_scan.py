"""Parallel scans: the segments of a table are read at the same time, by threads or on the event loop.

Each request reads one page of one segment. No more requests are in flight, and no more pages in memory, than workers.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Callable, Generator, Hashable, Iterator
from functools import partial
from typing import Any, Generic, TypeVar

from msgspec.structs import replace

from hashrange.core.limits import MAX_SEGMENTS
from hashrange.session.query_reader import FoundItems, QueryCall, QueryReader
from hashrange.session.runnable import Task

T_co = TypeVar("T_co", covariant=True)
F = TypeVar("F", bound=Hashable)  # a request in flight

DEFAULT_WORKERS = 8


class ParallelScan(Generic[T_co]):
    """A scan in segments; its items come in no order."""

    def __init__(self, call: QueryCall, segments: int, workers: int | None, limit: int | None) -> None:
        if not 1 <= segments <= MAX_SEGMENTS or (workers is not None and workers < 1):
            raise ValueError(f"a parallel scan has 1 to {MAX_SEGMENTS} segments and at least one worker")
        self.call, self.segments, self.limit = call, segments, limit
        self.workers = min(segments, workers or DEFAULT_WORKERS)

    def run(self) -> list[T_co]:
        """Read everything, or up to the limit."""
        return list(self)

    def __await__(self) -> Generator[Any, None, list[T_co]]:
        return self._read_all().__await__()

    async def _read_all(self) -> list[T_co]:
        return [item async for item in self]

    def __iter__(self) -> Iterator[T_co]:
        from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

        with ThreadPoolExecutor(self.workers) as pool:
            pages = _Pages[Future[FoundItems]](self, lambda page: pool.submit(page.run))
            while pages.start():
                for future in wait(pages.running, return_when=FIRST_COMPLETED).done:
                    yield from pages.finish(future, future.result())

    async def __aiter__(self) -> AsyncIterator[T_co]:
        import asyncio

        pages = _Pages[asyncio.Future[FoundItems]](self, asyncio.ensure_future)
        try:
            while pages.start():
                done, _ = await asyncio.wait(pages.running, return_when=asyncio.FIRST_COMPLETED)
                for item in [item for future in done for item in pages.finish(future, future.result())]:
                    yield item
        finally:
            for future in pages.running:
                future.cancel()
            await asyncio.gather(*pages.running, return_exceptions=True)


class _Pages(Generic[F]):
    """The requests of a parallel scan: those in flight, and the segments that wait for a worker."""

    def __init__(self, scan: ParallelScan[Any], submit: Callable[[Task[FoundItems]], F]) -> None:
        calls = (replace(scan.call, segment=(segment, scan.segments)) for segment in range(scan.segments))
        self.scan, self.submit, self.left = scan, submit, scan.limit
        self.waiting = deque(map(QueryReader, calls))
        self.running: dict[F, QueryReader] = {}

    def start(self) -> bool:
        """Send as many requests as there are free workers; return whether there is anything to wait for."""
        if self.left == 0:
            return False
        while self.waiting and len(self.running) < self.scan.workers:
            reader = self.waiting.popleft()
            self.running[self.submit(Task(self.scan.call.session, partial(reader.read, None)))] = reader
        return bool(self.running)

    def finish(self, future: F, found: FoundItems) -> list[Any]:
        """Return the items of a page, as far as the limit allows; its segment waits again if it has more pages."""
        reader = self.running.pop(future)
        if not reader.is_done:
            self.waiting.append(reader)
        some = [item for _, item in found[: self.left]]
        if self.left is not None:
            self.left -= len(some)
        return some
