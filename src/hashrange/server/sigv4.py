"""Verifies AWS Signature Version 4."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from hashlib import sha256
from urllib.parse import parse_qsl, quote

from hashrange.core.clock import Clock
from hashrange.core.errors import (
    IncompleteSignatureException,
    InvalidSignatureException,
    UnrecognizedClientException,
)
from hashrange.core.signing_key import derive_signing_key
from hashrange.server.authentication import parse_query, parse_signature
from hashrange.server.http_request import HttpRequest, joined_values

ALGORITHM = "AWS4-HMAC-SHA256"
SERVICE = "dynamodb"
TERMINATOR = "aws4_request"
BASIC_FORMAT = "%Y%m%dT%H%M%SZ"
SKEW = timedelta(minutes=15)
MAX_PRESIGNED_SECONDS = 7 * 24 * 3600
MISMATCH = (
    "The request signature we calculated does not match the signature you provided. "
    "Check your AWS Secret Access Key and signing method. Consult the service documentation for details."
)


@dataclass(frozen=True, slots=True)
class RequestSignature:
    """The parts of a well-formed signature, before it is verified."""

    key_id: str
    scope: str  # 20260314/eu-west-2/dynamodb/aws4_request
    signed_headers: str
    value: str
    date: str


class SignatureVerifier:
    """Accepts requests that were signed recently with a known secret."""

    def __init__(self, secrets: Mapping[str, str], clock: Clock) -> None:
        self._secrets = dict(secrets)
        self._clock = clock

    def __call__(self, request: HttpRequest) -> None:
        """Raise DynamoDB's error unless the request is signed with a known key."""
        parts = parse_signature(request)
        check_date(parts["Date"], self._lifetime(request), self._now())
        signature = parse_scope(parts, request)
        secret = self._secrets.get(signature.key_id)
        if secret is None:
            raise UnrecognizedClientException("The security token included in the request is invalid.")
        check_signature(signature, secret, request)

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._clock.millis() // 1000, UTC)

    @staticmethod
    def _lifetime(request: HttpRequest) -> timedelta:
        if b"X-Amz-Expires=" not in request.head.url:
            return SKEW
        expires = parse_query(request).get("X-Amz-Expires", "")
        if not expires.isdecimal() or not 0 < int(expires) <= MAX_PRESIGNED_SECONDS:
            raise InvalidSignatureException(f"X-Amz-Expires must be between 1 and {MAX_PRESIGNED_SECONDS} seconds")
        return timedelta(seconds=int(expires))


def check_date(text: str, lifetime: timedelta, now: datetime) -> None:
    """Raise unless a signature of that date is valid now."""
    signed = datetime.strptime(canonicalise_date(text), BASIC_FORMAT).replace(tzinfo=UTC)
    earliest, latest = now - lifetime, now + SKEW
    if signed < earliest:
        raise InvalidSignatureException(
            f"Signature expired: {signed:{BASIC_FORMAT}} is now earlier than {earliest:{BASIC_FORMAT}} "
            f"({now:{BASIC_FORMAT}} - {lifetime.total_seconds() / 60:g} min.)"
        )
    if signed > latest:
        raise InvalidSignatureException(
            f"Signature not yet current: {signed:{BASIC_FORMAT}} is still later than {latest:{BASIC_FORMAT}} "
            f"({now:{BASIC_FORMAT}} + {SKEW.total_seconds() / 60:g} min.)"
        )


def canonicalise_date(text: str) -> str:
    """Return the date in the basic format; a Date header has HTTP's own."""
    try:
        datetime.strptime(text, BASIC_FORMAT).replace(tzinfo=UTC)
        return text
    except ValueError:
        pass
    try:
        return f"{parsedate_to_datetime(text).astimezone(UTC):{BASIC_FORMAT}}"
    except (ValueError, OverflowError):
        raise IncompleteSignatureException(
            f"Date must be in ISO-8601 'basic format'. Got '{text}'. See http://en.wikipedia.org/wiki/ISO_8601"
        ) from None


def parse_scope(parts: dict[str, str], request: HttpRequest) -> RequestSignature:
    """Return the parts of a signature; raise if its scope or signed headers are wrong."""
    signed = parts["SignedHeaders"].lower().split(";")
    if "host" not in signed:
        raise InvalidSignatureException("'Host' or ':authority' must be a 'SignedHeader' in the AWS Authorization.")
    if b"x-amz-target" in request.headers and "x-amz-target" not in signed:
        raise InvalidSignatureException("'X-Amz-Target' must be a 'SignedHeader' in the AWS Authorization.")
    if parts["Algorithm"] != ALGORITHM:
        raise IncompleteSignatureException(
            f"Unsupported AWS 'algorithm': '{parts['Algorithm']}' (only {ALGORITHM} for now). "
        )
    date = canonicalise_date(parts["Date"])
    key_id, scope = split_credential(parts["Credential"], date)
    return RequestSignature(key_id, scope, ";".join(signed), parts["Signature"], date)


def split_credential(credential: str, date: str) -> tuple[str, str]:
    """Return the key id and the scope of a credential."""
    elements = credential.split("/")
    if len(elements) != 5:
        raise IncompleteSignatureException(
            "Credential must have exactly 5 slash-delimited elements, e.g. keyid/date/region/service/term, "
            f"got '{credential}'"
        )
    key_id, day, _, service, terminator = elements
    problems = []
    if service != SERVICE:
        problems.append(f"Credential should be scoped to correct service: '{SERVICE}'. ")
    if terminator != TERMINATOR:
        problems.append(f"Credential should be scoped with a valid terminator: '{TERMINATOR}', not '{terminator}'. ")
    if day != date[:8]:
        problems.append(
            "Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from HTTP: "
            f"'{day}' != '{date[:8]}', from '{date}'."
        )
    if problems:
        raise InvalidSignatureException("".join(problems).rstrip())
    return key_id, "/".join(elements[1:])


def check_signature(signature: RequestSignature, secret: str, request: HttpRequest) -> None:
    """Raise unless the signature is that of the request with the secret."""
    canonical = canonicalise_request(request, signature.signed_headers)
    to_sign = f"{ALGORITHM}\n{signature.date}\n{signature.scope}\n{sha256(canonical.encode()).hexdigest()}"
    expected = hmac.new(derive_signing_key(secret, signature.scope), to_sign.encode(), sha256).hexdigest()
    if not hmac.compare_digest(expected.encode(), signature.value.encode()):
        raise InvalidSignatureException(
            f"{MISMATCH}\n\nThe Canonical String for this request should have been\n'{canonical}'\n\n"
            f"The String-to-Sign should have been\n'{to_sign}'\n"
        )


def canonicalise_request(request: HttpRequest, signed_headers: str) -> str:
    """Return the canonical request, which the signature covers."""
    path, query = request.split_url()
    headers = "".join(
        f"{name}:{' '.join(joined_values(request.headers, name.encode()).decode('latin-1').split())}\n"
        for name in signed_headers.split(";")
    )
    return "\n".join(
        (
            request.head.method.decode(),
            quote(path.decode("latin-1"), safe="/-_.~"),
            _describe_query(query),
            headers,
            signed_headers,
            sha256(request.body).hexdigest(),
        )
    )


def _describe_query(query: bytes) -> str:
    pairs = sorted(
        (quote(name, safe="-_.~"), quote(value, safe="-_.~"))
        for name, value in parse_qsl(query.decode("latin-1"), keep_blank_values=True)
        if name != "X-Amz-Signature"
    )
    return "&".join(f"{name}={value}" for name, value in pairs)
