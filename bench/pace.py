"""Load at a fixed rate: requests begin when their time has come, whether or not the earlier ones are answered.

A request that had to wait for a free connection counts from the moment it was due. One that found a free connection
counts from the moment it was sent: a late timer is our own error, not the contender's.
"""

import asyncio
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from bench.rows import Row
from bench.workload import PARTITIONS, PER_PARTITION, fill
from bench.wrk import NotClean, first_count, request_template

MAX_SLOWDOWN = 2  # gives a contender that falls behind so many times the length of the run


@dataclass(slots=True, kw_only=True)
class Run:
    """A run under way: what is still to be sent, until when, and the latencies seen, in microseconds by row."""

    due: Iterator[tuple[float, Row, bytes]]
    began: float
    deadline: float
    ended: float = 0
    latencies: dict[str, list[float]] = field(default_factory=dict)

    @property
    def seconds(self) -> float:
        """From the first request to the last answer."""
        return self.ended - self.began


def pace(port: int, mix: list[Row], *, rate: int, seconds: int, connections: int = 16) -> Run:
    """Sends the rows of the mix in turn, so many requests per second."""
    return asyncio.run(drive(port, prepare(port, mix, rate * seconds), rate, connections))


def prepare(port: int, mix: list[Row], count: int) -> list[tuple[Row, bytes]]:
    """All requests of a run, made before it begins."""
    templates = [request_template(row, port).decode() for row in mix]
    first = first_count()
    requests = []
    for number in range(count):
        at = number % len(mix)
        keys = {"partition": random.randrange(PARTITIONS), "sort": random.randrange(PER_PARTITION)}
        head, _, body = fill(templates[at], **keys, count=first + number).partition("\r\n\r\n")
        requests.append((mix[at], f"{head.replace('CONTENT_LENGTH', str(len(body)))}\r\n\r\n{body}".encode()))
    return requests


async def drive(port: int, requests: list[tuple[Row, bytes]], rate: int, connections: int) -> Run:
    """Opens the connections and lets them share the requests."""
    streams = [await asyncio.open_connection("127.0.0.1", port) for _ in range(connections)]
    began = time.perf_counter() + 0.05
    run = Run(
        due=((began + at / rate, row, request) for at, (row, request) in enumerate(requests)),
        began=began,
        deadline=began + MAX_SLOWDOWN * len(requests) / rate,
    )
    try:
        await asyncio.gather(*(work(run, reader, writer) for reader, writer in streams))
    finally:
        for _, writer in streams:
            writer.close()
    return run


async def work(run: Run, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """One connection: takes the next request, waits until it is due, sends it and waits for the answer."""
    for due, row, request in run.due:
        began = due
        if (early := due - time.perf_counter()) > 0:
            await asyncio.sleep(early)
            began = time.perf_counter()
        writer.write(request)
        await read_response(reader)
        run.ended = time.perf_counter()
        run.latencies.setdefault(row.name, []).append((run.ended - began) * 1e6)
        if run.ended > run.deadline:
            return


async def read_response(reader: asyncio.StreamReader) -> None:
    """Reads one answer; raises NotClean when it is not a success."""
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        length = int(head.partition(b"content-length:")[2].split(b"\r\n", 1)[0])
        body = await reader.readexactly(length)
    except (asyncio.IncompleteReadError, OSError, ValueError) as reason:
        raise NotClean(f"an answer did not come whole: {reason!r}") from reason
    if b" 200 " not in head[:16]:
        raise NotClean(f"an answer was {body[:200]!r}")
