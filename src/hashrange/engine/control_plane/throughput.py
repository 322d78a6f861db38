"""Billing and throughput: the provisioned, on-demand and warm figures of a table and of its global indexes.

They are checked, kept and described as the service does; nothing is ever throttled by them.
"""

from __future__ import annotations

from dataclasses import dataclass

from hashrange.core.errors import LimitExceededException, ValidationException
from hashrange.core.values import INVALID_PARAMETER
from hashrange.core.wire import Wire

ON_DEMAND, PROVISIONED = "PAY_PER_REQUEST", "PROVISIONED"
UNITS = ("ReadCapacityUnits", "WriteCapacityUnits")
CAPS = ("MaxReadRequestUnits", "MaxWriteRequestUnits")
RATES = ("ReadUnitsPerSecond", "WriteUnitsPerSecond")
INITIAL_RATES = (12_000, 4_000)
LARGEST = 10**12
QUOTA = 40_000
DAY = 24 * 3600 * 1000
NO_UNITS = dict.fromkeys(UNITS, 0)
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
    """Whose figures a text speaks of: the table's, or those of an index."""

    index: str | None = None

    def named(self, mark: str = "") -> str:
        """Return `table`, or the index with the mark that the text puts before its name."""
        return "table" if self.index is None else f"index{mark} {self.index}"

    def suffix(self, text: str) -> str:
        """Return a text for indexes; nothing for the table."""
        return "" if self.index is None else text.format(self.index)


TABLE = Owner()


# -- what CreateTable says ---------------------------------------------------------------------------------------------


def check_billing(request: Wire) -> str:
    """Return a new table's billing mode, or raise when its figures do not go with it."""
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
        check_bounds(units, TABLE)
    return mode


def check_index_billing(index: Wire, mode: str) -> None:
    """Raise when the figures of an index in CreateTable do not go with the billing mode."""
    name, units = index["IndexName"], index.get("ProvisionedThroughput")
    if mode == ON_DEMAND and units is not None:
        raise ValidationException(
            f"{INVALID_PARAMETER}ProvisionedThroughput should not be specified for index: {name} when BillingMode is "
            "PAY_PER_REQUEST"
        )
    if mode == PROVISIONED and units is None:
        raise ValidationException(f"{INVALID_PARAMETER}ProvisionedThroughput is not specified for index: {name}")
    if units is not None:
        check_bounds(units, Owner(name))


def check_bounds(units: Wire, owner: Owner) -> None:
    """Raise for figures that are out of any range."""
    for unit in UNITS:
        if units[unit] > LARGEST:
            raise ValidationException(
                f"Given value {units[unit]} for {unit} is out of bounds{owner.suffix(' for index {}')}"
            )


def check_quota(units: Wire, owner: Owner, region: str) -> None:
    """Raise for figures above what an account may have."""
    kind = "table" if owner.index is None else "index"
    for unit in UNITS:
        if units[unit] > QUOTA:
            raise LimitExceededException(
                f"The requested {unit}{owner.suffix(' for index {}')}, {units[unit]}, is above the per {kind} maximum "
                f"for the account in {region}. Per {kind} maximum: {QUOTA}. {GUIDE}"
            )


def start_caps(asked: Wire | None, mode: str, owner: Owner) -> Wire | None:
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
    return given or None


def start_rates(asked: Wire | None, mode: str, units: Wire, owner: Owner) -> Wire:
    """Return a new table's or index's WarmThroughput, or raise when it is below what it starts with."""
    rates: Wire = {}
    for rate, unit, initial in zip(RATES, UNITS, INITIAL_RATES, strict=True):
        least = initial if mode == ON_DEMAND else units[unit]
        rates[rate] = (asked or {}).get(rate, least)
        if rates[rate] < least:
            reason = (
                f"initial throughput for OnDemand. See: {INITIAL_PAGE}"
                if mode == ON_DEMAND
                else f"{unit} of ProvisionedThroughput"
            )
            raise ValidationException(
                f"{INVALID_PARAMETER}Requested {rate} for WarmThroughput for {owner.named()} is lower than {reason}"
            )
    return rates


def _outside(cap: str, owner: Owner) -> ValidationException:
    return ValidationException(
        f"{INVALID_PARAMETER}Requested {cap} for OnDemandThroughput for {owner.named(' :')} is outside of valid range"
    )


# -- what UpdateTable changes ------------------------------------------------------------------------------------------


def change_units(current: Wire, asked: Wire, now: int, owner: Owner, region: str) -> Wire:
    """Return provisioned figures after a change; raise when nothing would change or a quota is passed."""
    check_bounds(asked, owner)
    if all(current[unit] == asked[unit] for unit in UNITS):
        raise ValidationException(_unchanged(current, asked, owner))
    check_quota(asked, owner, region)
    changed = {**current, **{unit: asked[unit] for unit in UNITS}}
    if any(asked[unit] > current[unit] for unit in UNITS):
        changed["increased"] = now
    if any(asked[unit] < current[unit] for unit in UNITS):
        changed["decreases"] = count_decreases(current, now) + 1
        changed["decreased"] = now
    return changed


def _unchanged(current: Wire, asked: Wire, owner: Owner) -> str:
    whose = "the table" if owner.index is None else f"index {owner.index}"
    figures = " ".join(
        f"Current {unit} provisioned for {whose}: {current[unit]}. Requested {unit}: {asked[unit]}." for unit in UNITS
    )
    return (
        f"The provisioned throughput for the {owner.named()} will not change. "
        f"The requested value equals the current value. {figures} {GUIDE}"
    )


def count_decreases(units: Wire, now: int) -> int:
    """Return how often figures were lowered on the present UTC day."""
    return int(units.get("decreases", 0)) if units.get("decreased", -DAY) // DAY == now // DAY else 0


def merge_caps(current: Wire | None, asked: Wire, mode: str, owner: Owner, region: str) -> Wire:
    """Return OnDemandThroughput as a change shows it: merged member by member, -1 where one is being cleared."""
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
    return {**(current or {}), **given}


def clear_removed_caps(shown: Wire | None) -> Wire | None:
    """Return OnDemandThroughput once a change is done: what was cleared is gone."""
    return {cap: value for cap, value in (shown or {}).items() if value != -1} or None


def raise_rates(current: Wire, asked: Wire, owner: Owner, region: str) -> Wire:
    """Return WarmThroughput after a change; raise when it would fall or pass the quota."""
    for rate in RATES:
        value = asked.get(rate)
        if value is not None and value < current[rate]:
            raise ValidationException(
                f"{INVALID_PARAMETER}Requested {rate} for WarmThroughput for {owner.named()} is lower than current "
                "WarmThroughput, "
                "decreasing WarmThroughput is not supported"
            )
        if value is not None and value > QUOTA:
            raise _above_quota(rate, "WarmThroughput", owner.named(), region)
    return {rate: asked.get(rate, current[rate]) for rate in RATES}


def lift_rates(current: Wire, mode: str, units: Wire) -> Wire:
    """Return WarmThroughput lifted to what a new mode or new figures bring along."""
    brought = INITIAL_RATES if mode == ON_DEMAND else tuple(units[unit] for unit in UNITS)
    return {rate: max(current[rate], least) for rate, least in zip(RATES, brought, strict=True)}


def _above_quota(member: str, block: str, whose: str, region: str) -> LimitExceededException:
    quota = "TableMaxReadCapacityUnits" if "Read" in member else "TableMaxWriteCapacityUnits"
    return LimitExceededException(
        f"Subscriber limit exceeded: Requested {member} for {block} for {whose} exceeds {quota} of the account "
        f"in region {region}"
    )


# -- what DescribeTable shows ------------------------------------------------------------------------------------------


def describe_units(units: Wire, at: int) -> Wire:
    """Return the ProvisionedThroughputDescription at a time."""
    description: Wire = {"NumberOfDecreasesToday": count_decreases(units, at)}
    for member, kept in (("LastIncreaseDateTime", "increased"), ("LastDecreaseDateTime", "decreased")):
        if kept in units:
            description[member] = units[kept] / 1000
    return description | {unit: units[unit] for unit in UNITS}


def describe_rates(rates: Wire, status: str = "ACTIVE") -> Wire:
    """Return the WarmThroughput description."""
    return {**rates, "Status": status}
