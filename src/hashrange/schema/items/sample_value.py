"""Values for sample items: believable for the name of a field, valid for its type and its constraints."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from random import Random
from re import _constants as regex_ops  # the parser of regular expressions has no public name
from re import _parser as regex_parser
from typing import Any, cast, get_args, get_origin

from annotated_types import GroupedMetadata
from pydantic import BaseModel

from hashrange.core.errors import ValueInvalid
from hashrange.schema.declare import hint as hints
from hashrange.schema.declare.field_kind import FIRST_DAY, kind_of, members_of
from hashrange.schema.declare.marker import Epoch

BEGIN = datetime.combine(FIRST_DAY, time(8), UTC)
EXPIRY = datetime(2099, 1, 1, tzinfo=UTC)  # sample items do not expire
WORDS = (
    "amber", "birch", "cedar", "dawn", "ember", "fern", "grove", "harbor", "iris", "juniper", "kestrel", "linden",
    "maple", "north", "olive", "pine", "quartz", "river", "sage", "thistle", "umber", "vale", "willow", "zephyr",
)  # fmt: skip
NAMES = ("Ada", "Ben", "Cleo", "Dora", "Emil", "Fay", "Gus", "Hana", "Ivo", "Jana", "Karl", "Lena", "Milo", "Nora")
COUNTRIES = ("AT", "CH", "DE", "DK", "ES", "FR", "GB", "IT", "NL", "PL", "PT", "SE", "US")
CITIES = ("Bern", "Graz", "Ghent", "Lyon", "Malmo", "Porto", "Turin", "Utrecht", "York")
CURRENCIES = ("CHF", "EUR", "GBP", "USD")
MAX_REPEATS = 4  # of an unbounded repetition in a pattern


class Constraints:
    """The bounds, lengths and the pattern that pydantic checks."""

    def __init__(self, metadata: tuple[Any, ...]) -> None:
        self.facts: dict[str, Any] = {}
        for fact in _flatten(metadata):
            for name in ("ge", "gt", "le", "lt", "multiple_of", "min_length", "max_length", "pattern"):
                value = getattr(fact, name, None)
                if value is not None:
                    self.facts[name] = value

    def bounds(self, low: int, high: int) -> tuple[int, int]:
        """Return the smallest and the largest whole number, near these if nothing else is required."""
        least = max(
            (int(self.facts[name]) + step for name, step in (("ge", 0), ("gt", 1)) if name in self.facts), default=None
        )
        most = min(
            (int(self.facts[name]) - step for name, step in (("le", 0), ("lt", 1)) if name in self.facts), default=None
        )
        low = low if least is None else max(low, least) if most is None or most >= low else least
        high = most if most is not None else max(high, low + 9)
        return min(low, high), high


def _flatten(metadata: tuple[Any, ...]) -> Iterator[Any]:
    for fact in metadata:
        yield fact
        if isinstance(fact, GroupedMetadata):
            yield from fact


class ValueSampler:
    """Makes values. `number` is that of the item, which keeps keys apart."""

    def __init__(self, random: Random) -> None:
        self.random = random

    def make(self, name: str, hint: Any, metadata: tuple[Any, ...], number: int) -> Any:
        """Return a value of a type for a field of a name."""
        values = hints.literals(hint)
        if values:
            return values[number % len(values)]
        members = [member for member in hints.members(hint) if member is not type(None)]
        if not members:
            return None
        inner, markers = hints.unwrap(hints.drop_none(hint))
        metadata = (*metadata, *hints.constraints_of(hints.drop_none(hint)), *markers)
        chosen = members[number % len(members)] if len(members) > 1 else inner
        values = hints.literals(chosen)
        if values:
            return values[number % len(values)]
        return self._make_one(name, chosen, Constraints(metadata), metadata, number)

    def _make_one(self, name: str, hint: Any, limits: Constraints, metadata: tuple[Any, ...], number: int) -> Any:
        origin = get_origin(hint) or hint
        if not isinstance(origin, type):
            return self.text(name, limits, number)
        if issubclass(origin, Enum):
            return list(origin)[number % len(list(origin))]
        if issubclass(origin, datetime):
            return self._time(name, metadata, number)
        kind = kind_of(origin)
        if kind is not None and kind.sample is not None:
            return kind.sample(self.random, number)
        for above, make in TEXT_AND_NUMBERS.items():
            if issubclass(origin, above):
                return make(self, name, limits, number)
        return self._container(name, hint, origin, limits, number)

    def _time(self, name: str, metadata: tuple[Any, ...], number: int) -> datetime:
        epoch = next((fact for fact in metadata if isinstance(fact, Epoch)), None)
        if epoch is not None and epoch.ttl:
            return EXPIRY
        late = timedelta(hours=6) if "end" in name or "finished" in name else timedelta(0)
        return BEGIN + timedelta(hours=number, minutes=self.random.randrange(60)) + late

    def integer(self, name: str, limits: Constraints, number: int) -> int:
        """Return a whole number within the bounds."""
        usual = {"price": (500, 90_000), "year": (1990, 2026), "percent": (0, 100), "status": (200, 404)}
        low, high = next((usual[word] for word in usual if word in name), (0, 999))
        low, high = limits.bounds(low, high)
        step = int(limits.facts.get("multiple_of", 1)) or 1
        value = low + (number * 37 + self.random.randrange(5)) % (high - low + 1)
        return value - value % step if value - value % step >= low else low + (-low) % step

    def text(self, name: str, limits: Constraints, number: int) -> str:
        """Return a text that suits the name of the field, its lengths and its pattern."""
        text = self._word(name.lower(), number)
        pattern = limits.facts.get("pattern")
        if pattern is not None and not re.search(pattern, text):
            return match_pattern(getattr(pattern, "pattern", pattern), self.random, number)
        least, most = limits.facts.get("min_length", 0), limits.facts.get("max_length")
        while len(text) < least:
            text += f" {self.random.choice(WORDS)}"
        return text if most is None else text[:most].strip() or text[:most]

    def _word(self, name: str, number: int) -> str:
        word = WORDS[number % len(WORDS)]
        turn = number // len(WORDS)
        unique = f"{word}-{turn}" if turn else word
        rules: list[tuple[tuple[str, ...], str]] = [
            (("email", "mail"), f"{NAMES[number % len(NAMES)].lower()}{number}@{unique}.example"),
            (("url", "link", "href", "website", "webhook"), f"https://{unique}.example/{self.random.choice(WORDS)}"),
            (("domain", "host"), f"{unique}.example"),
            (("country",), COUNTRIES[number % len(COUNTRIES)]),
            (("currency",), CURRENCIES[number % len(CURRENCIES)]),
            (("city", "town", "place"), CITIES[number % len(CITIES)]),
            (("hash", "digest", "sha", "token", "secret"), f"{self.random.getrandbits(256):064x}"),
            (
                ("first_name", "user_name", "customer", "owner", "author", "person"),
                f"{NAMES[number % len(NAMES)]} {number}",
            ),
            (("description", "text", "note", "message", "reason", "summary", "body"), self._sentence()),
            (("title", "name", "label"), f"{word.title()} {self.random.choice(WORDS)} {number}"),
            (("phone",), f"+44 20 7946 {number % 10_000:04d}"),
            (("id", "number", "key", "code", "slug"), f"{unique}-{number:04d}"),
        ]
        return next((text for words, text in rules if any(each in name for each in words)), unique)

    def _sentence(self) -> str:
        return f"{' '.join(self.random.sample(WORDS, 6)).capitalize()}."

    def _container(self, name: str, kind: Any, origin: type, limits: Constraints, number: int) -> Any:
        members = members_of(kind)
        if members is None:
            return self.text(name, limits, number)
        if issubclass(origin, BaseModel):
            fields = origin.model_fields.items()
            return origin(
                **{each: self.make(each, info.annotation, tuple(info.metadata), number) for each, info in fields}
            )
        if members and all(isinstance(each, str) for each in members):  # a TypedDict
            return {each: self.make(each, inner, (), number) for each, inner in members.items()}
        arguments = get_args(kind)
        count = max(limits.facts.get("min_length", 0), min(limits.facts.get("max_length", 2), 2))
        if issubclass(origin, dict):
            outer, inner = arguments or (str, str)
            turns = range(number, number + count)
            return {self.make("word", outer, (), turn): self.make(name, inner, (), turn) for turn in turns}
        inner = arguments[0] if arguments else str
        return cast("Any", origin)(self.make(name, inner, (), number + turn) for turn in range(count))


# Samples of these depend on the name and the bounds of the field; those of other types are in KINDS. A bool is an int,
# so it comes first.
TEXT_AND_NUMBERS: dict[type, Callable[[ValueSampler, str, Constraints, int], Any]] = {
    bool: lambda sampler, _name, _limits, _number: sampler.random.random() < 0.5,
    int: ValueSampler.integer,
    float: lambda *field: float(ValueSampler.integer(*field)),
    Decimal: lambda *field: Decimal(ValueSampler.integer(*field)),
    str: ValueSampler.text,
}


def match_pattern(pattern: str, random: Random, number: int) -> str:
    """Return a text that a regular expression matches; refuse one with look-arounds or references."""
    return "".join(_match(regex_parser.parse(pattern), random, number))


def _match(parsed: Any, random: Random, number: int) -> Iterator[str]:
    for op, argument in parsed:
        if op is regex_ops.LITERAL:
            yield chr(argument)
        elif op is regex_ops.NOT_LITERAL:
            yield "b" if argument == ord("a") else "a"
        elif op is regex_ops.ANY:
            yield random.choice("abcdefgh")
        elif op is regex_ops.IN:
            yield _choose(argument, random)
        elif op in {regex_ops.MAX_REPEAT, regex_ops.MIN_REPEAT}:
            low, high, inner = argument
            most = low + MAX_REPEATS if high == regex_ops.MAXREPEAT else min(high, max(low, 8))
            for _ in range(random.randint(max(low, min(1, most)), most)):
                yield from _match(inner, random, number)
        elif op is regex_ops.SUBPATTERN:
            yield from _match(argument[3], random, number)
        elif op is regex_ops.BRANCH:
            branches = argument[1]
            yield from _match(branches[number % len(branches)], random, number)
        elif op is not regex_ops.AT:
            raise ValueInvalid(f"no sample can be made for a pattern with {str(op).lower()}: give values=")


CATEGORIES = {
    "CATEGORY_DIGIT": "0123456789",
    "CATEGORY_WORD": "abcdefghijklmnopqrstuvwxyz0123456789_",
    "CATEGORY_SPACE": " ",
}
PRINTABLE = "".join(map(chr, range(33, 127)))


def _choose(members: Any, random: Random) -> str:
    """Return one of the characters of a class such as [a-z0-9]."""
    allowed: set[str] = set()
    negated = False
    for op, argument in members:
        if op is regex_ops.NEGATE:
            negated = True
        elif op is regex_ops.LITERAL:
            allowed.add(chr(argument))
        elif op is regex_ops.RANGE:
            allowed.update(map(chr, range(argument[0], min(argument[1], argument[0] + 200) + 1)))
        else:
            allowed.update(CATEGORIES.get(str(argument), PRINTABLE))
    choices = sorted(set(PRINTABLE) - allowed if negated else allowed)
    letters = [each for each in choices if each.isascii() and each.isalnum()]
    return random.choice(letters or choices)
