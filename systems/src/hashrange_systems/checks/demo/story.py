"""What the demo checks look at, and what they find at any time: pure, and always the same for the same moment.

Times are milliseconds. The past is told here; the demo's pages behave so that the present goes on in the same way.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from random import Random
from typing import Any

from hashrange_systems.checks.model.attributes import Availability
from hashrange_systems.checks.model.availability import judge_certificate
from hashrange_systems.checks.model.fetched import Cause, Phases
from hashrange_systems.checks.model.outcome import Outcome, Status

MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS

CERTIFICATE_DAYS = 9
WARNED_DAYS = 4  # less than what the usual warning leaves beyond the certificate's
BROKEN_FOR_MS = 50 * MINUTE_MS
FLAPPING_FOR_MS = 6 * HOUR_MS
PAUSED_DAYS = 12
CYCLE_MINUTES, FAILING_MINUTES = 40, 15
THRESHOLD = 19_900  # of the camera, in cents
SHIPPING = 1_200
PRICE_STEP_MS = 6 * HOUR_MS
CAMERA = "Rangefinder camera with 40 mm lens"
CAMERA_LINK = "https://www.ebay.com/itm/225000000001"


class Fate(Enum):
    """What kind of life a page has."""

    STEADY = auto()
    EXPIRING = auto()
    FLAPPING = auto()
    BROKEN = auto()
    PAUSED = auto()
    PRICED = auto()


@dataclass(frozen=True, slots=True)
class Outage:
    """A time in the past when a page was down: so many days before the demo began, at that minute of the day."""

    days_ago: int
    minute: int
    minutes: int
    cause: Cause
    message: str
    http_status: int | None = None

    def span(self, midnight: int) -> tuple[int, int]:
        """Return when it was; `midnight` is that of the day on which the demo began."""
        start = midnight - self.days_ago * DAY_MS + self.minute * MINUTE_MS
        return start, start + self.minutes * MINUTE_MS

    @property
    def outcome(self) -> Outcome:
        """What was found then."""
        return Outcome(status=Status.DOWN, cause=self.cause, message=self.message, http_status=self.http_status)


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """One check of the demo."""

    checkid: str
    name: str
    path: str  # of the page that it looks at
    fate: Fate = Fate.STEADY
    attributes: Mapping[str, Any] = field(default_factory=dict)
    check_type: str = "AVAILABILITY"
    delay_ms: int = 5 * MINUTE_MS
    usual_ms: int = 120  # response time
    outages: tuple[Outage, ...] = ()


def _bad_gateway(days_ago: int, minute: int, minutes: int) -> Outage:
    return Outage(days_ago, minute, minutes, Cause.STATUS, "answered 502, accepted are 200-299", 502)


STORIES = (
    Story(
        checkid="demo-shop",
        name="Shop",
        path="/shop",
        attributes={"keyword": "Add to basket"},
        usual_ms=140,
        outages=(
            _bad_gateway(61, 14 * 60 + 12, 25),
            Outage(23, 3 * 60 + 40, 70, Cause.TIMEOUT, "no answer within 10 s"),
        ),
    ),
    Story(
        checkid="demo-api",
        name="Orders API",
        path="/api/orders",
        attributes={"keyword": '"status":"ok"', "timeoutMs": 5000},
        usual_ms=45,
        outages=(
            _bad_gateway(80, 9 * 60 + 5, 10),
            Outage(44, 22 * 60, 190, Cause.CONNECT, "127.0.0.1 refused the connection"),
            _bad_gateway(9, 17 * 60 + 31, 15),
        ),
    ),
    Story(checkid="demo-blog", name="Blog", path="/blog", fate=Fate.EXPIRING, usual_ms=95),
    Story(
        checkid="demo-search",
        name="Search",
        path="/search",
        fate=Fate.FLAPPING,
        attributes={"retries": 0},
        usual_ms=230,
        outages=(_bad_gateway(35, 11 * 60, 45),),
    ),
    Story(
        checkid="demo-payments",
        name="Payments",
        path="/payments",
        fate=Fate.BROKEN,
        usual_ms=80,
        outages=(Outage(30, 60, 35, Cause.TLS, "the certificate of localhost has expired"),),
    ),
    Story(checkid="demo-intranet", name="Old intranet", path="/intranet", fate=Fate.PAUSED, usual_ms=310),
    Story(
        checkid="demo-camera",
        name="Camera below $199",
        path="/sch/i.html",
        fate=Fate.PRICED,
        check_type="EBAY",
        attributes={"query": "rangefinder camera", "threshold": THRESHOLD, "currency": "USD", "includeShipping": True},
        delay_ms=30 * MINUTE_MS,
        usual_ms=420,
    ),
)


def is_failing(at: int) -> bool:
    """Whether the flapping page fails at that time."""
    return at // MINUTE_MS % CYCLE_MINUTES < FAILING_MINUTES


def find_price(at: int) -> int:
    """Return what the camera costs at that time with shipping, in cents: it goes up and down with the weeks."""
    step = at // PRICE_STEP_MS
    wave = math.sin(step / 4.5) * 2600 + math.sin(step / 1.7) * 900
    return 20_800 + round(wave / 50) * 50


def find_outage(story: Story, at: int, midnight: int) -> Outage | None:
    """Return the outage of the past that a time falls in."""
    spans = ((outage, outage.span(midnight)) for outage in story.outages)
    return next((outage for outage, (start, end) in spans if start <= at < end), None)


def look(story: Story, at: int, anchor: int, chance: Random) -> Outcome:
    """Return what a check finds at a time; `anchor` is when the demo began."""
    outage = find_outage(story, at, anchor - anchor % DAY_MS)
    if outage:
        return outage.outcome
    time = draw_time(story, at, chance)
    if is_ailing(story, at, anchor):
        message = "answered 503, accepted are 200-299"
        return Outcome(status=Status.DOWN, cause=Cause.STATUS, message=message, http_status=503, response_time=time)
    if story.fate is Fate.PRICED:
        return describe_price(find_price(at), time)
    found = True if "keyword" in story.attributes else None
    phases = Phases(connect=max(1, time // 12), first_byte=max(1, time * 10 // 12))
    answered = Outcome(status=Status.UP, http_status=200, response_time=time, keyword_found=found, phases=phases)
    if story.fate is not Fate.EXPIRING:
        return answered
    days = CERTIFICATE_DAYS + (anchor - at) // DAY_MS
    return judge_certificate(Availability(), replace(answered, certificate_days=days))


def is_ailing(story: Story, at: int, anchor: int) -> bool:
    """Whether a page is in the trouble that it is still in when the demo begins."""
    if story.fate is Fate.FLAPPING:
        return at > anchor - FLAPPING_FOR_MS and is_failing(at)
    return story.fate is Fate.BROKEN and at > anchor - BROKEN_FOR_MS


def draw_time(story: Story, at: int, chance: Random) -> int:
    """Return a plausible response time: most near the usual one, some slow, the days slower than the nights."""
    hour = at % DAY_MS / HOUR_MS
    daytime = 1 + 0.25 * math.sin((hour - 8) / 24 * 2 * math.pi)
    slow = chance.uniform(2, 5) if chance.random() < 0.015 else 1.0
    return max(2, round(story.usual_ms * daytime * slow * chance.lognormvariate(0, 0.16)))


def describe_price(price: int, time: int) -> Outcome:
    """Return what a search for the camera finds."""
    return Outcome(
        status=Status.UP,
        message=f"lowest {price / 100:.2f} USD (shipping {SHIPPING / 100:.2f} USD): {CAMERA}",
        available=price <= THRESHOLD,
        price=price,
        shipping=SHIPPING,
        shipping_known=True,
        currency="USD",
        link=CAMERA_LINK,
        response_time=time,
    )
