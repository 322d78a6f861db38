"""DNS: records that exist are up, missing or other ones are down. The name server is a real one, on loopback."""

import asyncio

import dns.message
import dns.rcode
import dns.rrset
import pytest

from hashrange_systems.checks.model.fetch_result import Cause
from hashrange_systems.checks.model.outcome import Status
from hashrange_systems.checks.types import dns_record
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
