"""Compressed pages of strangers: they are decompressed in the sandbox, with its budget, never on the event loop."""

import asyncio
import gzip
import time

import pytest

from hashrange import ManualClock
from hashrange_systems.checks.model.fetch_result import Cause
from hashrange_systems.checks.model.outcome import Status
from hashrange_systems.checks.registry import read_attributes
from hashrange_systems.checks.service.page_evaluation import PageEvaluator, make_sandbox
from hashrange_systems.checks.service.prober import Prober
from hashrange_systems.shared.fetching import content_encoding
from hashrange_systems.shared.fetching.errors import BodyDamaged, CompressionBomb, NotDecompressed
from hashrange_systems.shared.fetching.fetcher import Fetcher
from hashrange_systems.shared.fetching.http_message import Request
from hashrange_systems.shared.sandbox.sandbox import Sandbox
from systems.tests.shared.fetching.target import LOOPBACK, serving

BOMB = gzip.compress(bytes(30_000_000))
MEMBERS = gzip.compress(b"") * 95_000  # 1.9 MB that decompress to nothing, each member with an inflater of its own
PAGE = gzip.compress(b"<h1>basket</h1>" * 50_000)
CONTENT = [{"keyword": "basket"}, {"regex": "bas.et"}, {"conditions": ["json a == 1"]}, {"soldOutText": "sold out"}]


@pytest.fixture(scope="module")
def sandbox():
    sandbox = make_sandbox()
    yield sandbox
    sandbox.close()


@pytest.fixture
def never_here(monkeypatch):
    """Makes decompression in this process a failure; the processes of the sandbox are others."""

    def refuse(*_arguments):
        raise AssertionError("decompressed on the event loop")

    monkeypatch.setattr(content_encoding.Body, "_inflate", refuse)


def respond(body):
    async def script(exchange):
        await exchange.respond(body, content_encoding="gzip")

    return script


def probe(sandbox, body, check_type="AVAILABILITY", **attributes):
    """Return the outcome of a check of this page, and the CPU time that it took on the event loop."""
    prober = Prober(Fetcher(LOOPBACK, sandbox=sandbox), ManualClock(0), evaluator=PageEvaluator(sandbox))

    async def run():
        async with serving(respond(body)) as port:
            url = f"http://127.0.0.1:{port}/"
            if check_type == "EBAY":
                attributes.update(url=url, threshold=1)
            before = time.thread_time()
            outcome = await prober.probe(url, read_attributes(check_type, attributes).attributes, "mallory")
            return outcome, time.thread_time() - before

    return asyncio.run(run())


@pytest.mark.usefixtures("never_here")
@pytest.mark.parametrize("content", CONTENT)
def test_a_compressed_page_is_decompressed_and_searched_in_one_call_of_the_sandbox(sandbox, content, monkeypatch):
    calls = []
    run = Sandbox.run

    async def count(self, function, *arguments, **options):
        calls.append(function.__name__)
        return await run(self, function, *arguments, **options)

    monkeypatch.setattr(Sandbox, "run", count)
    outcome, _ = probe(sandbox, PAGE, **content)
    assert calls == ["evaluate_page"]
    assert outcome.http_status == 200
    assert outcome.status is (Status.DOWN if "conditions" in content else Status.UP)


@pytest.mark.usefixtures("never_here")
def test_a_page_whose_content_does_not_matter_is_not_decompressed_at_all():
    sandbox = make_sandbox()
    sandbox.close()
    assert probe(sandbox, BOMB)[0].status is Status.UP


@pytest.mark.usefixtures("never_here")
def test_a_bomb_is_unknown_with_the_reason_and_costs_the_event_loop_nothing(sandbox):
    outcome, on_the_loop = probe(sandbox, BOMB, keyword="basket")
    assert (outcome.status, outcome.cause) == (Status.UNKNOWN, Cause.OURS)
    assert outcome.message == "the body grows more than 200 times when decompressed"
    assert on_the_loop < 1.0


@pytest.mark.usefixtures("never_here")
def test_a_body_of_many_gzip_members_costs_the_event_loop_nothing(sandbox):
    outcome, on_the_loop = probe(sandbox, MEMBERS, keyword="basket")
    assert outcome.status in {Status.DOWN, Status.UNKNOWN}  # it lacks the text, or takes longer than allowed
    assert on_the_loop < 1.0


@pytest.mark.usefixtures("never_here")
def test_a_damaged_page_is_down_and_a_damaged_search_page_is_unknown(sandbox):
    outcome, _ = probe(sandbox, b"plain", keyword="basket")
    assert (outcome.status, outcome.cause) == (Status.DOWN, Cause.PROTOCOL)
    assert outcome.message == "the body is not valid gzip"
    outcome, _ = probe(sandbox, b"plain", check_type="EBAY")
    assert (outcome.status, outcome.message) == (Status.UNKNOWN, "the body is not valid gzip")


@pytest.mark.usefixtures("never_here")
@pytest.mark.parametrize(
    ("body", "error"), [(BOMB, CompressionBomb), (b"plain", BodyDamaged), (PAGE[:-4], BodyDamaged)]
)
def test_the_fetcher_decompresses_in_its_sandbox_and_raises_what_is_wrong(sandbox, body, error):
    with pytest.raises(error):
        fetch(sandbox, body)


@pytest.mark.usefixtures("never_here")
def test_the_fetcher_returns_decompressed_bodies_of_its_sandbox(sandbox):
    assert fetch(sandbox, PAGE).body == gzip.decompress(PAGE)


def test_a_fetch_whose_sandbox_is_closed_says_so():
    sandbox = make_sandbox()
    sandbox.close()
    with pytest.raises(NotDecompressed, match="closed"):
        fetch(sandbox, PAGE)


def fetch(sandbox, body):
    async def run():
        async with serving(respond(body)) as port:
            request = Request(url=f"http://127.0.0.1:{port}/")
            return await Fetcher(LOOPBACK, sandbox=sandbox).fetch(request, tenant="mallory")

    return asyncio.run(run())
