"""TLS: a certificate is up, close to its end a warning, and down when it is not valid."""

import asyncio
import ssl
from datetime import UTC, datetime, timedelta

import pytest
import trustme

from hashrange_systems.checks.model.fetch_result import Cause
from hashrange_systems.checks.model.outcome import Status
from hashrange_systems.shared.fetching.policy import Policy, parse_exemptions
from systems.tests.checks.types.probing import STRICT, look, probe
from systems.tests.shared.fetching.target import accepting

NOW = datetime.now(UTC)


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    authority = trustme.CA()
    path = tmp_path_factory.mktemp("ca") / "ca.pem"
    authority.cert_pem.write_to_path(path)
    return authority, Policy(exempt=parse_exemptions(["127.0.0.1"]), ca_file=path)


def shake_hands(authority, days, host="a.example", **more):
    issuer, policy = authority
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    ends = NOW + timedelta(days=days, minutes=5)
    issuer.issue_cert("a.example", not_before=NOW - timedelta(days=400), not_after=ends).configure_cert(context)

    async def handle(reader, writer):
        await reader.read()

    async def run():
        async with accepting(handle, tls=context) as port:
            url = f"tls://{host}:{port}"
            return await look("TLS", url, policy=policy, now_s=NOW.timestamp(), **more)

    return asyncio.run(run())


def test_a_valid_certificate_is_up_with_its_days(authority):
    outcome = shake_hands(authority, 90)
    assert (outcome.status, outcome.certificate_days) == (Status.UP, 90)
    assert outcome.phases.tls is not None


def test_a_certificate_that_ends_soon_is_a_warning(authority):
    outcome = shake_hands(authority, 5, tlsWarningDays=6)
    assert (outcome.status, outcome.cause) == (Status.DEGRADED, Cause.CERTIFICATE)
    assert outcome.message == "the certificate expires in 5 days"


def test_an_expired_certificate_is_down(authority):
    outcome = shake_hands(authority, -1)
    assert (outcome.status, outcome.cause) == (Status.DOWN, Cause.TLS)
    assert "expired" in outcome.message


def test_a_certificate_of_another_host_is_down(authority):
    outcome = shake_hands(authority, 90, host="127.0.0.1")
    assert (outcome.status, outcome.cause) == (Status.DOWN, Cause.TLS)


def test_a_private_address_is_refused():
    assert probe("TLS", "tls://10.0.0.1", policy=STRICT).cause is Cause.REFUSED
