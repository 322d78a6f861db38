"""The types of jobs, and how far a job of each type has come.

The database stores a state as a JSON object beside the name of its type (`load_state`, `dump_state`). Both are part of
the on-disk format, so the Python names below are mapped to them here and nowhere else. `engine.jobs` does the work.
"""

from __future__ import annotations

from typing import ClassVar

from msgspec import Struct
from msgspec.json import Decoder, Encoder

from hashrange.engine.recovery.backup import CopyLocation


class JobState(Struct, frozen=True):
    """What a job has to do, and how far it has come."""

    job_type: ClassVar[str]

    @property
    def copy_file(self) -> str | None:
        """Return the file in `backups` that the job still needs."""
        return None


class Purge(JobState, frozen=True):
    """Delete the tables that are left of a deleted DynamoDB table: its rows, its change log."""

    job_type = "purge"
    names: tuple[str, ...]


class RemoveCopy(JobState, frozen=True):
    """Remove a copy of rows in `backups`, after the commit that no longer needs it."""

    job_type = "unlink"
    file: str

    @property
    def copy_file(self) -> str | None:
        """Return the file to remove."""
        return self.file


class ClearColumn(JobState, frozen=True, rename={"column": "slot"}):
    """Empty the column of a removed index, so that another index can use it."""

    job_type = "clear"
    column: int


class FillIndex(JobState, frozen=True):
    """Put the items that are older than an index into it."""

    job_type = "backfill"
    index: str
    last: int = 0  # the rowid of the last item that is done


class FillExpiry(JobState, frozen=True):
    """Store the expiry times of the existing items of a table."""

    job_type = "expiry"
    last: int = 0  # the rowid of the last item that is done


class RestoreRows(JobState, frozen=True, rename={"location": "place", "temporary": "passing"}):
    """Fill a restored table from a copy of rows."""

    job_type = "restore"
    location: CopyLocation
    temporary: bool  # whether the copy was made for this restore, and is removed with it
    last: int = 0  # the rowid, in the copy, of the last item that is done

    @property
    def copy_file(self) -> str | None:
        """Return the file that the rows are read from, if they are in one."""
        return self.location.file


class UndoLoad(JobState, frozen=True):
    """Empty a table whose bulk load was interrupted, and put it back into use."""

    job_type = "unfill"


STATES: dict[str, type[JobState]] = {
    state.job_type: state for state in (Purge, RemoveCopy, ClearColumn, FillIndex, FillExpiry, RestoreRows, UndoLoad)
}

dump_state = Encoder().encode


def load_state(job_type: str, stored: bytes) -> JobState:
    """Return a stored state of a type of job."""
    return Decoder(STATES[job_type]).decode(stored)
