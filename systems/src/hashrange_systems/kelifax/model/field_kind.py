"""The kinds of fields that the content of a resource has; `content` lists the fields.

A kind says how a value is asked for, checked, described, stored, shown, and read back from an item that cannot be read.
`stored` is the type that `schema` declares. What the original system does not have is stored as a set, which is not
stored while it is empty, so that items without it stay as the original makes them: `added(...)` does so with one text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from typing_extensions import TypedDict

from hashrange import Commas, JsonPipes, Pipes
from hashrange_systems.kelifax.model.field_rule import FILE_NAME, MAX_LESSONS, MAX_NAME, MAX_TITLE, MAX_URL, Checker
from hashrange_systems.kelifax.model.stored_list import normalise_tags, split_lines, split_tags, strip_all
from hashrange_systems.kelifax.model.web_address import warn_of_host

Control = Literal["text", "url", "area", "select", "tags", "ticks", "file", "lines", "lessons"]  # of a form
Look = Literal["text", "link", "words", "tags", "list", "points", "lessons"]  # on pages
Parse = Callable[[Checker, Mapping[str, Any], str], Any]  # the form's section, and the name of the field in it


class Lesson(TypedDict):
    """Where a resource can be learned."""

    title: str
    url: str
    type: str  # documentation, tutorial, video, course


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldKind:
    """What is true of all fields of a kind; the value of a list is a tuple, that of an absent optional text None."""

    control: Control
    look: Look
    stored: Any  # the type of the attribute
    stored_rule: str = "must be a text"  # which a stored value breaks that cannot be read
    shown: Any  # the type of the value in JSON
    empty: Any
    limits: str  # the rule as a form explains it
    more_rules: str = ""  # what the documentation adds to it
    form_schema: Mapping[str, Any]  # the JSON schema of the value in a form
    options: tuple[str, ...] = ()  # the words that a form offers
    length: range  # characters of a text, or of each in a list
    amount: range = range(1)  # entries of a list
    required: bool
    parse: Parse  # notes what is wrong
    warn: Callable[[Any], str | None] = lambda _value: None  # what moderators should know about a valid value
    load: Callable[[Any], Any]  # a stored attribute, also one that the rules would refuse
    dump: Callable[[Any], Any]  # what is stored
    recover: Callable[[object], Any]  # as much of an attribute of any type as can be read
    show: Callable[[Any], Any]  # with JSON types
    words: Callable[[Any], Sequence[str]]  # the texts of a value
    keys: Callable[[Any], Sequence[str]]  # the same, as filters compare them


# ── one text ─────────────────────────────────────────────────────────────────────────────────────────────────────────
def text(length: range, *, lines: bool = False, required: bool = True) -> FieldKind:
    """A text of so many characters, on one line unless it has `lines`."""
    return _one_text(
        lambda check, given, name: check.text(given, name, length, lines=lines),
        control="area" if lines else "text",
        limits=f"{length[0]} to {length[-1]} characters",
        schema={"minLength": length[0], "maxLength": length[-1]},
        length=length,
        required=required,
    )


def web_address(*, required: bool = True) -> FieldKind:
    """The address of a public page."""
    kind = _one_text(
        lambda check, given, name: check.url(given, name),
        control="url",
        look="link",
        limits="`http` or `https`, a public host",
        schema={"format": "uri", "maxLength": MAX_URL},
        length=range(1, MAX_URL + 1),
        required=required,
    )
    more = "; hosts with look-alike letters are a warning for moderators, and shown in punycode"
    return replace(kind, more_rules=more, warn=lambda value: warn_of_host(value) if value else None)


def choice(words: tuple[str, ...], *, required: bool = True) -> FieldKind:
    """One of several words; other programs may have stored another."""
    kind = _one_text(
        lambda check, given, name: check.choice(given, name, words),
        control="select",
        look="words",
        limits=", ".join(words),
        schema={"enum": [*words, *([] if required else [None])]},
        length=range(1, max(map(len, words)) + 1),
        required=required,
    )
    return replace(kind, options=words)


def uploaded_logo() -> FieldKind:
    """The name of a logo that was uploaded before: never a path."""
    return _one_text(
        lambda check, given, name: check.file_name(given, name),
        control="file",
        limits="the name of an uploaded logo, or null",
        schema={"pattern": f"^{FILE_NAME.pattern}$", "maxLength": MAX_NAME},
        length=range(1, MAX_NAME + 1),
        required=False,
    )


def added(kind: FieldKind) -> FieldKind:
    """A text that the original system does not have: stored as a set of at most one."""
    return replace(
        kind,
        stored=set[str],
        stored_rule="must be a set of texts",
        load=lambda stored: next(iter(sorted(stored)), kind.empty),
        dump=lambda value: {value} if value else set(),
    )


def _one_text(
    parse: Parse,
    *,
    control: Control,
    limits: str,
    schema: Mapping[str, Any],
    required: bool,
    length: range,
    look: Look = "text",
) -> FieldKind:
    empty = "" if required else None

    def parse_given(check: Checker, given: Mapping[str, Any], name: str) -> Any:
        return parse(check, given, name) if required or given.get(name) not in (None, "") else None

    return FieldKind(
        control=control,
        look=look,
        stored=str if required else str | None,
        shown=str if required else str | None,
        empty=empty,
        limits=limits,
        form_schema={"type": "string" if required else ["string", "null"], **schema},
        length=length,
        required=required,
        parse=parse_given,
        load=_keep,
        dump=_keep,
        recover=lambda stored: next(iter(read_texts(stored)), "") or empty,
        show=_keep,
        words=_list_text,
        keys=_list_text,
    )


def _keep(value: Any) -> Any:
    return value


def _list_text(value: str | None) -> Sequence[str]:
    return (value,) if value else ()


# ── lists ────────────────────────────────────────────────────────────────────────────────────────────────────────────
def lines(amount: range, length: range) -> FieldKind:
    """So many texts of so many characters, stored with pipes between them."""
    kind = _list(
        lambda check, given, name: check.texts(given, name, amount, length, without="|"),
        amount,
        control="lines",
        look="list",
        limits=f"{amount[0]} to {amount[-1]}, each {length[0]} to {length[-1]} characters",
        entry={"type": "string", "minLength": length[0], "maxLength": length[-1]},
        length=length,
    )
    recover = _recover_texts(split_lines)
    return replace(kind, stored=Pipes[str], more_rules=", without `\\|`", recover=recover)


def tags(most: int, longest: int) -> FieldKind:
    """At most so many words of at most so many characters, stored with commas between them."""
    amount, length = range(most + 1), range(1, longest + 1)
    kind = _list(
        lambda check, given, name: check.texts(given, name, amount, length, without=",|"),
        amount,
        control="tags",
        look="tags",
        limits=f"up to {most}",
        entry={"type": "string", "minLength": 1, "maxLength": longest},
        length=length,
    )
    more = f", each at most {longest} characters, without `,` and `\\|`"
    recover = _recover_texts(split_tags)
    return replace(kind, stored=Commas[str], more_rules=more, recover=recover, keys=normalise_tags)


def choices(words: tuple[str, ...]) -> FieldKind:
    """Some of several words; the original system has none, so that they are stored as a set."""
    kind = _list(
        lambda check, given, name: check.choices(given, name, words),
        range(len(words) + 1),
        control="ticks",
        look="words",
        limits=f"some of: {', '.join(words)}",
        entry={"enum": list(words)},
        length=range(1, max(map(len, words)) + 1),
    )
    return replace(
        kind,
        stored=set[str],
        stored_rule="must be a set of texts",
        options=words,
        load=lambda stored: tuple(sorted(stored)),
        dump=set,
        recover=lambda stored: tuple(sorted(read_texts(stored))),
        show=sorted,
    )


def lessons(types: tuple[str, ...]) -> FieldKind:
    """Pages, courses or videos, stored as JSON with pipes between them."""
    kind = _list(
        lambda check, given, name: check.lessons(given, name, types),
        range(MAX_LESSONS + 1),
        control="lessons",
        look="lessons",
        limits=f"up to {MAX_LESSONS}",
        entry={
            "type": "object",
            "properties": {
                "title": {"type": "string", "minLength": 1, "maxLength": MAX_TITLE},
                "url": {"type": "string", "format": "uri", "maxLength": MAX_URL},
                "type": {"enum": list(types)},
            },
            "required": ["title", "url", "type"],
            "additionalProperties": False,
        },
        length=range(1, MAX_TITLE + 1),
    )
    return replace(
        kind,
        stored=JsonPipes[Lesson],
        stored_rule="must be JSON objects with title, url and type, joined by pipes",
        shown=list[Lesson],
        more_rules=f", with `title` ({MAX_TITLE} characters), `url` and `type`: {', '.join(types)}",
        options=types,
        load=_copy_lessons,
        dump=lambda value: list(_copy_lessons(value)),
        recover=lambda _stored: (),  # what cannot be read is shown as it is stored
        show=lambda value: list(_copy_lessons(value)),
        words=lambda value: tuple(lesson["title"] for lesson in value),
    )


def _list(
    parse: Parse, amount: range, *, control: Control, look: Look, limits: str, entry: Mapping[str, Any], length: range
) -> FieldKind:
    bounds = {"minItems": amount[0]} if amount[0] else {}
    return FieldKind(
        control=control,
        look=look,
        stored=list[str],
        shown=list[str],
        empty=(),
        limits=limits,
        form_schema={"type": "array", "items": entry, **bounds, "maxItems": amount[-1]},
        length=length,
        amount=amount,
        required=bool(amount[0]),
        parse=parse,
        load=strip_all,
        dump=list,
        recover=lambda stored: tuple(read_texts(stored)),
        show=list,
        words=tuple,
        keys=tuple,
    )


def _recover_texts(split: Callable[[str], list[str]]) -> Callable[[object], tuple[str, ...]]:
    """Return what reads a list that is stored as one text."""
    return lambda stored: tuple(split(stored)) if isinstance(stored, str) else ()


def _copy_lessons(value: Sequence[Mapping[str, str]]) -> tuple[dict[str, str], ...]:
    return tuple(dict(lesson) for lesson in value)


def read_texts(value: object) -> list[str]:
    """Return a stored text, or the texts of a set or list; none of anything else."""
    if isinstance(value, str):
        return [value]
    return [each for each in value if isinstance(each, str)] if isinstance(value, set | frozenset | list) else []
