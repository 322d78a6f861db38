"""Background work is restarted after failures with growing pauses, and stops cleanly."""

import asyncio
import logging

import pytest

from hashrange.hosting import supervisor as module
from hashrange.hosting.supervisor import FIRST_PAUSE, MAX_PAUSE, Supervisor


class Scripted:
    """Work that does what each step of its script says: an error to raise, or a coroutine function to await."""

    def __init__(self, *script, fill=None):
        self.script = list(script)
        self.filled = fill
        self.happened = []

    async def fill_demo(self):
        self.happened.append("fill")
        if self.filled:
            raise self.filled

    async def work(self):
        self.happened.append("work")
        step = self.script.pop(0)
        if isinstance(step, Exception):
            raise step
        await step()

    async def close(self): ...


async def do_nothing():
    pass


async def stay():
    await asyncio.Event().wait()


def run(script, *, demo=False):
    """Run it to its own end; return the supervisor and the pauses that it made."""
    pauses = []

    async def pause(seconds):
        pauses.append(seconds)

    async def live():
        supervisor = Supervisor("duck", script, demo=demo, pause=pause)
        supervisor.start()
        await supervisor._task  # type: ignore[misc]
        return supervisor

    return asyncio.run(live()), pauses


def test_work_that_fails_is_begun_again_later_each_time(caplog):
    supervisor, pauses = run(Scripted(*[ValueError("no")] * 9, do_nothing))
    assert pauses == [1, 2, 4, 8, 16, 32, 60, 60, 60]
    assert (pauses[0], pauses[-1]) == (FIRST_PAUSE, MAX_PAUSE)
    assert supervisor.restarts == 9
    assert supervisor.state == "finished"
    assert [record.getMessage() for record in caplog.records] == ["work failed"] * 9
    assert caplog.records[0].exc_info[0] is ValueError
    assert caplog.records[0].fields == {"system": "duck"}


def test_a_failure_after_long_work_counts_as_the_first(monkeypatch):
    monkeypatch.setattr(module, "RESET_BACKOFF_AFTER", -1.0)
    _, pauses = run(Scripted(*[ValueError("no")] * 3, do_nothing))
    assert pauses == [FIRST_PAUSE] * 3


def test_demo_data_comes_before_the_work():
    script = Scripted(do_nothing)
    run(script, demo=True)
    assert script.happened == ["fill", "work"]
    without = Scripted(do_nothing)
    run(without)
    assert without.happened == ["work"]


def test_demo_data_that_fails_does_not_keep_the_work_from_beginning(caplog):
    script = Scripted(do_nothing, fill=ValueError("no"))
    run(script, demo=True)
    assert script.happened == ["fill", "work"]
    assert [(record.levelno, record.getMessage()) for record in caplog.records] == [(logging.ERROR, "demo data failed")]


def test_work_finishes_its_step_when_it_is_to_stop():
    finished = []

    async def step():
        try:
            await stay()
        finally:
            await asyncio.sleep(0)
            finished.append(True)

    async def live():
        supervisor = Supervisor("duck", Scripted(step))
        supervisor.start()
        await asyncio.sleep(0)
        assert supervisor.state == "working"
        await supervisor.stop()
        return supervisor.state

    assert asyncio.run(live()) == "stopped"
    assert finished == [True]


def test_work_that_fails_while_it_stops_is_not_begun_again():
    async def step():
        try:
            await stay()
        except asyncio.CancelledError:
            raise ValueError("at the end") from None

    async def live():
        script = Scripted(step)
        supervisor = Supervisor("duck", script)
        supervisor.start()
        await asyncio.sleep(0)
        await supervisor.stop()
        return script.happened

    assert asyncio.run(live()) == ["work"]


@pytest.mark.parametrize("stops_now", [True, False])
def test_work_that_does_not_stop_is_interrupted_once_more_and_left_behind(monkeypatch, caplog, stops_now):
    monkeypatch.setattr(module, "GRACE", 60.0 if stops_now else 0.01)
    monkeypatch.setattr(module, "LAST_GRACE", 0.01)
    caught = []

    async def step():
        while True:
            try:
                await stay()
            except asyncio.CancelledError:
                caught.append(True)
                if stops_now and len(caught) == 2:
                    raise
                if len(caught) == 3:
                    raise

    async def live():
        supervisor = Supervisor("duck", Scripted(step))
        supervisor.start()
        await asyncio.sleep(0)
        stopping = asyncio.create_task(supervisor.stop())
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        if stops_now:
            supervisor.stop_now()
        await stopping

    asyncio.run(live())
    assert len(caught) == (2 if stops_now else 3)
    complaints = [record.getMessage() for record in caplog.records]
    assert complaints == ([] if stops_now else ["work does not stop"] * 2)


def test_who_never_started_can_be_stopped():
    asyncio.run(Supervisor("duck", Scripted()).stop())
