"""Splits an expression's text into tokens with their offsets, and makes the syntax error for an unexpected token."""

from __future__ import annotations

import re
from typing import NamedTuple

from hashrange.expr.errors import ExpressionError

TOKEN = re.compile(
    r"""[ \t\r\n]+
      | (?P<name>[A-Za-z][A-Za-z0-9_]*)
      | (?P<reference>\#[A-Za-z0-9_]+)
      | (?P<placeholder>:[A-Za-z0-9_]+)
      | (?P<index>0|[1-9][0-9]*)
      | (?P<symbol><>|<=|>=|[=<>+\-()\[\],.])
      | (?P<bad>.)
    """,
    re.VERBOSE | re.DOTALL,
)
# Keywords in every kind of expression, in upper or lower case; none of them can be an attribute name.
KEYWORDS = frozenset({"AND", "OR", "NOT", "BETWEEN", "IN", "SET", "REMOVE", "ADD", "DELETE"})
END = "end"


class Token(NamedTuple):
    """A token; the kind of a keyword is the keyword in upper case, the kind of a symbol is the symbol."""

    kind: str
    text: str
    start: int
    end: int


class Tokens:
    """The tokens of a text, and a position in them."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = [_make_token(match.lastgroup, match) for match in TOKEN.finditer(text) if match.lastgroup]
        self._tokens.append(Token(END, "<EOF>", len(text), len(text)))
        self._at = 0
        self.kind = self._tokens[0].kind

    def next_kind(self) -> str:
        """Return the kind of the token after the current one; the current one must not be the end."""
        return self._tokens[self._at + 1].kind

    def take(self) -> Token:
        """Return the current token and advance."""
        token = self._tokens[self._at]
        self._at += 1
        self.kind = self._tokens[self._at].kind
        return token

    def accept(self, kind: str) -> bool:
        """Advance if the current token is of a kind; tell whether it is."""
        if self.kind != kind:
            return False
        self.take()
        return True

    def expect(self, kind: str) -> str:
        """Return the text of the current token and advance, or raise the syntax error if it is of another kind."""
        if self.kind != kind:
            raise self.syntax_error()
        return self.take().text

    def syntax_error(self) -> ExpressionError:
        """Return the error for the current token; its text quotes the tokens around it."""
        token = self._tokens[self._at]
        start = self._tokens[self._at - 1].start if self._at else token.start
        end = self._tokens[self._at - 1].end if token.kind == END and self._at else self._end_of_next()
        return ExpressionError(f'Syntax error; token: "{token.text}", near: "{self._text[start:end]}"')

    def _end_of_next(self) -> int:
        token = self._tokens[min(self._at + 1, len(self._tokens) - 1)]
        return self._tokens[self._at].end if token.kind == END else token.end


def _make_token(kind: str, match: re.Match[str]) -> Token:
    text = match[0]
    if kind == "symbol":
        kind = text
    elif kind == "name" and text.upper() in KEYWORDS:
        kind = text.upper()
    return Token(kind, text, match.start(), match.end())
