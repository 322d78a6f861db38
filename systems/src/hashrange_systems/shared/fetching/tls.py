"""TLS: trusted authorities, certificates, and the cause of a failed handshake."""

from __future__ import annotations

import ssl
from pathlib import Path

import certifi
from cryptography import x509

from hashrange_systems.shared.fetching.errors import (
    CertificateExpired,
    CertificateForOtherHost,
    CertificateNotYetValid,
    CertificateUntrusted,
    TlsFailed,
)
from hashrange_systems.shared.fetching.http_message import Certificate


def make_context(ca_file: Path | None, *, verify: bool) -> ssl.SSLContext:
    """Return a context that trusts the public authorities and `ca_file`; without `verify`, any certificate."""
    context = ssl.create_default_context(cafile=certifi.where())
    context.minimum_version = ssl.TLSVersion.TLSv1_2  # Debian's Python leaves it to the system's settings
    if ca_file:
        context.load_verify_locations(cafile=ca_file)
    if not verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    context.set_alpn_protocols(["http/1.1"])
    return context


def read_certificate(der: bytes | None) -> Certificate | None:
    """Return the parsed certificate; None if there is none or it cannot be parsed."""
    if not der:
        return None
    try:
        certificate = x509.load_der_x509_certificate(der)
        return Certificate(
            subject=certificate.subject.rfc4514_string(),
            issuer=certificate.issuer.rfc4514_string(),
            not_before=certificate.not_valid_before_utc,
            not_after=certificate.not_valid_after_utc,
        )
    except ValueError:
        return None


def explain_failure(host: str, error: OSError) -> TlsFailed:
    """Return the error for a failed handshake, by cause."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return _explain_certificate(host, error)
    if isinstance(error, ssl.SSLError) and error.reason == "WRONG_VERSION_NUMBER":
        return TlsFailed(f"{host} does not speak TLS on this port")
    if isinstance(error, ssl.SSLError) and error.reason:
        return TlsFailed(f"the TLS handshake with {host} failed: {error.reason.replace('_', ' ').lower()}")
    return TlsFailed(f"{host} closed the connection during the TLS handshake")


def _explain_certificate(host: str, error: ssl.SSLCertVerificationError) -> TlsFailed:
    match error.verify_code:  # OpenSSL's X509_V_ERR_*
        case 9:
            return CertificateNotYetValid(f"the certificate of {host} is not valid yet")
        case 10:
            return CertificateExpired(f"the certificate of {host} has expired")
        case 18:
            return CertificateUntrusted(f"the certificate of {host} is self-signed")
        case 62 | 64:
            return CertificateForOtherHost(f"the certificate was not issued for {host}")
        case _:
            return CertificateUntrusted(f"the certificate of {host} is not trusted: {error.verify_message}")
