"""The states of jobs are part of the on-disk format: an interrupted job is continued by a later version."""

import pytest

from hashrange.engine import sql
from hashrange.engine.job_state import (
    STATES,
    ClearColumn,
    FillExpiry,
    FillIndex,
    JobState,
    Purge,
    RemoveCopy,
    RestoreRows,
    UndoLoad,
    dump_state,
    load_state,
)
from hashrange.engine.jobs import find_slice
from hashrange.engine.recovery.backup import CopyLocation

# As format 2 stores them: never change these.
STORED = [
    ("purge", b'{"names":["t5","c5"]}', Purge(("t5", "c5"))),
    ("unlink", b'{"file":"00000000000001-aa.db"}', RemoveCopy("00000000000001-aa.db")),
    ("clear", b'{"slot":3}', ClearColumn(3)),
    ("backfill", b'{"index":"late","last":250}', FillIndex("late", 250)),
    ("expiry", b'{"last":0}', FillExpiry()),
    ("restore", b'{"place":{"table":9},"passing":true,"last":7}', RestoreRows(CopyLocation(table=9), True, 7)),
    ("restore", b'{"place":{"file":"a.db"},"passing":false,"last":0}', RestoreRows(CopyLocation(file="a.db"), False)),
    ("unfill", b"{}", UndoLoad()),
]


@pytest.mark.parametrize(("job_type", "stored", "state"), STORED)
def test_a_state_is_stored_as_format_2_has_it(job_type, stored, state):
    assert load_state(job_type, stored) == state
    assert (state.job_type, dump_state(state)) == (job_type, stored)


def test_every_type_of_job_has_a_stored_example_and_a_function_that_does_it():
    assert {job_type for job_type, _, _ in STORED} == set(STATES)
    assert set(STATES.values()) == set(JobState.__subclasses__())
    assert all(callable(find_slice(state)) for _, _, state in STORED)


def test_the_files_that_jobs_need_are_known():
    files = {state.copy_file for _, _, state in STORED}
    assert files == {None, "00000000000001-aa.db", "a.db"}


def test_a_job_that_an_earlier_version_stored_is_continued(on_disk):
    on_disk.create()
    on_disk.put(pk="a")
    on_disk.engine.begin()
    on_disk.engine.begin_transaction()
    on_disk.engine.store.execute(sql.ADD_JOB, ("purge", 99, b'{"names":["t1"]}'))
    on_disk.engine.end()
    on_disk.reopen()
    assert on_disk.engine.jobs.has_work
    on_disk.engine.finish_jobs()
    assert not on_disk.engine.jobs.has_work
