"""The history of checks, in a table of its own: their runs, the roll-ups of past days, and incidents.

A check's partition of `CHECK` is the original's: whoever queries it gets the check alone. Items here expire by TTL.
"""

from datetime import date, datetime
from typing import Annotated

from hashrange import IsoMillis, Item, Key, Stored, Ttl, after
from hashrange_systems.checks.field_types import Record, Result, Short
from hashrange_systems.checks.table_definitions import history


class Run(Item, table=history, PK="{checkid}", SK="RESULT#{at}"):
    """A run of a check, and what it found."""

    checkid: Key[str]
    at: Key[IsoMillis]
    result: Result
    verdict: str | None = None
    delay_ms: int | None = None
    due_at: Annotated[IsoMillis | None, Stored("slot")] = None  # None for a manual run
    expires_at: Ttl = after("at", days=30)


class RollupItem(Item, table=history, PK="{checkid}", SK="ROLLUP#{day}"):
    """The roll-up of a day."""

    checkid: Key[str]
    day: Key[date]
    rollup: Record
    expires_at: Ttl


class IncidentItem(Item, table=history, PK="{checkid}", SK="INCIDENT#{started_at}"):
    """An outage, from its first failure."""

    checkid: Key[str]
    started_at: Key[IsoMillis]
    cause: str | None = None
    evidence: Short = ""
    interrupted: bool = False
    expires_at: Ttl = after("started_at", days=400)


class Ongoing(IncidentItem):
    """An incident that goes on."""

    ended_at: None = None


class Ended(IncidentItem):
    """An incident that has ended."""

    ended_at: IsoMillis


class HistoryMark(Item, table=history, PK="HISTORY", SK="HISTORY"):
    """That what older releases had in `CHECK` is here; with what could not be moved, and why."""

    moved_at: datetime
    left: tuple[str, ...] = ()
