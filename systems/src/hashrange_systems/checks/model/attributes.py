"""The attributes of each type of check, stored in camel case.

Numbers and booleans may be text (`"true"`), because the stored map is mostly text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, ClassVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.alias_generators import to_camel

from hashrange_systems.checks.model.condition import parse_conditions
from hashrange_systems.checks.model.regex import explain_regex
from hashrange_systems.checks.model.status_range import parse_ranges
from hashrange_systems.shared.epoch import DAY_MS
from hashrange_systems.shared.errors import FieldError
from hashrange_systems.shared.fetching.http_message import Method
from hashrange_systems.shared.money import CURRENCIES
from hashrange_systems.shared.user_url import explain_url

MAX_TEXT_LENGTH = 1000
MAX_BODY_LENGTH = 16_384
MAX_HEADER_LENGTH = 4096
MAX_HEADERS = 32
MAX_TIMEOUT_MS = 24_000  # 0.8 of the shortest delay of any tier: a run ends before the next one is due
MAX_NAME_LENGTH = 100  # of a check
MAX_GROUP_LENGTH = 60
MAX_SLOW_MS = DAY_MS
MAX_PRICE = 10**12

HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}", re.ASCII)
HEADER_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")
FRAMING = frozenset({"host", "content-length", "transfer-encoding", "connection", "upgrade", "te", "trailer", "expect"})


def split_header_lines(value: object) -> object:
    """Accept headers written as lines, `Name: value`."""
    if not isinstance(value, str):
        return value
    lines = [line for line in value.split("\n") if line.strip()]
    return {name.strip(): rest.strip(" \t") for name, _, rest in (line.partition(":") for line in lines)}


def validate_headers(headers: dict[str, str]) -> dict[str, str]:
    """Refuse headers that contain line ends or change the framing of the request."""
    if len(headers) > MAX_HEADERS:
        raise ValueError(f"must be at most {MAX_HEADERS}")
    for name, value in headers.items():
        if not HEADER_NAME.fullmatch(name):
            raise ValueError(f"must have names of letters, digits and dashes; {name[:40]!r} is none")
        if name.lower() in FRAMING:
            raise ValueError(f"must not set {name}, which belongs to the connection")
        if len(value) > MAX_HEADER_LENGTH or not HEADER_VALUE.fullmatch(value):
            raise ValueError(
                f"must have values on one line, at most {MAX_HEADER_LENGTH} characters; that of {name} is not"
            )
    return headers


def validate_ranges(text: str) -> str:
    """Refuse a text that is not a list of statuses."""
    parse_ranges(text)
    return text


def validate_regex(pattern: str) -> str:
    """Refuse a regex that RE2 does not support."""
    if problem := explain_regex(pattern):
        raise ValueError(problem)
    return pattern


def validate_url(url: str) -> str:
    """Refuse a URL that may not be fetched."""
    if problem := explain_url(url):
        raise ValueError(problem)
    return url


def validate_currency(code: str) -> str:
    """Refuse a currency whose minor unit we do not know."""
    if code not in CURRENCIES:
        raise ValueError(f"must be one of {', '.join(CURRENCIES)}")
    return code


def split_lines(value: object) -> object:
    """Accept a list written as lines."""
    return [line.strip() for line in value.split("\n") if line.strip()] if isinstance(value, str) else value


def validate_conditions(lines: tuple[str, ...]) -> tuple[str, ...]:
    """Refuse conditions that cannot be parsed."""
    parse_conditions(lines)
    return lines


Phrase = Annotated[str, Field(min_length=1, max_length=MAX_TEXT_LENGTH)]
Headers = Annotated[dict[str, str], BeforeValidator(split_header_lines), AfterValidator(validate_headers)]
Conditions = Annotated[tuple[str, ...], BeforeValidator(split_lines), AfterValidator(validate_conditions)]
Milliseconds = Annotated[int, Field(ge=1, le=MAX_SLOW_MS)]


class Attributes(BaseModel):
    """The attributes of every type of check."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True, hide_input_in_errors=True
    )
    check_type: ClassVar[str]
    successes: ClassVar[int] = 2  # that confirm the end of an outage

    retries: int = Field(default=2, ge=0, le=10)
    slow_ms: Milliseconds | None = None  # above it, a warning
    too_slow_ms: Milliseconds | None = None  # above it, down

    def find_conflicts(self) -> Iterator[FieldError]:
        """Yield errors in the combination of attributes."""
        if self.slow_ms is not None and self.too_slow_ms is not None and self.slow_ms >= self.too_slow_ms:
            yield FieldError("slowMs", "must be less than tooSlowMs")


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedAttributes:
    """Stored attributes: typed if they are valid, and the unknown ones."""

    check_type: str
    attributes: Attributes | None
    kept: Mapping[str, object] = field(default_factory=dict)
    errors: tuple[FieldError, ...] = ()

    @property
    def runnable(self) -> bool:
        """Whether a worker can run the check."""
        return self.attributes is not None


class Availability(Attributes):
    """Whether a page is reachable, says what it should, and has in stock what it sells."""

    check_type = "AVAILABILITY"

    method: Method = "GET"
    headers: Headers = {}
    body: Annotated[str, Field(max_length=MAX_BODY_LENGTH)] | None = None
    accepted_status: Annotated[str, AfterValidator(validate_ranges)] = "200-299"
    timeout_ms: int = Field(default=10_000, ge=100, le=MAX_TIMEOUT_MS)
    follow_redirects: bool = True
    keyword: Phrase | None = None
    regex: Annotated[str, Field(min_length=1), AfterValidator(validate_regex)] | None = None
    invert: bool = False
    sold_out_text: Phrase | None = None
    conditions: Conditions = ()
    tls_warning_days: int = Field(default=14, ge=0, le=365)

    def find_conflicts(self) -> Iterator[FieldError]:
        """Yield the attributes that contradict each other."""
        yield from super().find_conflicts()
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
    url: Annotated[str, AfterValidator(validate_url)] | None = None
    threshold: int = Field(ge=1, le=MAX_PRICE)
    currency: Annotated[str, AfterValidator(validate_currency)] = "USD"
    include_shipping: bool = True

    def find_conflicts(self) -> Iterator[FieldError]:
        """Yield an error unless there is either a query or a URL."""
        yield from super().find_conflicts()
        if self.query is None and self.url is None:
            yield FieldError("query", "is required, unless url is given")
        if self.query is not None and self.url is not None:
            yield FieldError("url", "must not be given together with query")
