"""Parses conditions, projections and updates into syntax trees; `validation` resolves and checks the names in them.

    condition  = or            or = and { OR and }        and = not { AND not }        not = { NOT } primary
    primary    = "(" or ")" | call | operand comparator operand | operand BETWEEN operand AND operand
               | operand IN "(" operand { "," operand } ")"
    operand    = :value | path | call | "(" operand ")"       call = name "(" operand { "," operand } ")"
    path       = name { "." name | "[" index "]" }
    update     = section { section }
    section    = SET path "=" value { "," ... } | REMOVE path { "," ... } | (ADD | DELETE) path :value { "," ... }
    value      = operand | sum            sum = operand ("+" | "-") operand | "(" sum ")"

Nothing here recurses: open parentheses and calls are kept in a list, because a text may have thousands of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias, TypeVar

from msgspec import Struct, field

from hashrange.core.values import utf8_length
from hashrange.expr.errors import ExpressionError
from hashrange.expr.lexer import END, Tokens
from hashrange.expr.nodes import (
    Action,
    AddAction,
    And,
    Arithmetic,
    Assigned,
    Between,
    Comparison,
    Condition,
    DeleteAction,
    DocumentPath,
    Element,
    FunctionCall,
    Membership,
    Or,
    Placeholder,
    RemoveAction,
    Section,
    SetAction,
    negate,
)
from hashrange.expr.operators import COMPARATORS

MAX_TEXT_BYTES = 4096
MAX_OPERATORS = 300
# The parameters whose error for a long text contains its length.
PARAMETERS_WITH_SIZE = frozenset({"ConditionExpression", "FilterExpression"})

Part = TypeVar("Part")
ParsedOperand: TypeAlias = DocumentPath | Placeholder | FunctionCall  # the operands of a parsed text
Term: TypeAlias = Condition | ParsedOperand


class _Group(Struct):
    """What was read so far inside a pair of parentheses of a condition, or of the whole text."""

    alternatives: list[Condition] = field(default_factory=list)
    conjuncts: list[Condition] = field(default_factory=list)
    negations: int = 0

    @property
    def is_empty(self) -> bool:
        return not (self.negations or self.conjuncts or self.alternatives)

    def add(self, condition: Condition) -> None:
        for _ in range(self.negations):
            condition = negate(condition)
        self.negations = 0
        self.conjuncts.append(condition)

    def start_alternative(self) -> None:
        self.alternatives.append(_join(And, self.conjuncts))
        self.conjuncts = []

    def finish(self) -> Condition:
        self.start_alternative()
        return _join(Or, self.alternatives)


def _join(make: type[And | Or], conditions: list[Condition]) -> Condition:
    return conditions[0] if len(conditions) == 1 else make(tuple(conditions))


def check_size(parameter: str, text: str) -> None:
    """Refuse a text that is empty or too long; this is checked before it is parsed."""
    if not text:
        raise ExpressionError("The expression can not be empty;")
    size = utf8_length(text)
    if size > MAX_TEXT_BYTES:
        size_text = f" expression size: {size}" if parameter in PARAMETERS_WITH_SIZE else ""
        raise ExpressionError(f"Expression size has exceeded the maximum allowed size;{size_text}")


def parse_projection(text: str) -> tuple[DocumentPath, ...]:
    """Return the paths of a projection, or raise ExpressionError."""
    tokens = Tokens(text)
    paths = _parse_list(tokens, _parse_path)
    _expect_end(tokens)
    return paths


def parse_update(text: str) -> tuple[Section, ...]:
    """Return the sections of an update, or raise ExpressionError."""
    tokens = Tokens(text)
    sections = [_parse_section(tokens)]
    while tokens.type != END:
        sections.append(_parse_section(tokens))
    sums = sum(
        isinstance(action, SetAction) and isinstance(action.value, Arithmetic)
        for section in sections
        for action in section.actions
    )
    _check_operators(sums)
    return tuple(sections)


def parse_condition(text: str) -> Condition:
    """Return the tree of a condition, or raise ExpressionError."""
    return _ConditionParser(text).parse()


def _check_operators(count: int) -> None:
    if count > MAX_OPERATORS:  # the service stops counting here
        raise ExpressionError(f"The expression contains too many operators; operator count: {MAX_OPERATORS + 1}")


def _redundant_parentheses() -> ExpressionError:
    return ExpressionError("The expression has redundant parentheses;")


def _expect_end(tokens: Tokens) -> None:
    if tokens.type != END:
        raise tokens.syntax_error()


def _parse_list(tokens: Tokens, parse: Callable[[Tokens], Part]) -> tuple[Part, ...]:
    parts = [parse(tokens)]
    while tokens.accept(","):
        parts.append(parse(tokens))
    return tuple(parts)


class _ConditionParser:
    """Parses a condition; keeps a list of the open groups, the innermost last."""

    def __init__(self, text: str) -> None:
        self._tokens = Tokens(text)
        self._groups = [_Group()]
        self._operators = 0

    def parse(self) -> Condition:
        while self._tokens.type != END:
            self._open()
            self._close(self._parse_comparison(_parse_simple(self._tokens)))
        condition = self._groups.pop()
        if self._groups or not condition.conjuncts or condition.negations:
            raise self._tokens.syntax_error()
        _check_operators(self._operators)
        return condition.finish()

    def _open(self) -> None:
        while True:
            if self._tokens.accept("NOT"):
                self._groups[-1].negations += 1
                self._operators += 1
            elif self._tokens.accept("("):
                self._groups.append(_Group())
            else:
                return

    def _close(self, term: Term) -> None:
        """Add the term just read to its group, and close the groups that end here."""
        enclosed = False
        while self._tokens.type == ")" and len(self._groups) > 1:
            group = self._groups[-1]
            if enclosed and group.is_empty:
                raise _redundant_parentheses()
            content = self._finish_group(term)
            term = self._parse_comparison(content)
            enclosed = term is content
        self._join(term)

    def _finish_group(self, term: Term) -> Term:
        group = self._groups[-1]
        if not group.is_empty:
            if isinstance(term, DocumentPath | Placeholder):
                raise self._tokens.syntax_error()
            group.add(term)
            term = group.finish()
        self._groups.pop()
        self._tokens.take()
        return term

    def _join(self, term: Term) -> None:
        if isinstance(term, DocumentPath | Placeholder) or self._tokens.type not in {"AND", "OR", END}:
            raise self._tokens.syntax_error()
        group = self._groups[-1]
        group.add(term)
        if self._tokens.type == END:
            return
        self._operators += 1
        if self._tokens.take().type == "OR":
            group.start_alternative()
        if self._tokens.type == END:
            raise self._tokens.syntax_error()

    def _parse_comparison(self, term: Term) -> Term:
        """Return the comparison that a term begins; the term itself if no comparison follows."""
        if not isinstance(term, DocumentPath | Placeholder | FunctionCall):
            return term
        type_ = self._tokens.type
        if type_ in COMPARATORS:
            node: Term = Comparison(self._tokens.take().text, term, _parse_operand(self._tokens))
        elif type_ == "BETWEEN":
            self._tokens.take()
            low = _parse_operand(self._tokens)
            self._tokens.expect("AND")
            node = Between(term, low, _parse_operand(self._tokens))
        elif type_ == "IN":
            self._tokens.take()
            self._tokens.expect("(")
            node = Membership(term, _parse_list(self._tokens, _parse_operand))
            self._tokens.expect(")")
        else:
            return term
        self._operators += 1
        return node


def _parse_path(tokens: Tokens) -> DocumentPath:
    elements: list[Element] = [_parse_name(tokens)]
    while True:
        if tokens.accept("."):
            elements.append(_parse_name(tokens))
        elif tokens.accept("["):
            elements.append(int(tokens.expect("index")))
            tokens.expect("]")
        else:
            return DocumentPath(tuple(elements))


def _parse_name(tokens: Tokens) -> str:
    return tokens.take().text if tokens.type == "reference" else tokens.expect("name")


def _parse_simple(tokens: Tokens) -> ParsedOperand:
    """Read an operand that does not start with a parenthesis."""
    if tokens.type == "(":
        raise tokens.syntax_error()
    return _parse_operand(tokens)


def _parse_operand(tokens: Tokens) -> ParsedOperand:
    pending: list[_Call | None] = []  # open calls and, as None, open parentheses
    while True:
        if tokens.accept("("):
            pending.append(None)
        elif tokens.type == "name" and tokens.next_type() == "(":
            pending.append(_Call(tokens.take().text))
            tokens.take()
        else:
            operand: ParsedOperand = (
                Placeholder(tokens.take().text) if tokens.type == "placeholder" else _parse_path(tokens)
            )
            finished = _finish_operands(tokens, pending, operand)
            if finished is not None:
                return finished


class _Call(Struct):
    """A call whose arguments are being read."""

    function: str
    arguments: list[ParsedOperand] = field(default_factory=list)


def _finish_operands(tokens: Tokens, pending: list[_Call | None], operand: ParsedOperand) -> ParsedOperand | None:
    """Close what ends after an operand; return the result if nothing is open, None if another argument follows."""
    enclosed = False
    while pending:
        call = pending[-1]
        if call is not None:
            call.arguments.append(operand)
            if tokens.accept(","):
                return None
            operand = FunctionCall(call.function, tuple(call.arguments))
        tokens.expect(")")
        if call is None and enclosed:
            raise _redundant_parentheses()
        enclosed = call is None
        pending.pop()
    return operand


def _parse_section(tokens: Tokens) -> Section:
    if tokens.type not in _ACTION_PARSERS:
        raise tokens.syntax_error()
    keyword = tokens.take().type
    return Section(keyword, _parse_list(tokens, _ACTION_PARSERS[keyword]))


def _parse_set(tokens: Tokens) -> Action:
    path = _parse_path(tokens)
    tokens.expect("=")
    return SetAction(path, _parse_value(tokens))


def _parse_value(tokens: Tokens) -> Assigned:
    opened = 0
    while tokens.accept("("):
        opened += 1
    value: Assigned = _parse_simple(tokens)
    enclosed = False
    while True:
        if tokens.type in {"+", "-"} and not isinstance(value, Arithmetic):
            value, enclosed = Arithmetic(tokens.take().text, value, _parse_operand(tokens)), False
        elif opened:
            tokens.expect(")")
            if enclosed:
                raise _redundant_parentheses()
            opened, enclosed = opened - 1, True
        else:
            return value


def _parse_remove(tokens: Tokens) -> Action:
    return RemoveAction(_parse_path(tokens))


def _parse_add(tokens: Tokens) -> Action:
    return AddAction(_parse_path(tokens), Placeholder(tokens.expect("placeholder")))


def _parse_delete(tokens: Tokens) -> Action:
    return DeleteAction(_parse_path(tokens), Placeholder(tokens.expect("placeholder")))


_ACTION_PARSERS: dict[str, Callable[[Tokens], Action]] = {
    "SET": _parse_set,
    "REMOVE": _parse_remove,
    "ADD": _parse_add,
    "DELETE": _parse_delete,
}
