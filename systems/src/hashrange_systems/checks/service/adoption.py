"""Adopts checks that have no schedule: those that the original system, or another program, has written."""

from __future__ import annotations

import asyncio
import logging

from hashrange import Clock, Conflict
from hashrange_systems.checks.model.schedule import first_due_time
from hashrange_systems.checks.schema import Active, ActiveUser, Checks, Scheduled, SuspendedCheck
from hashrange_systems.shared.epoch import from_ms

log = logging.getLogger(__name__)

PAGE = 100


async def adopt_checks(db: Checks, clock: Clock, check_type: str, known: set[str]) -> int:
    """Schedule the active checks of a type that are not known; add them to the known; return how many were read."""
    read, adopted, cursor, more = 0, 0, None, True
    while more:
        page = await db.by_type(check_type, "ACTIVE").page(PAGE, after=cursor)
        for found in page:
            read += 1
            if found.checkid not in known:
                adopted += await adopt_check(db, clock, found.checkid)
                known.add(found.checkid)
        await asyncio.sleep(0)  # an embedded database never suspends the task: yield to others
        cursor, more = page.cursor, page.cursor is not None
    if adopted:
        log.info("checks without a schedule are run from now on", extra={"fields": {"count": adopted}})
    return read


async def adopt_check(db: Checks, clock: Clock, checkid: str) -> bool:
    """Schedule a check of an active user that is active and has no schedule; return whether it was one."""
    check = await db.check(checkid).consistent()
    if not isinstance(check, Active) or isinstance(check, Scheduled | SuspendedCheck):
        return False
    if not isinstance(await db.user(check.userid), ActiveUser):
        return False
    try:
        await db.resume_schedule(check, next_run_at=from_ms(first_due_time(clock.millis())))
    except Conflict:
        return False  # another worker was faster, or it was changed
    return True
