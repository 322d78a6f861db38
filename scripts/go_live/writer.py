"""The program that writes all the time: new parcels, moves, deletions and handlings.

It appends each write to a file after the database has acknowledged it. `python -m scripts.go_live.writer URL FOLDER
ITEMS` is the process: it uses the version that the file `version` of the folder names, and answers by creating a file.
"""

from __future__ import annotations

import json
import random
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import ModuleType
from typing import Any

import hashrange
from scripts.go_live import first, second, third

VERSIONS: dict[str, ModuleType] = {"first": first, "second": second, "third": third}
PAUSE, STOP = "pause", "stop"  # what the file may contain instead of a version
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
CITIES = ("Rome", "Oslo", "Wien", "Bern")
PACE = 0.005  # seconds between two writes, so that the steps get some of the machine


class Writer:
    """Writes with one version at a time, and appends what was acknowledged to a file."""

    def __init__(self, database: Any, log: Path, items: int, seed: int = 7) -> None:
        self.database, self.log, self.random = database, log, random.Random(seed)
        self.stored, self.next_number, self.writes = list(range(items)), items, 0

    def use(self, version: str) -> None:
        """Write with another version from now on."""
        self.version, self.module = version, VERSIONS[version]
        self.db = self.module.Parcels.open(self.database)

    def write(self) -> None:
        """Make one random write, and note it when it is acknowledged."""
        [kind] = self.random.choices(["add", "move", "forget", "handle"], [2, 5, 1, 3])
        number = self._pick(remove=kind == "forget") if kind in {"move", "forget"} else self.next_number
        fields: dict[str, Any] = {}
        if kind == "add":
            fields = {"customer": f"c{number % 997}", "city": "Oslo", "grams": number % 900}
            self.db.put(self.module.Parcel(number=number, **fields)).run()
            self.stored.append(number)
            self.next_number += 1
        elif kind == "move":
            fields = {"city": self.random.choice(CITIES)}
            self.db.move(number, **fields).run()
        elif kind == "forget":
            self.db.forget(number).run()
        else:
            number, at = self.random.randrange(self.next_number), BEGIN + timedelta(seconds=self.writes)
            self.db.put(self.module.Handling(number=number, at=at, place="depot")).run()
            fields = {"at": self.writes}
        self.writes += 1
        with self.log.open("a") as file:
            file.write(json.dumps([self.version, kind, number, fields]) + "\n")

    def _pick(self, *, remove: bool) -> int:
        """Return the number of a stored parcel, and forget it if it will be removed."""
        at = self.random.randrange(len(self.stored))
        number = self.stored[at]
        if remove:
            self.stored[at] = self.stored[-1]
            self.stored.pop()
        return number


def run(url: str, folder: Path, items: int) -> None:
    """Write until the file says stop."""
    current = ""
    with hashrange.connect(url) as database:
        writer = Writer(database, folder / "acknowledged.jsonl", items)
        while current != STOP:
            now = (folder / "version").read_text() or current
            if now in VERSIONS and now != current:
                writer.use(now)
            if now != current:
                (folder / f"is-{now}").touch()
            current = now
            if current in VERSIONS:
                writer.write()
            time.sleep(PACE)


if __name__ == "__main__":
    run(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
