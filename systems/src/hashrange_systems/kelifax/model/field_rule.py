"""The rules of single fields. A `Checker` collects what is wrong instead of stopping at the first error.

A method returns the value in its normal form, and something empty for a wrong one: whoever reads `errors` first never
uses it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import phonenumbers
from disposable_email_domains import blocklist
from email_validator import EmailNotValidError, validate_email

from hashrange_systems.kelifax.model.web_address import explain_resource_url
from hashrange_systems.shared.errors import FieldError
from hashrange_systems.shared.text import is_unseen
from hashrange_systems.shared.user_url import explain_url

PERSON_NAME = re.compile(r"[^\W\d_]+([ .'\u2019-]+[^\W\d_]+)*\.?")
MARKS = frozenset({"Mn", "Mc"})  # vowels and tones that many scripts write as signs of their own
PHONE = re.compile(r"[+0-9][0-9 ()./-]{3,29}", re.ASCII)
MAX_NAME = 100  # of a file
FILE_NAME = re.compile(rf"\w[\w.-]{{0,{MAX_NAME - 1}}}")
HIDDEN = frozenset("\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180e\u200b\u2028\u2029\u2060\u2061\u2062\u2063\u2064\u3164")
MAX_TEXT = 5000  # of a value that is looked at at all
MAX_LESSONS = 5
MAX_TITLE = 100  # of a lesson
MAX_URL = 2000
MAX_UNKNOWN = 20  # fields that do not belong into a form and are named


@dataclass(frozen=True, slots=True)
class EmailAddress:
    """A valid address, and its domain as the parser finds it."""

    text: str
    domain: str


@dataclass(slots=True)
class Checker:
    """Checks the fields of a form, section by section."""

    section: str = ""
    errors: list[FieldError] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def refuse(self, name: str, message: str) -> None:
        """Note an error of a field."""
        self.errors.append(FieldError(f"{self.section}.{name}" if self.section else name, message))

    # ── the form ─────────────────────────────────────────────────────────────────────────────────────────────────────
    def read_sections(self, form: object, known: Mapping[str, frozenset[str]]) -> dict[str, Mapping[str, Any]]:
        """Return the sections of a form; what is not in it is empty, and what does not belong there is an error."""
        given = form if isinstance(form, Mapping) else {}
        if not isinstance(form, Mapping):
            self.refuse("form", f"must be an object with {', '.join(known)}")
        for name in find_unknown(given, known):
            self.refuse(name, "is not a part of the form")
        return {name: self._read_section(name, given.get(name), fields) for name, fields in known.items()}

    def _read_section(self, name: str, given: object, fields: frozenset[str]) -> Mapping[str, Any]:
        if not isinstance(given, Mapping):
            if given is not None:
                self.refuse(name, "must be an object")
            return {}
        for each in find_unknown(given, fields):
            self.refuse(f"{name}.{each}", "is not a field of the form")
        return given

    # ── texts ────────────────────────────────────────────────────────────────────────────────────────────────────────
    def text(
        self, given: Mapping[str, Any], name: str, length: range, *, lines: bool = False, without: str = ""
    ) -> str:
        """Return a required text; `lines` allows line breaks."""
        value = given.get(name)
        if value is None or value == "":
            self.refuse(name, "is required")
            return ""
        return self._text(name, value, length, lines=lines, without=without)

    def optional_text(self, given: Mapping[str, Any], name: str, longest: int) -> str | None:
        """Return a text that may be left out."""
        value = given.get(name)
        return None if value is None or value == "" else self._text(name, value, range(1, longest + 1)) or None

    def _text(self, name: str, value: object, length: range, *, lines: bool = False, without: str = "") -> str:
        if not isinstance(value, str):
            self.refuse(name, "must be text")
            return ""
        text = tidy(value)
        if problem := explain_text(text, length, without, lines=lines):
            self.refuse(name, problem)
            return ""
        return text

    def name(self, given: Mapping[str, Any], name: str) -> str:
        """Return the name of a person: letters of any script, spaces, hyphens, apostrophes and dots."""
        text = self.text(given, name, range(2, 51))
        if text and not is_person_name(text):
            self.refuse(name, "must have only letters, spaces and - ' .")
        return text

    def texts(
        self, given: Mapping[str, Any], name: str, amount: range, length: range, without: str = ""
    ) -> tuple[str, ...]:
        """Return a list of texts, each once."""
        values = self._list(given, name, amount)
        found = [self._text(f"{name}[{at}]", value, length, without=without) for at, value in enumerate(values)]
        folded = [text.casefold() for text in found if text]
        if len(set(folded)) < len(folded):
            self.refuse(name, "must not repeat an entry")
        return tuple(found)

    def _list(self, given: Mapping[str, Any], name: str, amount: range) -> Sequence[Any]:
        values = given.get(name)
        values = [] if values is None else values
        if not isinstance(values, list | tuple):
            self.refuse(name, "must be a list")
            return []
        if len(values) not in amount:
            fewest, most = amount[0], amount[-1]
            self.refuse(name, f"must have {f'{fewest} to {most}' if fewest else f'at most {most}'} entries")
        return values[: amount[-1] + 1]

    # ── choices ──────────────────────────────────────────────────────────────────────────────────────────────────────
    def choice(self, given: Mapping[str, Any], name: str, allowed: Sequence[str]) -> str:
        """Return one of several words."""
        value = given.get(name)
        if isinstance(value, str) and value in allowed:
            return value
        missing = value is None or value == ""
        self.refuse(name, "is required" if missing else f"must be one of {', '.join(allowed)}")
        return ""

    def choices(self, given: Mapping[str, Any], name: str, allowed: Sequence[str]) -> tuple[str, ...]:
        """Return some of several words, in their own order."""
        values = self._list(given, name, range(len(allowed) + 1))
        if any(value not in allowed for value in values):
            self.refuse(name, f"must be some of {', '.join(allowed)}")
            return ()
        return tuple(word for word in allowed if word in values)

    # ── addresses ────────────────────────────────────────────────────────────────────────────────────────────────────
    def email(self, given: Mapping[str, Any], name: str) -> EmailAddress | None:
        """Return an e-mail address; its domain must not be one of throw-away addresses."""
        text = self.text(given, name, range(3, 255))
        if not text:
            return None
        try:
            parsed = validate_email(text, check_deliverability=False, allow_smtputf8=True)
        except EmailNotValidError:
            self.refuse(name, "must be an e-mail address such as ann@example.com")
            return None
        if is_throw_away(parsed.ascii_domain):
            self.refuse(name, "must not be a throw-away address")
        return EmailAddress(parsed.normalized, parsed.domain)

    def phone(self, given: Mapping[str, Any], name: str) -> str | None:
        """Return a telephone number; one that no country has is kept, with a warning for moderators."""
        text = self.optional_text(given, name, 30)
        if text is None:
            return None
        if not PHONE.fullmatch(text):
            self.refuse(name, "must be a telephone number such as +49 30 123456")
            return None
        self.warnings += [warning for warning in [warn_of_phone(text)] if warning]
        return text

    def url(self, given: Mapping[str, Any], name: str) -> str:
        """Return the URL of a resource: public, http or https."""
        text = self.text(given, name, range(1, MAX_URL + 1))
        if text and (problem := explain_resource_url(text)):
            self.refuse(name, problem)
        return text

    def file_name(self, given: Mapping[str, Any], name: str) -> str | None:
        """Return the name of an uploaded logo: never a path."""
        value = given.get(name)
        if value is None or value == "":
            return None
        if not isinstance(value, str) or not FILE_NAME.fullmatch(value):
            self.refuse(name, "must be the name of an uploaded logo")
            return None
        return value

    def lessons(self, given: Mapping[str, Any], name: str, types: Sequence[str]) -> tuple[dict[str, str], ...]:
        """Return learning resources: a title, a URL and a type each."""
        values = self._list(given, name, range(MAX_LESSONS + 1))
        return tuple(self._lesson(f"{name}[{at}]", value, types) for at, value in enumerate(values))

    def _lesson(self, name: str, value: object, types: Sequence[str]) -> dict[str, str]:
        if not isinstance(value, Mapping) or not set(value) <= {"title", "url", "type"}:
            self.refuse(name, "must be an object with title, url and type")
            return {}
        outer, self.section = self.section, f"{self.section}.{name}"
        title = self.text(value, "title", range(1, MAX_TITLE + 1))
        url = self.text(value, "url", range(1, MAX_URL + 1))
        if url and (problem := explain_url(url)):
            self.refuse("url", problem)
        kind = self.choice(value, "type", types)
        self.section = outer
        return {"title": title, "url": url, "type": kind}


def warn_of_phone(text: str) -> str | None:
    """Return a warning for moderators if no country has this telephone number."""
    try:
        valid = phonenumbers.is_valid_number(phonenumbers.parse(text, None))
    except phonenumbers.NumberParseException:
        valid = False
    return None if valid else "The telephone number is not one that a country has."


def is_person_name(text: str) -> bool:
    """Return whether a text can be the name of a person; the signs that a script puts on its letters belong to them."""
    bare: list[str] = []
    for sign in text:
        if unicodedata.category(sign) not in MARKS:
            bare.append(sign)
        elif not bare or not bare[-1].isalpha():
            return False
    return bool(PERSON_NAME.fullmatch("".join(bare)))


def is_throw_away(domain: str) -> bool:
    """Return whether a domain, or one that it belongs to, gives out throw-away addresses."""
    labels = domain.lower().split(".")
    return any(".".join(labels[at:]) in blocklist for at in range(len(labels)))


def find_unknown(given: Mapping[str, Any], known: Collection[str]) -> list[str]:
    """Return the first names that are not known, shortened."""
    unknown = (str(name)[:50] for name in given if name not in known)
    return list(islice(unknown, MAX_UNKNOWN))


def tidy(value: str) -> str:
    """Return a text in NFC, without spaces around it and around its lines."""
    text = unicodedata.normalize("NFC", value[:MAX_TEXT]) if value.isprintable() else value[:MAX_TEXT]
    return "\n".join(line.strip() for line in text.replace("\r\n", "\n").split("\n")).strip()


def explain_text(text: str, length: range, without: str = "", *, lines: bool = False) -> str | None:
    """Return why a text cannot be stored; None if it can."""
    if any(sign != "\n" and (is_unseen(sign) or sign in HIDDEN) for sign in text):
        return "must not contain invisible characters"
    if "\n" in text and not lines:
        return "must be one line"
    forbidden = next((sign for sign in without if sign in text), None)
    if forbidden:
        return f"must not contain {forbidden}"
    if len(text) not in length:
        shortest, longest = length[0], length[-1]
        return (
            f"must have {shortest} to {longest} characters"
            if shortest > 1
            else f"must have at most {longest} characters"
        )
    return None
