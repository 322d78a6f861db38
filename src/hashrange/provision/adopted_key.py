"""Groups items by the form of their keys, and finds the template of a key: fixed text and variable parts.

Fixed text is a prefix such as `SHOP#`, or a word in capitals such as `USER`. What varies is compared with the
attributes of the items: an equal text, a padded number, a period of a time, a hash.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct

from hashrange.core.values import Item as Raw
from hashrange.core.values import Value
from hashrange.provision.adopted_type import is_time
from hashrange.schema.declare.key_format import fold

CAPITALS = re.compile(r"[A-Z][A-Z0-9_-]*#")
LOWER_CASE = re.compile(r"[A-Za-z][A-Za-z0-9_-]*#")
WORD = re.compile(r"[A-Z][A-Z_]*")
LONG_WORD = re.compile(r"[A-Z][A-Z_]{3,}")
DIGITS = re.compile(r"[0-9]+")
INTEGER = re.compile(r"0|-?[1-9][0-9]{0,37}")
MAX_CAPITALS, MAX_LOWER_CASE, MAX_WORDS = 30, 3, 10  # more different prefixes are values
PERIODS = {"year": 4, "month": 7, "date": 10, "hour": 13}


class KeyStart(Struct, frozen=True):
    """The fixed text at the start of a key, and whether something follows."""

    prefix: str
    varies: bool

    def excludes(self, other: KeyStart) -> bool:
        """Return whether no key has both forms."""
        if not self.varies and not other.varies:
            return self.prefix != other.prefix
        if not self.varies:
            return not self.prefix.startswith(other.prefix)
        if not other.varies:
            return not other.prefix.startswith(self.prefix)
        return not self.prefix.startswith(other.prefix) and not other.prefix.startswith(self.prefix)


VALUE = KeyStart("", varies=True)
Forms: TypeAlias = tuple[KeyStart, ...]
Sources: TypeAlias = Mapping[str, Sequence[Value | None]]  # the values of attributes, one for each item


class Variable(Struct, frozen=True):
    """What varies in a key: its text in each item, and the fixed text before it."""

    literal: str
    texts: tuple[str, ...]


class KeyParts(Struct, frozen=True):
    """A key of several items, taken apart."""

    variables: tuple[Variable, ...]
    tail: str

    @property
    def is_value(self) -> bool:
        """Whether the whole key is one value, which has the type of the attribute."""
        return len(self.variables) == 1 and not self.variables[0].literal and not self.tail


# ── groups ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def group_by_form(keys: Sequence[str], items: Sequence[Raw]) -> dict[Forms, list[Raw]]:
    """Return the items by the forms of their primary keys, the largest group first."""
    prefixes = {attr: find_prefixes([text for item in items if (text := item[attr].get("S"))]) for attr in keys}
    forms = [tuple(form_of(item[attr], prefixes[attr]) for attr in keys) for item in items]
    if len(keys) > 1:
        sorts, partitions = _sort_words(forms, items, keys), _partition_words(forms, items, keys)
        pairs = [(_text(item[keys[0]]), _text(item[keys[1]])) for item in items]
        forms = [_with_words(found, pair, partitions, sorts) for found, pair in zip(forms, pairs, strict=True)]
    groups: dict[Forms, list[Raw]] = defaultdict(list)
    for found, item in zip(forms, items, strict=True):
        groups[found].append(item)
    return dict(sorted(groups.items(), key=lambda group: (-len(group[1]), str(group[0]))))


def find_prefixes(texts: Sequence[str]) -> frozenset[str]:
    """Return the prefixes that are fixed text: few different ones, or words in capitals."""
    capitals = Counter(found[0] for text in texts if (found := CAPITALS.match(text)))
    others = Counter(found[0] for text in texts if (found := LOWER_CASE.match(text)) and found[0] not in capitals)
    few = [counts for counts, most in ((capitals, MAX_CAPITALS), (others, MAX_LOWER_CASE)) if len(counts) <= most]
    return frozenset(prefix for counts in few for prefix in counts)


def form_of(value: Value, prefixes: frozenset[str]) -> KeyStart:
    """Return the form of a key by its prefix."""
    found = LOWER_CASE.match(value.get("S", ""))
    if found is None or found[0] not in prefixes:
        return VALUE
    return KeyStart(found[0], varies=found[0] != value["S"])


def _sort_words(forms: Sequence[Forms], items: Sequence[Raw], keys: Sequence[str]) -> set[tuple[KeyStart, str]]:
    """Return the words that are sort keys: with others alike in partitions of this form, or in several partitions."""
    partitions: dict[tuple[KeyStart, str], set[str]] = defaultdict(set)
    for found, item in zip(forms, items, strict=True):
        if found[1] == VALUE:
            partitions[found[0], _text(item[keys[1]])].add(_text(item[keys[0]]))
    values: dict[KeyStart, set[str]] = defaultdict(set)
    for form, word in partitions:
        values[form].add(word)
    named = {form for form, words in values.items() if len(words) == 1 or all(map(LONG_WORD.fullmatch, words))}
    return {
        (form, word)
        for (form, word), owners in partitions.items()
        if WORD.fullmatch(word) and len(values[form]) <= MAX_WORDS and (form in named or len(owners) > 1)
    }


def _partition_words(forms: Sequence[Forms], items: Sequence[Raw], keys: Sequence[str]) -> set[str]:
    """Return the words that are partition keys beside others with a prefix, or that the sort key repeats."""
    values: dict[str, set[str]] = defaultdict(set)
    prefixed: set[str] = set()
    for found, item in zip(forms, items, strict=True):
        sort = _text(item[keys[1]]) if found[1] == VALUE else found[1].prefix
        if found[0] == VALUE:
            values[sort].add(_text(item[keys[0]]))
        else:
            prefixed.add(sort)
    return {
        word
        for sort, words in values.items()
        for word in words
        if len(words) == 1 and WORD.fullmatch(word) and (sort in prefixed or sort.startswith(word))
    }


def _with_words(forms: Forms, key: tuple[str, str], partitions: set[str], sorts: set[tuple[KeyStart, str]]) -> Forms:
    partition, sort = forms
    if sort == VALUE and (partition, key[1]) in sorts:
        sort = KeyStart(key[1], varies=False)
    if partition == VALUE and key[0] in partitions:
        partition = KeyStart(key[0], varies=False)
    return partition, sort


def _text(value: Value) -> str:
    return str(next(iter(value.values())))


# ── parts ────────────────────────────────────────────────────────────────────────────────────────────────────────────
def split_keys(form: KeyStart, texts: Sequence[str], sources: Sources) -> KeyParts:
    """Return the fixed text of keys of one form, and what varies between it; an attribute is one part."""
    if not form.varies:
        return KeyParts((), form.prefix)
    rests = [text[len(form.prefix) :] for text in texts]
    split = [rest.split("#") for rest in rests]
    is_even = {len(parts) for parts in split} == {len(split[0])} and all(all(parts) for parts in split)
    if not is_even or find_equal(rests, sources):
        return KeyParts((Variable(form.prefix, tuple(rests)),), "")
    variables: list[Variable] = []
    literal = form.prefix
    for at, column in enumerate(zip(*split, strict=True)):
        literal += "#" if at else ""
        if len(split[0]) > 1 and len(set(column)) == 1 and WORD.fullmatch(column[0]):
            literal += column[0]
        else:
            variables.append(Variable(literal, column))
            literal = ""
    return KeyParts(tuple(variables), literal)


# ── fields ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def find_equal(texts: Sequence[str], sources: Sources) -> list[str]:
    """Return every field whose values stand in a key as they are."""
    return [name for name, values in sources.items() if _equal(texts, values) is not None]


def find_sources(texts: Sequence[str], sources: Sources, *, unpadded: bool = False) -> list[tuple[str, str]]:
    """Return the fields whose values stand in a key, each with its format; the first one is taken.

    With `unpadded`, integers may stand in the key as they are: nothing sorts by it.
    """
    for matches in (_equal, *([_equal_integers] if unpadded else []), _padded, _derived):
        found = [
            (name, form)
            for name, values in sources.items()
            if len(values) == len(texts) and (form := matches(texts, values)) is not None
        ]
        if found:
            return found
    return []


def _equal(texts: Sequence[str], values: Sequence[Value | None]) -> str | None:
    same = all(value is not None and value.get("S") == text for text, value in zip(texts, values, strict=True))
    return "" if same else None


def _equal_integers(texts: Sequence[str], values: Sequence[Value | None]) -> str | None:
    same = all(value is not None and value.get("N") == text for text, value in zip(texts, values, strict=True))
    return "" if same and are_integers(texts) else None


def are_integers(texts: Sequence[str]) -> bool:
    """Return whether the texts are integers as Python writes them, of as many digits as DynamoDB has."""
    return all(INTEGER.fullmatch(text) for text in texts)


def _padded(texts: Sequence[str], values: Sequence[Value | None]) -> str | None:
    if len({len(text) for text in texts}) != 1 or not all(DIGITS.fullmatch(text) for text in texts):
        return None
    same = all(
        value is not None and DIGITS.fullmatch(value.get("N", "")) is not None and int(value["N"]) == int(text)
        for text, value in zip(texts, values, strict=True)
    )
    return padding_of(texts) if same else None


def padding_of(texts: Sequence[str]) -> str | None:
    """Return the format of numbers with leading zeros; None for other texts."""
    widths = {len(text) for text in texts}
    if len(widths) != 1 or (width := widths.pop()) > 99 or not all(DIGITS.fullmatch(text) for text in texts):
        return None
    return f"0{width}d"


def _derived(texts: Sequence[str], values: Sequence[Value | None]) -> str | None:
    plain = [value.get("S", "") if value is not None else "" for value in values]
    if not all(plain):
        return None
    pairs = list(zip(texts, plain, strict=True))
    return next((form for form, write in _writers(plain) if all(write(value) == text for text, value in pairs)), None)


def _writers(values: Sequence[str]) -> Iterator[tuple[str, Callable[[str], str]]]:
    yield "sha", _digest
    yield "fold", fold
    if all(is_time(value) and value.endswith("Z") for value in values):
        for name, length in PERIODS.items():
            yield name, lambda value, length=length: value[:length]  # type: ignore[misc]
