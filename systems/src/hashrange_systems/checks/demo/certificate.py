"""A certificate authority for the demo and a server certificate that expires soon, to show the warning.

Both have the extensions that RFC 5280 requires: since Python 3.13, TLS clients verify strictly by default.
"""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from datetime import datetime, timedelta
from ipaddress import IPv4Address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

A_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class IssuedCertificate:
    """The TLS settings of a server, and the file with the authority that issued its certificate."""

    context: ssl.SSLContext
    ca_file: Path


def issue_certificate(folder: Path, now: datetime, lifetime: timedelta) -> IssuedCertificate:
    """Write an authority and a certificate for this machine to the folder; both have the same lifetime."""
    authority, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    issuer = _make_name("hashrange demo authority")
    authority_id = x509.SubjectKeyIdentifier.from_public_key(authority.public_key())
    root = (
        _make_builder(issuer, issuer, authority.public_key(), now, lifetime)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_make_key_usage("key_cert_sign", "crl_sign"), critical=True)
        .add_extension(authority_id, critical=False)
        .sign(authority, SHA256())
    )
    names: list[x509.GeneralName] = [x509.DNSName("localhost"), x509.IPAddress(IPv4Address("127.0.0.1"))]
    leaf = (
        _make_builder(_make_name("localhost"), issuer, key.public_key(), now, lifetime)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_make_key_usage("digital_signature"), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(authority_id), critical=False)
        .sign(authority, SHA256())
    )
    ca_file, chain = folder / "authority.pem", folder / "server.pem"
    ca_file.write_bytes(root.public_bytes(Encoding.PEM))
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    chain.write_bytes(private + leaf.public_bytes(Encoding.PEM))
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(chain)
    return IssuedCertificate(context, ca_file)


def _make_name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _make_key_usage(*allowed: str) -> x509.KeyUsage:
    names = ["digital_signature", "content_commitment", "key_encipherment", "data_encipherment", "key_agreement"]
    names += ["key_cert_sign", "crl_sign", "encipher_only", "decipher_only"]
    return x509.KeyUsage(**{name: name in allowed for name in names})


def _make_builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, now: datetime, lifetime: timedelta
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - A_DAY)
        .not_valid_after(now + lifetime)
    )
