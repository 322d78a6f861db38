"""TCP: whether a port accepts connections. Nothing is sent."""

from __future__ import annotations

from pydantic import Field as Limit

from hashrange_systems.checks.model.attributes import MAX_TIMEOUT_MS, Attributes
from hashrange_systems.checks.model.endpoint import accept_endpoint, read_endpoint
from hashrange_systems.checks.model.outcome import Outcome, Status
from hashrange_systems.checks.service.check_fields import MORE
from hashrange_systems.checks.service.check_type import CheckType, ProbeTools, describe_timing
from hashrange_systems.shared.web.form import Field, Group


class Tcp(Attributes):
    """Whether a port accepts connections."""

    check_type = "TCP"

    timeout_ms: int = Limit(default=10_000, ge=100, le=MAX_TIMEOUT_MS)


async def probe_port(tools: ProbeTools, url: str, attributes: Tcp) -> Outcome:
    """Connect to a checked address of the host, and close the connection."""
    target = read_endpoint(url, "tcp")
    async with tools.limit(target.host, attributes.timeout_ms / 1000) as timer:
        connection = await tools.fetcher.connector.connect(target, timer)
        connection.close()
        return Outcome(status=Status.UP, **describe_timing(timer.read()))


CHECK_TYPE = CheckType(
    attributes=Tcp,
    title="TCP port",
    summary="Does a database, mail or other server accept connections?",
    form=(
        Group("Server", (Field(path="url", label="Host and port", hint="db.example.com:5432", required=True),)),
        Group("More", MORE, folded=True),
    ),
    probe=probe_port,
    validate_target=accept_endpoint("tcp", "db.example.com:5432"),
)
