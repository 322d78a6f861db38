"""TLS: whether the certificate of a server is valid, and for how long."""

from __future__ import annotations

import asyncio

from pydantic import Field as Limit

from hashrange_systems.checks.model.attributes import MAX_TIMEOUT_MS, Attributes
from hashrange_systems.checks.model.endpoint import accept_endpoint, read_endpoint
from hashrange_systems.checks.model.expiry import evaluate_expiry
from hashrange_systems.checks.model.fetch_result import Cause
from hashrange_systems.checks.model.outcome import Outcome, Status
from hashrange_systems.checks.service.check_fields import MORE, TLS_WARNING
from hashrange_systems.checks.service.check_type import CheckType, ProbeTools, describe_timing
from hashrange_systems.shared.epoch import DAY_MS, to_ms
from hashrange_systems.shared.fetching.http_message import Certificate
from hashrange_systems.shared.fetching.http_url import Target
from hashrange_systems.shared.fetching.timing import PhaseTimer
from hashrange_systems.shared.fetching.tls import explain_failure, read_certificate
from hashrange_systems.shared.web.form import Field, Group

HTTPS = 443


class Tls(Attributes):
    """Whether a certificate is valid, and for how long."""

    check_type = "TLS"

    timeout_ms: int = Limit(default=10_000, ge=100, le=MAX_TIMEOUT_MS)
    tls_warning_days: int = Limit(default=14, ge=0, le=365)


async def probe_certificate(tools: ProbeTools, url: str, attributes: Tls) -> Outcome:
    """Make a TLS connection that verifies the certificate, and compare its end with the warning time."""
    target = read_endpoint(url, "tls", HTTPS)
    async with tools.limit(target.host, attributes.timeout_ms / 1000) as timer:
        certificate = await shake_hands(tools, target, timer)
        found = describe_timing(timer.read())
    if certificate is None:
        return Outcome(status=Status.UNKNOWN, cause=Cause.TLS, message="the certificate cannot be read", **found)
    days = (to_ms(certificate.not_after) - tools.clock.millis()) // DAY_MS
    outcome = Outcome(status=Status.UP, certificate_days=days, **found)
    return evaluate_expiry(outcome, days, attributes.tls_warning_days, "the certificate", Cause.CERTIFICATE)


async def shake_hands(tools: ProbeTools, target: Target, timer: PhaseTimer) -> Certificate | None:
    """Return the certificate of the server; raise TlsFailed if it is not valid."""
    connection = await tools.fetcher.connector.connect(target, timer)
    context = tools.fetcher.find_tls_context(verify=True)
    try:
        async with timer.time("tls"):
            _, writer = await asyncio.open_connection(sock=connection, ssl=context, server_hostname=target.host)
    except OSError as error:
        raise explain_failure(target.host, error) from error
    der = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
    writer.transport.abort()
    return read_certificate(der)


CHECK_TYPE = CheckType(
    attributes=Tls,
    title="TLS certificate",
    summary="Is the certificate of a server valid, and for how long?",
    form=(
        Group(
            "Server",
            (Field(path="url", label="Host and port", hint="mail.example.com:993", required=True), TLS_WARNING),
        ),
        Group("More", MORE, folded=True),
    ),
    probe=probe_certificate,
    validate_target=accept_endpoint("tls", "mail.example.com:993", port=HTTPS),
    usual_delay_ms=3_600_000,
)
