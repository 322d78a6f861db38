"""The demo checks, and the outcome of each at any time. Deterministic, no I/O.

Times are milliseconds. The demo pages behave in the same way, so that real runs continue the history.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from random import Random
from typing import Any

from hashrange_systems.checks.model.attributes import Availability
from hashrange_systems.checks.model.availability import evaluate_certificate
from hashrange_systems.checks.model.fetch_result import Cause, PhaseTimes
from hashrange_systems.checks.model.outcome import Outcome, Status
from hashrange_systems.shared.epoch import DAY_MS, HOUR_MS, MINUTE_MS

CERTIFICATE_DAYS = 9
WARNED_DAYS = 4  # below the default warning limit
BROKEN_FOR_MS = 50 * MINUTE_MS
FLAPPING_FOR_MS = 6 * HOUR_MS
PAUSED_DAYS = 12
CYCLE_MINUTES, FAILING_MINUTES = 40, 15
THRESHOLD = 19_900  # of the camera, in cents
SHIPPING = 1_200
PRICE_STEP_MS = 6 * HOUR_MS
CAMERA = "Rangefinder camera with 40 mm lens"
CAMERA_LINK = "https://www.ebay.com/itm/225000000001"


class Behaviour(Enum):
    """How a page behaves."""

    STEADY = auto()
    EXPIRING = auto()
    FLAPPING = auto()
    BROKEN = auto()
    PAUSED = auto()
    PRICED = auto()


@dataclass(frozen=True, slots=True)
class Outage:
    """A past outage: so many days before the demo started, at this minute of the day."""

    days_ago: int
    minute: int
    minutes: int
    cause: Cause
    message: str
    http_status: int | None = None

    def span(self, midnight: int) -> tuple[int, int]:
        """Return start and end; `midnight` is that before the start of the demo."""
        start = midnight - self.days_ago * DAY_MS + self.minute * MINUTE_MS
        return start, start + self.minutes * MINUTE_MS

    @property
    def outcome(self) -> Outcome:
        """The outcome of runs during the outage."""
        return Outcome(status=Status.DOWN, cause=self.cause, message=self.message, http_status=self.http_status)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One check of the demo."""

    checkid: str
    name: str
    path: str  # of its page
    behaviour: Behaviour = Behaviour.STEADY
    attributes: Mapping[str, Any] = field(default_factory=dict)
    check_type: str = "AVAILABILITY"
    delay_ms: int = 5 * MINUTE_MS
    usual_ms: int = 120  # response time
    outages: tuple[Outage, ...] = ()
    group: str | None = None
    tags: tuple[str, ...] = ()


def _bad_gateway(days_ago: int, minute: int, minutes: int) -> Outage:
    return Outage(days_ago, minute, minutes, Cause.STATUS, "answered 502, accepted are 200-299", 502)


SCENARIOS = (
    Scenario(
        checkid="demo-shop",
        name="Shop",
        path="/shop",
        group="Web shop",
        tags=("production", "public"),
        attributes={"keyword": "Add to basket"},
        usual_ms=140,
        outages=(
            _bad_gateway(61, 14 * 60 + 12, 25),
            Outage(23, 3 * 60 + 40, 70, Cause.TIMEOUT, "no answer within 10 s"),
        ),
    ),
    Scenario(
        checkid="demo-api",
        name="Orders API",
        path="/api/orders",
        group="Web shop",
        tags=("production",),
        attributes={"keyword": '"status":"ok"', "timeoutMs": 5000},
        usual_ms=45,
        outages=(
            _bad_gateway(80, 9 * 60 + 5, 10),
            Outage(44, 22 * 60, 190, Cause.CONNECT, "127.0.0.1 refused the connection"),
            _bad_gateway(9, 17 * 60 + 31, 15),
        ),
    ),
    Scenario(checkid="demo-blog", name="Blog", path="/blog", behaviour=Behaviour.EXPIRING, usual_ms=95),
    Scenario(
        checkid="demo-search",
        name="Search",
        path="/search",
        group="Web shop",
        tags=("production",),
        behaviour=Behaviour.FLAPPING,
        attributes={"retries": 0},
        usual_ms=230,
        outages=(_bad_gateway(35, 11 * 60, 45),),
    ),
    Scenario(
        checkid="demo-payments",
        name="Payments",
        path="/payments",
        group="Web shop",
        tags=("production", "money"),
        behaviour=Behaviour.BROKEN,
        usual_ms=80,
        outages=(_bad_gateway(30, 60, 35),),
    ),
    Scenario(checkid="demo-intranet", name="Old intranet", path="/intranet", behaviour=Behaviour.PAUSED, usual_ms=310),
    Scenario(
        checkid="demo-camera",
        name="Camera below $199",
        path="/sch/i.html",
        behaviour=Behaviour.PRICED,
        check_type="EBAY",
        attributes={"query": "rangefinder camera", "threshold": THRESHOLD, "currency": "USD", "includeShipping": True},
        delay_ms=30 * MINUTE_MS,
        usual_ms=420,
    ),
)


def is_failing(at: int) -> bool:
    """Return whether the flapping page fails at this time."""
    return at // MINUTE_MS % CYCLE_MINUTES < FAILING_MINUTES


def find_price(at: int) -> int:
    """Return the price of the camera at this time, with shipping, in cents."""
    step = at // PRICE_STEP_MS
    wave = math.sin(step / 4.5) * 2600 + math.sin(step / 1.7) * 900
    return 20_800 + round(wave / 50) * 50


def find_outage(scenario: Scenario, at: int, midnight: int) -> Outage | None:
    """Return the outage at a time."""
    spans = ((outage, outage.span(midnight)) for outage in scenario.outages)
    return next((outage for outage, (start, end) in spans if start <= at < end), None)


def simulate(scenario: Scenario, at: int, started_at: int, random: Random) -> Outcome:
    """Return the outcome of a run at a time; `started_at` is the start of the demo."""
    outage = find_outage(scenario, at, started_at - started_at % DAY_MS)
    if outage:
        return outage.outcome
    time = draw_time(scenario, at, random)
    if has_problem(scenario, at, started_at):
        message = "answered 503, accepted are 200-299"
        return Outcome(status=Status.DOWN, cause=Cause.STATUS, message=message, http_status=503, response_time=time)
    if scenario.behaviour is Behaviour.PRICED:
        return describe_price(find_price(at), time)
    found = True if "keyword" in scenario.attributes else None
    phases = PhaseTimes(connect=max(1, time // 12), first_byte=max(1, time * 10 // 12))
    response = Outcome(status=Status.UP, http_status=200, response_time=time, keyword_found=found, phases=phases)
    if scenario.behaviour is not Behaviour.EXPIRING:
        return response
    days = CERTIFICATE_DAYS + (started_at - at) // DAY_MS
    return evaluate_certificate(Availability(), replace(response, certificate_days=days))


def has_problem(scenario: Scenario, at: int, started_at: int) -> bool:
    """Return whether a page fails at this time, in a failure that continues after the start of the demo."""
    if scenario.behaviour is Behaviour.FLAPPING:
        return at > started_at - FLAPPING_FOR_MS and is_failing(at)
    return scenario.behaviour is Behaviour.BROKEN and at > started_at - BROKEN_FOR_MS


def draw_time(scenario: Scenario, at: int, random: Random) -> int:
    """Return a plausible response time: most near the usual one, some slow, slower by day than by night."""
    hour = at % DAY_MS / HOUR_MS
    daytime = 1 + 0.25 * math.sin((hour - 8) / 24 * 2 * math.pi)
    slow = random.uniform(2, 5) if random.random() < 0.015 else 1.0
    return max(2, round(scenario.usual_ms * daytime * slow * random.lognormvariate(0, 0.16)))


def describe_price(price: int, time: int) -> Outcome:
    """Return the outcome of the search for the camera."""
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
