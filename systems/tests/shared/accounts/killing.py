"""Kills what is done after its first write, its second, and so on, and does it again, as a restarted process would."""

import asyncio

import hashrange
from hashrange import ManualClock
from hashrange_systems.shared.errors import ApplicationError
from systems.tests.conftest import NOON
from systems.tests.shared.accounts.sample_system import make_system

WRITES = {"PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems"}


class Killed(BaseException):
    """What a process sees of kill -9: nothing runs after it."""


class Killer:
    """Ends what is done after so many writes."""

    def __init__(self):
        self.left = None

    def __call__(self, event):
        if self.left is None or event.operation not in WRITES:
            return
        self.left -= 1
        if self.left < 0:
            self.left = None
            raise Killed


def interrupt_everywhere(prepare, act, check):
    """Kill an action after its first write, its second, and so on, and do it again; return how often it was killed."""
    for after in range(60):
        with hashrange.open(clock=ManualClock(NOON)) as database:
            killer = Killer()
            sample = make_system(database, ManualClock(NOON), hooks=[killer])
            asyncio.run(prepare(sample))
            killer.left = after
            killed = False
            try:
                asyncio.run(act(sample))
            except Killed:
                killed = True
                asyncio.run(repeat(act, sample))
            killer.left = None
            asyncio.run(check(sample))
            if not killed:
                return after
    raise AssertionError("it never ends")


async def repeat(act, sample):
    """Do it again; what was written before may refuse it."""
    sample.clock.advance(1)
    try:
        await act(sample)
    except ApplicationError:
        return
