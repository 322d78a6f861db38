"""Create, fill, change and migrate a table over HTTP while a writer runs, and compare it with an oracle.

python -m scripts.go_live [--items 100000] [--port 18300] [--kills 3]

Each step is the command of a user against `hashrange serve`. With --kills, each long step is killed (SIGKILL) so many
times before it may end, after 2 to 9 seconds of processor time. The exit code is 1 if an acknowledged write is missing
or wrong. 100,000 items take some minutes; no step may take longer than two hours.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import hashrange
from scripts.go_live import oracle
from scripts.go_live.writer import PAUSE, STOP

COMMAND = [sys.executable, "-m", "hashrange"]
MIGRATION = "scripts.go_live.third:ten_digits"
LIMIT = 7200  # seconds for one step: a busy machine may need an hour for 100,000 conditional updates
FOLLOW_TIME = 10.0  # seconds for which changes are followed before the switch


class Rehearsal:
    """A server, a writer, and the steps between them."""

    def __init__(self, folder: Path, url: str, items: int, kills: int) -> None:
        self.folder, self.url, self.items, self.kills = folder, url, items, kills
        self.random = random.Random(7)

    def run(self, *arguments: str) -> None:
        """Run a command, and raise if it fails."""
        began = time.perf_counter()
        done = subprocess.run([*COMMAND, *arguments, "--target", self.url], timeout=LIMIT, check=True)
        print(f"$ hashrange {' '.join(arguments)}: {time.perf_counter() - began:.1f} s, exit {done.returncode}\n")

    def run_with_kills(self, *arguments: str) -> None:
        """Kill a command some times, then run it to its end."""
        for _ in range(self.kills):
            seconds = self.random.randint(2, 9)
            killed = subprocess.run(
                [*COMMAND, *arguments, "--target", self.url],
                timeout=LIMIT,
                check=False,
                capture_output=True,
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds)),  # noqa: B023
            )
            print(f"$ hashrange {' '.join(arguments)}: limited to {seconds} s, exit {killed.returncode}")
            if killed.returncode == 0:
                return
        self.run(*arguments)

    def switch_writer(self, version: str) -> None:
        """Make the writer use a version, and wait until it does."""
        fresh = self.folder / "version.new"
        fresh.write_text(version)
        fresh.replace(self.folder / "version")
        deadline = time.monotonic() + LIMIT
        while not (self.folder / f"is-{version}").exists():
            if time.monotonic() > deadline:
                raise TimeoutError(f"the writer does not answer to {version}")
            time.sleep(0.01)
        print(f"the writer: {version}", flush=True)

    def fill(self) -> None:
        """Create the table of the first version and import its items."""
        self.run("apply", "scripts.go_live.first")
        file = self.folder / "parcels.jsonl"
        with file.open("w") as lines:
            lines.writelines(json.dumps({"Item": item}) + "\n" for item in oracle.first_items(self.items))
        self.run("data", "import", "parcels", str(file), "--schema", "scripts.go_live.first")

    def add_index(self) -> None:
        """Add the index and the field, and complete the items after the writer knows them."""
        self.run("plan", "scripts.go_live.second")
        self.run_with_kills("apply", "scripts.go_live.second")
        self.switch_writer("second")
        self.run_with_kills("backfill", "scripts.go_live.second")
        self.run("drift", "scripts.go_live.second")

    def migrate(self) -> None:
        """Copy to the new keys, follow, stop the writes, switch, and let the writer use the new table."""
        self.run("migrate", "preview", MIGRATION)
        self.run_with_kills("migrate", "copy", MIGRATION)
        if self.kills:
            self.run_with_kills("migrate", "follow", MIGRATION, "--once")
        with self.following():
            time.sleep(FOLLOW_TIME)
        self.run("migrate", "follow", MIGRATION, "--once")
        self.switch_writer(PAUSE)
        began = time.perf_counter()
        self.run_with_kills("migrate", "switch", MIGRATION)
        self.switch_writer("third")
        print(f"no writes for {time.perf_counter() - began:.1f} s\n")
        time.sleep(2)
        self.run("migrate", "finish", MIGRATION)
        self.switch_writer(STOP)

    @contextmanager
    def following(self) -> Iterator[None]:
        """Let `follow` run meanwhile, and end it as Ctrl-C does."""
        command = [*COMMAND, "migrate", "follow", MIGRATION, "--target", self.url]
        with subprocess.Popen(command) as process:
            yield
            process.send_signal(signal.SIGINT)
            process.wait(LIMIT)

    def check(self) -> int:
        """Compare the new table with the oracle; return the number of differences."""
        expected, writes = oracle.expect(self.items, self.folder / "acknowledged.jsonl")
        with hashrange.connect(self.url) as database:
            wrong = oracle.compare(database, expected)
        print(*wrong[:20], sep="\n")
        print(f"{sum(writes.values()):,} acknowledged writes {dict(writes)}, {len(expected):,} items expected")
        print(f"{len(wrong):,} differences")
        return len(wrong)


@contextmanager
def start(*command: str) -> Iterator[subprocess.Popen[bytes]]:
    """Start a process, and end it afterwards."""
    process = subprocess.Popen(command)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(60)


def main() -> int:
    """Rehearse, and return the exit code."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # an exception, so that everything started is ended
    signal.signal(
        signal.SIGINT, signal.default_int_handler
    )  # a shell ignores it for background jobs, and so would `follow`
    parser = argparse.ArgumentParser(prog="python -m scripts.go_live", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--items", type=int, default=100_000, help="items to begin with")
    parser.add_argument("--port", type=int, default=18300, help="a free port for the server")
    parser.add_argument("--kills", type=int, default=0, help="how often each long step is killed")
    chosen = parser.parse_args()
    url = f"http://127.0.0.1:{chosen.port}"
    with tempfile.TemporaryDirectory(dir=".", prefix="go-live-") as name:
        rehearsal = Rehearsal(Path(name), url, chosen.items, chosen.kills)
        with start(*COMMAND, "serve", "--data", f"{name}/data", "--port", str(chosen.port)):
            wait_for(url)
            rehearsal.fill()
            (Path(name) / "version").touch()
            with start(sys.executable, "-m", "scripts.go_live.writer", url, name, str(chosen.items)):
                rehearsal.switch_writer("first")
                rehearsal.add_index()
                rehearsal.migrate()
            return int(rehearsal.check() > 0)


def wait_for(url: str) -> None:
    """Wait until the server answers."""
    for _ in range(600):
        try:
            with hashrange.connect(url) as database:
                database.call("ListTables", {})
        except hashrange.HashrangeError:
            time.sleep(0.1)
        else:
            return
    raise TimeoutError(f"{url} does not answer")


if __name__ == "__main__":
    sys.exit(main())
