"""Parses expressions: operators by precedence, and the terms between them.

A statement is parsed as a term like any other, as in the service, so that errors are found at the same position.
`statement_parser` adds the statements.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from hashrange.partiql.keywords import AGGREGATES, CALLABLE, OTHER_TYPES, SUPPORTED_TYPES
from hashrange.partiql.lexer import MalformedStatement, Span, StatementToken, TokenType
from hashrange.partiql.nodes import (
    CallExpression,
    ConstantLiteral,
    Expression,
    Identifier,
    IonLiteral,
    ListLiteral,
    MapLiteral,
    NumberLiteral,
    OperatorExpression,
    PathExpression,
    SetLiteral,
    StatementParameter,
    StringLiteral,
    TypeTest,
    Wildcard,
)

MAX_DEPTH = 100
LOWEST, IN_SELECT, NEGATED = -1, 6, 30
PRECEDENCE = {
    **dict.fromkeys(("union", "except", "intersect"), 5),
    "or": 10,
    "and": 20,
    **dict.fromkeys(("=", "<>", "is", "is not", "in", "not in"), 40),
    **dict.fromkeys(("<", "<=", ">", ">=", "between", "not between", "like", "not like"), 50),
    **dict.fromkeys(("+", "-", "||"), 60),
    **dict.fromkeys(("*", "/", "%"), 70),
}
SYMBOL_NAMES = {
    ")": "RIGHT_PAREN",
    "]": "RIGHT_BRACKET",
    "}": "RIGHT_CURLY",
    ">>": "RIGHT_DOUBLE_ANGLE_BRACKET",
    ":": "COLON",
    "by": "BY",
}
PLAIN_TYPES = (TokenType.STRING, TokenType.NUMBER)
ENDS = frozenset({",", ":", ")", "]", "}", ">>"})
CONSTANTS = frozenset({"true", "false", "null", "missing"})
T = TypeVar("T")


class ExpressionParser:
    """A cursor over the tokens of one statement, and the parser of expressions."""

    def __init__(self, tokens: list[StatementToken]) -> None:
        self._tokens = tokens
        self._at = 0
        self._depth = 0
        self.parameters = 0

    # -- the cursor -----------------------------------------------------------------------------------------------

    @property
    def token(self) -> StatementToken:
        """Return the next token."""
        return self._tokens[self._at]

    def advance(self) -> StatementToken:
        """Return the next token and advance."""
        token = self.token
        if token.type is not TokenType.END:
            self._at += 1
        return token

    def is_at(self, *texts: str) -> bool:
        """Return whether the next token is one of these keywords, operators or symbols."""
        return self.token.text in texts and self.token.type in (TokenType.KEYWORD, TokenType.OPERATOR, TokenType.SYMBOL)

    def is_at_end(self) -> bool:
        """Return whether all tokens are read."""
        return self.token.type is TokenType.END

    def take(self, text: str) -> bool:
        """Advance if a keyword, operator or symbol is next; return whether it is."""
        found = self.is_at(text)
        if found:
            self.advance()
        return found

    def expect(self, symbol: str) -> None:
        """Advance past a symbol, or raise MalformedStatement if it is not next."""
        if not self.take(symbol):
            raise MalformedStatement(f"Expected {SYMBOL_NAMES[symbol]}")

    def parse_list(self, read: Callable[[], T]) -> tuple[T, ...]:
        """Parse a list of at least one part, separated by commas."""
        found = [read()]
        while (token := self._tokens[self._at]).text == "," and token.type is TokenType.SYMBOL:
            self._at += 1
            found.append(read())
        return tuple(found)

    # -- operators ------------------------------------------------------------------------------------------------

    def parse_expression(self, precedence: int = LOWEST) -> Expression:
        """Parse an expression whose operators have a higher precedence than the given one.

        Most are a string or number that a symbol ends, and a statement may have thousands of them.
        """
        token = self._tokens[self._at]
        if token.type in PLAIN_TYPES:
            after = self._tokens[self._at + 1]
            if after.type is TokenType.SYMBOL and after.text in ENDS:
                self._at += 1
                return LITERALS[token.type](token.text, token.span)
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise MalformedStatement
        left = self._parse_unary()
        while self.token.type is TokenType.OPERATOR and PRECEDENCE.get(self.token.text, LOWEST) > precedence:
            left = self._parse_infix(left, self.advance())
        self._depth -= 1
        return left

    def _parse_infix(self, left: Expression, operator: StatementToken) -> Expression:
        match operator.text:
            case "is" | "is not":
                tested = TypeTest(left, self._parse_type(), operator.span)
                return tested if operator.text == "is" else OperatorExpression("not", (tested,), operator.span)
            case "in" | "not in":
                return _negate(operator, (left, self._parse_choices()))
            case "between" | "not between":
                return _negate(operator, (left, *self._parse_bounds()))
        right = self._parse_right(operator)
        if operator.text in ("and", "or") and isinstance(left, OperatorExpression) and left.operator == operator.text:
            return OperatorExpression(left.operator, (*left.operands, right), left.span)
        return _negate(operator, (left, right))

    def _parse_right(self, operator: StatementToken) -> Expression:
        if self.is_at_end():
            raise MalformedStatement("Missing right-hand side expression of infix operator")
        return self.parse_expression(PRECEDENCE[operator.text])

    def _parse_choices(self) -> Expression:
        span = self.token.span
        if self.is_at("(") and self._tokens[self._at + 1].text != "select":
            self.advance()
            choices = self.parse_list(self.parse_expression)
            self.expect(")")
            return ListLiteral(choices, span)
        if self.is_at_end():
            raise MalformedStatement("Missing right-hand side expression of infix operator")
        return self.parse_expression(PRECEDENCE["in"])

    def _parse_bounds(self) -> tuple[Expression, Expression]:
        if self.is_at_end():
            raise MalformedStatement("Missing right-hand side expression of infix operator")
        low = self.parse_expression(PRECEDENCE["between"])
        if not self.take("and"):
            raise MalformedStatement("Expected AND keyword")
        if self.is_at_end() or self.is_at(";"):
            raise MalformedStatement("Expected expression after AND")
        return low, self.parse_expression(PRECEDENCE["between"])

    def _parse_type(self) -> str:
        word = self.token.text.lower()
        name = SUPPORTED_TYPES.get(word) or OTHER_TYPES.get(word)
        if name is None or self.token.type not in (TokenType.KEYWORD, TokenType.NAME):
            raise MalformedStatement("Expected type name")
        self.advance()
        return name

    def _parse_unary(self) -> Expression:
        if self.is_at("not"):
            span = self.advance().span
            return OperatorExpression("not", (self.parse_expression(NEGATED),), span)
        if not self.is_at("+", "-"):
            return self._parse_path_term()
        sign = self.advance()
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise MalformedStatement
        operand = self._parse_unary()
        self._depth -= 1
        if isinstance(operand, NumberLiteral):
            return operand if sign.text == "+" else NumberLiteral(_negative(operand.text), operand.span)
        return OperatorExpression(sign.text, (operand,), sign.span)

    # -- terms ----------------------------------------------------------------------------------------------------

    def parse_simple_path(self) -> Expression:
        """Parse a path that starts with a name, such as the target of a statement."""
        token = self.token
        if token.type not in (TokenType.NAME, TokenType.QUOTED):
            raise MalformedStatement("Expected identifier for simple path")
        self.advance()
        return self._parse_steps(Identifier(token.text, token.span), simple=True)

    def _parse_path_term(self) -> Expression:
        return self._parse_steps(self._parse_term(), simple=False)

    def _parse_steps(self, root: Expression, *, simple: bool) -> Expression:
        steps: list[Expression] = []
        while True:
            if self.take("."):
                steps.append(self._parse_dotted(simple=simple))
            elif self.take("["):
                steps.append(self._parse_bracketed(simple=simple))
            else:
                return PathExpression(root, tuple(steps), root.span) if steps else root

    def _parse_dotted(self, *, simple: bool) -> Expression:
        token = self.token
        if token.type in (TokenType.NAME, TokenType.QUOTED):
            self.advance()
            return Identifier(token.text, token.span)
        if token.type is TokenType.OPERATOR and token.text == "*":
            if simple:
                raise MalformedStatement("Invalid path dot component for simple path")
            self.advance()
            return Wildcard(bracketed=False, span=token.span)
        raise MalformedStatement("Invalid path dot component")

    def _parse_bracketed(self, *, simple: bool) -> Expression:
        span = self.token.span
        step = Wildcard(bracketed=True, span=span) if self.take("*") else self.parse_expression()
        self.expect("]")
        if simple and not isinstance(step, NumberLiteral | StringLiteral | Identifier | ConstantLiteral):
            raise MalformedStatement("Invalid path component for simple path")
        return step

    def _parse_term(self) -> Expression:
        token = self.token
        match token.type:
            case TokenType.NAME | TokenType.QUOTED:
                self.advance()
                return self._parse_call(token) if self.is_at("(") else Identifier(token.text, token.span)
            case TokenType.STRING | TokenType.NUMBER | TokenType.ION:
                self.advance()
                return LITERALS[token.type](token.text, token.span)
            case TokenType.OPERATOR:
                raise MalformedStatement("Unexpected operator")
            case TokenType.KEYWORD:
                return self._parse_keyword(token)
        return self._parse_enclosed(token)

    def _parse_keyword(self, token: StatementToken) -> Expression:
        if token.text in CONSTANTS:
            self.advance()
            return ConstantLiteral(token.text, token.span)
        if token.text in CALLABLE and self._tokens[self._at + 1].text == "(":
            self.advance()
            return self._parse_call(token)
        return self.parse_statement(token)

    def parse_statement(self, token: StatementToken) -> Expression:
        """Parse what a keyword that is not a function starts; StatementParser overrides it."""
        raise MalformedStatement("Unexpected keyword")

    def _parse_call(self, name: StatementToken) -> Expression:
        self.advance()
        arguments = () if self.is_at(")") else self._parse_arguments(name)
        self.expect(")")
        if name.text in AGGREGATES and len(arguments) != 1:
            raise MalformedStatement("Aggregate functions are always unary")
        return CallExpression(name.text.lower(), arguments, name.span)

    def _parse_arguments(self, name: StatementToken) -> tuple[Expression, ...]:
        if not self.is_at("*"):
            return self.parse_list(self.parse_expression)
        if name.text != "count":
            raise MalformedStatement(f"{name.text}(*) is not allowed")
        return (Wildcard(bracketed=False, span=self.advance().span),)

    def _parse_enclosed(self, token: StatementToken) -> Expression:
        match token.text if token.type is TokenType.SYMBOL else "":
            case "?":
                self.advance()
                self.parameters += 1
                return StatementParameter(self.parameters - 1, token.span)
            case "(":
                return self._parse_group(token.span)
            case "[":
                return ListLiteral(self._parse_elements("]"), token.span)
            case "<<":
                return SetLiteral(self._parse_elements(">>"), token.span)
            case "{":
                return MapLiteral(self._parse_members(), token.span)
        raise MalformedStatement("Unexpected term")

    def _parse_group(self, span: Span) -> Expression:
        self.advance()
        elements = self.parse_list(self.parse_expression)
        self.expect(")")
        return elements[0] if len(elements) == 1 else ListLiteral(elements, span)

    def _parse_elements(self, close: str) -> tuple[Expression, ...]:
        self.advance()
        if self.take(close):
            return ()
        elements = self.parse_list(self.parse_expression)
        self.expect(close)
        return elements

    def _parse_members(self) -> tuple[tuple[Expression, Expression], ...]:
        self.advance()
        if self.take("}"):
            return ()
        members = self.parse_list(self._parse_member)
        self.expect("}")
        return members

    def _parse_member(self) -> tuple[Expression, Expression]:
        key = self.parse_expression()
        self.expect(":")
        return key, self.parse_expression()


LITERALS: dict[TokenType, Callable[[str, Span], Expression]] = {
    TokenType.STRING: StringLiteral,
    TokenType.NUMBER: NumberLiteral,
    TokenType.ION: IonLiteral,
}


def _negate(operator: StatementToken, operands: tuple[Expression, ...]) -> Expression:
    """Return an operator with its operands, inside NOT for `NOT IN`, `NOT BETWEEN` and `NOT LIKE`."""
    plain = OperatorExpression(operator.text.removeprefix("not "), operands, operator.span)
    return plain if plain.operator == operator.text else OperatorExpression("not", (plain,), operator.span)


def _negative(text: str) -> str:
    return text[1:] if text.startswith("-") else f"-{text}"
