"""The limits of a worker, each with its reason: who would keep whom from being checked without it.

A permit is needed to run a check; `CHECKS_WORKERS` is their number. A host counts whatever its port.
docs/systems/checks.md shows this list; a test compares them.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """A limit: a number, or a share of another number."""

    name: str
    count: int
    unit: str
    reason: str

    def __str__(self) -> str:
        """Return it as the documentation shows it."""
        return f"{self.count:,} {self.unit}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """A limit that is a share of another number, or a multiple of it; at least one."""

    name: str
    share: Fraction
    whole: str
    reason: str

    def __str__(self) -> str:
        """Return it as the documentation shows it."""
        if self.share.denominator == 1:
            return "as many as " + self.whole if self.share == 1 else f"{self.share} times {self.whole}"
        return f"{self.share} of {self.whole}"

    def take(self, whole: int) -> int:
        """Return the share of a number."""
        return max(1, int(whole * self.share))


THREE_QUARTERS = Fraction(3, 4)

# ── permits ──────────────────────────────────────────────────────────────────────────────────────────────────────────
OF_A_USER = Share(
    name="a user",
    share=THREE_QUARTERS,
    whole="the permits",
    reason="A user with a thousand checks that are due at once would take all, and the others wait for the end.",
)
SLOW = Share(
    name="slow checks",
    share=THREE_QUARTERS,
    whole="the permits",
    reason="Checks that hang hold a permit for a while: with all permits, they would be the only ones that run.",
)
SLOW_OF_A_USER = Share(
    name="a user's slow checks",
    share=THREE_QUARTERS,
    whole="the permits of a user",
    reason="A user's checks that hang kept the same user's other checks from running.",
)
SLOW_AFTER = Limit(
    name="slow is a check whose last run took, or timed out",
    count=2_000,
    unit="ms",
    reason="It probably hangs again. A run that takes so long gives its permit to another, because it needs no work: "
    "before, checks that hung for the first time delayed all others by 18 s.",
)
LONG_RUNS = Share(
    name="runs that go on without a permit",
    share=Fraction(2),
    whole="the permits",
    reason="Each has a connection and a file descriptor, of which a process has so many.",
)
LONG_RUNS_OF_A_USER = Share(
    name="such runs of a user",
    share=Fraction(1, 2),
    whole="those of all",
    reason="Another user's checks that hang for the first time would find none left, and keep their permits.",
)
WAITING = Share(
    name="runs that wait for a permit",
    share=Fraction(4),
    whole="the permits",
    reason="More would wait longer than for their turn; they are put off, and leave the lease to another worker.",
)
WAITING_OF_A_USER = Share(
    name="such runs of a user",
    share=Fraction(1),
    whole="the permits",
    reason="The checks of one user would fill the queue, and those of the others be put off.",
)
STARTED = Share(
    name="runs that have, want or had a permit, besides those that go on without one",
    share=Fraction(5),
    whole="the permits",
    reason="A worker that claims more than it can run keeps the checks from other workers until their leases end.",
)

# ── hosts ────────────────────────────────────────────────────────────────────────────────────────────────────────────
AT_A_HOST = Limit(
    name="a host",
    count=16,
    unit="runs",
    reason="A thousand checks of one site that are due at once are an attack on it.",
)
AT_A_HOST_OF_A_USER = Limit(
    name="a user at a host",
    count=12,
    unit="runs",
    reason="A user with many checks of a host that hang kept all others from watching it.",
)
SLOW_AT_A_HOST = Limit(
    name="slow checks at a host",
    count=12,
    unit="runs",
    reason="The checks of several users that hang, none above the own limit, kept those that answer from the host.",
)
FIRST_AT_A_HOST_OF_A_USER = Limit(
    name="first runs of a user at a host",
    count=6,
    unit="runs",
    reason="Nobody knows yet whether they hang: those of one user that did left none to first runs of others.",
)
SLOW_OR_FIRST_AT_A_HOST = Limit(
    name="slow checks and first runs together at a host",
    count=14,
    unit="runs",
    reason="First runs of two users that hung held all sixteen; the others are for checks that answered quickly.",
)

# ── waiting ──────────────────────────────────────────────────────────────────────────────────────────────────────────
PERMIT_WAIT = Limit(
    name="the wait for a permit",
    count=15,
    unit="s",
    reason="Far below the lease of 60 s: a claimed check that waits longer would be run by another worker too.",
)
POSTPONED = Limit(
    name="then a check is put off by",
    count=2_000,
    unit="ms",
    reason="It keeps its due time, and its lateness is known; at once, it would only wait again.",
)
SLOW_POSTPONED = Limit(
    name="a slow one by",
    count=15_000,
    unit="ms",
    reason="Slow checks that came back every two seconds would fill the queue before those that answer.",
)
HOST_WAIT = Limit(
    name="the wait for a host, of any run in this process",
    count=10,
    unit="s",
    reason="Runs by hand have no permits, and share the host with those of the worker. "
    "Who waits longer is UNKNOWN, not DOWN: it was our side.",
)


def list_limits() -> list[Limit | Share]:
    """Return all of them, in the order of the documentation."""
    return [found for found in globals().values() if isinstance(found, Limit | Share)]
