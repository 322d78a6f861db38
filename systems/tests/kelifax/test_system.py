"""The system as its host starts it: its settings, its demo, its worker."""

import asyncio
from pathlib import Path
from urllib.parse import urlsplit

import pytest

import hashrange
from hashrange.hosting.discovery import find_systems
from hashrange.hosting.system import HealthReporter
from hashrange_systems.kelifax.application import PATTERNS
from hashrange_systems.kelifax.demo.demo_data import ADMIN, PASSWORD
from hashrange_systems.kelifax.demo.demo_resource import load_resources
from hashrange_systems.kelifax.search.query import SearchQuery
from hashrange_systems.kelifax.service.actor import OPERATOR
from hashrange_systems.kelifax.service.directory import Filters
from hashrange_systems.kelifax.settings import Settings
from hashrange_systems.kelifax.system import SYSTEM
from hashrange_systems.shared.application.settings import InvalidSetting
from hashrange_systems.shared.work.loops import Loop, Loops
from hashrange_systems.shared.work.presence import WorkState
from systems.tests.hosting import make_host

DOCS = Path(__file__).parents[3] / "docs" / "systems" / "kelifax.md"
BASE_URL = "http://127.0.0.1:8002/kelifax"
pytestmark = pytest.mark.usefixtures("quick_hashes")


def run(coroutine):
    return asyncio.run(coroutine)


def start(database, clock, directory=None, *, demo=False, **environment):
    return SYSTEM.start(make_host(database, clock, directory, base_url=BASE_URL, demo=demo, **environment))


@pytest.fixture
def opened(clock):
    with hashrange.open(clock=clock) as database:
        hashrange.create_tables(database, *PATTERNS)
        yield database


def dump(database):
    names = [name for name in database.call("ListTables", {})["TableNames"] if name != "kelifax-checkpoints"]
    return {name: sorted(map(repr, database.call("Scan", {"TableName": name})["Items"])) for name in names}


def test_the_system_is_installed():
    assert "kelifax" in [system.name for system in find_systems(["kelifax"])]


def test_the_demo_is_written_once_however_often_it_is_called(opened, clock):
    async def act():
        system = start(opened, clock, demo=True)
        await system.fill_demo()
        before = dump(opened)
        clock.advance(3600)
        await asyncio.gather(system.fill_demo(), system.fill_demo())
        assert dump(opened) == before
        services = system.application
        assert (await services.directory.facets()).total == 48
        assert len((await services.moderation.queue()).entries) == 4
        assert len((await services.suggestions.waiting())[0]) == 2
        assert len((await services.reviews.waiting())[0]) == 1
        admitted = await services.accounts.sign_in.with_password(ADMIN, PASSWORD)
        assert (await services.accounts.sign_in.find(admitted.cookie)).user.role == "admin"
        await system.close()

    run(act())


def test_a_demo_that_was_interrupted_becomes_the_same(opened, clock):
    async def act():
        whole = hashrange.open(clock=clock)
        hashrange.create_tables(whole, *PATTERNS)
        reference = start(whole, clock, demo=True, KELIFAX_SECRET="0123456789abcdef")
        await reference.fill_demo()
        system = start(opened, clock, demo=True, KELIFAX_SECRET="0123456789abcdef")
        task = asyncio.create_task(system.fill_demo())
        await asyncio.sleep(0.05)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await system.fill_demo()
        ours, theirs = (
            {name: [item for item in items if "passwordHash" not in item] for name, items in dump(each).items()}
            for each in (opened, whole)
        )
        assert ours == theirs  # but for the salt of a password
        await system.close()
        await reference.close()
        whole.close()

    run(act())


def name_of(resource):
    return resource.fields["resourceName"]


def host_of(resource):
    return urlsplit(resource.fields["resourceUrl"]).hostname


def test_the_resources_of_the_demo_differ_and_obey_the_rules():
    resources = load_resources()
    assert len(resources) == len({name_of(each) for each in resources}) == len({host_of(each) for each in resources})
    assert {each.state for each in resources} == {"pending", "approved", "rejected"}
    assert all(host_of(each).endswith(".example.com") for each in resources)


def test_the_worker_brings_an_approval_into_the_search_and_says_that_it_is_there(opened, clock):
    async def act():
        system = start(opened, clock, demo=True)
        await system.fill_demo()
        services = system.application
        assert (await services.presence.read()).state is WorkState.INTERRUPTED
        task = asyncio.create_task(system.work())
        async with asyncio.timeout(60):
            while not (services.search.is_indexed and (await services.presence.read()).healthy):  # noqa: ASYNC110 - it is in the database
                await asyncio.sleep(0.05)
            await services.moderation.approve("loomwright", OPERATOR)
            while "loomwright" not in (await services.search.find(SearchQuery(text="monorepo"))).slugs:  # noqa: ASYNC110 - it is in the database
                await asyncio.sleep(0.05)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert (await services.presence.read()).state is WorkState.INTERRUPTED
        assert (await services.directory.browse(Filters(), 1)).entries[0].slug == "loomwright"
        await system.close()

    run(act())


def test_a_process_without_background_work_tells_its_host_that_no_worker_is_there(opened, clock):
    async def act():
        system = start(opened, clock, KELIFAX_WORK="0")
        services = system.application
        await services.presence.write()
        reporter: HealthReporter = system  # the host asks whoever is one
        health = await reporter.report_health()
        assert (health["healthy"], health["status"]) == (False, "interrupted")
        other = start(opened, clock)
        await other.application.presence.write()
        assert (await system.report_health())["healthy"] is True
        await system.close()
        await other.close()

    run(act())


def test_a_loop_that_never_succeeds_makes_the_worker_late(opened, clock):
    async def fail():
        raise OSError("no network")

    async def act():
        system = start(opened, clock)
        services = system.application
        loops = [Loop("views", 5, services.view_counts.store), Loop("mails", 1, fail)]
        services.loops = Loops(services.presence, loops)
        task = asyncio.create_task(services.loops.work())
        async with asyncio.timeout(60):
            while services.loops.measure()[0] != "1 of 2 loops have run; failing: mails":  # noqa: ASYNC110 - nobody is told
                await asyncio.sleep(0.01)
        clock.advance(3600)
        assert services.loops.measure()[1] > 3_500_000
        await services.presence.write()
        assert (await system.report_health())["status"] == "late"
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await system.close()

    run(act())


# ── settings ─────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_without_variables_everything_is_as_usual():
    assert Settings.read({}) == Settings()


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"KELIFAX_URL": "example.com"}, "KELIFAX_URL"),
        ({"KELIFAX_SMTP_URL": "smtp://mail.example"}, "KELIFAX_SENDER"),
        ({"KELIFAX_SMTP_URL": "smtp://ann:secret@mail.example", "KELIFAX_SENDER": "a@b.example"}, "unencrypted"),
        ({"KELIFAX_SMTP_URL": "smtp://mail.example", "KELIFAX_SENDER": "nobody"}, "KELIFAX_SENDER"),
        ({"KELIFAX_SECRET": "short"}, "KELIFAX_SECRET"),
        ({"KELIFAX_ALLOW": "300.0.0.0/8"}, "KELIFAX_ALLOW"),
        ({"KELIFAX_WORK": "yes"}, "KELIFAX_WORK"),
        ({"KELIFAX_PROOF_COST": "0"}, "KELIFAX_PROOF_COST"),
    ],
)
def test_a_wrong_variable_is_refused_in_words_and_without_its_secret(variables, words):
    with pytest.raises(InvalidSetting, match=words) as refused:
        Settings.read(variables)
    assert "secret" not in str(refused.value)


def test_every_variable_is_documented_as_it_is():
    text = DOCS.read_text("utf-8")
    assert [each.row for each in Settings.list_variables() if each.row not in text.splitlines()] == []
