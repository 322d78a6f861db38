"""The form of a check: its fields, their values for a check, and the input that a posted form contains.

Each field is named by the path that its errors have. The service validates the input.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

from hashrange_systems.checks.model.tier import Tier
from hashrange_systems.checks.registry import CHECK_TYPES
from hashrange_systems.checks.schema import AnyCheck
from hashrange_systems.checks.service.check_fields import PRICE
from hashrange_systems.shared.epoch import DAY_MS, HOUR_MS, MINUTE_MS
from hashrange_systems.shared.errors import FieldError
from hashrange_systems.shared.money import CURRENCIES, from_decimal
from hashrange_systems.shared.text import format_duration
from hashrange_systems.shared.web.form import Field, Group, group_field_errors, read_number, write_value

DELAYS = (
    MINUTE_MS // 2,
    *(MINUTE_MS * n for n in (1, 2, 5, 10, 15, 30)),
    *(HOUR_MS * n for n in (1, 3, 6, 12, 24)),
)
REMINDERS = (15 * MINUTE_MS, HOUR_MS, 6 * HOUR_MS, DAY_MS)
NAME = Field(path="name", label="Name", hint="Shop front page", help="Empty for one that is made from the rest.")
ARRANGEMENT = (
    Field(path="group", label="Group", hint="Web shop", help="Checks of a group are listed together.", short=True),
    Field(
        path="tags", label="Tags", hint="production, eu", help="Separated by commas; the list can be filtered by them."
    ),
)


ALERTS = (
    Field(
        path="rules.reminderMs",
        label="Remind me while it is down",
        input_type="select",
        options=(("", "never"), *((str(delay), f"every {format_duration(delay)}") for delay in REMINDERS)),
        short=True,
    ),
    Field(path="rules.resolved", label="Tell me when it is up again", input_type="tick"),
    Field(
        path="rules.warnings", label="Tell me of warnings, such as a certificate that expires soon", input_type="tick"
    ),
    Field(path="rules.gone", label="Tell me when something is no longer available", input_type="tick"),
)
RULE_DEFAULTS: Mapping[str, object] = {"reminderMs": None, "resolved": True, "warnings": True, "gone": False}


def make_groups(check_type: str, tier: Tier, delay_ms: int | None = None) -> list[Group]:
    """Return the form of a type of check: its own fields, and those that every check has."""
    known = CHECK_TYPES[check_type]
    delay = Field(
        path="delayMs",
        label="How often",
        input_type="select",
        options=tuple(
            (str(each), f"every {format_duration(each)}")
            for each in list_delays(tier, delay_ms)
            if each >= known.shortest_delay_ms or each == delay_ms
        ),
        short=True,
    )
    first, *others = known.form
    often = () if known.receives_signals else (delay,)
    return [
        Group(first.title, (*first.fields, NAME, *often)),
        *others,
        Group("Group and tag", ARRANGEMENT, folded=True),
    ]


def list_delays(tier: Tier, current: int | None) -> list[int]:
    """Return the delays to choose from: those that the tier allows, and the current one."""
    allowed = {delay for delay in DELAYS if delay >= tier.shortest_delay_ms}
    return sorted(allowed | ({current} if current else set()))


# ── what a form holds ────────────────────────────────────────────────────────────────────────────────────────────────
def fill_new(check_type: str) -> dict[str, str]:
    """Return the values for a new check."""
    known = CHECK_TYPES[check_type]
    often = {"delayMs": str(known.usual_delay_ms)}
    return often | fill_attributes(check_type, {}) | dict(known.first_values) | fill_rules({})


def fill_from(check: AnyCheck) -> dict[str, str]:
    """Return the values of a check."""
    given = {"url": check.url, "name": check.name or "", "delayMs": str(check.delay_ms)}
    given |= {"group": check.group or "", "tags": ", ".join(check.tags or ())}
    return given | fill_attributes(check.check_type, check.attributes) | fill_rules(check.rules or {})


def fill_attributes(check_type: str, stored: Mapping[str, Any]) -> dict[str, str]:
    """Return the attributes as texts, with defaults for those not stored."""
    shown = {name: default for name, default in list_defaults(check_type).items() if default is not None} | dict(stored)
    filled = {f"attributes.{name}": write_value(value) for name, value in shown.items()}
    if PRICE in filled:
        filled[PRICE] = format_minor_units(filled[PRICE], str(shown.get("currency", "USD")))
    return filled


def fill_rules(stored: Mapping[str, Any]) -> dict[str, str]:
    """Return the alert rules as texts."""
    return {f"rules.{name}": write_value(value) for name, value in {**RULE_DEFAULTS, **stored}.items()}


def list_defaults(check_type: str) -> dict[str, Any]:
    """Return the attributes of a type with their defaults."""
    fields = CHECK_TYPES[check_type].attributes.model_fields
    return {info.alias or name: info.get_default() for name, info in fields.items() if not info.is_required()}


def format_minor_units(minor: str, currency: str) -> str:
    """Format a price in minor units."""
    digits = CURRENCIES.get(currency, 2)
    return f"{Decimal(minor).scaleb(-digits):.{digits}f}" if minor.isdecimal() else minor


# ── what a sent form asks for ────────────────────────────────────────────────────────────────────────────────────────
def read_check_fields(
    check_type: str, groups: Iterable[Group], sent: Mapping[str, str], channels: Sequence[str] | None
) -> dict[str, Any]:
    """Return the input that a posted form contains."""
    attributes = {
        field.path.removeprefix("attributes."): read_value(field, sent)
        for group in groups
        for field in group.fields
        if field.path.startswith("attributes.")
    }
    defaults = list_defaults(check_type)
    attributes = {
        name: value
        for name, value in attributes.items()
        if value is not None and not is_usual(value, defaults.get(name))
    }
    rules = {field.path.removeprefix("rules."): read_value(field, sent) for field in ALERTS}
    return {
        "url": sent.get("url", "").strip() or None,
        "name": sent.get("name", "").strip() or None,
        "delay_ms": read_number(sent["delayMs"]) if "delayMs" in sent else CHECK_TYPES[check_type].usual_delay_ms,
        "group": sent.get("group", "").strip() or None,
        "tags": [tag.strip() for tag in sent.get("tags", "").split(",") if tag.strip()] or None,
        "attributes": attributes,
        "rules": {name: value for name, value in rules.items() if value != RULE_DEFAULTS[name]} or None,
        "channels": channels,
    }


def is_usual(value: object, default: object) -> bool:
    """Return whether a value is the default: then it is not stored."""
    return write_value(value) == write_value(default)


def read_value(field: Field, sent: Mapping[str, str]) -> object:
    """Return the value of a field; None if it is empty."""
    text = sent.get(field.path, "")
    if field.input_type == "tick":
        return text == "on"
    if field.input_type == "area":
        return text.replace("\r\n", "\n") or None
    text = text.strip()
    if field.input_type == "price" and text:
        return read_price(text, sent.get("attributes.currency", "USD"))
    return read_number(text) if field.path.startswith("rules.") and text else text or None


def read_price(text: str, currency: str) -> int | str:
    """Return a price in minor units; other text is returned as it is."""
    try:
        money = from_decimal(Decimal(text.replace(",", ".")), currency)
    except InvalidOperation:
        return text
    return text if money is None else money.minor


def reword_error(path: str, message: str) -> str:
    """Return an error in the words of the form, which has a price, not minor units."""
    return "must be a price such as 249.90" if path == PRICE and "number" in message else message


def group_check_errors(errors: Iterable[FieldError], paths: Iterable[str]) -> tuple[dict[str, str], list[FieldError]]:
    """Return the errors by the field that shows them, in the words of the form, and those without a field."""
    shown, other_errors = group_field_errors(errors, paths)
    return {path: reword_error(path, message) for path, message in shown.items()}, other_errors
