"""The databases behind a patch: one per region, as AWS has, each opened when it is first used."""

from __future__ import annotations

from dataclasses import dataclass
from threading import Lock

from hashrange.client.database import Database, open_database
from hashrange.core.clock import Clock
from hashrange.engine.arn import DEFAULT_REGION


class RegionalDatabases:
    """Empty in-memory databases by region; or the one given, which serves every region and stays open."""

    def __init__(self, *, given: Database | None = None, clock: Clock | None = None) -> None:
        self._given = given
        self._clock = clock
        self._opened: dict[str, Database] = {}
        self._lock = Lock()

    @property
    def region(self) -> str:
        """The region of clients for which none is configured anywhere."""
        return self._given.region if self._given else DEFAULT_REGION

    @property
    def is_used(self) -> bool:
        """Whether a database was given or opened."""
        return bool(self._given or self._opened)

    def find(self, region: str) -> Database:
        """Return the database of a region."""
        if self._given is not None:
            return self._given
        with self._lock:
            if region not in self._opened:
                self._opened[region] = open_database(clock=self._clock, region=region)
            return self._opened[region]

    def close(self) -> None:
        """Close what was opened here."""
        with self._lock:
            for database in self._opened.values():
                database.close()


@dataclass(frozen=True, slots=True, eq=False)
class ActivePatch:
    """One use of databases by a patch, and the region that it was given for clients without one."""

    databases: RegionalDatabases
    region: str | None
