"""Parses statements, once per text.

Raises the service's syntax errors; `statement_plan` checks everything else.
"""

from __future__ import annotations

from collections.abc import Iterator

from hashrange.core.cache import BoundedCache
from hashrange.core.errors import ValidationException
from hashrange.partiql.expression_parser import IN_SELECT, MAX_DEPTH, ExpressionParser
from hashrange.partiql.keywords import JOINS, SEPARATORS
from hashrange.partiql.lexer import MalformedStatement, Span, StatementToken, TokenKind, tokenize
from hashrange.partiql.nodes import (
    DeleteStatement,
    Expression,
    FromSource,
    InsertStatement,
    OrderTerm,
    PathExpression,
    RemoveClause,
    SelectStatement,
    SetClause,
    UpdateStatement,
    Wildcard,
)

CHANGES = ("set", "remove", "insert into")
RETURNED = ("modified old", "modified new", "all old", "all new")
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
    statement = parser.expression()
    ended = parser.take(";")
    if not parser.ended():
        raise MalformedStatement(AFTER_END if ended else "Unexpected token after expression")
    _check_depth(statement)
    return statement, parser.parameters


class StatementParser(ExpressionParser):
    """Parses statements."""

    def statement(self, token: StatementToken) -> Expression:
        """Parse the statement that starts with a keyword."""
        self.advance()
        match token.text:
            case "select":
                return self._select(token.span)
            case "insert into":
                return self._insert(token.span)
            case "update":
                return self._update(token.span)
            case "delete":
                return self._delete(token.span)
            case "from":
                return self._update_from(token.span)
        raise MalformedStatement("Unexpected term" if token.text in SEPARATORS else "Unexpected keyword")

    # -- SELECT ---------------------------------------------------------------------------------------------------

    def _select(self, span: Span) -> SelectStatement:
        first = self.token
        distinct = ("DISTINCT", first.span) if self.take("distinct") else None
        if distinct is None:
            self.take("all")
        if self.at("value"):
            raise ValidationException("Select projection doesn't support value or pivot keywords")
        columns, aliases = zip(*self.list_of(self._column), strict=True)
        if len(columns) > 1 and any(isinstance(column, Wildcard) for column in columns):
            raise MalformedStatement(STAR_ALONE)
        if not self.take("from"):
            raise MalformedStatement("Expected FROM after SELECT list")
        source = self._from_source(IN_SELECT)
        where = self.expression(IN_SELECT) if self.take("where") else None
        grouping = self._skip_clauses("group", "having")
        order = self._order()
        unsupported = distinct or grouping or self._skip_clauses("limit")
        chosen = None if isinstance(columns[0], Wildcard) else columns
        return SelectStatement(chosen, any(aliases), source, where, order, unsupported, span)

    def _column(self) -> tuple[Expression, bool]:
        token = self.token
        if self.take("*"):
            return Wildcard(bracketed=False, span=token.span), False
        column = self.expression()
        if isinstance(column, PathExpression) and any(isinstance(step, Wildcard) for step in column.steps):
            raise MalformedStatement("Invalid use of * in select list")
        aliased = self.take("as") or self.token.kind in (TokenKind.NAME, TokenKind.QUOTED)
        if aliased:
            self._alias("AS")
        return column, aliased

    def _order(self) -> tuple[OrderTerm, ...]:
        if not self.take("order"):
            return ()
        self.expect("by")
        return self.list_of(self._ordering)

    def _ordering(self) -> OrderTerm:
        key = self.expression(IN_SELECT)
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
                argument = self.list_of(lambda: self.expression(IN_SELECT))[0]
                first = first or ("GROUP BY" if word == "group" else word.upper(), argument.span)
        return first

    # -- sources --------------------------------------------------------------------------------------------------

    def _from_source(self, precedence: int) -> FromSource:
        expression = self.expression(precedence)
        aliased = self._aliases()
        joined = False
        while self.at(",", *JOINS):
            joined = True
            while self.at(",", *JOINS):
                self.advance()
            self.expression(precedence)
            self._aliases()
            if self.at("on"):
                self.advance()
                self.expression(precedence)
        return FromSource(expression, aliased, joined)

    def _simple_source(self) -> FromSource:
        return FromSource(self.simple_path(), self._aliases())

    def _aliases(self) -> bool:
        aliased = False
        for word in ("as", "at", "by"):
            implied = word == "as" and self.token.kind in (TokenKind.NAME, TokenKind.QUOTED)
            if implied or self.take(word):
                self._alias(word.upper())
                aliased = True
        return aliased

    def _alias(self, word: str) -> None:
        if self.token.kind not in (TokenKind.NAME, TokenKind.QUOTED):
            raise MalformedStatement(f"Expected identifier for {word}-alias")
        self.advance()

    # -- INSERT, UPDATE, DELETE -----------------------------------------------------------------------------------

    def _insert(self, span: Span) -> InsertStatement:
        target = self.simple_path()
        single = self.take("value")
        value = self.expression()
        return InsertStatement(target, value, single, self._returning() if single else None, span)

    def _update(self, span: Span) -> UpdateStatement:
        source = self._simple_source()
        changes = self._changes()
        where = self.expression() if self.take("where") else None
        return UpdateStatement(source, changes, where, self._returning(), span)

    def _update_from(self, span: Span) -> UpdateStatement:
        source = self._from_source(-1)
        where = self.expression() if self.take("where") else None
        changes = self._changes()
        return UpdateStatement(source, changes, where, self._returning(), span)

    def _delete(self, span: Span) -> DeleteStatement:
        if not self.take("from"):
            raise MalformedStatement("Expected FROM after DELETE")
        source = self._simple_source()
        where = self.expression() if self.take("where") else None
        return DeleteStatement(source, where, self._returning(), span)

    def _changes(self) -> tuple[SetClause | RemoveClause | InsertStatement, ...]:
        changes: list[SetClause | RemoveClause | InsertStatement] = []
        while self.at(*CHANGES):
            token = self.advance()
            if token.text == "set":
                changes += self.list_of(self._assignment)
            elif token.text == "remove":
                changes.append(RemoveClause(self.simple_path()))
            else:
                changes.append(self._insert(token.span))
        if not changes:
            raise MalformedStatement("Expected data manipulation")
        return tuple(changes)

    def _assignment(self) -> SetClause:
        target = self.simple_path()
        if not self.take("="):
            raise MalformedStatement("Expected '='")
        return SetClause(target, self.expression())

    def _returning(self) -> str | None:
        if not self.take("returning"):
            return None
        if not self.at(*RETURNED):
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
        level = [child for node in level for child in _children(node)]


def _children(node: object) -> Iterator[object]:
    for field in getattr(node, "__slots__", ()):
        value = None if field == "span" else getattr(node, field)
        yield from _flatten(value) if isinstance(value, tuple) else (value,)


def _flatten(values: tuple[object, ...]) -> Iterator[object]:
    for value in values:
        yield from value if isinstance(value, tuple) else (value,)
