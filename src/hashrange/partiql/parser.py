"""Statement text to nodes, once per text.

Says what the service says about a text that it cannot read; what a statement means is left to `plan`.
"""

from __future__ import annotations

from collections.abc import Iterator

from hashrange.core.errors import ValidationException
from hashrange.expr.cache import BoundedCache
from hashrange.partiql.lexer import Kind, Malformed, Mark, Token, tokenize
from hashrange.partiql.nodes import (
    Assignment,
    Delete,
    Expression,
    Insert,
    Ordering,
    Path,
    Removal,
    Select,
    Source,
    Update,
    Wildcard,
)
from hashrange.partiql.terms import DEEPEST, IN_SELECT, Terms
from hashrange.partiql.words import JOINS, SEPARATORS

CHANGES = ("set", "remove", "insert into")
RETURNED = ("modified old", "modified new", "all old", "all new")
AFTER_END = "Unexpected token after semicolon. (Only one query is allowed.)"
STAR_ALONE = "Other expressions may not be present in the select list when '*' is used without dot notation."
PARSED: BoundedCache[tuple[Expression, int]] = BoundedCache(most=1000, heaviest=100_000)


def parse(text: str) -> tuple[Expression, int]:
    """Return a statement and the number of its parameters, or raise Malformed."""
    parsed = PARSED.get(text)
    if parsed is None:
        parsed = _parse(text)
        PARSED.store(text, parsed, len(text))
    return parsed


def _parse(text: str) -> tuple[Expression, int]:
    parser = Parser(tokenize(text))
    statement = parser.expression()
    ended = parser.take(";")
    if not parser.ended():
        raise Malformed(AFTER_END if ended else "Unexpected token after expression")
    _check_depth(statement)
    return statement, parser.parameters


class Parser(Terms):
    """Reads statements."""

    def statement(self, token: Token) -> Expression:
        """Read the statement that a keyword starts."""
        self.advance()
        match token.text:
            case "select":
                return self._select(token.mark)
            case "insert into":
                return self._insert(token.mark)
            case "update":
                return self._update(token.mark)
            case "delete":
                return self._delete(token.mark)
            case "from":
                return self._update_from(token.mark)
        raise Malformed("Unexpected term" if token.text in SEPARATORS else "Unexpected keyword")

    # -- SELECT ---------------------------------------------------------------------------------------------------

    def _select(self, mark: Mark) -> Select:
        first = self.token
        distinct = ("DISTINCT", first.mark) if self.take("distinct") else None
        if distinct is None:
            self.take("all")
        if self.at("value"):
            raise ValidationException("Select projection doesn't support value or pivot keywords")
        columns, aliases = zip(*self.list_of(self._column), strict=True)
        if len(columns) > 1 and any(isinstance(column, Wildcard) for column in columns):
            raise Malformed(STAR_ALONE)
        if not self.take("from"):
            raise Malformed("Expected FROM after SELECT list")
        source = self._from_source(IN_SELECT)
        where = self.expression(IN_SELECT) if self.take("where") else None
        grouping = self._skip_clauses("group", "having")
        order = self._order()
        unsupported = distinct or grouping or self._skip_clauses("limit")
        chosen = None if isinstance(columns[0], Wildcard) else columns
        return Select(chosen, any(aliases), source, where, order, unsupported, mark)

    def _column(self) -> tuple[Expression, bool]:
        token = self.token
        if self.take("*"):
            return Wildcard(bracketed=False, mark=token.mark), False
        column = self.expression()
        if isinstance(column, Path) and any(isinstance(step, Wildcard) for step in column.steps):
            raise Malformed("Invalid use of * in select list")
        aliased = self.take("as") or self.token.kind in (Kind.NAME, Kind.QUOTED)
        if aliased:
            self._alias("AS")
        return column, aliased

    def _order(self) -> tuple[Ordering, ...]:
        if not self.take("order"):
            return ()
        self.expect("by")
        return self.list_of(self._ordering)

    def _ordering(self) -> Ordering:
        key = self.expression(IN_SELECT)
        descending = self.take("desc")
        if not descending:
            self.take("asc")
        return Ordering(key, descending)

    def _skip_clauses(self, *words: str) -> tuple[str, Mark] | None:
        """Read on over clauses that the language has and the service has not; return the first and its place."""
        first: tuple[str, Mark] | None = None
        for word in words:
            if self.take(word):
                if word == "group":
                    self.expect("by")
                argument = self.list_of(lambda: self.expression(IN_SELECT))[0]
                first = first or ("GROUP BY" if word == "group" else word.upper(), argument.mark)
        return first

    # -- sources --------------------------------------------------------------------------------------------------

    def _from_source(self, precedence: int) -> Source:
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
        return Source(expression, aliased, joined)

    def _simple_source(self) -> Source:
        return Source(self.simple_path(), self._aliases())

    def _aliases(self) -> bool:
        aliased = False
        for word in ("as", "at", "by"):
            implied = word == "as" and self.token.kind in (Kind.NAME, Kind.QUOTED)
            if implied or self.take(word):
                self._alias(word.upper())
                aliased = True
        return aliased

    def _alias(self, word: str) -> None:
        if self.token.kind not in (Kind.NAME, Kind.QUOTED):
            raise Malformed(f"Expected identifier for {word}-alias")
        self.advance()

    # -- INSERT, UPDATE, DELETE -----------------------------------------------------------------------------------

    def _insert(self, mark: Mark) -> Insert:
        target = self.simple_path()
        single = self.take("value")
        value = self.expression()
        return Insert(target, value, single, self._returning() if single else None, mark)

    def _update(self, mark: Mark) -> Update:
        source = self._simple_source()
        changes = self._changes()
        where = self.expression() if self.take("where") else None
        return Update(source, changes, where, self._returning(), mark)

    def _update_from(self, mark: Mark) -> Update:
        source = self._from_source(-1)
        where = self.expression() if self.take("where") else None
        changes = self._changes()
        return Update(source, changes, where, self._returning(), mark)

    def _delete(self, mark: Mark) -> Delete:
        if not self.take("from"):
            raise Malformed("Expected FROM after DELETE")
        source = self._simple_source()
        where = self.expression() if self.take("where") else None
        return Delete(source, where, self._returning(), mark)

    def _changes(self) -> tuple[Assignment | Removal | Insert, ...]:
        changes: list[Assignment | Removal | Insert] = []
        while self.at(*CHANGES):
            token = self.advance()
            if token.text == "set":
                changes += self.list_of(self._assignment)
            elif token.text == "remove":
                changes.append(Removal(self.simple_path()))
            else:
                changes.append(self._insert(token.mark))
        if not changes:
            raise Malformed("Expected data manipulation")
        return tuple(changes)

    def _assignment(self) -> Assignment:
        target = self.simple_path()
        if not self.take("="):
            raise Malformed("Expected '='")
        return Assignment(target, self.expression())

    def _returning(self) -> str | None:
        if not self.take("returning"):
            return None
        if not self.at(*RETURNED):
            raise Malformed("Expected ( MODIFIED | ALL ) ( NEW | OLD ) in each returning element.")
        returned = self.advance().text
        if not self.take("*"):
            raise Malformed("Unsupported syntax in RETURNING columns.")
        return returned.upper()


def _check_depth(statement: Expression) -> None:
    """Refuse a tree too deep to walk: a row of operators is a deep tree without any nesting in the text."""
    level: list[object] = [statement]
    depth = 0
    while level:
        depth += 1
        if depth > DEEPEST:
            raise Malformed
        level = [child for node in level for child in _children(node)]


def _children(node: object) -> Iterator[object]:
    for field in getattr(node, "__slots__", ()):
        value = None if field == "mark" else getattr(node, field)
        yield from _flatten(value) if isinstance(value, tuple) else (value,)


def _flatten(values: tuple[object, ...]) -> Iterator[object]:
    for value in values:
        yield from value if isinstance(value, tuple) else (value,)
