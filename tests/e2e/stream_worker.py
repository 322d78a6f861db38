"""A process that handles the changes of a table until it is killed: `stream_worker.py DATABASE LOG`.

Given the URL of a server, it reads what others write; given a directory, it writes to the database in it as well.
"""

import sys
from pathlib import Path
from typing import Protocol

import hashrange
from hashrange import Get, Item, ItemChange, Key, Patterns, Table, Upsert

table = Table("meters", "pk", stream="NEW_AND_OLD_IMAGES", deletion_protection=False)
checkpoints = Table("checkpoints", "consumer", "shard", deletion_protection=False)


class Meter(Item, table=table, pk="METER#{name}"):
    name: Key[str]
    reading: int


class Meters(Patterns, Protocol):
    def meter(self, name: str) -> Get[Meter]: ...
    def read(self, name: str, reading: int) -> Upsert[Meter]: ...


def work(where: str, log: Path) -> None:
    """Handle changes, one line of the log for each; in a directory, make a change after each pass."""
    is_remote = where.startswith("http")
    database = hashrange.connect(where) if is_remote else hashrange.open(where)
    hashrange.create_tables(database, Meters, checkpoints)
    db = Meters.open(database)
    consumer = db.consumer("log", checkpoints)
    with log.open("a", buffering=1) as lines:

        @consumer.on(Meter)
        def note(change: ItemChange[Meter]) -> None:
            assert change.after is not None
            lines.write(f"{change.after.name} {change.after.reading}\n")

        if is_remote:
            consumer.follow(every=0.01).run()
        while True:
            for name in "abc":
                found = db.meter(name).run()
                db.read(name, reading=found.reading + 1 if found else 1).run()
            consumer.run()


if __name__ == "__main__":
    work(sys.argv[1], Path(sys.argv[2]))
