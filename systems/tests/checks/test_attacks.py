"""What a stranger may try, and what must not happen: each is an attack with a bound."""

import asyncio
import time
from dataclasses import replace
from datetime import timedelta

import pytest

from hashrange import LocalKeys, ManualClock
from hashrange_systems.checks.deployment_schema import WorkerPresence
from hashrange_systems.checks.errors import EmailTaken
from hashrange_systems.checks.model.fetch_result import Cause, PageResponse
from hashrange_systems.checks.model.outcome import Status
from hashrange_systems.checks.model.schedule import next_due_time
from hashrange_systems.checks.model.tier import FREE, PRO
from hashrange_systems.checks.registry import read_attributes
from hashrange_systems.checks.schema import Checks
from hashrange_systems.checks.service.channels import Channels
from hashrange_systems.checks.service.check_input import CheckChanges, CheckInput
from hashrange_systems.checks.service.checks import CheckService
from hashrange_systems.checks.service.deployment import LOOPBACK, DeploymentMismatch, DeploymentSettings
from hashrange_systems.checks.service.manual_run_limit import ManualRunLimit
from hashrange_systems.checks.service.outbound_policy import OutboundPolicy, find_addresses, list_own_addresses
from hashrange_systems.checks.service.page_evaluation import PageEvaluator, is_simple, make_sandbox
from hashrange_systems.checks.service.probe_request import MAX_BYTES, find_host
from hashrange_systems.checks.service.prober import Prober
from hashrange_systems.checks.service.users import Users
from hashrange_systems.shared.channels.message_budget import BY_A_USER, TO_AN_ADDRESS, DayBudgetSpent, hash_target
from hashrange_systems.shared.errors import TooManyRequests
from hashrange_systems.shared.fetching.content_encoding import EncodedBody
from hashrange_systems.shared.fetching.fetcher import Fetcher
from hashrange_systems.shared.fetching.own_address import read_own_address
from hashrange_systems.shared.fetching.policy import Policy
from hashrange_systems.shared.work.presence import Presence
from systems.tests.checks.check_items import NOON, sign_up
from systems.tests.checks.run_scenario import (
    Target,
    add_channel,
    alerts_of,
    make_runs,
    make_worker,
    run_scheduled,
    set_up,
)
from systems.tests.checks.services import do
from systems.tests.shared.fetching.target import LOOPBACK as LOOPBACK_POLICY
from systems.tests.shared.fetching.target import ScriptedResolver, build, serving

PATTERN = "(?:(?:(?:a{1,9}){1,9}){1,9}){1,1}b"
SLOW_PAGE = PageResponse(status=200, body="a" * 2_000_000)


@pytest.fixture(scope="module")
def evaluator():
    sandbox = make_sandbox(wait_s=200)  # a machine with much to do is slow
    yield PageEvaluator(sandbox)
    sandbox.close()


def encode(content):
    return EncodedBody(received=content, limit=MAX_BYTES)


async def collect(outcomes):
    return [outcome async for outcome in outcomes]


def parse(check_type, **attributes):
    return read_attributes(check_type, attributes).attributes


# ── our own database and pages ───────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2", "0.0.0.0", "[::1]", "[::]", "localhost"])
def test_a_separate_worker_reaches_no_process_of_its_machine_by_another_address(db, clock, host):
    pages = Presence(db, WorkerPresence, clock, works=False, addresses=list_own_addresses([8002]))
    fetcher = Fetcher(resolver=ScriptedResolver(localhost=[["::1", "127.0.0.1"]] * 9))
    base = Policy(own=frozenset({read_own_address("http://127.0.0.1:8000")}))  # its --endpoint
    outbound = OutboundPolicy(fetcher, base, DeploymentSettings(db, clock), pages)
    prober = Prober(fetcher, clock)

    async def attack():
        await pages.write()
        outbound.apply([*LOOPBACK, "0.0.0.0/8", "::"], await pages.list_all())
        for port in (8000, 8002):
            yield await prober.probe(f"http://{host}:{port}/", parse("AVAILABILITY"))
            yield await prober.probe(f"tcp://{host}:{port}", parse("TCP"))
            yield await prober.probe(f"tls://{host}:{port}", parse("TLS"))
            yield await prober.probe("dns://a.example", parse("DNS", nameserver=f"{host}:{port}"))
            yield await prober.probe("https://www.ebay.com/", parse("EBAY", url=f"http://{host}:{port}/", threshold=1))

    outcomes = asyncio.run(collect(attack()))
    assert {outcome.cause for outcome in outcomes} == {Cause.REFUSED}
    assert all("our own" in outcome.message for outcome in outcomes)


def test_loopback_addresses_of_processes_on_other_machines_say_nothing_about_this_one(db, clock):
    elsewhere = WorkerPresence(
        worker_id="w1", host="elsewhere", pid=1, version="1", started_at=NOON, seen_at=NOON, interval_ms=10_000,
        addresses=["127.0.0.1:8002", "[::1]:8002", "[::]:8002", "10.0.0.7:8002", "[2001:db8::7]:8002"],
    )  # fmt: skip
    assert {own.host for own in find_addresses([elsewhere], "here")} == {"10.0.0.7", "2001:db8::7"}


# ── one user freezes everybody ───────────────────────────────────────────────────────────────────────────────────────
def test_a_pattern_that_takes_minutes_is_killed_and_others_go_on_meanwhile(evaluator):
    attributes, harmless = parse("AVAILABILITY", regex=PATTERN), parse("AVAILABILITY", regex="bas.et")
    page = PageResponse(status=200, body="basket")

    async def attack():
        attacks = [asyncio.create_task(evaluator.evaluate(attributes, SLOW_PAGE, 0, "mallory")) for _ in range(3)]
        await asyncio.sleep(0)
        before = time.thread_time()
        others = [await evaluator.evaluate(harmless, page, 0, "bob") for _ in range(5)]
        on_the_loop = time.thread_time() - before
        unfinished = sum(not task.done() for task in attacks)
        return others, unfinished, on_the_loop, await asyncio.gather(*attacks)

    others, unfinished, on_the_loop, outcomes = asyncio.run(attack())
    assert {outcome.status for outcome in others} == {Status.UP}
    assert unfinished >= 2, "bob waited for no more than mallory's call that ran"
    assert on_the_loop < 1.0, "CPU time of the event loop; the pattern alone takes minutes"
    assert {(outcome.status, outcome.cause) for outcome in outcomes} == {(Status.UNKNOWN, Cause.TEXT)}
    assert {outcome.message for outcome in outcomes} == {"it takes longer than allowed to evaluate this page"}


@pytest.mark.parametrize(
    "part",
    [
        '<div class="su-item-card"><p class="su-item-card__title">x</p><p class="su-item-card__price">$1.00</p>',
        '<div class="su-item-card"><div class="su-item-card__price">$1.00 ',
        '<div class="su-card-container__attributes__primary"><p>+$1.00 shipping',
        "<h1><div>1 000 ",
    ],
)
def test_a_search_page_of_nested_cards_is_evaluated_within_the_budget(evaluator, part):
    page = PageResponse(status=200, body=part * 1600)  # 180 KB of the first took 250 s
    outcome = asyncio.run(evaluator.evaluate_search(parse("EBAY", query="lamp", threshold=100), page, "mallory"))
    assert "longer than allowed" not in outcome.message


def test_a_page_in_single_bytes_is_unknown_and_says_why():
    async def script(exchange):
        await exchange.say(build(200, ["Transfer-Encoding: chunked"]) + b"1\r\na\r\n" * 5000)
        await exchange.stay_silent()

    async def attack():
        async with serving(script) as port:
            return await Prober(Fetcher(LOOPBACK_POLICY), ManualClock(0)).probe(
                f"http://127.0.0.1:{port}/", parse("AVAILABILITY")
            )

    outcome = asyncio.run(attack())
    assert (outcome.status, outcome.cause) == (Status.UNKNOWN, Cause.OURS)
    assert outcome.message == "the body comes in too many pieces, which are too small"


@pytest.mark.parametrize("charset", ["gb18030", "shift_jis", "iso-2022-jp", "utf-16", "utf-8"])
def test_charsets_that_take_long_are_decoded_in_the_sandbox(evaluator, charset):
    attributes = parse("AVAILABILITY", keyword="篮子")
    content = "网上 篮子".encode(charset, "replace") if charset != "shift_jis" else "篭 篮子".encode(charset, "replace")
    page = PageResponse(status=200, encoded=encode(content), charset=charset)
    assert is_simple(attributes, page) is (charset == "utf-8")
    assert not is_simple(attributes, replace(page, encoded=encode(content * 20_000), charset="utf-8"))
    wanted = Status.UP if charset not in {"shift_jis", "iso-2022-jp"} else Status.DOWN  # which lack the character
    assert asyncio.run(evaluator.evaluate(attributes, page, 0, "bob")).status is wanted


def test_a_page_that_nobody_reads_is_not_decoded():
    page = PageResponse(status=200, encoded=encode(b"x" * 2_000_000), charset="gb18030")
    assert asyncio.run(PageEvaluator(Unusable()).evaluate(parse("AVAILABILITY"), page, 0, "bob")).status is Status.UP


class Unusable:
    async def run(self, *_arguments, **_more):
        raise AssertionError("the page was sent to the sandbox")


@pytest.mark.parametrize(
    "url", ["https://a.example/", "https://A.example:8443/x", "https://bob@a.example.:1/", "tcp://a.example:5432"]
)
def test_requests_are_counted_by_host_whatever_the_port(url):
    assert find_host(url) == "a.example"


@pytest.mark.parametrize("condition", ["json 0 == 1", "header content-type contains json", "warn json $ contains x"])
def test_conditions_of_any_page_are_evaluated_in_the_sandbox(condition):
    sandbox = make_sandbox()
    sandbox.close()  # so that whatever needs it is UNKNOWN, however small the page
    page = PageResponse(status=200, body="[1]", headers={"content-type": "application/json"})
    attributes = parse("AVAILABILITY", conditions=[condition])
    outcome = asyncio.run(PageEvaluator(sandbox).evaluate(attributes, page, 0, "mallory"))
    assert (outcome.status, outcome.cause) == (Status.UNKNOWN, Cause.OURS)


# ── keys and policies of one process ─────────────────────────────────────────────────────────────────────────────────
def open_with(database, clock, keys):
    return Checks.open(database, clock=clock, keys=keys)


def test_a_worker_with_other_keys_loses_no_outage_and_does_not_start(database, clock, db, tmp_path):
    right = open_with(database, clock, LocalKeys(tmp_path / "right.json"))
    set_up(right)
    add_channel(right)
    do(Channels(right, clock).add("u1", "WEBHOOK", "https://example.com/hook"))
    DeploymentSettings(right, clock).verify_keys(kept=True)
    DeploymentSettings(right, clock).verify_keys(kept=True)
    wrong = open_with(database, clock, LocalKeys.generate())
    with pytest.raises(DeploymentMismatch, match="CHECKS_KEYS"):
        DeploymentSettings(wrong, clock).verify_keys(kept=False)
    run_scheduled(wrong, clock, make_runs(wrong, clock, "udddd"), 5)
    assert ("DOWN", "m1") in alerts_of(right)


def test_keys_are_tried_on_what_is_stored_before_they_leave_a_mark(database, clock, db, tmp_path):
    right = open_with(database, clock, LocalKeys(tmp_path / "right.json"))
    sign_up(right)
    do(Channels(right, clock).add("u1", "WEBHOOK", "https://example.com/hook"))
    wrong = open_with(database, clock, LocalKeys(tmp_path / "wrong.json"))
    with pytest.raises(DeploymentMismatch):
        DeploymentSettings(wrong, clock).verify_keys(kept=True)
    DeploymentSettings(right, clock).verify_keys(kept=True)


def test_the_address_policy_is_the_deployments_and_changes_on_purpose(db, clock):
    deployment = DeploymentSettings(db, clock)
    assert deployment.agree_on_policy(None) == []
    with pytest.raises(DeploymentMismatch, match=r"hashrange checks policy set '10\.0\.0\.0/8'"):
        deployment.agree_on_policy(["10.0.0.0/8"])
    do(deployment.change_policy(["10.0.0.0/8"]))
    assert deployment.agree_on_policy(["10.0.0.0/8"]) == deployment.agree_on_policy(None) == ["10.0.0.0/8"]


def test_the_demo_adds_its_exemptions_to_the_stored_ones_once(db, clock):
    deployment = DeploymentSettings(db, clock)
    deployment.agree_on_policy(["10.0.0.0/8"])
    both = deployment.agree_on_policy(["10.0.0.0/8"], LOOPBACK)
    assert both == ["10.0.0.0/8", *LOOPBACK]
    assert deployment.agree_on_policy(["10.0.0.0/8"]) == deployment.agree_on_policy(None, LOOPBACK) == both
    assert db.address_policy().required().run().revision == 2
    with pytest.raises(DeploymentMismatch):
        deployment.agree_on_policy(["11.0.0.0/8"])
    do(deployment.change_policy([]))
    with pytest.raises(DeploymentMismatch):
        deployment.agree_on_policy(["127.0.0.0/8"])


# ── messages, addresses, runs by hand ────────────────────────────────────────────────────────────────────────────────
def test_a_mailbox_is_not_flooded_whoever_asks(db, clock):
    channels = Channels(db, clock)
    for n in range(TO_AN_ADDRESS + 1):
        sign_up(db, f"u{n}")
    for n in range(TO_AN_ADDRESS):
        do(channels.add(f"u{n}", "EMAIL", f"Victim+{n}@example.com"))
    with pytest.raises(DayBudgetSpent):
        do(channels.add(f"u{TO_AN_ADDRESS}", "EMAIL", "victim@example.com"))
    clock.advance(timedelta(days=1).total_seconds())
    do(channels.add(f"u{TO_AN_ADDRESS}", "EMAIL", "victim@example.com"))


@pytest.mark.parametrize("other", ["ann@BÜCHER.example", "Ann+1@xn--bcher-kva.example", "ann@Bücher.example."])
def test_the_spellings_of_an_international_address_share_one_budget(other):
    assert hash_target(other) == hash_target("ann@bücher.example")


def test_a_user_sends_no_more_confirmations_a_day_than_allowed(db, clock):
    sign_up(db)
    channels = Channels(db, clock)
    for n in range(BY_A_USER):
        new = do(channels.add("u1", "EMAIL", f"a{n}@example.com"))
        do(channels.remove("u1", new.channel.channel_id))
    with pytest.raises(DayBudgetSpent):
        do(channels.add("u1", "EMAIL", "another@example.com"))


def test_asking_for_ones_own_address_again_and_again_is_no_way_around_the_limits(db, clock):
    users, channels = Users(db, clock), Channels(db, clock)
    new = do(users.create("victim@example.com"))
    for _ in range(TO_AN_ADDRESS):
        for channel in do(channels.list_by_user(new.user.userid)):
            do(channels.remove(new.user.userid, channel.channel_id))
        changed = do(users.request_email(new.user.userid, "Victim@example.com"))
        assert changed.channel.channel.target == changed.user.email == "Victim@example.com"
    do(channels.remove(new.user.userid, changed.channel.channel.channel_id))
    with pytest.raises(DayBudgetSpent):
        do(users.request_email(new.user.userid, "victim@example.com"))


def test_an_address_that_is_not_confirmed_is_nobodys(db, clock):
    users, channels = Users(db, clock), Channels(db, clock)
    ann, mallory = (do(users.create(f"{name}@example.com")) for name in ("ann", "mallory"))
    wanted = do(users.request_email(mallory.user.userid, "victim@example.com"))
    assert wanted.user.email == "mallory@example.com"
    owned = do(users.request_email(ann.user.userid, "victim@example.com"))
    do(users.confirm_email(do(channels.verify(owned.channel.token))))
    assert do(users.by_email("victim@example.com")).userid == ann.user.userid
    late = do(channels.verify(wanted.channel.token))
    with pytest.raises(EmailTaken):
        do(users.confirm_email(late))
    assert do(users.find(mallory.user.userid)).email == "mallory@example.com"


def find_soonest_delay(checkid, now, number):
    """A delay, shorter than those of before, whose next regular time is the soonest."""
    some = range(86_400_000 - number * 20_000, 86_400_000 - number * 20_000 - 19_000, -10)
    return min(some, key=lambda delay: next_due_time(checkid, delay, due_at=now - delay, now=now))


@pytest.mark.parametrize("trick", ["pause and resume", "add and delete", "shorter delay"])
def test_no_trick_runs_checks_more_often_than_by_hand(db, clock, trick):
    sign_up(db, tier="FREE", check_limit=5)
    target = Target("u")
    worker = make_worker(db, clock, target)
    checks = CheckService(db, clock, worker._runs, manual_runs=ManualRunLimit(db, clock))
    wanted = CheckInput(url="https://shop.example/", check_type="AVAILABILITY", delay_ms=86_400_000)
    first = do(checks.create("u1", wanted)).checkid

    async def try_once(number):
        if trick == "pause and resume":
            await checks.pause("u1", first)
            await checks.resume("u1", first)
        elif trick == "shorter delay":
            await checks.edit("u1", first, CheckChanges(delay_ms=find_soonest_delay(first, clock.millis(), number)))
        else:
            added = await checks.create("u1", wanted)
        await worker.run_due()
        if trick == "add and delete":
            await checks.delete("u1", added.checkid)

    for number in range(1, 31):
        clock.advance(60 if trick == "shorter delay" else 1)
        do(try_once(number))
    assert len(target.probes) <= 1 + FREE.manual_runs // 3
    if trick != "shorter delay":
        with pytest.raises(TooManyRequests):
            do(checks.run_now("u1", do(checks.list_by_user("u1"))[0].checkid))


@pytest.mark.parametrize("tier", [FREE, PRO])
def test_runs_by_hand_have_a_budget_by_tier(db, clock, tier):
    limit = ManualRunLimit(db, clock)

    async def spend():
        for _ in range(tier.manual_runs // 3):
            await limit.consume("u1", tier)
        with pytest.raises(TooManyRequests) as refusal:
            await limit.consume("u1", tier)
        assert refusal.value.wait_s == 3600 // tier.manual_runs
        await limit.consume("u2", tier)
        done = 0
        for _ in range(3600 // 5):
            clock.advance(5)
            done += await limit.try_consume("u1", tier)
        return done

    assert tier.manual_runs - 1 <= asyncio.run(spend()) <= tier.manual_runs + 1


def test_processes_share_the_budget_of_a_user_for_runs_by_hand(db, clock):
    """Two services on one database race for it: none of them gets a run that the other has spent."""
    limits = [ManualRunLimit(db, clock), ManualRunLimit(Checks.open(db.session.transport, clock=clock), clock)]

    async def race():
        return await asyncio.gather(*(limits[n % 2].try_consume("u1", PRO) for n in range(PRO.manual_runs)))

    assert sum(asyncio.run(race())) == PRO.manual_runs // 3
