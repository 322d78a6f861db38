"""Tokens to expressions: operators by precedence, and the terms between them.

The language parses a statement as just another term, so that what is wrong with a text is found where the service
finds it. Statements themselves are read in `parser`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from hashrange.partiql.lexer import Kind, Malformed, Mark, Token
from hashrange.partiql.nodes import (
    Array,
    Bag,
    Call,
    Constant,
    Expression,
    Ion,
    IsType,
    Name,
    Number,
    Operation,
    Parameter,
    Path,
    String,
    Struct,
    Wildcard,
)
from hashrange.partiql.words import AGGREGATES, CALLABLE, OTHER_TYPES, SIMPLE_TYPES

DEEPEST = 100
ANYTHING, IN_SELECT, NEGATED = -1, 6, 30
PRECEDENCE = {
    **dict.fromkeys(("union", "except", "intersect"), 5),
    "or": 10,
    "and": 20,
    **dict.fromkeys(("=", "<>", "is", "is not", "in", "not in"), 40),
    **dict.fromkeys(("<", "<=", ">", ">=", "between", "not between", "like", "not like"), 50),
    **dict.fromkeys(("+", "-", "||"), 60),
    **dict.fromkeys(("*", "/", "%"), 70),
}
NAMES_OF_SYMBOLS = {
    ")": "RIGHT_PAREN",
    "]": "RIGHT_BRACKET",
    "}": "RIGHT_CURLY",
    ">>": "RIGHT_DOUBLE_ANGLE_BRACKET",
    ":": "COLON",
    "by": "BY",
}
CONSTANTS = frozenset({"true", "false", "null", "missing"})
T = TypeVar("T")


class Terms:
    """A cursor over the tokens of one statement, and the reading of expressions."""

    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self._at = 0
        self._depth = 0
        self.parameters = 0

    # -- the cursor -----------------------------------------------------------------------------------------------

    @property
    def token(self) -> Token:
        """Return the token that is next."""
        return self._tokens[self._at]

    def advance(self) -> Token:
        """Return the next token and go past it."""
        token = self.token
        if token.kind is not Kind.END:
            self._at += 1
        return token

    def at(self, *texts: str) -> bool:
        """Tell whether the next token is one of these keywords, operators or symbols."""
        return self.token.text in texts and self.token.kind in (Kind.KEYWORD, Kind.OPERATOR, Kind.SYMBOL)

    def ended(self) -> bool:
        """Tell whether all tokens are read."""
        return self.token.kind is Kind.END

    def take(self, text: str) -> bool:
        """Go past a keyword, operator or symbol if it is next."""
        found = self.at(text)
        if found:
            self.advance()
        return found

    def expect(self, symbol: str) -> None:
        """Go past a symbol that must be next."""
        if not self.take(symbol):
            raise Malformed(f"Expected {NAMES_OF_SYMBOLS[symbol]}")

    def list_of(self, read: Callable[[], T]) -> tuple[T, ...]:
        """Read one thing or more, with commas between."""
        things = [read()]
        while self.take(","):
            things.append(read())
        return tuple(things)

    # -- operators ------------------------------------------------------------------------------------------------

    def expression(self, precedence: int = ANYTHING) -> Expression:
        """Read an expression whose operators bind tighter than a precedence."""
        self._depth += 1
        if self._depth > DEEPEST:
            raise Malformed
        left = self._unary()
        while self.token.kind is Kind.OPERATOR and PRECEDENCE.get(self.token.text, ANYTHING) > precedence:
            left = self._infix(left, self.advance())
        self._depth -= 1
        return left

    def _infix(self, left: Expression, operator: Token) -> Expression:
        match operator.text:
            case "is" | "is not":
                tested = IsType(left, self._type(), operator.mark)
                return tested if operator.text == "is" else Operation("not", (tested,), operator.mark)
            case "in" | "not in":
                return _negate(operator, (left, self._choices()))
            case "between" | "not between":
                return _negate(operator, (left, *self._bounds()))
        right = self._right(operator)
        if operator.text in ("and", "or") and isinstance(left, Operation) and left.operator == operator.text:
            return Operation(left.operator, (*left.operands, right), left.mark)
        return _negate(operator, (left, right))

    def _right(self, operator: Token) -> Expression:
        if self.ended():
            raise Malformed("Missing right-hand side expression of infix operator")
        return self.expression(PRECEDENCE[operator.text])

    def _choices(self) -> Expression:
        mark = self.token.mark
        if self.at("(") and self._tokens[self._at + 1].text != "select":
            self.advance()
            choices = self.list_of(self.expression)
            self.expect(")")
            return Array(choices, mark)
        if self.ended():
            raise Malformed("Missing right-hand side expression of infix operator")
        return self.expression(PRECEDENCE["in"])

    def _bounds(self) -> tuple[Expression, Expression]:
        if self.ended():
            raise Malformed("Missing right-hand side expression of infix operator")
        low = self.expression(PRECEDENCE["between"])
        if not self.take("and"):
            raise Malformed("Expected AND keyword")
        if self.ended() or self.at(";"):
            raise Malformed("Expected expression after AND")
        return low, self.expression(PRECEDENCE["between"])

    def _type(self) -> str:
        word = self.token.text.lower()
        name = SIMPLE_TYPES.get(word) or OTHER_TYPES.get(word)
        if name is None or self.token.kind not in (Kind.KEYWORD, Kind.NAME):
            raise Malformed("Expected type name")
        self.advance()
        return name

    def _unary(self) -> Expression:
        if self.at("not"):
            mark = self.advance().mark
            return Operation("not", (self.expression(NEGATED),), mark)
        if not self.at("+", "-"):
            return self._path_term()
        sign = self.advance()
        self._depth += 1
        if self._depth > DEEPEST:
            raise Malformed
        operand = self._unary()
        self._depth -= 1
        if isinstance(operand, Number):
            return operand if sign.text == "+" else Number(_negative(operand.text), operand.mark)
        return Operation(sign.text, (operand,), sign.mark)

    # -- terms ----------------------------------------------------------------------------------------------------

    def simple_path(self) -> Expression:
        """Read a path that starts with a name, as the targets of statements do."""
        token = self.token
        if token.kind not in (Kind.NAME, Kind.QUOTED):
            raise Malformed("Expected identifier for simple path")
        self.advance()
        return self._steps(Name(token.text, token.mark), simple=True)

    def _path_term(self) -> Expression:
        return self._steps(self._term(), simple=False)

    def _steps(self, root: Expression, *, simple: bool) -> Expression:
        steps: list[Expression] = []
        while True:
            if self.take("."):
                steps.append(self._dotted(simple=simple))
            elif self.take("["):
                steps.append(self._bracketed(simple=simple))
            else:
                return Path(root, tuple(steps), root.mark) if steps else root

    def _dotted(self, *, simple: bool) -> Expression:
        token = self.token
        if token.kind in (Kind.NAME, Kind.QUOTED):
            self.advance()
            return Name(token.text, token.mark)
        if token.kind is Kind.OPERATOR and token.text == "*":
            if simple:
                raise Malformed("Invalid path dot component for simple path")
            self.advance()
            return Wildcard(bracketed=False, mark=token.mark)
        raise Malformed("Invalid path dot component")

    def _bracketed(self, *, simple: bool) -> Expression:
        mark = self.token.mark
        step = Wildcard(bracketed=True, mark=mark) if self.take("*") else self.expression()
        self.expect("]")
        if simple and not isinstance(step, Number | String | Name | Constant):
            raise Malformed("Invalid path component for simple path")
        return step

    def _term(self) -> Expression:
        token = self.token
        match token.kind:
            case Kind.NAME | Kind.QUOTED:
                self.advance()
                return self._call(token) if self.at("(") else Name(token.text, token.mark)
            case Kind.STRING | Kind.NUMBER | Kind.ION:
                self.advance()
                return LITERALS[token.kind](token.text, token.mark)
            case Kind.OPERATOR:
                raise Malformed("Unexpected operator")
            case Kind.KEYWORD:
                return self._keyword(token)
        return self._enclosed(token)

    def _keyword(self, token: Token) -> Expression:
        if token.text in CONSTANTS:
            self.advance()
            return Constant(token.text, token.mark)
        if token.text in CALLABLE and self._tokens[self._at + 1].text == "(":
            self.advance()
            return self._call(token)
        return self.statement(token)

    def statement(self, token: Token) -> Expression:
        """Read what starts with a keyword that is no function; statements add to this."""
        raise Malformed("Unexpected keyword")

    def _call(self, name: Token) -> Expression:
        self.advance()
        arguments = () if self.at(")") else self._arguments(name)
        self.expect(")")
        if name.text in AGGREGATES and len(arguments) != 1:
            raise Malformed("Aggregate functions are always unary")
        return Call(name.text.lower(), arguments, name.mark)

    def _arguments(self, name: Token) -> tuple[Expression, ...]:
        if not self.at("*"):
            return self.list_of(self.expression)
        if name.text != "count":
            raise Malformed(f"{name.text}(*) is not allowed")
        return (Wildcard(bracketed=False, mark=self.advance().mark),)

    def _enclosed(self, token: Token) -> Expression:
        match token.text if token.kind is Kind.SYMBOL else "":
            case "?":
                self.advance()
                self.parameters += 1
                return Parameter(self.parameters - 1, token.mark)
            case "(":
                return self._group(token.mark)
            case "[":
                return Array(self._elements("]"), token.mark)
            case "<<":
                return Bag(self._elements(">>"), token.mark)
            case "{":
                return Struct(self._members(), token.mark)
        raise Malformed("Unexpected term")

    def _group(self, mark: Mark) -> Expression:
        self.advance()
        elements = self.list_of(self.expression)
        self.expect(")")
        return elements[0] if len(elements) == 1 else Array(elements, mark)

    def _elements(self, close: str) -> tuple[Expression, ...]:
        self.advance()
        if self.take(close):
            return ()
        elements = self.list_of(self.expression)
        self.expect(close)
        return elements

    def _members(self) -> tuple[tuple[Expression, Expression], ...]:
        self.advance()
        if self.take("}"):
            return ()
        members = self.list_of(self._member)
        self.expect("}")
        return members

    def _member(self) -> tuple[Expression, Expression]:
        key = self.expression()
        self.expect(":")
        return key, self.expression()


LITERALS: dict[Kind, Callable[[str, Mark], Expression]] = {
    Kind.STRING: String,
    Kind.NUMBER: Number,
    Kind.ION: Ion,
}


def _negate(operator: Token, operands: tuple[Expression, ...]) -> Expression:
    """Return an operation, wrapped in NOT when its operator says so: `NOT IN`, `NOT BETWEEN`, `NOT LIKE`."""
    plain = Operation(operator.text.removeprefix("not "), operands, operator.mark)
    return plain if plain.operator == operator.text else Operation("not", (plain,), operator.mark)


def _negative(text: str) -> str:
    return text[1:] if text.startswith("-") else f"-{text}"
