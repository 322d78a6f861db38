"""TCP: a port that accepts is up, one that refuses is down; addresses that users may not reach are refused."""

import asyncio
import os
import resource
import socket
from contextlib import contextmanager, suppress

import pytest

from hashrange_systems.checks.model.endpoint import accept_endpoint
from hashrange_systems.checks.model.fetch_result import Cause
from hashrange_systems.checks.model.outcome import Status
from hashrange_systems.shared.errors import InvalidInput
from systems.tests.checks.types.probing import OWN, STRICT, look, probe
from systems.tests.shared.fetching.target import ScriptedResolver, accepting


def connect(url="tcp://a.example:{port}", **more):
    """Probe a server that accepts and says nothing; return the outcome and the number of bytes that it got."""
    got = []

    async def handle(reader, writer):
        got.append(await reader.read(100))

    async def run():
        async with accepting(handle) as port:
            outcome = await look("TCP", url.format(port=port), **more)
            while not got and outcome.status is Status.UP:  # noqa: ASYNC110 - the handler has no event
                await asyncio.sleep(0.001)
            return outcome

    return asyncio.run(run()), got


def test_a_port_that_accepts_is_up_and_receives_nothing():
    outcome, got = connect()
    assert (outcome.status, got) == (Status.UP, [b""])
    assert outcome.phases.connect is not None
    assert outcome.phases.dns is not None


def test_a_port_where_nobody_listens_is_down():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        outcome = probe("TCP", f"tcp://127.0.0.1:{free.getsockname()[1]}")
    assert (outcome.status, outcome.cause) == (Status.DOWN, Cause.CONNECT)


@contextmanager
def no_descriptors_left():
    """Take every descriptor that this process may have."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    taken = []
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, 1024), hard))
    try:
        with suppress(OSError):
            while True:
                taken.append(os.dup(0))
        yield
    finally:
        for descriptor in taken:
            os.close(descriptor)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_probe_without_a_descriptor_left_here_says_nothing_about_the_host():
    async def run():
        async with accepting(lambda *_: asyncio.sleep(0)) as port:
            with no_descriptors_left():
                return await look("TCP", f"tcp://a.example:{port}")

    outcome = asyncio.run(run())
    assert (outcome.status, outcome.cause) == (Status.UNKNOWN, Cause.OURS)


def test_a_name_without_address_is_down():
    assert probe("TCP", "tcp://nowhere.example:80").cause is Cause.NAME


@pytest.mark.parametrize("host", ["10.0.0.1", "169.254.169.254", "[::1]", "inside.example", "mixed.example", "127.1"])
def test_addresses_that_users_may_not_reach_are_refused(host):
    outcome = probe("TCP", f"tcp://{host}:5432", policy=STRICT)
    assert (outcome.status, outcome.cause) == (Status.UNKNOWN, Cause.REFUSED)


def test_own_ports_are_refused_although_the_address_is_allowed():
    outcome = probe("TCP", "tcp://127.0.0.1:8002", policy=OWN)
    assert (outcome.status, outcome.cause) == (Status.UNKNOWN, Cause.REFUSED)


def test_the_name_is_resolved_once_and_the_checked_address_is_used():
    resolver = ScriptedResolver(a_example=[["127.0.0.1"], ["10.0.0.1"]])
    outcome, _ = connect(resolver=resolver)
    assert outcome.status is Status.UP
    assert resolver.asked == ["a.example"]


def test_a_server_that_does_not_answer_in_time_is_down():
    with socket.socket() as full:  # nobody accepts, and the queue is full
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        with socket.create_connection(full.getsockname()):
            outcome = probe("TCP", f"tcp://127.0.0.1:{full.getsockname()[1]}", timeoutMs=100)
    assert (outcome.status, outcome.cause) in [(Status.DOWN, Cause.TIMEOUT), (Status.UP, None)]


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        ("db.example.com:5432", "tcp://db.example.com:5432"),
        ("tcp://DB.example.com.:5432", "tcp://db.example.com:5432"),
        ("[2001:db8::1]:22", "tcp://[2001:db8::1]:22"),
        (" 192.0.2.1:25 ", "tcp://192.0.2.1:25"),
    ],
)
def test_a_target_is_stored_in_one_form(given, stored):
    validate = accept_endpoint("tcp", "db.example.com:5432")
    assert validate(given, ()) == stored
    assert validate(stored, ()) == stored


@pytest.mark.parametrize(
    "given",
    [
        *(None, 5, "x" * 3000, "", " 5", "db.example.com", "db:0", "db:65536", "db:port", "a b:1", "http://db:1"),
        *(
            "user@db:1",
            "db:1/path",
            "db:1?x",
            "2130706433:1",
            "fe80::1%eth0:1",
            "[fe80::1%25eth0]:1",
            "-db-:1",
            "[::1:1",
        ),
    ],
)
def test_other_targets_are_refused_with_a_reason(given):
    with pytest.raises(InvalidInput) as refused:
        accept_endpoint("tcp", "db.example.com:5432")(given, ())
    assert [error.field for error in refused.value.errors] == ["url"]


def test_the_service_itself_is_refused():
    with pytest.raises(InvalidInput, match="this service"):
        accept_endpoint("tcp", "x:1")("127.0.0.1:8002", ("http://127.0.0.1:8002/checks",))
