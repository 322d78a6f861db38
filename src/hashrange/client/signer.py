"""Writes HTTP requests signed by AWS Signature Version 4.

Only for DynamoDB's requests, whose headers are always the same; `server.sigv4` verifies any request.
"""

from __future__ import annotations

import hmac
import time
from email.utils import parsedate_to_datetime
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from typing import NamedTuple
from urllib.parse import quote

from hashrange.client.http.connection import HttpResponse
from hashrange.client.http.connector import Endpoint
from hashrange.core.clock import Clock, SystemClock
from hashrange.core.signing_key import derive_signing_key

try:
    VERSION = version("hashrange")
except PackageNotFoundError:  # imported from its source files
    VERSION = "0"
ALGORITHM = "AWS4-HMAC-SHA256"
CONTENT_TYPE = "application/x-amz-json-1.0"
SKEW_ERRORS = (b"InvalidSignatureException", b"RequestTimeTooSkewed", b"RequestExpired", b"RequestInTheFuture")
SKEW = 4 * 60  # seconds; some services of AWS allow less than five minutes


class Credentials(NamedTuple):
    """Access key, secret key and session token."""

    access_key: str
    secret_key: str
    token: str | None = None


class SigningTime(NamedTuple):
    """A second in the formats that signatures use."""

    second: int
    stamp: str  # 20260314T150926Z
    scope: str  # 20260314/eu-west-2/dynamodb/aws4_request


class Signer:
    """Signs requests to one endpoint, and corrects its clock by the endpoint's."""

    def __init__(self, endpoint: Endpoint, region: str, clock: Clock | None = None) -> None:
        self._host = endpoint.authority
        self._path = quote(endpoint.path, safe="/-_.~%")
        self._canonical_path = quote(self._path, safe="/-_.~")
        self._region = region
        self._clock = clock or SystemClock()
        self._offset = 0  # seconds that this machine's clock is behind
        self._moment = self._make_signing_time(0)

    def write(self, keys: Credentials, target: str, body: bytes) -> bytes:
        """Return the bytes of a signed request."""
        _, stamp, scope = self._now()
        token = f"X-Amz-Security-Token: {keys.token}\r\n" if keys.token else ""
        return (
            f"POST {self._path} HTTP/1.1\r\nHost: {self._host}\r\nContent-Type: {CONTENT_TYPE}\r\n"
            f"X-Amz-Target: {target}\r\nX-Amz-Date: {stamp}\r\n{token}"
            f"Authorization: {self._authorize(keys, target, body, stamp, scope)}\r\n"
            f"Accept-Encoding: identity\r\nUser-Agent: hashrange/{VERSION}\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        ).encode() + body

    def _authorize(self, keys: Credentials, target: str, body: bytes, stamp: str, scope: str) -> str:
        token = f"x-amz-security-token:{keys.token}\n" if keys.token else ""
        signed = f"content-type;host;x-amz-date;{'x-amz-security-token;' if keys.token else ''}x-amz-target"
        canonical = (
            f"POST\n{self._canonical_path}\n\ncontent-type:{CONTENT_TYPE}\nhost:{self._host}\nx-amz-date:{stamp}\n"
            f"{token}x-amz-target:{target}\n\n{signed}\n{sha256(body).hexdigest()}"
        )
        to_sign = f"{ALGORITHM}\n{stamp}\n{scope}\n{sha256(canonical.encode()).hexdigest()}"
        signature = hmac.digest(derive_signing_key(keys.secret_key, scope), to_sign.encode(), "sha256").hex()
        return f"{ALGORITHM} Credential={keys.access_key}/{scope}, SignedHeaders={signed}, Signature={signature}"

    def _now(self) -> SigningTime:
        second = self._clock.millis() // 1000 + self._offset
        if second != self._moment.second:
            self._moment = self._make_signing_time(second)
        return self._moment

    def _make_signing_time(self, second: int) -> SigningTime:
        stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(second))
        return SigningTime(second, stamp, f"{stamp[:8]}/{self._region}/dynamodb/aws4_request")

    def correct_clock(self, refusal: HttpResponse) -> bool:
        """Adopt the endpoint's time if it refused a signature for clock skew; return whether it did."""
        if not any(name in refusal.body for name in SKEW_ERRORS):
            return False
        try:
            there = int(parsedate_to_datetime(refusal.headers.get(b"date", b"").decode("latin-1")).timestamp())
        except ValueError:
            return False
        if abs(there - self._now().second) < SKEW:
            return False
        self._offset = there - self._clock.millis() // 1000
        return True
