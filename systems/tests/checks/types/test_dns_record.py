"""DNS: records that exist are up, missing or other ones are down. The name server is a real one, on loopback."""

import asyncio
import struct
import time

import dns.message
import dns.rcode
import dns.rrset
import pytest

from hashrange_systems.checks.model import dns_answer
from hashrange_systems.checks.model.fetch_result import Cause
from hashrange_systems.checks.model.outcome import Status
from hashrange_systems.checks.service.page_evaluation import PageEvaluator
from hashrange_systems.checks.types import dns_record
from hashrange_systems.shared.sandbox.sandbox import Sandbox
from systems.tests.checks.types.probing import STRICT, look, probe

ZONE = {
    ("shop.example", "A"): ["192.0.2.10", "192.0.2.9"],
    ("shop.example", "MX"): ["10 Mail.Shop.example."],
    ("shop.example", "TXT"): ['"v=spf1 " "-all"'],
    ("www.shop.example", "A"): ["192.0.2.10"],
}


class NameServer(asyncio.DatagramProtocol):
    """Answers from ZONE; a name that begins with `broken` gets SERVFAIL, with `silent` nothing."""

    def connection_made(self, transport):
        self.transport = transport

    def datagram_received(self, data, peer):
        query = dns.message.from_wire(data)
        question = query.question[0]
        name, kind = question.name.to_text(omit_final_dot=True), question.rdtype.name
        answer = dns.message.make_response(query)
        if name.startswith("silent"):
            return
        if name.startswith("broken"):
            answer.set_rcode(dns.rcode.SERVFAIL)
        elif (name, kind) in ZONE:
            answer.answer.append(dns.rrset.from_text(question.name, 60, "IN", kind, *ZONE[name, kind]))
        elif name not in {known for known, _ in ZONE}:
            answer.set_rcode(dns.rcode.NXDOMAIN)
        self.transport.sendto(answer.to_wire(), peer)


def ask(name, *, of_machine=False, monkeypatch=None, **attributes):
    async def run():
        loop = asyncio.get_running_loop()
        transport, _ = await loop.create_datagram_endpoint(NameServer, local_addr=("127.0.0.1", 0))
        port = transport.get_extra_info("sockname")[1]
        if of_machine:
            monkeypatch.setattr(dns_record, "find_nameservers", lambda: ["127.0.0.1"])
            monkeypatch.setattr(dns_record, "DNS_PORT", port)
        given = attributes if of_machine else {"nameserver": f"127.0.0.1:{port}", **attributes}
        try:
            return await look("DNS", f"dns://{name}", **given)
        finally:
            transport.close()

    return asyncio.run(run())


def test_a_record_that_exists_is_up_and_its_values_are_shown():
    outcome = ask("shop.example")
    assert (outcome.status, outcome.message) == (Status.UP, "192.0.2.10, 192.0.2.9")
    assert outcome.response_time is not None


@pytest.mark.parametrize(
    ("record_type", "expected"),
    [("A", "192.0.2.9\n192.0.2.10"), ("MX", "10 mail.shop.example"), ("TXT", "v=spf1 -all"), ("A", ["192.0.2.10"])],
)
def test_expected_values_are_compared_in_one_form(record_type, expected):
    assert ask("shop.example", recordType=record_type, expected=expected).status is Status.UP


def test_a_record_with_other_values_is_down():
    outcome = ask("www.shop.example", expected="192.0.2.11")
    assert (outcome.status, outcome.cause) == (Status.DOWN, Cause.RECORD)
    assert outcome.message == "A is 192.0.2.10, without 192.0.2.11"


@pytest.mark.parametrize(
    ("name", "cause", "message"),
    [
        ("other.example", Cause.NAME, "the name other.example does not exist"),
        ("www.shop.example", Cause.RECORD, "www.shop.example has no MX record"),
        ("broken.example", Cause.RECORD, "the name server answered SERVFAIL"),
    ],
)
def test_a_record_that_does_not_exist_is_down(name, cause, message):
    outcome = ask(name, recordType="MX")
    assert (outcome.status, outcome.cause, outcome.message) == (Status.DOWN, cause, message)


def test_a_given_name_server_that_is_silent_is_down_but_that_of_the_machine_is_unknown(monkeypatch):
    given = ask("silent.example", timeoutMs=200)
    assert (given.status, given.cause) == (Status.DOWN, Cause.TIMEOUT)
    ours = ask("silent.example", timeoutMs=200, of_machine=True, monkeypatch=monkeypatch)
    assert (ours.status, ours.cause) == (Status.UNKNOWN, Cause.OURS)


def test_a_name_server_at_a_private_address_is_refused():
    outcome = probe("DNS", "dns://shop.example", policy=STRICT, nameserver="10.0.0.1")
    assert (outcome.status, outcome.cause) == (Status.UNKNOWN, Cause.REFUSED)


# ── hostile name servers ─────────────────────────────────────────────────────────────────────────────────────────────
def make_bomb(query, records):
    """Return an answer whose names are chains of pointers, which take a parser some milliseconds each."""
    head = query[:2] + struct.pack(">HHHHH", 0x8180, 1, records + 1, 0, 0) + query[12:]
    chain = bytearray(b"\0")
    start = last = len(head) + 11
    for _ in range(14):
        here = start + len(chain)
        chain += b"\x01a" * 8 + struct.pack(">H", 0xC000 | last)
        last = here
    opaque = b"\0" + struct.pack(">HHIH", 65280, 1, 0, len(chain)) + bytes(chain)
    names = (last - 18 * (number % 10) + 2 * (number % 7) for number in range(records))
    return head + opaque + b"".join(struct.pack(">HHHIHH", 0xC000 | last, 2, 1, 0, 2, 0xC000 | each) for each in names)


async def look_at_hostile_server(make_answer, evaluator=None, **attributes):
    """Ask a name server that truncates every datagram, and answers this over TCP; return the loop's CPU time too."""

    class Truncating(asyncio.DatagramProtocol):
        def connection_made(self, transport):
            self.transport = transport

        def datagram_received(self, data, peer):
            self.transport.sendto(data[:2] + b"\x83\x80" + data[4:], peer)

    async def answer_stream(reader, writer):
        (length,) = struct.unpack(">H", await reader.readexactly(2))
        answer = make_answer(await reader.readexactly(length))
        writer.write(struct.pack(">H", len(answer)) + answer)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer_stream, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    loop = asyncio.get_running_loop()
    transport, _ = await loop.create_datagram_endpoint(Truncating, local_addr=("127.0.0.1", port))
    before = time.thread_time()
    try:
        outcome = await look(
            "DNS", "dns://shop.example", nameserver=f"127.0.0.1:{port}", evaluator=evaluator, **attributes
        )
        return outcome, time.thread_time() - before
    finally:
        transport.close()
        server.close()


def test_an_answer_over_tcp_is_read_when_the_datagram_is_truncated():
    def answer(query):
        message = dns.message.make_response(dns.message.from_wire(query))
        message.answer.append(dns.rrset.from_text("shop.example.", 60, "IN", "A", *(f"192.0.2.{n}" for n in range(99))))
        return message.to_wire()

    outcome, _ = asyncio.run(look_at_hostile_server(answer, expected="192.0.2.98"))
    assert outcome.status is Status.UP


def test_an_answer_with_too_many_records_is_unknown_and_not_parsed():
    outcome, on_the_loop = asyncio.run(look_at_hostile_server(lambda query: make_bomb(query, 4600)))
    assert (outcome.status, outcome.cause) == (Status.UNKNOWN, Cause.RECORD)
    assert outcome.message == "the answer has 4601 records, at most 500 are read"
    assert on_the_loop < 1.0, "CPU time of the event loop; parsing it takes more than a minute"


def test_an_answer_is_parsed_in_the_sandbox_and_killed_at_its_budget():
    sandbox = Sandbox(seconds=0.01, modules=[dns_answer.__name__])
    try:
        attack = look_at_hostile_server(lambda query: make_bomb(query, 490), PageEvaluator(sandbox), recordType="NS")
        outcome, _ = asyncio.run(attack)
    finally:
        sandbox.close()
    assert (outcome.status, outcome.cause) == (Status.UNKNOWN, Cause.RECORD)
    assert outcome.message == "it takes longer than allowed to evaluate this answer"


@pytest.mark.parametrize("garbage", [b"\xff" * 40, b"\xc0\x0c" * 20, b""])
def test_an_answer_that_is_no_dns_is_down(garbage):
    def answer(query):
        return query[:2] + struct.pack(">HHHHH", 0x8180, 1, 3, 0, 0) + query[12:] + garbage

    outcome, _ = asyncio.run(look_at_hostile_server(answer))
    assert (outcome.status, outcome.message) == (Status.DOWN, "the answer of the name server is not valid DNS")


def test_answers_to_other_questions_are_ignored():
    outcome, _ = asyncio.run(look_at_hostile_server(lambda query: b"\0\0" + query[2:], timeoutMs=300))
    assert (outcome.status, outcome.cause) == (Status.DOWN, Cause.TIMEOUT)
