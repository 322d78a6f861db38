"""The command line: `python -m bench [NAME ...]`."""

import argparse
import json
import signal
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from bench import aura, bulk, checks, embedded, latency, scale, search, typed, wire
from bench.contender import DidNotStart, clear_leftovers
from bench.peers import PEER_NAMES, Unavailable
from bench.report import describe_machine, warn
from bench.rows import ROW_NAMES, WrongResponse
from bench.settings import Settings
from bench.workload import Json
from bench.wrk import NotClean

BENCHMARKS: dict[str, Callable[[Settings], Json]] = {
    "wire": wire.run,
    "embedded": embedded.run,
    "latency": latency.run,
    "bulk": bulk.run,
    "typed": typed.run,
    "scale": scale.run,
    "checks": checks.run,
    "aura": aura.run,
    "search": search.run,
}

TEACH = """\
benchmarks:
  wire      operations over HTTP against dynoxide, DynamoDB Local, dynalite and moto, in memory and on disk
  embedded  GetItem and PutItem in process against the bare SQLite statements for the same bytes
  scale     get, put and query with ten million items against ten thousand; memory and start time then
  latency   p50, p99, p99.9 and max on disk under sustained writes with streams on
  bulk      the bulk load against a bare SQLite insert of the same rows
  checks    ten thousand website checks, each once a minute: how late they begin
  aura      the crawler against Scrapy on the same shop, and the cost of a URL in a shop of a million
  search    the search index of the directory against the scan, with a hundred thousand resources
  typed     typed items: put, get and query against PynamoDB on DynamoDB Local and pydynox; what declaring costs
  all       all of these (what you get when you name none): about 35 minutes

examples:
  python -m bench wire --quick                       a first look: one short round
  python -m bench wire --rows get,put --peers dynoxide --connections 16
  python -m bench scale --items 1000000
  python -m bench checks --soak 600                  the whole soak; half a minute otherwise
  python -m bench aura --pages 500 --urls 100000     a short comparison with Scrapy
  python -m bench all --json results.json

The peers are installed by name into bench/.peers on first use; one that cannot be had is named and left out.
Machines are noisy: trust ratios, never absolute numbers. bench/README.md explains how to read the tables.
"""


def main(arguments: list[str] | None = None) -> int:
    """Runs the benchmarks named and returns the exit code."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # an exception, so that everything started is ended
    chosen = build_parser().parse_args(arguments)
    names = list(BENCHMARKS) if not chosen.names or "all" in chosen.names else chosen.names
    print(f"# hashrange benchmarks: {', '.join(names)}\n\n{describe_machine()}")
    settings = read_settings(chosen)
    clear_leftovers()
    results: Json = {"machine": describe_machine(), "settings": asdict(settings)}
    failed = False
    for name in names:
        try:
            results[name] = BENCHMARKS[name](settings)
        except (Unavailable, DidNotStart, NotClean, WrongResponse) as reason:
            warn(f"{name} gave up: {reason}")
            failed = True
    if chosen.json:
        chosen.json.write_text(json.dumps(results, indent=1) + "\n")
    return int(failed)


def build_parser() -> argparse.ArgumentParser:
    """The options, with the help that teaches them."""
    parser = argparse.ArgumentParser(
        prog="python -m bench",
        description="Measures hashrange against its peers or against bare SQLite, in the same run, and prints ratios.",
        epilog=TEACH,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    usual = Settings()
    add = parser.add_argument
    add("names", nargs="*", type=read_name, metavar="NAME", help=f"{', '.join(BENCHMARKS)} or all (default)")
    add("--rows", type=names_of(ROW_NAMES), default=(), help=f"rows of wire, by comma, of {', '.join(ROW_NAMES)}")
    add("--peers", type=names_of(PEER_NAMES), default=(), help=f"peers, by comma, of {', '.join(PEER_NAMES)}")
    add("--durability", type=names_of(usual.durability), default=usual.durability, help="memory or disk (default both)")
    add("--connections", type=numbers, default=usual.connections, help="connections of wire, by comma (default 16,1)")
    add("--seconds", type=int, help=f"length of one measurement (default {usual.seconds})")
    add("--rounds", type=int, help=f"how often each is repeated; the median counts (default {usual.rounds})")
    add("--items", type=int, help=f"size of the large table of scale (default {usual.items:,})")
    add("--rate", type=int, default=usual.rate, help=f"writes/s of the paced part of latency (default {usual.rate:,})")
    add("--checks", type=int, help=f"how many checks (default {usual.checks:,})")
    add("--soak", type=int, metavar="SECONDS", help=f"how long checks go on (default {usual.soak})")
    add("--resources", type=int, help=f"resources that search looks through (default {usual.resources:,})")
    add("--pages", type=int, help=f"pages of the shop that aura crawls (default {usual.shop_pages:,})")
    add("--urls", type=int, help=f"URLs of the large shop of aura (default {usual.urls:,})")
    add("--quick", action="store_true", help="one round of a second, small tables: a first look, nothing to quote")
    add("--json", type=Path, metavar="FILE", help="also write everything measured to this file")
    return parser


def read_settings(chosen: argparse.Namespace) -> Settings:
    """The settings: what was given, else the usual or the quick values."""
    usual = (
        Settings(
            seconds=1,
            rounds=1,
            items=100_000,
            bulk_items=50_000,
            starts=1,
            checks=1_000,
            soak=10,
            resources=5_000,
            shop_pages=300,
            urls=50_000,
        )
        if chosen.quick
        else Settings()
    )
    return Settings(
        seconds=chosen.seconds or usual.seconds,
        rounds=chosen.rounds or usual.rounds,
        rows=chosen.rows,
        peers=chosen.peers,
        durability=chosen.durability,
        connections=chosen.connections,
        items=chosen.items or usual.items,
        bulk_items=usual.bulk_items,
        rate=chosen.rate,
        starts=usual.starts,
        checks=chosen.checks or usual.checks,
        soak=chosen.soak or usual.soak,
        resources=chosen.resources or usual.resources,
        shop_pages=chosen.pages or usual.shop_pages,
        urls=chosen.urls or usual.urls,
    )


def read_name(text: str) -> str:
    """The name of a benchmark; argparse's own `choices` would refuse to be given none."""
    return names_of((*BENCHMARKS, "all"))(text)[0]


def names_of(known: tuple[str, ...]) -> Callable[[str], tuple[str, ...]]:
    """A reader of names by comma that refuses unknown ones."""

    def read(text: str) -> tuple[str, ...]:
        names = tuple(text.split(","))
        if unknown := [name for name in names if name not in known]:
            raise argparse.ArgumentTypeError(f"no such name: {', '.join(unknown)} (there are: {', '.join(known)})")
        return names

    return read


def numbers(text: str) -> tuple[int, ...]:
    """Numbers by comma."""
    return tuple(int(part) for part in text.split(","))


if __name__ == "__main__":
    sys.exit(main())
