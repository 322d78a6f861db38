"""Billing and throughput: the provisioned, on-demand and warm throughput of a table and of its global indexes.

It is checked, stored and described as the service does; nothing is ever throttled by it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from msgspec.structs import replace

from hashrange.core.errors import LimitExceededException, ValidationException
from hashrange.core.values import INVALID_PARAMETER
from hashrange.core.wire import Wire
from hashrange.engine.definition import OnDemandThroughput, ProvisionedThroughput, WarmThroughput, to_wire

ON_DEMAND, PROVISIONED = "PAY_PER_REQUEST", "PROVISIONED"
UNITS = ("ReadCapacityUnits", "WriteCapacityUnits")
CAPS = ("MaxReadRequestUnits", "MaxWriteRequestUnits")
RATES = ("ReadUnitsPerSecond", "WriteUnitsPerSecond")
INITIAL_RATES = (12_000, 4_000)
MAX_UNITS = 10**12
QUOTA = 40_000
DAY = 24 * 3600 * 1000
NO_UNITS = ProvisionedThroughput(0, 0)
GUIDE = "Refer to the Amazon DynamoDB Developer Guide for current limits and how to request higher limits."
INITIAL_PAGE = (
    "https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/"
    "on-demand-capacity-mode.html#on-demand-capacity-mode-initial"
)
NEITHER_UNIT = (
    f"{INVALID_PARAMETER}Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is "
    "PAY_PER_REQUEST"
)


@dataclass(frozen=True, slots=True)
class Owner:
    """Whose throughput a message names: the table's, or that of an index."""

    index: str | None = None

    def named(self, mark: str = "") -> str:
        """Return `table`, or the index with the mark that the message puts before its name."""
        return "table" if self.index is None else f"index{mark} {self.index}"

    def suffix(self, text: str) -> str:
        """Return a text for indexes; nothing for the table."""
        return "" if self.index is None else text.format(self.index)


TABLE = Owner()


def parse_units(asked: Wire | None) -> ProvisionedThroughput:
    """Return the ProvisionedThroughput of a request; none at all is zero."""
    return NO_UNITS if asked is None else ProvisionedThroughput(asked[UNITS[0]], asked[UNITS[1]])


def by_unit(units: ProvisionedThroughput) -> Iterator[tuple[str, int]]:
    """Yield the names and values of provisioned units."""
    yield from zip(UNITS, (units.read, units.write), strict=True)


# -- what CreateTable says ---------------------------------------------------------------------------------------------


def check_billing(request: Wire) -> str:
    """Return a new table's billing mode, or raise when its throughput does not go with it."""
    mode: str = request.get("BillingMode", PROVISIONED)
    units = request.get("ProvisionedThroughput")
    if mode == ON_DEMAND and units is not None:
        raise ValidationException(NEITHER_UNIT)
    if mode == PROVISIONED and units is None:
        raise ValidationException(
            f"{INVALID_PARAMETER}ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is "
            "PROVISIONED"
        )
    if units is not None:
        check_bounds(parse_units(units), TABLE)
    return mode


def check_index_billing(index: Wire, mode: str) -> None:
    """Raise when the throughput of an index in CreateTable does not go with the billing mode."""
    name, units = index["IndexName"], index.get("ProvisionedThroughput")
    if mode == ON_DEMAND and units is not None:
        raise ValidationException(
            f"{INVALID_PARAMETER}ProvisionedThroughput should not be specified for index: {name} when BillingMode is "
            "PAY_PER_REQUEST"
        )
    if mode == PROVISIONED and units is None:
        raise ValidationException(f"{INVALID_PARAMETER}ProvisionedThroughput is not specified for index: {name}")
    if units is not None:
        check_bounds(parse_units(units), Owner(name))


def check_bounds(units: ProvisionedThroughput, owner: Owner) -> None:
    """Raise for units that are out of any range."""
    for unit, value in by_unit(units):
        if value > MAX_UNITS:
            raise ValidationException(f"Given value {value} for {unit} is out of bounds{owner.suffix(' for index {}')}")


def check_quota(units: ProvisionedThroughput, owner: Owner, region: str) -> None:
    """Raise for units above what an account may have."""
    resource = "table" if owner.index is None else "index"
    for unit, value in by_unit(units):
        if value > QUOTA:
            raise LimitExceededException(
                f"The requested {unit}{owner.suffix(' for index {}')}, {value}, is above the per {resource} maximum "
                f"for the account in {region}. Per {resource} maximum: {QUOTA}. {GUIDE}"
            )


def start_caps(asked: Wire | None, mode: str, owner: Owner) -> OnDemandThroughput | None:
    """Return a new table's or index's OnDemandThroughput, or raise when it may not have it."""
    given = {cap: asked[cap] for cap in CAPS if cap in asked} if asked else {}
    if given and mode == PROVISIONED:
        raise ValidationException(
            f"{INVALID_PARAMETER}{next(iter(given))} for OnDemandThroughput{owner.suffix(' for index: {}')} cannot be "
            "specified when "
            "table BillingMode is PROVISIONED."
        )
    for cap, value in given.items():
        if value < 1:
            raise _outside(cap, owner)
    return _make_caps(given) if given else None


def _make_caps(given: Wire) -> OnDemandThroughput:
    return OnDemandThroughput(given.get(CAPS[0]), given.get(CAPS[1]))


def start_rates(asked: Wire | None, mode: str, units: ProvisionedThroughput, owner: Owner) -> WarmThroughput:
    """Return a new table's or index's WarmThroughput, or raise when it is below what it starts with."""
    rates: list[int] = []
    for rate, (unit, provisioned), initial in zip(RATES, by_unit(units), INITIAL_RATES, strict=True):
        least = initial if mode == ON_DEMAND else provisioned
        rates.append((asked or {}).get(rate, least))
        if rates[-1] < least:
            reason = (
                f"initial throughput for OnDemand. See: {INITIAL_PAGE}"
                if mode == ON_DEMAND
                else f"{unit} of ProvisionedThroughput"
            )
            raise ValidationException(
                f"{INVALID_PARAMETER}Requested {rate} for WarmThroughput for {owner.named()} is lower than {reason}"
            )
    return WarmThroughput(*rates)


def _outside(cap: str, owner: Owner) -> ValidationException:
    return ValidationException(
        f"{INVALID_PARAMETER}Requested {cap} for OnDemandThroughput for {owner.named(' :')} is outside of valid range"
    )


# -- what UpdateTable changes ------------------------------------------------------------------------------------------


def change_units(
    current: ProvisionedThroughput, asked: ProvisionedThroughput, now: int, owner: Owner, region: str
) -> ProvisionedThroughput:
    """Return provisioned units after a change; raise when nothing would change or a quota is passed."""
    check_bounds(asked, owner)
    if (current.read, current.write) == (asked.read, asked.write):
        raise ValidationException(_message_for_unchanged(current, owner))
    check_quota(asked, owner, region)
    changed = replace(current, read=asked.read, write=asked.write)
    if asked.read > current.read or asked.write > current.write:
        changed = replace(changed, increased=now)
    if asked.read < current.read or asked.write < current.write:
        changed = replace(changed, decreases=count_decreases(current, now) + 1, decreased=now)
    return changed


def _message_for_unchanged(current: ProvisionedThroughput, owner: Owner) -> str:
    whose = "the table" if owner.index is None else f"index {owner.index}"
    figures = " ".join(
        f"Current {unit} provisioned for {whose}: {value}. Requested {unit}: {value}."
        for unit, value in by_unit(current)
    )
    return (
        f"The provisioned throughput for the {owner.named()} will not change. "
        f"The requested value equals the current value. {figures} {GUIDE}"
    )


def count_decreases(units: ProvisionedThroughput, now: int) -> int:
    """Return how often units were lowered on the present UTC day."""
    return units.decreases if units.decreased is not None and units.decreased // DAY == now // DAY else 0


def merge_caps(
    current: OnDemandThroughput | None, asked: Wire, mode: str, owner: Owner, region: str
) -> OnDemandThroughput:
    """Return OnDemandThroughput as a change shows it: merged member by member, -1 where one is being removed."""
    given = {cap: asked[cap] for cap in CAPS if cap in asked}
    if mode == PROVISIONED and given:
        raise ValidationException(
            f"{INVALID_PARAMETER}{next(iter(given))} for OnDemandThroughput{owner.suffix(' for index : {}')} cannot "
            "be specified when "
            "the table BillingMode is PROVISIONED"
        )
    for cap, value in given.items():
        if value == 0 or value < -1:
            raise _outside(cap, owner)
        if value > QUOTA:
            raise _above_quota(cap, "OnDemandThroughput", owner.named(" :"), region)
    return _make_caps(to_wire(current or OnDemandThroughput()) | given)


def clear_removed_caps(shown: OnDemandThroughput) -> OnDemandThroughput | None:
    """Return OnDemandThroughput once a change is done: without the limits that were removed."""
    kept = [None if value == -1 else value for value in (shown.read, shown.write)]
    return OnDemandThroughput(*kept) if any(value is not None for value in kept) else None


def raise_rates(current: WarmThroughput, asked: Wire, owner: Owner, region: str) -> WarmThroughput:
    """Return WarmThroughput after a change; raise when it would fall or pass the quota."""
    for rate, present in zip(RATES, (current.read, current.write), strict=True):
        value = asked.get(rate)
        if value is not None and value < present:
            raise ValidationException(
                f"{INVALID_PARAMETER}Requested {rate} for WarmThroughput for {owner.named()} is lower than current "
                "WarmThroughput, "
                "decreasing WarmThroughput is not supported"
            )
        if value is not None and value > QUOTA:
            raise _above_quota(rate, "WarmThroughput", owner.named(), region)
    return WarmThroughput(asked.get(RATES[0], current.read), asked.get(RATES[1], current.write))


def raise_rates_to_units(current: WarmThroughput, mode: str, units: ProvisionedThroughput) -> WarmThroughput:
    """Return WarmThroughput, raised to what a new mode or new units include."""
    read, write = INITIAL_RATES if mode == ON_DEMAND else (units.read, units.write)
    return WarmThroughput(max(current.read, read), max(current.write, write))


def _above_quota(member: str, block: str, whose: str, region: str) -> LimitExceededException:
    quota = "TableMaxReadCapacityUnits" if "Read" in member else "TableMaxWriteCapacityUnits"
    return LimitExceededException(
        f"Subscriber limit exceeded: Requested {member} for {block} for {whose} exceeds {quota} of the account "
        f"in region {region}"
    )


# -- what DescribeTable shows ------------------------------------------------------------------------------------------


def describe_units(units: ProvisionedThroughput, at: int) -> Wire:
    """Return the ProvisionedThroughputDescription at a time."""
    description: Wire = {"NumberOfDecreasesToday": count_decreases(units, at)}
    for member, changed in (("LastIncreaseDateTime", units.increased), ("LastDecreaseDateTime", units.decreased)):
        if changed is not None:
            description[member] = changed / 1000
    return description | dict(by_unit(units))


def describe_rates(rates: WarmThroughput, status: str = "ACTIVE") -> Wire:
    """Return the WarmThroughput description."""
    return {**to_wire(rates), "Status": status}
