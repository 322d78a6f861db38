"""PING: all echoes answered is up, some a warning, none down; where the system forbids echoes, it is unknown."""

import asyncio
from ipaddress import ip_address

import pytest

from hashrange_systems.checks.model.fetch_result import Cause
from hashrange_systems.checks.model.outcome import Status
from hashrange_systems.checks.types import ping
from hashrange_systems.checks.types.ping import evaluate_echoes
from hashrange_systems.shared.fetching.echo import EchoForbidden, EchoSocket, send_echoes, sum_up
from systems.tests.checks.types.probing import STRICT, probe


def may_ping():
    try:
        return asyncio.run(send_echoes(ip_address("127.0.0.1"), 1, 5.0)) is not None
    except EchoForbidden:
        return False


@pytest.mark.parametrize("host", ["127.0.0.1", "a.example"])
def test_a_host_that_answers_is_up(host):
    outcome = probe("PING", f"icmp://{host}", count=2)
    if may_ping():
        assert outcome.status == Status.UP
        assert outcome.response_time >= 1  # in ms; a busy machine takes its time
    else:
        assert (outcome.status, outcome.cause) == (Status.UNKNOWN, Cause.OURS)


def test_a_machine_that_forbids_echoes_is_unknown_and_says_what_to_set(monkeypatch):
    async def refuse(*_):
        raise EchoForbidden

    monkeypatch.setattr(ping, "send_echoes", refuse)
    outcome = probe("PING", "icmp://127.0.0.1")
    assert (outcome.status, outcome.cause) == (Status.UNKNOWN, Cause.OURS)
    assert "ping_group_range" in outcome.message


@pytest.mark.parametrize(
    ("times", "status", "response_time"),
    [
        ([0.02, 0.01, 0.03], Status.UP, 20),
        ([0.02, None, 0.03], Status.DEGRADED, 30),
        ([None, None], Status.DOWN, None),
    ],
)
def test_lost_echoes_count(times, status, response_time):
    outcome = evaluate_echoes(times)
    assert (outcome.status, outcome.response_time) == (status, response_time)


def test_a_private_address_is_refused():
    assert probe("PING", "icmp://inside.example", policy=STRICT).cause is Cause.REFUSED


def test_packets_have_a_valid_checksum_and_only_the_own_reply_counts():
    echo = EchoSocket(None, 4, raw=True)
    sent = echo.write(0x1234, 7)
    assert sum_up(sent) == 0
    reply = b"\x45" + bytes(19) + b"\x00" + sent[1:]
    assert echo.answers(reply, 0x1234, 7)
    assert not echo.answers(reply, 0x1234, 8)
    assert not echo.answers(reply, 0x1235, 7)
    assert not echo.answers(reply[:22], 0x1234, 7)
    assert not echo.answers(b"", 0x1234, 7)
