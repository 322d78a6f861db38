"""The system as its host starts it: what it is given, what it keeps, where it may go, what its demo's pages answer."""

import asyncio
import ssl
from contextlib import asynccontextmanager

import httpx
import pytest

import hashrange
from hashrange import Host, SystemClock
from hashrange.hosting.discovery import find_systems
from hashrange_systems.checks import application
from hashrange_systems.checks.demo.demo_scenario import THRESHOLD, find_price, is_failing
from hashrange_systems.checks.demo.demo_site import DemoSite
from hashrange_systems.checks.schema import Checks
from hashrange_systems.checks.service.alert_outbox import make_key
from hashrange_systems.checks.service.check_input import CheckInput
from hashrange_systems.checks.system import SYSTEM
from hashrange_systems.shared.application.settings import InvalidSetting
from hashrange_systems.shared.channels.demo_mailbox import Mailbox
from hashrange_systems.shared.channels.email_sender import Email
from hashrange_systems.shared.loopback import bind_loopback
from hashrange_systems.shared.work import loops
from hashrange_systems.shared.work.retry import Backoff

BASE_URL = "http://127.0.0.1:8002/checks"


@pytest.fixture
def opened():
    with hashrange.open() as database:
        hashrange.create_tables(database, Checks)
        yield database


def start(database, directory=None, *, demo=False, own_ports=(), **environment):
    return SYSTEM.start(
        Host(
            database=database,
            clock=SystemClock(),
            directory=directory,
            base_url=BASE_URL,
            demo=demo,
            own_ports=frozenset(own_ports),
            environment={"CHECKS_DEMO_PORT": "0"} | environment,
        )
    )


@asynccontextmanager
async def running(database, directory=None, **more):
    system = start(database, directory, **more)
    try:
        if more.get("demo"):
            await system.fill_demo()
        yield system
    finally:
        await system.close()


@asynccontextmanager
async def pages_of(system, host="127.0.0.1:8002"):
    transport = httpx.ASGITransport(system.app, client=("127.0.0.1", 5000))
    async with httpx.AsyncClient(transport=transport, base_url=f"http://{host}", follow_redirects=True) as client:
        yield client


async def run_once(system, url, **attributes):
    """Add a check of a new user, run it, and return what came of it."""
    services = system.application
    user = (await services.users.create(f"ann{id(url)}@example.com", "PRO")).user
    check = await services.checks.create(user.userid, CheckInput(url=url, attributes=attributes))
    return await services.checks.run_now(user.userid, check.checkid)


def test_it_is_found_where_systems_are():
    assert SYSTEM in find_systems(only=["checks"])


def test_its_pages_show_the_demo_to_who_is_on_this_machine(opened):
    async def visit():
        async with running(opened, demo=True) as system, pages_of(system) as client:
            return (await client.get("/")).text

    page = asyncio.run(visit())
    assert all(name in page for name in ("Shop", "Blog", "Search", "Payments", "Old intranet"))


def test_the_demo_checks_find_what_their_pages_answer(opened):
    async def look():
        async with running(opened, demo=True) as system:
            checks = system.application.checks
            names = ("shop", "api", "blog", "search", "payments", "camera")
            before = system.application.clock.millis()
            found = {name: (await checks.run_now("demo", f"demo-{name}")).outcome for name in names}
            return before, system.application.clock.millis(), found

    before, after, found = asyncio.run(look())
    assert {name: found[name].status.value for name in ("shop", "api", "blog", "payments", "camera")} == {
        "shop": "UP",
        "api": "UP",
        "blog": "DEGRADED",
        "payments": "DOWN",
        "camera": "UP",
    }
    assert found["shop"].keyword_found is True
    assert found["blog"].certificate_days == 9
    assert found["search"].status.value in {"DOWN" if is_failing(at) else "UP" for at in (before, after)}
    assert found["camera"].price in {find_price(before), find_price(after)}
    assert found["camera"].available is (found["camera"].price <= THRESHOLD)


def test_the_alerts_that_wait_in_the_demo_arrive_in_its_mailbox(opened):
    async def send():
        async with running(opened, demo=True) as system:
            services = system.application
            await system.application.worker.send_due()
            alerts = {make_key(alert) for alert in await services.db.alerts("demo-payments")}
            return [mail for mail in services.mailbox.mails("demo") if mail.key in alerts]

    mails = asyncio.run(send())
    assert {mail.notification.subject for mail in mails} >= {"DOWN: Payments", "STILL DOWN: Payments"}
    assert {mail.recipient for mail in mails} == {"demo@example.com"}


def test_a_target_on_this_machine_is_refused_outside_of_the_demo(opened):
    async def look():
        async with running(opened) as system:
            site = DemoSite(SystemClock(), 0)
            await site.start()
            refused = await run_once(system, f"{site.url}/shop")
            await site.close()
            return refused

    refused = asyncio.run(look())
    assert refused.outcome.cause.value == "REFUSED"
    assert refused.outcome.status.value == "UNKNOWN"
    assert "loopback" in refused.outcome.message
    assert refused.disabled is None  # another process may be allowed to


def test_a_process_without_the_demo_may_request_what_the_demo_may(opened):
    async def look():
        async with running(opened, demo=True) as system:
            async with running(opened) as other, running(opened, CHECKS_ALLOW=""):
                found = await other.application.checks.run_now("demo", "demo-shop")
            return found, await system.application.deployment.read_policy()

    found, stored = asyncio.run(look())
    assert found.outcome.status.value == "UP", found.outcome
    assert stored == ["127.0.0.0/8", "::1", "localhost"]


def test_a_running_process_follows_the_address_policy_and_keeps_the_last_that_it_could_read(opened, monkeypatch):
    monkeypatch.setattr(application, "REFRESH_S", 0.01)
    monkeypatch.setattr(loops, "PAUSES", Backoff(0.01, 0.01))

    async def look():
        site = DemoSite(SystemClock(), 0)
        await site.start()
        async with running(opened, CHECKS_WORKERS="0") as system:
            services = system.application
            following = asyncio.create_task(system.work())
            user = (await services.users.create("ann@example.com", "BUSINESS")).user.userid
            check = await services.checks.create(user, CheckInput(url=f"{site.url}/shop"))

            async def run_until(status):
                async with asyncio.timeout(100):
                    while (await services.checks.run_now(user, check.checkid)).outcome.status.value != status:  # noqa: ASYNC110
                        await asyncio.sleep(0.05)  # until the policy has been read

            await run_until("UNKNOWN")
            await services.deployment.change_policy(["127.0.0.0/8"])
            await run_until("UP")
            await services.db.change_policy(["no/address"], check.created_at, revision=3, seen=2)
            await asyncio.sleep(0.1)
            await run_until("UP")
            await services.deployment.change_policy([])
            await run_until("UNKNOWN")
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)
        await site.close()

    asyncio.run(look())


@pytest.mark.parametrize("allowance", [{"demo": True}, {"CHECKS_ALLOW": "127.0.0.0/8"}])
def test_a_target_on_this_machine_is_allowed_but_not_our_own_ports(opened, allowance):
    async def look():
        site, ours = DemoSite(SystemClock(), 0), DemoSite(SystemClock(), 0)
        await site.start()
        await ours.start()
        own_port = int(ours.url.rpartition(":")[2])
        async with running(opened, own_ports=[own_port], **allowance) as system:
            seen = await run_once(system, f"{site.url}/shop", keyword="basket")
            refused = await run_once(system, f"http://127.0.0.3:{own_port}/shop")
        await site.close()
        await ours.close()
        return seen, refused

    seen, refused = asyncio.run(look())
    assert seen.outcome.status.value == "UP", seen.outcome
    assert refused.outcome.cause.value == "REFUSED"


def test_secret_and_keys_survive_a_restart(opened, tmp_path):
    async def begin_and_begin_again():
        async with running(opened, tmp_path) as first:
            services = first.application
            new = await services.users.create("ann@example.com")
            hook = await services.channels.add(new.user.userid, "WEBHOOK", "https://example.com/hook")
        async with running(opened, tmp_path) as second:
            again = second.application
            verified = await again.channels.verify(new.token)
            found = await again.channels.find(new.user.userid, hook.channel.channel_id)
            return services.runtime.secret == again.runtime.secret, verified, hook.channel.secret, found.secret

    same, verified, before, after = asyncio.run(begin_and_begin_again())
    assert same
    assert verified.verified_at is not None
    assert before == after
    assert {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {
        "secret": 0o600,
        "keys.json": 0o600,
    }


def test_without_a_directory_nothing_is_written_anywhere(opened, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    async def begin():
        async with running(opened) as system:
            return system.application.runtime.secret

    assert len(asyncio.run(begin())) >= 16
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("given", "sender"),
    [
        ({}, type(None)),
        ({"CHECKS_SMTP_URL": "smtp://127.0.0.1:2525", "CHECKS_SENDER": "checks@example.com"}, Email),
        ({"demo": True}, Mailbox),
        ({"demo": True, "CHECKS_SMTP_URL": "smtp://127.0.0.1:2525", "CHECKS_SENDER": "a@example.com"}, Mailbox),
    ],
)
def test_e_mails_go_to_the_mail_server_or_in_the_demo_to_its_mailbox(opened, given, sender):
    async def begin():
        system = start(opened, **given)
        await system.close()
        return system.application.senders.get("EMAIL")

    assert type(asyncio.run(begin())) is sender


def test_where_no_mail_is_sent_an_alert_waits_and_says_why(opened):
    async def send():
        async with running(opened, demo=True) as demo:
            db = demo.application.db
        async with running(opened) as plain:
            await plain.application.worker.send_due()
        return [alert for alert in await db.alerts("demo-payments") if alert.delivery == "WAITING"]

    waiting = asyncio.run(send())
    assert {alert.last_error for alert in waiting} == {"sending by EMAIL is not set up"}


def test_a_process_without_workers_is_there_and_is_no_worker(opened):
    async def work():
        async with running(opened, CHECKS_WORKERS="0", own_ports=[8002]) as system:
            task = asyncio.create_task(system.work())
            presence = system.application.presence
            while not (found := await presence.list_all()):  # noqa: ASYNC110 - it is in a database
                await asyncio.sleep(0.001)
            health = await system.report_health()
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            return found, health

    (process,), health = asyncio.run(work())
    assert (process.works, "127.0.0.1:8002" in process.addresses) == (False, True)
    assert (health["healthy"], health["monitoring"], health["workers"]) == (False, "interrupted", 0)


def test_a_setting_that_cannot_be_used_is_refused_at_the_start(opened):
    with pytest.raises(InvalidSetting, match="CHECKS_WORKERS"):
        start(opened, CHECKS_WORKERS="some")


def test_links_lead_to_where_users_reach_the_pages(opened):
    async def send():
        async with running(opened, demo=True, CHECKS_URL="https://status.example/checks") as system:
            await system.application.worker.send_due()
            return [mail.notification.text for mail in system.application.mailbox.mails("demo")]

    assert any("https://status.example/checks/check/demo-payments" in text for text in asyncio.run(send()))


# -- the demo's pages


async def browse(*paths):
    """What the demo's pages answer, one after the other: status and text."""
    site = DemoSite(SystemClock(), 0)
    await site.start()
    trusted = ssl.create_default_context(cafile=site.trust())
    try:
        async with httpx.AsyncClient(verify=trusted) as client:
            found = [await client.get(path if path.startswith("http") else site.url + path) for path in paths]
            secure = await client.get(f"{site.secure_url}/blog")
        return [(response.status_code, response.text) for response in (*found, secure)]
    finally:
        await site.close()


def test_the_lamp_can_be_switched_off_and_on():
    responses = asyncio.run(browse("/lamp", "/lamp/off", "/lamp", "/lamp/on", "/lamp?x=1"))
    assert [status for status, _ in responses] == [200, 200, 503, 200, 200, 200]


def test_the_first_page_leads_to_the_others():
    (_, index), (status, _), _ = asyncio.run(browse("/", "/nowhere"))
    assert status == 404
    assert all(f'href="{path}"' in index for path in ("/shop", "/payments", "/lamp"))


@pytest.mark.parametrize("sent", [b"\r\n\r\n", b"GET\r\n\r\n", b"\xff\xfe x y\r\n\r\n", b"GET //[x HTTP/1.1\r\n\r\n"])
def test_a_broken_request_gets_an_answer(sent):
    async def talk():
        site = DemoSite(SystemClock(), 0)
        await site.start()
        reader, writer = await asyncio.open_connection("127.0.0.1", int(site.url.rpartition(":")[2]))
        writer.write(sent)
        response = await reader.read()
        writer.close()
        await writer.wait_closed()
        await site.close()
        return response

    assert asyncio.run(talk()).startswith(b"HTTP/1.1 404 ")


def test_a_port_that_is_taken_makes_the_demo_take_another_and_say_so(caplog):
    with bind_loopback(0, "DEMO_PORT") as taken, bind_loopback(taken.getsockname()[1], "DEMO_PORT") as other:
        assert other.getsockname()[1] != taken.getsockname()[1]
        assert f"port {other.getsockname()[1]} is used instead; DEMO_PORT chooses another" in caplog.text
