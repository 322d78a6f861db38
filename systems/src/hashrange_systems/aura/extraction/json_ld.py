"""Parses JSON-LD one block at a time, so that a broken block does not affect the others.

Shops write blocks with comments, CDATA, entities, semicolons, commas too many, and line breaks inside strings.
"""

from __future__ import annotations

import html
import json
import re
from dataclasses import dataclass
from typing import Any

MAX_DEPTH = 100  # of nested values; json recurses
MAX_BLOCKS = 100

BEFORE = re.compile(r"(?:\s|\ufeff|//|/\*|\*/|<!--|<!\[CDATA\[)*")
AFTER = re.compile(r"(?:\s|//|/\*|\*/|-->|\]\]>|;)*")
TOKEN = re.compile(r'"(?:[^"\\]+|\\.)*"?|[\[{\]}]', re.DOTALL)
SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
COMMA_TOO_MANY = re.compile(r'("(?:[^"\\]+|\\.)*"?)|,(\s*[}\]])', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Block:
    """A block of JSON-LD: its value, or why it has none."""

    value: Any = None
    problem: str | None = None


def parse_block(text: str) -> Block:
    """Return the value of a block, mending what shops commonly get wrong."""
    text = strip_wrapping(text)
    if not text:
        return Block(problem="is empty")
    if is_too_deep(text):
        return Block(problem=f"is nested more than {MAX_DEPTH} deep")
    problem = ""
    for attempt in (text, drop_commas(text), html.unescape(text)):
        try:
            value = json.loads(attempt, strict=False, parse_int=str, parse_float=str, parse_constant=str)
            return Block(replace_surrogates(value) if SURROGATE.search(attempt) else value)
        except ValueError as error:  # the first message is that of the text as it is
            problem = problem or f"is not JSON: {error}"
    return Block(problem=problem)


def strip_wrapping(text: str) -> str:
    """Return the text without comments and CDATA marks around it."""
    before = BEFORE.match(text)
    text = text[before.end() :] if before else text
    for mark in ("}", "]"):  # the marks after an object contain a bracket themselves
        end = text.rfind(mark) + 1
        if end and AFTER.fullmatch(text, end):
            return text[:end]
    return text


def is_too_deep(text: str) -> bool:
    """Return whether the brackets outside strings are nested too deeply."""
    if text.count("{") + text.count("[") <= MAX_DEPTH:
        return False
    depth = 0
    for match in TOKEN.finditer(text):
        if match[0] in "[{":
            depth += 1
            if depth > MAX_DEPTH:
                return True
        elif match[0] in "]}":
            depth -= 1
    return False


def drop_commas(text: str) -> str:
    """Return the text without commas before a closing bracket."""
    return COMMA_TOO_MANY.sub(lambda match: match[1] or match[2], text)


def replace_surrogates(value: Any) -> Any:
    """Return a value whose texts can be encoded: halves of a pair become U+FFFD."""
    if isinstance(value, str):
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if isinstance(value, list):
        return [replace_surrogates(each) for each in value]
    if isinstance(value, dict):
        return {replace_surrogates(name): replace_surrogates(each) for name, each in value.items()}
    return value
