"""Regular expressions from users: RE2 only, whose time is linear in the text, with bounded length and memory."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import re2  # type: ignore[import-untyped]

LONGEST_PATTERN = 500
MOST_MEMORY = 1 << 20


def explain_pattern(pattern: str) -> str | None:
    """Return why the pattern cannot be used, or None when it can."""
    if len(pattern) > LONGEST_PATTERN:
        return f"must be at most {LONGEST_PATTERN} characters"
    try:
        compile_pattern(pattern)
    except re2.error as error:
        return (
            f"is not a regular expression of RE2 (which has no look-around and no back-references): {read_error(error)}"
        )
    return None


def search_pattern(pattern: str, text: str) -> bool:
    """Whether the pattern occurs in the text."""
    return compile_pattern(pattern).search(text) is not None


@lru_cache(maxsize=1024)
def compile_pattern(pattern: str) -> Any:
    """Compile a pattern once; RE2 raises when it breaks the rules or needs too much memory."""
    options = re2.Options()
    options.log_errors = False
    options.max_mem = MOST_MEMORY
    return re2.compile(pattern, options)


def read_error(error: Exception) -> str:
    """Return what RE2 says, which it says in bytes."""
    said = error.args[0] if error.args else b""
    return said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)
