"""A finding about a declaration that works but has a cost or a risk. The rules are in `schema.lint_rules`."""

from __future__ import annotations

from msgspec import Struct


class Lint(Struct, frozen=True):
    """One finding: a code, the location, and a text."""

    code: str
    location: str
    text: str

    def __str__(self) -> str:
        return f"{self.code} {self.location}: {self.text}"
