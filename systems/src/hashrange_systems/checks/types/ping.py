"""PING: whether a host answers ICMP echoes. Needs a system that lets this process send them."""

from __future__ import annotations

from pydantic import Field as Limit

from hashrange_systems.checks.model.attributes import Attributes
from hashrange_systems.checks.model.endpoint import accept_endpoint, read_endpoint
from hashrange_systems.checks.model.fetch_result import Cause
from hashrange_systems.checks.model.outcome import Outcome, Status
from hashrange_systems.checks.service.check_fields import RETRIES, THRESHOLDS
from hashrange_systems.checks.service.check_type import CheckType, ProbeTools
from hashrange_systems.shared.fetching.echo import EchoForbidden, send_echoes
from hashrange_systems.shared.web.form import Field, Group

LOCATE_S = 6.0
FORBIDDEN = "this machine does not allow ICMP echoes: set net.ipv4.ping_group_range"


class Ping(Attributes):
    """Whether a host answers ICMP echoes."""

    check_type = "PING"

    count: int = Limit(default=3, ge=1, le=10)
    timeout_ms: int = Limit(default=2_000, ge=100, le=2_000)


async def probe_host(tools: ProbeTools, url: str, attributes: Ping) -> Outcome:
    """Send echoes to the first checked address of the host."""
    target = read_endpoint(url, "icmp", 0)
    wait_s = attributes.timeout_ms / 1000
    async with tools.limit(target.host, LOCATE_S + attributes.count * wait_s) as timer:
        address, *_ = await tools.fetcher.connector.locate(target, timer)
        try:
            times = await send_echoes(address, attributes.count, wait_s)
        except EchoForbidden:
            return Outcome(status=Status.UNKNOWN, cause=Cause.OURS, message=FORBIDDEN)
    return evaluate_echoes(times)


def evaluate_echoes(times: list[float | None]) -> Outcome:
    """Return UP with the median time if all echoes are answered, DEGRADED if some are, DOWN if none is."""
    answered = sorted(time for time in times if time is not None)
    if not answered:
        message = f"none of {len(times)} echoes was answered"
        return Outcome(status=Status.DOWN, cause=Cause.TIMEOUT, message=message)
    median = max(1, round(answered[len(answered) // 2] * 1000))
    if len(answered) == len(times):
        return Outcome(status=Status.UP, response_time=median)
    message = f"{len(times) - len(answered)} of {len(times)} echoes were lost"
    return Outcome(status=Status.DEGRADED, cause=Cause.LOSS, message=message, response_time=median)


COUNT = Field(path="attributes.count", label="Echoes", input_type="number", hint="3", short=True)
WAIT = Field(
    path="attributes.timeoutMs", label="Milliseconds to wait for each", input_type="number", hint="2000", short=True
)
CHECK_TYPE = CheckType(
    attributes=Ping,
    title="Ping",
    summary="Does a host answer ICMP echoes?",
    form=(
        Group("Host", (Field(path="url", label="Host", hint="router.example.com", required=True),)),
        Group("More", (COUNT, WAIT, *THRESHOLDS, RETRIES), folded=True),
    ),
    probe=probe_host,
    validate_target=accept_endpoint("icmp", "router.example.com", has_port=False),
)
