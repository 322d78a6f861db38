"""One measurement: wrk repeats a row's request against a running contender for some seconds."""

import json
import subprocess
import tempfile
import time
from dataclasses import dataclass

from bench.client import sdk_headers
from bench.contender import Running
from bench.rows import Row
from bench.settings import HERE
from bench.workload import CATEGORIES, FIRST_COUNT, PARTITIONS, PER_PARTITION

COUNT_SPAN = 8_000_000_000


class NotClean(Exception):
    """Some answers of a measurement were errors, or did not come: its number means nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """What one measurement saw; times in microseconds."""

    rate: float
    p50: float
    p99: float
    p999: float
    max: float
    cpu: float
    """Processor time of the contender per request."""


def measure(
    wrk: str, running: Running, row: Row, *, connections: int, seconds: int, partitions: int = PARTITIONS
) -> Sample:
    """Repeats the row's request over so many connections; raises NotClean when any answer is not a success."""
    with tempfile.NamedTemporaryFile("wb", suffix=".http") as file:
        file.write(request_template(row, running.port))
        file.flush()
        script = [file.name, str(time.time_ns() % 2**31), str(first_count())]
        sizes = [str(number) for number in (partitions, PER_PARTITION, CATEGORIES)]
        pace = ["-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", "20s"]
        command = [wrk, *pace, "-s", str(HERE / "load.lua"), f"http://127.0.0.1:{running.port}/"]
        cpu = running.cpu_seconds()
        outcome = subprocess.run([*command, "--", *script, *sizes], capture_output=True, text=True, check=False)
        return read_outcome(outcome, f"{running.name} {row.name}", running.cpu_seconds() - cpu)


def first_count() -> int:
    """Where a counter of contents begins: at the clock in us, faster than any contender counts, so it never repeats."""
    return FIRST_COUNT + time.time_ns() // 1000 % COUNT_SPAN


def request_template(row: Row, port: int) -> bytes:
    """The whole HTTP request with the placeholders still in it; the script computes the length."""
    headers = {"Host": f"127.0.0.1:{port}", **sdk_headers(row.operation), "Content-Length": "CONTENT_LENGTH"}
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"POST / HTTP/1.1\r\n{lines}\r\n{row.template}".encode()


def read_outcome(outcome: subprocess.CompletedProcess[str], what: str, cpu: float) -> Sample:
    """The sample in the line that the script printed."""
    _, marked, line = outcome.stdout.partition("RESULT ")
    if not marked:
        raise NotClean(f"{what}: wrk failed: {(outcome.stderr or outcome.stdout).strip()[-300:]}")
    seen = json.loads(line.splitlines()[0])
    bad = {name: seen[name] for name in ("refused", "broken", "timeouts") if seen[name]}
    if bad or not seen["requests"]:
        raise NotClean(f"{what}: {seen['requests']} requests, of them {bad}")
    return Sample(
        rate=seen["requests"] / seen["microseconds"] * 1e6,
        cpu=cpu / seen["requests"] * 1e6,
        **{name: seen[name] for name in ("p50", "p99", "p999", "max")},
    )
