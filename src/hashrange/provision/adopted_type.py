"""Finds the type of an attribute by its values: formats of times, closed sets of words, lists in one string."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from datetime import date, datetime
from typing import Any

import orjson

from hashrange.core.values import Value
from hashrange.provision.adopted_name import snake
from hashrange.provision.adopted_schema import FoundType
from hashrange.schema.declare.attribute_value import number_of
from hashrange.schema.declare.table import MILLIS_FROM

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|[+-]\d\d:?\d\d)?")
CANONICAL = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.(\d{3}|\d{6}))?Z")
DATE = re.compile(r"\d{4}-\d\d-\d\d")
PREFIX = re.compile(r"[A-Z][A-Z0-9_-]*#")
CHOICE = re.compile(r"[A-Za-z][A-Za-z_-]{0,39}")
TIME_WORDS = frozenset({
    "at", "ts", "since", "until", "start", "end", "started", "ended", "seen", "created", "updated", "modified",
    "expires",
})  # fmt: skip
PART = re.compile(r"[\w.+/-]+( [\w.+/-]+)?")
ISO_TYPES = {0: "datetime", 3: "IsoMillis", 6: "IsoMicros"}
FIRST_SECOND, LAST_SECOND = 946_684_800, 4_102_444_800  # the years 2000 and 2100
MIN_CHOICES, MAX_CHOICES, MIN_REPEATS = 50, 8, 5  # a Literal needs so many values, at most so many different ones
MIN_NORMAL = 20  # with so many values of one type, one in a hundred of another type is damage
SCALARS = {"BOOL": "bool", "B": "bytes", "SS": "set[str]", "BS": "set[bytes]"}


def find_type(attr: str, values: Sequence[Value], *, in_key: bool = False) -> FoundType:
    """Return the type of an attribute with these values: at least one, and none of them NULL."""
    tags = Counter(tag for value in values for tag in value)
    tag, most = tags.most_common(1)[0]
    if len(tags) > 1:
        shown = ", ".join(f"{count} {name}" for name, count in tags.most_common())
        if most < MIN_NORMAL or (len(values) - most) * 100 > len(values):
            return FoundType("Any", comments=(f"stored with several types: {shown}",))
        found = _find_by_tag(tag, attr, [value[tag] for value in values if tag in value], in_key)
        return FoundType(found.name, found.parameter, found.markers, (*found.comments, f"damaged values: {shown}"))
    return _find_by_tag(tag, attr, [value[tag] for value in values], in_key)


def _find_by_tag(tag: str, attr: str, contents: list[Any], in_key: bool) -> FoundType:
    match tag:
        case "S":
            return _find_text(contents, in_key)
        case "N":
            return _find_number(attr, contents)
        case "NS":
            return FoundType(f"set[{_number_type([text for content in contents for text in content])}]")
        case "L":
            return FoundType(f"list[{_find_member([part for content in contents for part in content])}]")
        case "M":
            return _find_map(contents)
    return FoundType(SCALARS.get(tag, "Any"))


def _find_text(texts: list[str], in_key: bool) -> FoundType:
    times = sum(1 for text in texts if is_time(text))
    if times == len(texts) or (times >= MIN_NORMAL and (len(texts) - times) * 100 <= len(texts)):
        return _find_time(texts, times)
    if all(is_date(text) for text in texts):
        return FoundType("date")
    prefixes = {found[0] if (found := PREFIX.match(text)) else "" for text in texts}
    if len(prefixes) == 1 and (prefix := prefixes.pop()) and all(len(text) > len(prefix) for text in texts):
        return FoundType("str", markers=(f"Prefixed({quote(prefix)})",))
    if choices := _find_choices(texts):
        return FoundType(f"Literal[{', '.join(map(quote, choices))}]", comments=("the values of the sample",))
    counts = Counter(texts)
    repeated = 1 < len(counts) <= MAX_CHOICES and len(texts) >= 2 * len(counts)
    if repeated and all(CHOICE.fullmatch(text) for text in counts):
        return FoundType("str", comments=(f"found: {', '.join(sorted(counts))}",))
    return FoundType("str") if in_key else _find_joined(texts)


def is_time(text: str) -> bool:
    """Return whether a text is a time in ISO form."""
    if not TIME.fullmatch(text):
        return False
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def is_date(text: str) -> bool:
    """Return whether a text is a date in ISO form."""
    try:
        return DATE.fullmatch(text) is not None and bool(date.fromisoformat(text))
    except ValueError:
        return False


def _find_time(texts: list[str], times: int) -> FoundType:
    digits = Counter(len(found[2] or "") if (found := CANONICAL.fullmatch(text)) else -1 for text in texts)
    most = next((count for count, _ in digits.most_common() if count >= 0), 0)
    comments: list[str] = []
    if len(digits) > 1 or -1 in digits:
        example = next(text for text in texts if not _has_digits(text, most))
        comments.append(f"also times of another form, such as {example!r}, kept as they are until they change")
    if times < len(texts):
        comments.append(f"damaged values: {len(texts) - times} of {len(texts)} are no times")
    return FoundType(ISO_TYPES[most], "datetime", comments=tuple(comments))


def _has_digits(text: str, digits: int) -> bool:
    found = CANONICAL.fullmatch(text)
    return found is not None and len(found[2] or "") == digits


def _find_choices(texts: list[str]) -> list[str]:
    """Return the values of a set that is clearly closed: few words, each of them often."""
    counts = Counter(texts)
    closed = (
        len(texts) >= MIN_CHOICES
        and len(counts) <= MAX_CHOICES
        and min(counts.values()) >= MIN_REPEATS
        and all(CHOICE.fullmatch(text) for text in counts)
    )
    return sorted(counts) if closed else []


def _find_joined(texts: list[str]) -> FoundType:
    if all(_is_json_parts(text) for text in texts):
        return FoundType("JsonPipes[dict[str, Any]]")
    for by, name in (("|", "Pipes[str]"), (",", "Commas[str]")):
        several = [text for text in texts if by in text]
        whole = all(all(part == part.strip() and part for part in text.split(by)) for text in texts)
        short = by == "|" or all(PART.fullmatch(part) for text in texts for part in text.split(by))
        if whole and short and 2 * len(several) >= len(texts):
            return FoundType(name, comments=(f"or a text with {name[:-5].lower()}: then declare str",))
    return FoundType("str")


def _is_json_parts(text: str) -> bool:
    try:
        return text.startswith("{") and all(isinstance(orjson.loads(part), dict) for part in text.split("|"))
    except ValueError:
        return False


def _number_type(texts: Sequence[str]) -> str:
    return "int" if all(isinstance(number_of(text), int) for text in texts) else "Decimal"


def _find_number(attr: str, texts: list[str]) -> FoundType:
    name = _number_type(texts)
    if name == "Decimal":
        return FoundType(name)
    low, high = min(map(int, map(number_of, texts))), max(map(int, map(number_of, texts)))
    for unit, per_second in (("Seconds", 1), ("Millis", 1000)):
        if FIRST_SECOND * per_second <= low and high <= LAST_SECOND * per_second:
            if is_time_name(attr):
                return FoundType(unit, "datetime")
            if per_second > 1:
                return FoundType("int", comments=("perhaps a time in milliseconds: then declare Millis",))
    return FoundType("int")


def is_time_name(attr: str) -> bool:
    """Return whether the name of an attribute sounds like a time."""
    word = snake(attr).rpartition("_")[2]
    return word in TIME_WORDS or word.endswith(("time", "timestamp", "date"))


def is_millis_ttl(values: Sequence[Value]) -> bool:
    """Return whether a TTL was written in milliseconds."""
    numbers = [number_of(value["N"]) for value in values if "N" in value]
    return any(number >= MILLIS_FROM for number in numbers)


def _find_member(parts: Sequence[Value]) -> str:
    """Return the type of what lists contain; only of the kinds that are the same in every list."""
    tags = {tag for part in parts for tag in part}
    if tags == {"N"}:
        return _number_type([part["N"] for part in parts])
    return {"S": "str", "BOOL": "bool", "M": "dict[str, Any]"}.get(tags.pop(), "Any") if len(tags) == 1 else "Any"


def _find_map(contents: Sequence[dict[str, Value]]) -> FoundType:
    parts = [part for content in contents for part in content.values()]
    counted = len(parts) > MIN_REPEATS and all("N" in part for part in parts)
    return FoundType(f"dict[str, {_find_member(parts) if counted else 'Any'}]")


def quote(text: str) -> str:
    """Return a text as a Python string with double quotes."""
    plain = repr(text)
    return plain if '"' in text or "\\" in plain else f'"{plain[1:-1]}"'
