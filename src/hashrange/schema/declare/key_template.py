"""Key templates such as `SHOP#{domain}`: fixed text and fields, each in a format of `key_format`."""

from __future__ import annotations

import re
from functools import cache, cached_property

from msgspec import Struct

from hashrange.schema.declare.key_format import PLAIN, KeyFormat, find_format

FIELD = re.compile(r"\{(\w+)(?::([\w.+]+))?\}")
HIGHEST = "\U0010ffff"  # sorts after every other text


class TemplatePart(Struct, frozen=True):
    """Fixed text, then a field in a format; the last part of a template has no field."""

    literal: str
    field: str = ""
    format_name: str = ""

    @property
    def format(self) -> KeyFormat:
        """The format; that of a field without one if there is none of this name, which the checks refuse."""
        return find_format(self.format_name) or PLAIN


class Template(Struct, frozen=True, eq=False, dict=True):
    """A parsed key template; equal texts give the same object."""

    text: str
    parts: tuple[TemplatePart, ...]
    fields: tuple[str, ...]  # in order
    alone: str  # the field that is the whole key, so that the key has its type; or nothing
    recoverable: frozenset[str]  # the fields that can be read back from a key

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """The regular expression of the keys of this template."""
        return re.compile("".join(map(_as_pattern, self.parts)), re.DOTALL)

    @property
    def prefix(self) -> str:
        """The fixed text it starts with."""
        return self.parts[0].literal

    def parse(self, key: str) -> dict[str, str] | None:
        """Return the texts of the fields inside a key, or None when the key has another form."""
        found = self.pattern.fullmatch(key)
        return found.groupdict() if found else None


@cache
def read_template(text: str) -> Template:
    """Return the template of a text."""
    parts: list[TemplatePart] = []
    at = 0
    for match in FIELD.finditer(text):
        parts.append(TemplatePart(text[at : match.start()], match[1], match[2] or ""))
        at = match.end()
    fields = tuple(part.field for part in parts)
    return Template(
        text=text,
        parts=(*parts, TemplatePart(text[at:])),
        fields=fields,
        alone=fields[0] if len(fields) == 1 and text == f"{{{fields[0]}}}" else "",
        recoverable=frozenset(part.field for part in parts if part.format is PLAIN or part.format.read is not None),
    )


def _as_pattern(part: TemplatePart) -> str:
    literal = re.escape(part.literal)
    if not part.field:
        return literal
    return f"{literal}(?P<{part.field}>{part.format.pattern})"
