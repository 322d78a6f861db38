"""DNS: whether a name has a record, and the expected values."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Annotated, Literal, get_args

import dns.message
import dns.resolver
from pydantic import AfterValidator, BeforeValidator
from pydantic import Field as Limit

from hashrange_systems.checks.model.attributes import MAX_TIMEOUT_MS, Attributes, split_lines
from hashrange_systems.checks.model.dns_answer import MALFORMED, DnsAnswer, normalise_value, read_answer
from hashrange_systems.checks.model.endpoint import accept_endpoint, parse_endpoint, read_endpoint
from hashrange_systems.checks.model.fetch_result import Cause
from hashrange_systems.checks.model.outcome import Outcome, Status
from hashrange_systems.checks.service.check_fields import MORE
from hashrange_systems.checks.service.check_type import CheckType, ProbeTools, describe_timing
from hashrange_systems.checks.service.page_evaluation import explain_failure
from hashrange_systems.shared.fetching.dns_exchange import AnswerTooLarge, exchange
from hashrange_systems.shared.fetching.errors import NotConnected
from hashrange_systems.shared.fetching.http_stream import is_local
from hashrange_systems.shared.fetching.timing import PhaseTimer
from hashrange_systems.shared.sandbox.errors import SandboxError
from hashrange_systems.shared.text import shorten
from hashrange_systems.shared.web.form import Field, Group

RecordType = Literal["A", "AAAA", "CAA", "CNAME", "MX", "NS", "PTR", "SOA", "SRV", "TXT"]
DNS_PORT = 53
MAX_VALUES = 20
SERVERS_ASKED = 3
MAX_VALUE_LENGTH = 1000
SHOWN = 200


def validate_nameserver(text: str) -> str:
    """Refuse what is not a host with an optional port."""
    try:
        parse_endpoint(text, "dns", DNS_PORT)
    except ValueError as error:
        raise ValueError(str(error)) from None
    return text


Values = Annotated[
    tuple[Annotated[str, Limit(min_length=1, max_length=MAX_VALUE_LENGTH)], ...],
    BeforeValidator(split_lines),
    Limit(max_length=MAX_VALUES),
]


class DnsRecord(Attributes):
    """Whether a name has a record, and the expected values."""

    check_type = "DNS"

    record_type: RecordType = "A"
    expected: Values = ()
    nameserver: Annotated[str, AfterValidator(validate_nameserver)] | None = None
    timeout_ms: int = Limit(default=10_000, ge=100, le=MAX_TIMEOUT_MS)


async def probe_record(tools: ProbeTools, url: str, attributes: DnsRecord) -> Outcome:
    """Ask a name server for the record: the given one, or that of this machine."""
    name = read_endpoint(url, "dns", 0).host
    query = dns.message.make_query(name, attributes.record_type).to_wire()
    given = None if attributes.nameserver is None else read_endpoint(attributes.nameserver, "dns", DNS_PORT)
    async with tools.limit(given.host if given else f"dns {name}", attributes.timeout_ms / 1000) as timer:
        if given is None:
            servers: Sequence[tuple[str, int]] = [(address, DNS_PORT) for address in find_nameservers()]
        else:
            servers = [(str(each), given.port) for each in await tools.fetcher.connector.locate(given, timer)]
        try:
            answer = await ask(query, servers, attributes.timeout_ms / 1000, timer)
        except AnswerTooLarge as error:
            return Outcome(status=Status.UNKNOWN, cause=Cause.RECORD, message=str(error))
    found = describe_timing(timer.read())
    if answer is None:
        status, cause = (Status.UNKNOWN, Cause.OURS) if given is None else (Status.DOWN, Cause.TIMEOUT)
        who = "the name server of this machine" if given is None else "the name server"
        return Outcome(status=status, cause=cause, message=f"{who} did not answer", **found)
    try:
        values = await tools.evaluator.run(read_answer, answer, attributes.record_type, tenant=tools.tenant)
    except SandboxError as error:
        return explain_failure(Outcome(status=Status.UNKNOWN, **found), error, Cause.RECORD, "answer")
    return evaluate_answer(attributes, name, values, found)


def find_nameservers() -> list[str]:
    """Return the addresses of the machine's name servers."""
    try:
        configured = dns.resolver.get_default_resolver().nameservers
    except dns.resolver.NoResolverConfiguration:
        return []
    return [server for server in configured if isinstance(server, str)]


async def ask(query: bytes, servers: Iterable[tuple[str, int]], timeout_s: float, timer: PhaseTimer) -> bytes | None:
    """Return the first answer; None if no server answers in time."""
    where = list(servers)[:SERVERS_ASKED]
    async with timer.time("answer"):
        for address, port in where:
            if answer := await ask_one(query, address, port, timeout_s / len(where) * 0.9):
                return answer
    return None


async def ask_one(query: bytes, address: str, port: int, timeout_s: float) -> bytes | None:
    """Return the answer of a server; None if there is none in time."""
    try:
        async with asyncio.timeout(timeout_s):
            return await exchange(query, address, port)
    except OSError as error:  # includes TimeoutError
        if is_local(error):
            raise NotConnected from error
        return None


def evaluate_answer(attributes: DnsRecord, name: str, answer: DnsAnswer, found: dict[str, object]) -> Outcome:
    """Return the outcome of an answer."""
    if answer.code == MALFORMED:
        return fail(Cause.RECORD, "the answer of the name server is not valid DNS", found)
    if answer.code == "NXDOMAIN":
        return fail(Cause.NAME, f"the name {name} does not exist", found)
    if answer.code != "NOERROR":
        return fail(Cause.RECORD, f"the name server answered {answer.code}", found)
    values = answer.values
    if not values:
        return fail(Cause.RECORD, f"{name} has no {attributes.record_type} record", found)
    missing = [value for value in attributes.expected if normalise_value(value, attributes.record_type) not in values]
    listed = shorten(", ".join(values), SHOWN)
    if missing:
        return fail(Cause.RECORD, f"{attributes.record_type} is {listed}, without {shorten(missing[0], SHOWN)}", found)
    return Outcome(status=Status.UP, message=listed, **found)  # type: ignore[arg-type]  # times of a connection


def fail(cause: Cause, message: str, found: dict[str, object]) -> Outcome:
    """Return an outage."""
    return Outcome(status=Status.DOWN, cause=cause, message=message, **found)  # type: ignore[arg-type]  # times


RECORD = (
    Field(path="url", label="Name", hint="example.com", required=True),
    Field(
        path="attributes.recordType",
        label="Record",
        input_type="select",
        options=tuple((each, each) for each in get_args(RecordType)),
        short=True,
    ),
    Field(
        path="attributes.expected",
        label="Expected values",
        input_type="area",
        hint="93.184.216.34",
        help="One a line; there may be others too. Empty for any value.",
    ),
)
SERVER = Field(
    path="attributes.nameserver", label="Name server", hint="1.1.1.1", help="Empty for that of the monitor.", short=True
)
CHECK_TYPE = CheckType(
    attributes=DnsRecord,
    title="DNS record",
    summary="Does a name resolve, and to the right values?",
    form=(Group("Record", RECORD), Group("More", (SERVER, *MORE), folded=True)),
    probe=probe_record,
    validate_target=accept_endpoint("dns", "example.com", has_port=False, is_name=True),
)
