"""The link checker, against servers on loopback that misbehave."""

import asyncio
from contextlib import asynccontextmanager

import pytest

import hashrange
from hashrange_systems.kelifax.service.directory import Filters
from hashrange_systems.shared.errors import ResourceMissing, TooManyRequests
from systems.tests.kelifax.entries import make_submission
from systems.tests.kelifax.services import ANN, BOB, KelifaxServices

HOUR, DAY = 3600, 86_400


def run(coroutine):
    return asyncio.run(coroutine)


@asynccontextmanager
async def serve(answers):
    """A server that answers by path; a path it does not know closes the connection."""

    async def handle(reader, writer):
        head = await reader.readuntil(b"\r\n\r\n")
        path = head.split()[1].decode()
        if path in answers:
            writer.write(f"HTTP/1.1 {answers[path]} x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode())
        writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


async def publish(kelifax, slug, url):
    """Publish a resource whose URL the form would refuse: it is on loopback."""
    await kelifax.db.create(make_submission(slug, resource_url=url))
    await kelifax.moderation.approve(slug, ANN)


@pytest.fixture
def checker(clock):
    with hashrange.open(clock=clock) as opened:
        yield KelifaxServices(opened, clock, KELIFAX_ALLOW="127.0.0.1")


def test_a_dead_link_is_unpublished_after_a_week_and_one_that_comes_back_is_not(checker):
    async def act():
        answers = {"/well": 200, "/dead": 404, "/robot": 403, "/sick": 500}
        async with serve(answers) as site:
            for name in ("well", "dead", "robot", "sick", "gone"):
                await publish(checker, name, f"{site}/{name}")
            for hour in range(0, 9 * 24, 6):
                checker.clock.advance(6 * HOUR)
                if hour > 3 * 24:
                    answers["/sick"] = 200
                await checker.link_checks.run_due()
        live = {entry.slug for entry in (await checker.directory.browse(Filters())).entries}
        assert live == {"well", "robot", "sick"}
        (latest, *_) = await checker.moderation.history("dead")
        assert (latest.verdict, latest.actor) == ("unpublished", "link checker")
        assert "404" in latest.reason
        assert await checker.db.link("dead") is None

    run(act())


def test_a_report_hastens_the_check_and_never_unpublishes_alone(checker):
    async def act():
        async with serve({"/dead": 404}) as site:
            await publish(checker, "dead", f"{site}/dead")
            assert await checker.link_checks.run_due() == []
            for _ in range(20):
                await checker.link_checks.report("dead", "c")
            with pytest.raises(TooManyRequests):
                await checker.link_checks.report("dead", "c")
            checker.clock.advance(2 * 60)
            (outcome,) = await checker.link_checks.run_due()
            assert (outcome.alive, outcome.unpublished) == (False, False)
            assert (await checker.db.link("dead")).reports == 20
            with pytest.raises(ResourceMissing):
                await checker.link_checks.report("none", "d")

    run(act())


def test_two_workers_check_a_link_once(checker):
    async def act():
        async with serve({"/well": 200}) as site:
            await publish(checker, "well", f"{site}/well")
            checker.clock.advance(3 * DAY)
            found = await asyncio.gather(*(checker.link_checks.run_due() for _ in range(4)))
            assert sum(map(len, found)) == 1

    run(act())


def test_the_checker_never_reaches_private_addresses(kelifax):
    async def act():
        async with serve({"/": 200}) as site:
            await publish(kelifax, "inside", f"{site}/")
            outcome = await kelifax.link_checks.check("inside")
            assert not outcome.alive
            assert "loopback" in outcome.text or "not" in outcome.text

    run(act())


def test_reported_links_wait_for_moderators_whatever_the_checker_finds(checker):
    async def act():
        async with serve({"/well": 200, "/dead": 404}) as site:
            for name in ("well", "dead"):
                await publish(checker, name, f"{site}/{name}")
                await checker.link_checks.report(name, "10.0.0.1")
                checker.clock.advance(HOUR)
            await checker.link_checks.report("well", "10.0.0.2")
            await checker.link_checks.check("well")
            await checker.link_checks.check("dead")
        first, cursor = await checker.link_checks.waiting(1)
        second, end = await checker.link_checks.waiting(1, cursor)
        assert [(each.slug, each.reports, each.state.outcome) for each in (*first, *second)] == [
            ("well", 2, "answered 200"),
            ("dead", 1, "answered 404"),
        ]
        assert (first[0].created_at < second[0].created_at, end) == (True, None)
        await checker.link_checks.dismiss("well", BOB)
        with pytest.raises(ResourceMissing):
            await checker.link_checks.dismiss("well", BOB)
        assert next(each.verdict for each in await checker.moderation.history("well")) == "report-dismissed"
        await checker.deletion.delete("dead", ANN)
        assert (await checker.link_checks.waiting())[0] == []
        await checker.link_checks.report("well", "10.0.0.1")
        assert (await checker.link_checks.waiting())[0][0].reports == 1

    run(act())
