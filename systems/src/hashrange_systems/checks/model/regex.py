"""Regular expressions from users: RE2 only, whose time is linear in the text, with bounded length and memory."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import re2  # type: ignore[import-untyped]

MAX_PATTERN_LENGTH = 500
MAX_MEMORY = 1 << 20


def explain_regex(pattern: str) -> str | None:
    """Return why the regex cannot be used; None if it can."""
    if len(pattern) > MAX_PATTERN_LENGTH:
        return f"must be at most {MAX_PATTERN_LENGTH} characters"
    try:
        compile_regex(pattern)
    except re2.error as error:
        return (
            f"is not a regular expression of RE2 (which has no look-around and no back-references): {read_error(error)}"
        )
    return None


def search_regex(pattern: str, text: str) -> bool:
    """Return whether the regex matches anywhere in the text."""
    return compile_regex(pattern).search(text) is not None


@lru_cache(maxsize=1024)
def compile_regex(pattern: str) -> Any:
    """Compile a regex, cached; RE2 raises if it is invalid or needs too much memory."""
    options = re2.Options()
    options.log_errors = False
    options.max_mem = MAX_MEMORY
    return re2.compile(pattern, options)


def read_error(error: Exception) -> str:
    """Return the message of an RE2 error, which may be bytes."""
    said = error.args[0] if error.args else b""
    return said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)
