"""Statement text to tokens, each with the place where it stands: line, column and length in characters."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum, auto

from hashrange.core.errors import ValidationException
from hashrange.partiql.words import JOINED, OPERATORS, RESERVED

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
PUNCTUATION = frozenset({"(", ")", "[", "]", "{", "}", ":", ";", ",", ".", "?", "<<", ">>"})


class Malformed(ValidationException, wire_name="ValidationException"):
    """A statement that is not of the language; what is wrong may be left unsaid, as the service does."""

    def __init__(self, detail: str = "") -> None:
        super().__init__(MALFORMED + detail)


class Kind(Enum):
    """What a token is."""

    NAME = auto()
    QUOTED = auto()
    KEYWORD = auto()
    OPERATOR = auto()
    STRING = auto()
    NUMBER = auto()
    ION = auto()
    SYMBOL = auto()
    END = auto()


WORDED = frozenset({Kind.KEYWORD, Kind.OPERATOR})


@dataclass(frozen=True, slots=True)
class Mark:
    """Where something stands in the statement."""

    line: int
    column: int
    length: int

    def __str__(self) -> str:
        return f"{self.line}:{self.column}:{self.length}"


@dataclass(frozen=True, slots=True)
class Token:
    """A word, literal or symbol; keywords and operators in lower case, quotes taken off."""

    kind: Kind
    text: str
    mark: Mark


def tokenize(text: str) -> list[Token]:
    """Return the tokens of a statement, the last of them of kind END."""
    tokens: list[Token] = []
    at, line, start = 0, 1, 0
    while at < len(text):
        lexeme = LEXEME.match(text, at)
        if lexeme is None or lexeme.lastgroup == "open":
            raise Malformed
        token = _read(lexeme, Mark(line, at - start + 1, lexeme.end() - at))
        if token is not None:
            _append(tokens, token)
        for end in LINE_END.finditer(text, at, lexeme.end()):
            line, start = line + 1, end.end()
        at = lexeme.end()
    tokens.append(Token(Kind.END, "", Mark(line, at - start + 1, 0)))
    return tokens


def _read(lexeme: re.Match[str], mark: Mark) -> Token | None:
    text = lexeme.group()
    match lexeme.lastgroup:
        case "blank":
            return None
        case "word":
            return _read_word(text, mark)
        case "number":
            return Token(Kind.NUMBER, _check_number(lexeme), mark)
        case "quoted":
            return Token(Kind.QUOTED, text[1:-1].replace('""', '"'), mark)
        case "string":
            return Token(Kind.STRING, text[1:-1].replace("''", "'"), mark)
        case "ion":
            return Token(Kind.ION, text[1:-1], mark)
    return _read_symbol(text, mark)


def _read_word(text: str, mark: Mark) -> Token:
    lower = text.lower()
    if lower in OPERATORS:
        return Token(Kind.OPERATOR, lower, mark)
    return Token(Kind.KEYWORD, lower, mark) if lower in RESERVED else Token(Kind.NAME, text, mark)


def _read_symbol(text: str, mark: Mark) -> Token:
    if text in PUNCTUATION:
        return Token(Kind.SYMBOL, text, mark)
    return Token(Kind.OPERATOR, "<>" if text == "!=" else text, mark)


def _check_number(lexeme: re.Match[str]) -> str:
    """Return a number literal, unless its scale does not fit 32 bits or its exponent breaks off."""
    text = lexeme.group().lower()
    if lexeme.string[lexeme.end() : lexeme.end() + 1] in {"e", "E"}:
        raise Malformed
    mantissa, _, exponent = text.partition("e")
    power = int(exponent or "0") if len(exponent) < 20 else 2**31
    scale = len(mantissa.partition(".")[2]) - power
    if not -(2**31) <= power < 2**31 or not -(2**31) <= scale < 2**31:
        raise Malformed
    return text


def _append(tokens: list[Token], token: Token) -> None:
    """Add a token, or merge it with the word before: `INSERT INTO` and `IS NOT` are one token each."""
    before = tokens[-1] if tokens else token
    joined = JOINED.get((before.text, token.text)) if before.kind in WORDED and token.kind in WORDED else None
    if joined is None:
        tokens.append(token)
    else:
        tokens[-1] = Token(before.kind, joined, before.mark)
