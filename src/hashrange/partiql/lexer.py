"""Splits a statement into tokens, each with its position: line, column and length in characters."""

from __future__ import annotations

import re
from enum import Enum, auto

from msgspec import Struct

from hashrange.core.errors import ValidationException
from hashrange.partiql.keywords import OPERATORS, RESERVED, TWO_WORD_KEYWORDS

MALFORMED = "Statement wasn't well formed, can't be processed: "
LEXEME = re.compile(
    r"""
      (?P<blank>  [ \t\r\n\f\v]+ | --[^\r\n]* | /\*.*?\*/ )
    | (?P<open>   /\* )
    | (?P<number> (?: \d+ (?:\.\d*)? | \.\d+ ) (?: [eE][+-]?\d+ )? )
    | (?P<word>   [A-Za-z_$][A-Za-z0-9_$]* )
    | (?P<quoted> "[^"]*(?:""[^"]*)*" )
    | (?P<string> '[^']*(?:''[^']*)*' )
    | (?P<ion>    `[^`]*` )
    | (?P<symbol> << | >> | <= | >= | <> | != | \|\| | [-+*/%<>=@()\[\]{}:;,.?] )
    """,
    re.VERBOSE | re.DOTALL | re.ASCII,
)
LINE_END = re.compile(r"\r\n|\r|\n")


class MalformedStatement(ValidationException, wire_name="ValidationException"):
    """A statement with a syntax error; like the service's, the text does not always name the mistake."""

    def __init__(self, detail: str = "") -> None:
        super().__init__(MALFORMED + detail)


class TokenType(Enum):
    """The type of a token."""

    NAME = auto()
    QUOTED = auto()
    KEYWORD = auto()
    OPERATOR = auto()
    STRING = auto()
    NUMBER = auto()
    ION = auto()
    SYMBOL = auto()
    END = auto()


SYMBOLS: dict[str, tuple[TokenType, str]] = {
    **{text: (TokenType.SYMBOL, text) for text in ("<<", ">>", *"()[]{}:;,.?")},
    **{text: (TokenType.OPERATOR, text) for text in ("<=", ">=", "<>", "||", *"-+*/%<>=@")},
    "!=": (TokenType.OPERATOR, "<>"),
}
KEYWORD_TYPES = (TokenType.KEYWORD, TokenType.OPERATOR)  # a tuple: an enumeration is hashed slowly


class Span(Struct, frozen=True, gc=False):
    """The position of a token in the statement, as error texts contain it."""

    line: int
    column: int
    length: int

    def __str__(self) -> str:
        return f"{self.line}:{self.column}:{self.length}"


class StatementToken(Struct, frozen=True, gc=False):
    """A word, literal or symbol; keywords and operators in lower case, literals without quotes."""

    type: TokenType
    text: str
    span: Span


def tokenize(text: str) -> list[StatementToken]:
    """Return the tokens of a statement; the last one is of type END."""
    tokens: list[StatementToken] = []
    at, line, start = 0, 1, 0
    while at < len(text):
        lexeme = LEXEME.match(text, at)
        if lexeme is None or lexeme.lastgroup == "open":
            raise MalformedStatement
        found = lexeme.group()
        end = at + len(found)
        if lexeme.lastgroup == "symbol":  # half of all tokens
            tokens.append(StatementToken(*SYMBOLS[found], Span(line, at - start + 1, len(found))))
        elif lexeme.lastgroup == "word":
            _append(tokens, _make_word(found, Span(line, at - start + 1, len(found))))
        else:
            if lexeme.lastgroup != "blank":
                tokens.append(_make_literal(lexeme, found, Span(line, at - start + 1, len(found))))
            if "\n" in found or "\r" in found:
                line_ends = [line_end.end() for line_end in LINE_END.finditer(text, at, end)]
                line, start = line + len(line_ends), line_ends[-1]
        at = end
    tokens.append(StatementToken(TokenType.END, "", Span(line, at - start + 1, 0)))
    return tokens


def _make_literal(lexeme: re.Match[str], text: str, span: Span) -> StatementToken:
    match lexeme.lastgroup:
        case "number":
            return StatementToken(TokenType.NUMBER, _check_number(lexeme), span)
        case "quoted":
            return StatementToken(TokenType.QUOTED, text[1:-1].replace('""', '"'), span)
        case "string":
            return StatementToken(TokenType.STRING, text[1:-1].replace("''", "'"), span)
    return StatementToken(TokenType.ION, text[1:-1], span)


def _make_word(text: str, span: Span) -> StatementToken:
    lower = text.lower()
    if lower in OPERATORS:
        return StatementToken(TokenType.OPERATOR, lower, span)
    return (
        StatementToken(TokenType.KEYWORD, lower, span)
        if lower in RESERVED
        else StatementToken(TokenType.NAME, text, span)
    )


def _check_number(lexeme: re.Match[str]) -> str:
    """Return a number literal, or raise if its scale does not fit 32 bits or its exponent is incomplete."""
    text = lexeme.group().lower()
    if lexeme.string[lexeme.end() : lexeme.end() + 1] in {"e", "E"}:
        raise MalformedStatement
    if text.isdigit():
        return text
    mantissa, _, exponent = text.partition("e")
    power = int(exponent or "0") if len(exponent) < 20 else 2**31
    scale = len(mantissa.partition(".")[2]) - power
    if not -(2**31) <= power < 2**31 or not -(2**31) <= scale < 2**31:
        raise MalformedStatement
    return text


def _append(tokens: list[StatementToken], token: StatementToken) -> None:
    """Add a token, or merge it with the one before: `INSERT INTO` and `IS NOT` are one token each."""
    if token.type in KEYWORD_TYPES and tokens and tokens[-1].type in KEYWORD_TYPES:
        before = tokens[-1]
        joined = TWO_WORD_KEYWORDS.get((before.text, token.text))
        if joined is not None:
            tokens[-1] = StatementToken(before.type, joined, before.span)
            return
    tokens.append(token)
