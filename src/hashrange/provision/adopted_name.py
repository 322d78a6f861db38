"""Names for what adoption found: fields by attributes, classes by key prefixes or by the table."""

from __future__ import annotations

import itertools
import keyword
import re
from collections.abc import Iterable

from hashrange.schema.declare.model import View
from hashrange.schema.declare.table import camel

TAKEN = frozenset({  # names that a declaration uses, so that a field of that name would hide them
    "str", "int", "float", "bool", "bytes", "list", "dict", "set", "date", "datetime", "camel", "initially", "via",
    "keys", "table", "initial", "self",
})  # fmt: skip
GENERIC = frozenset({"", "META", "METADATA", "ROOT", "INFO", "ITEM", "DATA"})
TECHNICAL = re.compile(
    r"(?i:(pk|sk|hash|range|partition_?key|sort_?key))|(?i:gsi|lsi|idx)[_-]?\d*.*|.*[_-](?i:pk|sk|key|shard)|"
    r".*[a-z0-9](Pk|Sk|PK|SK|Key|Shard)\d*"
)


def is_technical(attr: str) -> bool:
    """Return whether a key attribute has a name that says nothing about its content."""
    return TECHNICAL.fullmatch(attr) is not None


def snake(name: str) -> str:
    """Return a name in snake_case."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    return re.sub(r"\W+", "_", spaced, flags=re.ASCII).strip("_").lower()


def is_camel(attrs: Iterable[str]) -> bool:
    """Return whether attributes are named in camelCase."""
    named = [attr for attr in attrs if not is_technical(attr)]
    camel_cased = [attr for attr in named if re.search("[a-z0-9][A-Z]", attr) and camel(snake(attr)) == attr]
    snake_cased = [attr for attr in named if "_" in attr.strip("_")]
    return len(camel_cased) > len(snake_cased)


def name_field(attr: str, taken: Iterable[str] = ()) -> str:
    """Return the name of the field of an attribute."""
    name = snake(attr) or "field"
    if name[0].isdigit():
        name = f"field_{name}"
    if keyword.iskeyword(name) or name in TAKEN or hasattr(View, name) or name.startswith("model_"):
        name = f"{name}_" if not name.startswith("model_") else f"the_{name}"
    return unique(name, taken)


def unique(name: str, taken: Iterable[str], by: str = "_") -> str:
    """Return a name that is not taken: this one, or with a number."""
    names = set(taken)
    return name if name not in names else next(one for n in range(2, 10_000) if (one := f"{name}{by}{n}") not in names)


def common_words(names: list[str]) -> str:
    """Return the words that all names start with, without the last word of any."""
    same = itertools.takewhile(
        lambda words: len(set(words)) == 1, zip(*(name.split("_")[:-1] for name in names), strict=False)
    )
    return "_".join(words[0] for words in same)


def pascal(text: str) -> str:
    """Return a text as the name of a class."""
    words = [word for word in re.split(r"[^A-Za-z0-9]+", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", text)) if word]
    name = "".join(word[:1].upper() + (word[1:].lower() if word.isupper() else word[1:]) for word in words)
    return f"The{name}" if not name or name[0].isdigit() or keyword.iskeyword(name) else name


def singular(name: str) -> str:
    """Return an English plural as the singular, in the regular cases."""
    for ending, replacement in (("ies", "y"), ("sses", "ss"), ("xes", "x"), ("ches", "ch"), ("ss", "ss"), ("s", "")):
        if name.endswith(ending) and len(name) > len(ending) + 1:
            return name[: -len(ending)] + replacement
    return name


def plural(name: str) -> str:
    """Return the plural of an English noun, in the regular cases; a number stays at the end, a plural gets "all"."""
    noun = name.rstrip("0123456789")
    if noun and noun != name:
        return plural(noun) + name[len(noun) :]
    if name.endswith("s") and not name.endswith(("ss", "us", "is", "as")):
        return f"all_{name}"
    if name.endswith("y") and name[-2:-1] not in {"a", "e", "o", "u"}:
        return f"{name[:-1]}ies"
    return f"{name}es" if name.endswith(("s", "x", "ch", "sh")) else f"{name}s"


def name_item(prefixes: list[str], table: str) -> str:
    """Return the name of a class by the prefixes of its keys, the last that says something; else by its table."""
    words = [prefix.rstrip("#") for prefix in prefixes]
    word = next((word for word in reversed(words) if word.upper() not in GENERIC), "")
    return pascal(word) if word else pascal(singular(re.split(r"[^A-Za-z0-9]+", table.strip("-_."))[-1]))
