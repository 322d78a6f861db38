"""The attributes of each type of check, stored in camel case.

Numbers and booleans may be text (`"true"`), because the stored map is mostly text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.alias_generators import to_camel

from hashrange_systems.checks.model.money import CURRENCIES
from hashrange_systems.checks.model.regex import explain_regex
from hashrange_systems.checks.model.status_range import parse_ranges
from hashrange_systems.shared.errors import FieldError
from hashrange_systems.shared.user_url import explain_url

LONGEST_TEXT = 1000
LONGEST_BODY = 16_384
LONGEST_HEADER = 4096
MOST_HEADERS = 32
LONGEST_TIMEOUT_MS = 24_000  # 0.8 of the shortest delay of any tier: a run ends before the next one is due
DEAREST = 10**12

HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}", re.ASCII)
HEADER_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")
FRAMING = frozenset({"host", "content-length", "transfer-encoding", "connection", "upgrade", "te", "trailer", "expect"})


def split_header_lines(value: object) -> object:
    """Accept headers written as lines, `Name: value`."""
    if not isinstance(value, str):
        return value
    lines = [line for line in value.split("\n") if line.strip()]
    return {name.strip(): rest.strip(" \t") for name, _, rest in (line.partition(":") for line in lines)}


def allow_headers(headers: dict[str, str]) -> dict[str, str]:
    """Refuse headers that contain line ends or change the framing of the request."""
    if len(headers) > MOST_HEADERS:
        raise ValueError(f"must be at most {MOST_HEADERS}")
    for name, value in headers.items():
        if not HEADER_NAME.fullmatch(name):
            raise ValueError(f"must have names of letters, digits and dashes; {name[:40]!r} is none")
        if name.lower() in FRAMING:
            raise ValueError(f"must not set {name}, which belongs to the connection")
        if len(value) > LONGEST_HEADER or not HEADER_VALUE.fullmatch(value):
            raise ValueError(
                f"must have values on one line, at most {LONGEST_HEADER} characters; that of {name} is not"
            )
    return headers


def allow_ranges(text: str) -> str:
    """Refuse a text that is not a list of statuses."""
    parse_ranges(text)
    return text


def validate_regex(pattern: str) -> str:
    """Refuse a regex that RE2 does not support."""
    if problem := explain_regex(pattern):
        raise ValueError(problem)
    return pattern


def allow_url(url: str) -> str:
    """Refuse a URL that may not be fetched."""
    if problem := explain_url(url):
        raise ValueError(problem)
    return url


def allow_currency(code: str) -> str:
    """Refuse a currency whose minor unit we do not know."""
    if code not in CURRENCIES:
        raise ValueError(f"must be one of {', '.join(CURRENCIES)}")
    return code


Phrase = Annotated[str, Field(min_length=1, max_length=LONGEST_TEXT)]
Headers = Annotated[dict[str, str], BeforeValidator(split_header_lines), AfterValidator(allow_headers)]


class Attributes(BaseModel):
    """The attributes of every type of check."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True, hide_input_in_errors=True
    )
    check_type: ClassVar[str]

    retries: int = Field(default=2, ge=0, le=10)

    def find_conflicts(self) -> Iterator[FieldError]:
        """Yield errors in the combination of attributes."""
        yield from ()


class Availability(Attributes):
    """Whether a page is reachable, says what it should, and has in stock what it sells."""

    check_type = "AVAILABILITY"

    method: Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"] = "GET"
    headers: Headers = {}
    body: Annotated[str, Field(max_length=LONGEST_BODY)] | None = None
    accepted_status: Annotated[str, AfterValidator(allow_ranges)] = "200-299"
    timeout_ms: int = Field(default=10_000, ge=100, le=LONGEST_TIMEOUT_MS)
    follow_redirects: bool = True
    keyword: Phrase | None = None
    regex: Annotated[str, Field(min_length=1), AfterValidator(validate_regex)] | None = None
    invert: bool = False
    sold_out_text: Phrase | None = None
    tls_warning_days: int = Field(default=14, ge=0, le=365)

    def find_conflicts(self) -> Iterator[FieldError]:
        """Yield the attributes that contradict each other."""
        if self.body is not None and self.method in ("GET", "HEAD"):
            yield FieldError("body", f"must not be given with {self.method}")
        if self.method == "HEAD" and (self.keyword or self.regex or self.sold_out_text):
            yield FieldError("method", "must not be HEAD when a text is looked for: its answers have no body")
        if self.keyword and self.regex:
            yield FieldError("regex", "must not be given together with keyword")
        if self.invert and not (self.keyword or self.regex):
            yield FieldError("invert", "needs a keyword or a regex")


class Ebay(Attributes):
    """Whether the lowest Buy It Now price of an eBay search is at or below a threshold."""

    check_type = "EBAY"

    query: Annotated[str, Field(min_length=1, max_length=300)] | None = None
    url: Annotated[str, AfterValidator(allow_url)] | None = None
    threshold: int = Field(ge=1, le=DEAREST)
    currency: Annotated[str, AfterValidator(allow_currency)] = "USD"
    include_shipping: bool = True

    def find_conflicts(self) -> Iterator[FieldError]:
        """Yield an error unless there is either a query or a URL."""
        if self.query is None and self.url is None:
            yield FieldError("query", "is required, unless url is given")
        if self.query is not None and self.url is not None:
            yield FieldError("url", "must not be given together with query")
