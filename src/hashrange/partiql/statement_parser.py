"""Parses statements, once per text.

Raises the service's syntax errors; `statement_plan` checks everything else.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import NoneType

from hashrange.core.cache import BoundedCache
from hashrange.core.errors import ValidationException
from hashrange.partiql.expression_parser import IN_SELECT, MAX_DEPTH, ExpressionParser
from hashrange.partiql.keywords import JOINS, SEPARATORS
from hashrange.partiql.lexer import MalformedStatement, Span, StatementToken, TokenType, tokenize
from hashrange.partiql.nodes import (
    ConstantLiteral,
    DeleteStatement,
    Expression,
    FromSource,
    Identifier,
    InsertStatement,
    NumberLiteral,
    OrderTerm,
    PathExpression,
    RemoveClause,
    SelectStatement,
    SetClause,
    StatementParameter,
    StringLiteral,
    UpdateStatement,
    Wildcard,
)

CHANGES = ("set", "remove", "insert into")
RETURNED = ("modified old", "modified new", "all old", "all new")
LEAVES = frozenset({Identifier, StringLiteral, NumberLiteral, ConstantLiteral, StatementParameter, str, NoneType})
AFTER_END = "Unexpected token after semicolon. (Only one query is allowed.)"
STAR_ALONE = "Other expressions may not be present in the select list when '*' is used without dot notation."
PARSED: BoundedCache[tuple[Expression, int]] = BoundedCache(max_entries=1000, max_weight=100_000)


def parse(text: str) -> tuple[Expression, int]:
    """Return a statement and the number of its parameters, or raise MalformedStatement."""
    parsed = PARSED.get(text)
    if parsed is None:
        parsed = _parse(text)
        PARSED.store(text, parsed, len(text))
    return parsed


def _parse(text: str) -> tuple[Expression, int]:
    parser = StatementParser(tokenize(text))
    statement = parser.parse_expression()
    ended = parser.take(";")
    if not parser.is_at_end():
        raise MalformedStatement(AFTER_END if ended else "Unexpected token after expression")
    _check_depth(statement)
    return statement, parser.parameters


class StatementParser(ExpressionParser):
    """Parses statements."""

    def parse_statement(self, token: StatementToken) -> Expression:
        """Parse the statement that starts with a keyword."""
        self.advance()
        match token.text:
            case "select":
                return self._parse_select(token.span)
            case "insert into":
                return self._parse_insert(token.span)
            case "update":
                return self._parse_update(token.span)
            case "delete":
                return self._parse_delete(token.span)
            case "from":
                return self._parse_update_from(token.span)
        raise MalformedStatement("Unexpected term" if token.text in SEPARATORS else "Unexpected keyword")

    # -- SELECT ---------------------------------------------------------------------------------------------------

    def _parse_select(self, span: Span) -> SelectStatement:
        first = self.token
        distinct = ("DISTINCT", first.span) if self.take("distinct") else None
        if distinct is None:
            self.take("all")
        if self.is_at("value"):
            raise ValidationException("Select projection doesn't support value or pivot keywords")
        columns, aliases = zip(*self.parse_list(self._parse_column), strict=True)
        if len(columns) > 1 and any(isinstance(column, Wildcard) for column in columns):
            raise MalformedStatement(STAR_ALONE)
        if not self.take("from"):
            raise MalformedStatement("Expected FROM after SELECT list")
        source = self._parse_from_source(IN_SELECT)
        where = self.parse_expression(IN_SELECT) if self.take("where") else None
        grouping = self._skip_clauses("group", "having")
        order = self._parse_order()
        unsupported = distinct or grouping or self._skip_clauses("limit")
        chosen = None if isinstance(columns[0], Wildcard) else columns
        return SelectStatement(chosen, any(aliases), source, where, order, unsupported, span)

    def _parse_column(self) -> tuple[Expression, bool]:
        token = self.token
        if self.take("*"):
            return Wildcard(bracketed=False, span=token.span), False
        column = self.parse_expression()
        if isinstance(column, PathExpression) and any(isinstance(step, Wildcard) for step in column.steps):
            raise MalformedStatement("Invalid use of * in select list")
        aliased = self.take("as") or self.token.type in (TokenType.NAME, TokenType.QUOTED)
        if aliased:
            self._parse_alias("AS")
        return column, aliased

    def _parse_order(self) -> tuple[OrderTerm, ...]:
        if not self.take("order"):
            return ()
        self.expect("by")
        return self.parse_list(self._parse_ordering)

    def _parse_ordering(self) -> OrderTerm:
        key = self.parse_expression(IN_SELECT)
        descending = self.take("desc")
        if not descending:
            self.take("asc")
        return OrderTerm(key, descending)

    def _skip_clauses(self, *words: str) -> tuple[str, Span] | None:
        """Skip clauses that PartiQL has and the service does not support; return the first and its position."""
        first: tuple[str, Span] | None = None
        for word in words:
            if self.take(word):
                if word == "group":
                    self.expect("by")
                argument = self.parse_list(lambda: self.parse_expression(IN_SELECT))[0]
                first = first or ("GROUP BY" if word == "group" else word.upper(), argument.span)
        return first

    # -- sources --------------------------------------------------------------------------------------------------

    def _parse_from_source(self, precedence: int) -> FromSource:
        expression = self.parse_expression(precedence)
        aliased = self._parse_aliases()
        joined = False
        while self.is_at(",", *JOINS):
            joined = True
            while self.is_at(",", *JOINS):
                self.advance()
            self.parse_expression(precedence)
            self._parse_aliases()
            if self.is_at("on"):
                self.advance()
                self.parse_expression(precedence)
        return FromSource(expression, aliased, joined)

    def _parse_simple_source(self) -> FromSource:
        return FromSource(self.parse_simple_path(), self._parse_aliases())

    def _parse_aliases(self) -> bool:
        aliased = False
        for word in ("as", "at", "by"):
            implied = word == "as" and self.token.type in (TokenType.NAME, TokenType.QUOTED)
            if implied or self.take(word):
                self._parse_alias(word.upper())
                aliased = True
        return aliased

    def _parse_alias(self, word: str) -> None:
        if self.token.type not in (TokenType.NAME, TokenType.QUOTED):
            raise MalformedStatement(f"Expected identifier for {word}-alias")
        self.advance()

    # -- INSERT, UPDATE, DELETE -----------------------------------------------------------------------------------

    def _parse_insert(self, span: Span) -> InsertStatement:
        target = self.parse_simple_path()
        single = self.take("value")
        value = self.parse_expression()
        return InsertStatement(target, value, single, self._parse_returning() if single else None, span)

    def _parse_update(self, span: Span) -> UpdateStatement:
        source = self._parse_simple_source()
        changes = self._parse_changes()
        where = self.parse_expression() if self.take("where") else None
        return UpdateStatement(source, changes, where, self._parse_returning(), span)

    def _parse_update_from(self, span: Span) -> UpdateStatement:
        source = self._parse_from_source(-1)
        where = self.parse_expression() if self.take("where") else None
        changes = self._parse_changes()
        return UpdateStatement(source, changes, where, self._parse_returning(), span)

    def _parse_delete(self, span: Span) -> DeleteStatement:
        if not self.take("from"):
            raise MalformedStatement("Expected FROM after DELETE")
        source = self._parse_simple_source()
        where = self.parse_expression() if self.take("where") else None
        return DeleteStatement(source, where, self._parse_returning(), span)

    def _parse_changes(self) -> tuple[SetClause | RemoveClause | InsertStatement, ...]:
        changes: list[SetClause | RemoveClause | InsertStatement] = []
        while self.is_at(*CHANGES):
            token = self.advance()
            if token.text == "set":
                changes += self.parse_list(self._parse_assignment)
            elif token.text == "remove":
                changes.append(RemoveClause(self.parse_simple_path()))
            else:
                changes.append(self._parse_insert(token.span))
        if not changes:
            raise MalformedStatement("Expected data manipulation")
        return tuple(changes)

    def _parse_assignment(self) -> SetClause:
        target = self.parse_simple_path()
        if not self.take("="):
            raise MalformedStatement("Expected '='")
        return SetClause(target, self.parse_expression())

    def _parse_returning(self) -> str | None:
        if not self.take("returning"):
            return None
        if not self.is_at(*RETURNED):
            raise MalformedStatement("Expected ( MODIFIED | ALL ) ( NEW | OLD ) in each returning element.")
        returned = self.advance().text
        if not self.take("*"):
            raise MalformedStatement("Unsupported syntax in RETURNING columns.")
        return returned.upper()


def _check_depth(statement: Expression) -> None:
    """Refuse a tree that is too deep for recursion; a sequence of operators makes a deep tree without parentheses."""
    level: list[object] = [statement]
    depth = 0
    while level:
        depth += 1
        if depth > MAX_DEPTH:
            raise MalformedStatement
        level = [child for node in level if type(node) not in LEAVES for child in _children(node)]


def _children(node: object) -> Iterator[object]:
    for field in getattr(node, "__struct_fields__", ()):
        value = None if field == "span" else getattr(node, field)
        yield from _flatten(value) if isinstance(value, tuple) else (value,)


def _flatten(values: tuple[object, ...]) -> Iterator[object]:
    for value in values:
        yield from value if isinstance(value, tuple) else (value,)
