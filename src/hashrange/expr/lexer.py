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
# Keywords in every type of expression, in upper or lower case; none of them can be an attribute name.
KEYWORDS = frozenset({"AND", "OR", "NOT", "BETWEEN", "IN", "SET", "REMOVE", "ADD", "DELETE"})
END = "end"


class Token(NamedTuple):
    """A token; the type of a keyword is the keyword in upper case, the type of a symbol is the symbol."""

    type: str
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
        self.type = self._tokens[0].type

    def next_type(self) -> str:
        """Return the type of the token after the current one; the current one must not be the end."""
        return self._tokens[self._at + 1].type

    def take(self) -> Token:
        """Return the current token and advance."""
        token = self._tokens[self._at]
        self._at += 1
        self.type = self._tokens[self._at].type
        return token

    def accept(self, type_: str) -> bool:
        """Advance if the current token is of a type; return whether it is."""
        if self.type != type_:
            return False
        self.take()
        return True

    def expect(self, type_: str) -> str:
        """Return the text of the current token and advance, or raise the syntax error if it is of another type."""
        if self.type != type_:
            raise self.syntax_error()
        return self.take().text

    def syntax_error(self) -> ExpressionError:
        """Return the error for the current token; its text quotes the tokens around it."""
        token = self._tokens[self._at]
        start = self._tokens[self._at - 1].start if self._at else token.start
        end = self._tokens[self._at - 1].end if token.type == END and self._at else self._end_of_next()
        return ExpressionError(f'Syntax error; token: "{token.text}", near: "{self._text[start:end]}"')

    def _end_of_next(self) -> int:
        token = self._tokens[min(self._at + 1, len(self._tokens) - 1)]
        return self._tokens[self._at].end if token.type == END else token.end


def _make_token(type_: str, match: re.Match[str]) -> Token:
    text = match[0]
    if type_ == "symbol":
        type_ = text
    elif type_ == "name" and text.upper() in KEYWORDS:
        type_ = text.upper()
    return Token(type_, text, match.start(), match.end())
