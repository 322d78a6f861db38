"""DOMAIN: the end of a registration, from an RDAP server on loopback."""

import asyncio
import json

import pytest

from hashrange_systems.checks.model.fetch_result import Cause
from hashrange_systems.checks.model.outcome import Status
from hashrange_systems.checks.model.rdap_answer import find_expiration
from systems.tests.checks.types.probing import look
from systems.tests.shared.fetching.target import serving

NOW_S = 1_768_478_400  # 2026-01-15T12:00:00Z


def ask(ends=None, *, status=200, body=None, registry=False, **attributes):
    """Probe a domain; with `registry`, the first server redirects to another one, as rdap.org does."""
    events = [{"eventAction": "registration", "eventDate": "2001-01-01T00:00:00Z"}]
    events += [{"eventAction": "expiration", "eventDate": ends}] if ends else []
    asked = []

    async def script(exchange):
        asked.append(exchange.path)
        if registry and exchange.header("host").startswith("127"):
            await exchange.redirect(f"http://a.example:{exchange.port}/rdap{exchange.path}")
        else:
            await exchange.respond(json.dumps({"events": events}).encode() if body is None else body, status=status)

    async def run():
        async with serving(script) as port:
            rdap = f"http://127.0.0.1:{port}"
            return await look("DOMAIN", "domain://shop.example", rdap=rdap, now_s=NOW_S, **attributes)

    return asyncio.run(run()), asked


def test_a_registration_that_lasts_is_up_with_its_days():
    outcome, asked = ask("2026-12-31T12:00:00Z")
    assert (outcome.status, outcome.domain_days) == (Status.UP, 350)
    assert asked == ["/domain/shop.example"]


@pytest.mark.parametrize(
    ("ends", "status", "message"),
    [
        ("2026-01-20T12:00:00Z", Status.DEGRADED, "the registration expires in 5 days"),
        ("2026-01-14T11:00:00+00:00", Status.DOWN, "the registration expired 2 days ago"),
    ],
)
def test_a_registration_that_ends_soon_is_a_warning_and_an_ended_one_is_down(ends, status, message):
    outcome, _ = ask(ends)
    assert (outcome.status, outcome.cause, outcome.message) == (status, Cause.DOMAIN, message)


def test_a_registry_that_does_not_know_the_domain_is_down():
    outcome, asked = ask(status=404, registry=True)
    assert (outcome.status, outcome.message) == (Status.DOWN, "shop.example is not registered")
    assert len(asked) == 2


@pytest.mark.parametrize(("status", "body"), [(404, b""), (429, b""), (500, b""), (200, b"<html>"), (200, b"{}")])
def test_an_answer_that_says_nothing_is_unknown(status, body):
    outcome, _ = ask(status=status, body=body)
    assert outcome.status is Status.UNKNOWN


def test_no_answer_is_unknown():
    async def run():
        async with serving(None) as port:
            pass
        return await look("DOMAIN", "domain://shop.example", rdap=f"http://127.0.0.1:{port}")

    assert asyncio.run(run()).status is Status.UNKNOWN


@pytest.mark.parametrize(
    "body",
    [
        "[]",
        "[" * 100_000,
        '{"events": 5}',
        '{"events": [5]}',
        '{"events": [{"eventAction": "expiration"}]}',
        '{"events": [{"eventAction": "expiration", "eventDate": "soon"}]}',
    ],
)
def test_what_is_not_rdap_has_no_end(body):
    assert find_expiration(body) is None
