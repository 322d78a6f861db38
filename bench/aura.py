"""The crawler of aura against Scrapy on the same generated shop, and what one URL costs as a shop grows.

Each crawl is a process of its own, with the same number of requests at the same time, no pause and robots.txt obeyed;
they take turns. Memory is that of the crawler with its sandbox processes; pages that they share count once (PSS).
"""

import asyncio
import json
import re
import socket
import statistics
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path

import hashrange
from bench.contender import fresh_directory
from bench.peers import Unavailable, run_quietly
from bench.report import note, render_table
from bench.settings import HERE, PEERS_DIR, Settings
from bench.workload import Json
from hashrange import LocalKeys, SystemClock
from hashrange_systems.aura.schema import Aura, Url
from hashrange_systems.aura.service.frontier import Frontier, begin_run, make_visited
from hashrange_systems.aura.work_schema import WaitingUrl, Work
from hashrange_systems.shared.epoch import from_ms

AT_ONCE = 8
SIZES = (10_000, 100_000, 300_000)  # and that of the settings
STEPS = 2_000
LINKS = 10  # of a page; all but one are known
DOMAIN = "bench.example"


def run(settings: Settings) -> Json:
    """Compare the crawls, then the cost of one URL."""
    return {"crawl": compare_crawls(settings), "growth": measure_growth(settings)}


# ── crawls ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def compare_crawls(settings: Settings) -> Json:
    """Crawl the same shop with both, in turns, and print the ratios."""
    scrapy = install_scrapy()
    rounds: dict[str, list[Json]] = {"hashrange aura": [], "Scrapy": []}
    with subprocess.Popen(
        [sys.executable, "-m", "bench.aura_shop", str(port := free_port()), str(settings.shop_pages)],
        stdout=subprocess.PIPE,
        cwd=HERE.parent,
        text=True,
    ) as shop:
        try:
            assert shop.stdout is not None
            shop.stdout.readline()
            url = f"http://127.0.0.1:{port}/"
            for _ in range(settings.rounds):
                rounds["hashrange aura"].append(crawl([sys.executable, "-m", "bench.aura_crawl"], url, "1000000"))
                rounds["Scrapy"].append(crawl([str(scrapy), str(HERE / "aura_spider.py")], url))
        finally:
            shop.terminate()
    lines = [describe(name, results) for name, results in rounds.items()]
    note(render_table(["crawler", "pages", "pages/s", "processor ms a page", "peak memory, MiB"], lines))
    ratio = median_of(rounds["hashrange aura"], rate) / median_of(rounds["Scrapy"], rate)
    memory = median_of(rounds["hashrange aura"], peak) / median_of(rounds["Scrapy"], peak)
    note(f"pages/s: {ratio:.2f}x of Scrapy (goal: at least 1x); memory: {memory:.2f}x (goal: at most 1x)")
    return {**rounds, "pages_ratio": ratio, "memory_ratio": memory}


def install_scrapy() -> Path:
    """Return an interpreter that has Scrapy; installs it on first use."""
    python = PEERS_DIR / "scrapy" / "bin" / "python"
    if not (python.parent / "scrapy").exists():
        run_quietly(sys.executable, "-m", "venv", str(PEERS_DIR / "scrapy"))
        run_quietly(str(python.parent / "pip"), "install", "--quiet", "scrapy")
    return python


def crawl(command: list[str], url: str, *more: str) -> Json:
    """Run a crawl; return what it printed, with the peak of its memory."""
    arguments = [*command, url, str(fresh_directory("aura")), str(AT_ONCE), *more]
    with subprocess.Popen(
        arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=HERE.parent
    ) as ours:
        peak_kib = 0
        while ours.poll() is None:
            peak_kib = max(peak_kib, measure_memory(ours.pid))
            time.sleep(0.25)
        assert ours.stdout is not None
        assert ours.stderr is not None
        if ours.returncode:
            raise Unavailable(f"a crawl failed: {ours.stderr.read()[-300:]}")
        result: Json = json.loads(ours.stdout.read().splitlines()[-1])
    return {**result, "memory_kib": peak_kib}


def measure_memory(pid: int) -> int:
    """Return the memory of a process and its children in KiB; pages that they share count once."""
    children = Path(f"/proc/{pid}/task/{pid}/children")
    try:
        own = re.search(r"^Pss:\s+(\d+)", Path(f"/proc/{pid}/smaps_rollup").read_text(), re.MULTILINE)
        others = [int(child) for task in Path(f"/proc/{pid}/task").iterdir() for child in
                  (task / "children").read_text().split()] if children.exists() else []  # fmt: skip
    except OSError:
        return 0  # it has just ended
    return (int(own[1]) if own else 0) + sum(measure_memory(child) for child in others)


def rate(result: Json) -> float:
    """Pages a second."""
    return float(result["pages"] / result["seconds"])


def peak(result: Json) -> float:
    """Peak memory in MiB."""
    return float(result["memory_kib"] / 1024)


def median_of(results: list[Json], measure: object) -> float:
    """The median of a measure."""
    assert callable(measure)
    return statistics.median(measure(result) for result in results)


def describe(name: str, results: list[Json]) -> list[str]:
    """One line of the table."""
    cpu = median_of(results, lambda result: result["cpu_s"] / result["pages"] * 1000)
    return [
        name,
        str(results[0]["pages"]),
        f"{median_of(results, rate):.0f}",
        f"{cpu:.1f}",
        f"{median_of(results, peak):.0f}",
    ]


def free_port() -> int:
    """A port that nothing uses at the moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


# ── growth ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def measure_growth(settings: Settings) -> Json:
    """Compare what one URL costs as one shop grows, in processor time."""
    sizes = sorted({min(size, settings.urls) for size in (*SIZES, settings.urls)})
    costs = asyncio.run(measure_sizes(sizes))
    lines = [[f"{urls:,} URLs", f"{cost * 1e6:.0f}"] for urls, cost in costs.items()]
    note(render_table(["a shop of", "processor us a URL"], lines))
    ratio = costs[sizes[-1]] / costs[sizes[0]]
    note(f"{ratio:.2f}x (goal: at most 1.5x)")
    return {"costs": {str(urls): cost for urls, cost in costs.items()}, "ratio": ratio}


async def measure_sizes(sizes: list[int]) -> dict[int, float]:
    """Grow one shop from size to size, and measure one URL at each; filling takes 0.2 ms of processor time a URL."""
    clock, costs = SystemClock(), {}
    with hashrange.open(fresh_directory("aura-growth")) as database:
        hashrange.create_tables(database, Aura, Work)
        db, work = Aura.open(database), Work.open(database, keys=LocalKeys.generate())
        await begin_run(work, clock, DOMAIN)
        stored = 0
        for urls in sizes:
            frontier = await begin_run(work, clock, DOMAIN)  # as after an interruption: links have to be looked up
            await fill(db, work, frontier, range(stored, urls))
            costs[urls] = await measure_url(db, frontier, urls)
            note(f"{urls:,} URLs: {costs[urls] * 1e6:.0f} us of processor time a URL")
            stored = urls
    return costs


async def measure_url(db: Aura, frontier: Frontier, urls: int) -> float:
    """Return the processor time of one URL: taken, stored, its links looked up, marked as visited."""
    began, now = time.process_time(), from_ms(frontier.clock.millis())
    done = 0
    while done < STEPS:
        for entry in await frontier.take(64, ()):
            await db.record_visit(
                DOMAIN, entry.url, "product", now, now, 200, '"1"', None, ["json-ld"], title="An old vase"
            )
            known = [make_url((done * 7919 + at) % urls) for at in range(LINKS - 1)]
            frontier.add([*known, f"{make_url(done)}/{urls}"], 2)
            frontier.finish(entry)
            done += 1
    await frontier.flush()
    return (time.process_time() - began) / done


def make_url(number: int) -> str:
    """Return the URL of a page."""
    return f"https://{DOMAIN}/products/antique-item-number-{number:08d}"


async def fill(db: Aura, work: Work, frontier: Frontier, numbers: range) -> None:
    """Add URLs to a shop: half of them visited, half of them waiting."""
    run, expires = frontier.run.run, from_ms(SystemClock().millis()) + timedelta(days=30)
    for start in range(0, len(numbers), 5_000):
        some = numbers[start : start + 5_000]
        waiting = [WaitingUrl(domain=DOMAIN, url=make_url(at), run=run, depth=1, expires_at=expires) for at in some]
        await work.batch([make_visited(entry, expires) if at % 2 else entry for at, entry in enumerate(waiting)])
        await db.batch([Url(domain=DOMAIN, url=make_url(at), type="product") for at in some if at % 2])
