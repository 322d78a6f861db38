"""Search in the directory: the index against the scan of the seed, on the same resources, in the same process.

The measure is the time of a search, as pages call it: the 99th percentile of the index in relation to the median of
the scan. The hits of both are compared first.
"""

import asyncio
import random
import statistics
import time
from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC, datetime, timedelta

import hashrange
from bench.report import note, render_table
from bench.rows import require
from bench.settings import Settings
from bench.workload import Json
from hashrange_systems.kelifax.model.search_text import join_words
from hashrange_systems.kelifax.schema import Kelifax, Published, checkpoints
from hashrange_systems.kelifax.search.index_consumer import IndexConsumer
from hashrange_systems.kelifax.search.query import SearchQuery
from hashrange_systems.kelifax.search.scan_search import find_by_scan
from hashrange_systems.kelifax.search.search import Search

QUERIES = 500
SCANS = 5
GOAL = 0.05  # p99 of the index / median of the scan
CATEGORIES = ("development", "design", "productivity", "learning", "ai", "analytics", "other")
SYLLABLES = (
    "ka",
    "to",
    "mi",
    "ren",
    "sol",
    "vex",
    "dar",
    "lu",
    "pin",
    "quo",
    "zet",
    "bri",
    "auto",
    "code",
    "data",
    "kit",
)


def run(settings: Settings) -> Json:
    """Fills a directory, searches it both ways, prints the table, gives back the numbers."""
    print(f"\n## Search among {settings.resources:,} resources\n")
    found = asyncio.run(measure(settings))
    print(render_table(["", "index", "scan", "index / scan", "goal"], show(found)))
    return found


async def measure(settings: Settings) -> Json:
    """Searches by index and by scan, one after the other."""
    chance = random.Random(settings.resources)
    vocabulary = ["".join(chance.choices(SYLLABLES, k=chance.randint(2, 4))) for _ in range(20_000)]
    with hashrange.open() as database:
        hashrange.create_tables(database, Kelifax, checkpoints)
        db = Kelifax.open(database)
        began = time.monotonic()
        for batch in make_batches(settings.resources, vocabulary, chance):
            await db.batch(batch)
        note(f"wrote {settings.resources:,} resources in {time.monotonic() - began:.1f} s")
        index_consumer = IndexConsumer(db)
        began = time.monotonic()
        await index_consumer.catch_up()
        built = time.monotonic() - began
        note(f"built the index in {built:.1f} s")
        queries = make_queries(vocabulary, chance)
        by_scan = await compare(db, Search(db, index_consumer), queries[:SCANS])
        by_index = await time_all(Search(db, index_consumer).find, queries)
        await index_consumer.close()
    return summarise(settings, by_index, by_scan, built)


def make_batches(count: int, vocabulary: list[str], chance: random.Random) -> Iterator[list[Published]]:
    """Yields published resources with words of a vocabulary, a thousand at a time."""
    start = datetime(2026, 1, 1, tzinfo=UTC)
    for first in range(0, count, 1000):
        numbers = range(first, min(first + 1000, count))
        yield [make_resource(number, vocabulary, chance, start + timedelta(seconds=number)) for number in numbers]


def make_resource(number: int, vocabulary: list[str], chance: random.Random, at: datetime) -> Published:
    """A resource whose search text is as long as that of the curated ones of the original: about 25 words."""
    words = chance.choices(vocabulary, k=25)
    name, tags, category = " ".join(words[:2]).title(), words[2:6], chance.choice(CATEGORIES)
    features = [" ".join(words[at : at + 6]) for at in (6, 12, 18)]
    return Published(
        resource_slug=f"resource-{number}",
        submission_id=f"id-{number}",
        created_at=at,
        submitted_at=at,
        approved_at=at,
        published_at=at,
        submitter_first_name="Ann",
        submitter_last_name="Lee",
        submitter_email="ann@example.com",
        resource_name=name,
        resource_url=f"https://resource-{number}.example.com",
        usage_purpose=" ".join(words),
        category=category,
        tags=tags,
        key_features=features,
        search_text=join_words(((name,), (category,), tags, features)),
    )


def make_queries(vocabulary: list[str], chance: random.Random) -> list[SearchQuery]:
    """What visitors type: whole words, beginnings, parts, two words, typing errors, and a category beside it."""
    made = []
    for number in range(QUERIES):
        word, other = chance.choice(vocabulary), chance.choice(vocabulary)
        swapped = word[:2] + word[3:4] + word[2:3] + word[4:]
        texts = (word, word[:3], word[2:6], f"{word[:4]} {other[:3]}", swapped, word[:1])
        category = chance.choice(CATEGORIES) if number % 7 == 0 else ""
        made.append(SearchQuery(text=texts[number % len(texts)], category=category))
    return made


async def compare(db: Kelifax, search: Search, queries: list[SearchQuery]) -> list[float]:
    """Requires that the index finds at least what the scan finds; returns the milliseconds that each scan took."""
    took = []
    for query in queries:
        began = time.perf_counter()
        scanned = await find_by_scan(db, query)
        took.append((time.perf_counter() - began) * 1000)
        found = await search.find(query)
        require(found.by == "index", "the index did not answer")
        require(found.total >= scanned.total, f"the index found less than the scan for {query.text!r}")
    return took


async def time_all(find: Callable[[SearchQuery], Awaitable[object]], queries: list[SearchQuery]) -> list[float]:
    """The milliseconds that each search took."""
    took = []
    for query in queries:
        began = time.perf_counter()
        await find(query)
        took.append((time.perf_counter() - began) * 1000)
    return took


def summarise(settings: Settings, by_index: list[float], by_scan: list[float], built: float) -> Json:
    """The numbers of a run."""
    cuts = statistics.quantiles(by_index, n=100)
    scan = statistics.median(by_scan)
    return {
        "resources": settings.resources,
        "index_p50_ms": round(cuts[49], 2),
        "index_p99_ms": round(cuts[98], 2),
        "scan_p50_ms": round(scan, 1),
        "p99_to_scan": round(cuts[98] / scan, 5),
        "build_s": round(built, 1),
    }


def show(found: Json) -> list[list[str]]:
    """The lines of the table."""
    scan = float(found["scan_p50_ms"])
    return [
        [name, f"{found[key]} ms", f"{scan} ms (p50)", f"{float(found[key]) / scan:.5f}", goal]
        for name, key, goal in (("p50", "index_p50_ms", ""), ("p99", "index_p99_ms", f"at most {GOAL}"))
    ]
