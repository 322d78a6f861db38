#!/usr/bin/env python3
"""Writes docs/reference/declaration-errors.md from src/hashrange/schema/declaration_errors.toml: `make docs`."""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "hashrange" / "schema" / "declaration_errors.toml"
PAGE = ROOT / "docs" / "reference" / "declaration-errors.md"
IMPORTS = """\
from datetime import datetime
from typing import Annotated, Literal, Protocol

from hashrange import *
from pydantic import BaseModel, Field
"""
HEAD = f"""\
# Declaration errors

hashrange checks declarations when they are imported. A declaration that cannot work raises a `DeclarationError`.
Its text starts with one of the codes below, then names the location, the problem and the remedy: `error.code`,
`error.location`, `error.problem` and `error.remedy`. `YourPatterns.lint()` reports declarations that work but have
a cost or a risk (HR4xx).

In each example, replace the lines with `-` by the lines with `+`. The tests execute both versions. Every example
starts with these imports:

```python
{IMPORTS}```
"""
SECTIONS = {"HR1": "Tables and items", "HR2": "Patterns", "HR3": "Consumers", "HR4": "Findings of lint()"}
FIRST_OF_PATTERNS = "HR196"  # four checks of a pattern's form were numbered before HR200


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A code, its explanation and its example: the wrong program has the lines with `-`, the right one `+`."""

    code: str
    title: str
    text: str
    example: str

    @property
    def section(self) -> str:
        """Return the heading under which the page lists the code."""
        return SECTIONS["HR2" if FIRST_OF_PATTERNS <= self.code < "HR200" else self.code[:3]]

    @property
    def wrong(self) -> str:
        """Return the program that raises or reports the code."""
        return self._select("-")

    @property
    def right(self) -> str:
        """Return the program that does not."""
        return self._select("+")

    def _select(self, sign: str) -> str:
        lines = self.example.splitlines()
        return "".join(f"{line[2:]}\n" for line in lines if line[:1] in {"", " ", sign})


def read_entries() -> dict[str, Entry]:
    """Return the entries by code, in the order of the file."""
    return {code: Entry(code=code, **members) for code, members in tomllib.loads(SOURCE.read_text("utf-8")).items()}


def render(entries: dict[str, Entry]) -> str:
    """Return the page."""
    return (
        HEAD + "".join(line + "\n" for line in _render_lists(entries)) + "".join(map(_render_entry, entries.values()))
    )


def _render_lists(entries: dict[str, Entry]) -> Iterator[str]:
    for section in SECTIONS.values():
        yield from ("", f"## {section}", "", "| code | meaning |", "|---|---|")
        for entry in entries.values():
            if entry.section == section:
                yield f"| [{entry.code}](#{entry.code.lower()}) | {entry.title} |"
    yield from ("", "## Codes")


def _render_entry(entry: Entry) -> str:
    begins_with_code = re.match(r"\w+[=(]", entry.title) is not None
    title = entry.title if begins_with_code else entry.title[0].upper() + entry.title[1:]
    return f"\n### {entry.code}\n\n**{title}.** {entry.text}\n\n```diff\n{entry.example}```\n"


def main() -> None:
    """Write the page, or with `--check` fail when it is out of date."""
    text = render(read_entries())
    if "--check" not in sys.argv:
        PAGE.write_text(text, "utf-8")
    elif not PAGE.exists() or PAGE.read_text("utf-8") != text:
        sys.exit(f"{PAGE.relative_to(ROOT)} is out of date: run make docs")


if __name__ == "__main__":
    main()
