"""TLS against servers with certificates of every kind, from an authority of our own."""

import asyncio
import ssl
from datetime import UTC, datetime, timedelta

import pytest
import trustme
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from hashrange_systems.shared.fetching.connector import Limits
from hashrange_systems.shared.fetching.errors import (
    CertificateExpired,
    CertificateForOtherHost,
    CertificateNotYetValid,
    CertificateUntrusted,
    TimedOut,
    TlsFailed,
)
from hashrange_systems.shared.fetching.fetcher import Fetcher
from hashrange_systems.shared.fetching.http_message import Request
from hashrange_systems.shared.fetching.policy import Policy
from hashrange_systems.shared.fetching.tls import read_certificate
from systems.tests.shared.fetching.target import LOOPBACK, ScriptedResolver, accepting, fetch

DAY = timedelta(days=1)
NOW = datetime.now(UTC).replace(microsecond=0)


async def response(exchange):
    await exchange.respond(b"secret")


@pytest.fixture(scope="module")
def authority():
    return trustme.CA()


@pytest.fixture(scope="module")
def policy(authority, tmp_path_factory):
    path = tmp_path_factory.mktemp("tls") / "ca.pem"
    authority.cert_pem.write_to_path(path)
    return Policy(exempt=LOOPBACK.exempt, ca_file=path)


def serve_with(certificate):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certificate.configure_cert(context)
    return context


def get(tls, policy, url="https://a.example:{port}/", script=response, **options):
    resolver = ScriptedResolver(a_example=[["127.0.0.1"]], b_example=[["127.0.0.1"]])
    return fetch(script, url, tls=tls, policy=policy, resolver=resolver, **options)


def test_a_trusted_certificate_is_accepted_and_shown(authority, policy):
    expiry = NOW + 20 * DAY
    tls = serve_with(authority.issue_cert("a.example", not_after=expiry, common_name="a.example"))
    response = get(tls, policy)
    assert response.body == b"secret"
    assert response.certificate.not_after == expiry
    assert response.certificate.not_before < NOW
    assert "a.example" in response.certificate.subject
    assert "Testing CA" in response.certificate.issuer
    assert response.phases.tls_ms is not None


def test_the_name_is_sent_although_the_connection_goes_to_an_address(authority, policy):
    names = []
    tls = serve_with(authority.issue_cert("a.example"))
    tls.sni_callback = lambda _connection, name, _context: names.append(name)
    get(tls, policy)
    assert names == ["a.example"]


def test_an_address_is_checked_against_the_certificate_too(authority, policy):
    assert get(serve_with(authority.issue_cert("127.0.0.1")), policy, "https://127.0.0.1:{port}/").status == 200
    with pytest.raises(CertificateForOtherHost):
        get(serve_with(authority.issue_cert("127.0.0.2")), policy, "https://127.0.0.1:{port}/")


@pytest.mark.parametrize(
    ("issue", "error"),
    [
        ({"identities": ["a.example"], "not_before": NOW - 9 * DAY, "not_after": NOW - DAY}, CertificateExpired),
        ({"identities": ["a.example"], "not_before": NOW + DAY, "not_after": NOW + 9 * DAY}, CertificateNotYetValid),
        ({"identities": ["other.example"]}, CertificateForOtherHost),
        ({"identities": ["*.a.example"]}, CertificateForOtherHost),
    ],
)
def test_a_bad_certificate_is_named_by_what_is_bad(authority, policy, issue, error):
    identities = issue.pop("identities")
    tls = serve_with(authority.issue_cert(*identities, **issue))
    issue["identities"] = identities
    with pytest.raises(error) as failure:
        get(tls, policy)
    assert "a.example" in str(failure.value)
    assert get(tls, policy, verify=False).body == b"secret"


def test_an_unknown_authority_is_not_trusted(policy):
    tls = serve_with(trustme.CA().issue_cert("a.example"))
    with pytest.raises(CertificateUntrusted, match="not trusted"):
        get(tls, policy)


def test_our_own_authority_is_trusted_by_configuration_only(authority):
    with pytest.raises(CertificateUntrusted):
        get(serve_with(authority.issue_cert("a.example")), LOOPBACK)


def test_a_self_signed_certificate_is_said_to_be_one(policy, tmp_path):
    path = tmp_path / "self.pem"
    path.write_bytes(make_self_signed("a.example"))
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(path)
    with pytest.raises(CertificateUntrusted, match="self-signed"):
        get(tls, policy)
    unverified = get(tls, policy, verify=False)
    assert unverified.certificate.subject == unverified.certificate.issuer == "CN=a.example"


def make_self_signed(name):
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    builder = x509.CertificateBuilder(
        subject, subject, key.public_key(), x509.random_serial_number(), NOW - DAY, NOW + DAY
    )
    builder = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
    certificate = builder.sign(key, hashes.SHA256())
    return certificate.public_bytes(serialization.Encoding.PEM) + key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def test_a_redirect_to_another_name_is_checked_against_that_name(authority, policy):
    async def script(exchange):
        await exchange.redirect(f"https://b.example:{exchange.port}/")

    with pytest.raises(CertificateForOtherHost, match=r"b\.example"):
        get(serve_with(authority.issue_cert("a.example")), policy, script=script)


def test_a_server_without_tls_says_so(policy):
    async def plain(reader, writer):
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    with pytest.raises(TlsFailed, match="does not speak TLS"):
        get_raw(plain, policy)


def test_a_connection_that_closes_in_the_handshake(policy):
    async def close(reader, writer):
        await reader.read(1)
        writer.transport.abort()

    with pytest.raises(TlsFailed, match="closed the connection during"):
        get_raw(close, policy)


def test_a_handshake_that_never_ends(policy):
    async def wait(reader, writer):
        await reader.read()

    with pytest.raises(TimedOut) as failure:
        get_raw(wait, policy, Limits(tls_s=0.1))
    assert failure.value.phase == "tls"


def get_raw(handler, policy, limits=None):
    """Fetch by https from a server that handles its connections in its own way."""

    async def run():
        async with asyncio.timeout(100), accepting(handler) as port:
            await Fetcher(policy, limits=limits).fetch(Request(url=f"https://127.0.0.1:{port}/"))

    asyncio.run(run())


def test_an_old_protocol_is_not_spoken(authority, policy):
    tls = serve_with(authority.issue_cert("a.example"))
    with pytest.warns(DeprecationWarning, match="TLSv1_1"):
        tls.maximum_version = ssl.TLSVersion.TLSv1_1
    with pytest.raises(TlsFailed):
        get(tls, policy)


def test_a_certificate_that_cannot_be_read_is_none():
    assert read_certificate(None) is None
    assert read_certificate(b"nonsense") is None
