"""Request and response as values; creating a Request with forbidden content raises."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, get_args

from hashrange_systems.shared.fetching.content_encoding import NO_BODY, EncodedBody
from hashrange_systems.shared.fetching.errors import BadHeader, BadRequest
from hashrange_systems.shared.fetching.progress import Phases, Redirect

Headers = tuple[tuple[str, str], ...]

Method = Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
METHODS: frozenset[str] = frozenset(get_args(Method))
TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
HEADER_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")
# Headers for framing, the host and encodings are set by the fetcher.
OWN_HEADERS = frozenset(
    {"accept-encoding", "connection", "content-length", "expect", "host", "keep-alive", "proxy-authorization"}
    | {"proxy-connection", "te", "trailer", "transfer-encoding", "upgrade"}
)
# Charsets of the web. Python's list is longer: some of its codecs take quadratic time, some are not text at all.
CHARSET = re.compile(
    r"utf-?8|utf-?16(le|be)?|us-ascii|ascii|latin-?1|iso-8859-\d{1,2}|windows-(125\d|874)|koi8-[ru]"
    r"|shift[_-]jis|euc-(jp|kr)|iso-2022-jp|gb2312|gbk|gb18030|big5"
)
MAX_BODY_BYTES = 64 * 1024 * 1024
MAX_WAIT_S = 300
MAX_REDIRECTS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A request. A response body longer than `max_bytes` is truncated, or with `truncate=False` an error.

    With `decompress=False` the body is `Response.encoded`: for callers that decompress it in the sandbox together with
    what they do with it, or that do not read it.
    """

    url: str
    method: str = "GET"
    headers: Headers = ()
    body: bytes | None = None
    timeout_s: float = 30.0
    max_bytes: int = 2 * 1024 * 1024
    max_redirects: int = 10
    follow: bool = True
    verify: bool = True
    truncate: bool = True
    decompress: bool = True

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise BadRequest(f"the method must be one of {', '.join(sorted(METHODS))}")
        if not 0 < self.timeout_s <= MAX_WAIT_S:
            raise BadRequest(f"the timeout must be more than 0 and at most {MAX_WAIT_S} s")
        if not 0 <= self.max_bytes <= MAX_BODY_BYTES:
            raise BadRequest(f"the size limit must be from 0 to {MAX_BODY_BYTES} bytes")
        if not 0 <= self.max_redirects <= MAX_REDIRECTS:
            raise BadRequest(f"the number of redirects must be from 0 to {MAX_REDIRECTS}")
        for name, value in self.headers:
            check_header(name, value)


def check_header(name: str, value: str) -> None:
    """Raise BadHeader for a header that contains line ends, or that the caller may not set."""
    if not TOKEN.fullmatch(name):
        raise BadHeader(f"{name!r} is not a header name")
    if name.lower() in OWN_HEADERS:
        raise BadHeader(f"the header {name} cannot be set")
    if not HEADER_VALUE.fullmatch(value):
        raise BadHeader(f"the value of the header {name} contains a character that cannot be sent")


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """The certificate that the server presented."""

    subject: str
    issuer: str
    not_before: datetime
    not_after: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """The response of the last server; header names are in lower case, `address` is the peer's IP address."""

    status: int
    headers: Headers
    body: bytes
    truncated: bool
    url: str
    address: str
    phases: Phases
    certificate: Certificate | None = None
    redirects: tuple[Redirect, ...] = ()
    encoded: EncodedBody = NO_BODY

    def header(self, name: str) -> str | None:
        """Return the first value of a header, or None."""
        return find_header(self.headers, name)

    @property
    def text(self) -> str:
        """The body decoded with the charset of its Content-Type, or UTF-8; invalid bytes become U+FFFD."""
        return decode_text(self.body, self.charset)

    @property
    def charset(self) -> str:
        """The charset of the Content-Type, or UTF-8 if there is none, or an unusual one."""
        declared = re.search(r'charset\s*=\s*"?([\w-]+)', self.header("content-type") or "", re.ASCII)
        charset = declared[1].lower() if declared else "utf-8"
        return charset if CHARSET.fullmatch(charset) else "utf-8"


def decode_text(content: bytes, charset: str) -> str:
    """Return the text of a body; invalid bytes become U+FFFD. Some charsets take a second for 2 MB: use a sandbox."""
    try:
        return content.decode(charset, "replace")
    except LookupError:
        return content.decode("utf-8", "replace")


def find_header(headers: Headers, name: str) -> str | None:
    """Return the first value of a header, by its name in any case; None if it is absent."""
    return next((value for key, value in headers if key.lower() == name.lower()), None)
