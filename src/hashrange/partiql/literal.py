"""Converts literals and parameters of statements to attribute values, with the service's errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from typing import Any

from hashrange.core import numbers
from hashrange.core.errors import ValidationException
from hashrange.core.values import INVALID_PARAMETER, ErrorWording, InvalidValue, Item, Value, canonicalise
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
    service_name,
)

ROOT = "root"
MAX_DEPTH = 31
MAX_EXPONENT = 2**31 - 1
CONSTANTS: dict[str, Callable[[], Value]] = {
    "true": lambda: {"BOOL": True},
    "false": lambda: {"BOOL": False},
    "null": lambda: {"NULL": True},
}
OUT_OF_RANGE = (numbers.NumberErrorCause.OVERFLOW.value, numbers.NumberErrorCause.UNDERFLOW.value)


def check_parameters(parameters: Sequence[Value]) -> list[Value]:
    """Return parameters in canonical form, or raise; they are checked before the statement is parsed."""
    return [_check_parameter(parameter) for parameter in parameters]


def _check_parameter(parameter: Value) -> Value:
    try:
        return canonicalise(parameter)
    except InvalidValue as error:
        if error.text in OUT_OF_RANGE:
            _check_exponents(parameter)
        raise error.service_error(ErrorWording.OLDER) from None


def _check_exponents(parameter: Value) -> None:
    """Raise if the first number out of range has an exponent of more than 32 bits: a syntax error to the service."""
    for text in _numbers_in(parameter):
        try:
            numbers.normalize(text)
        except numbers.NumberError:
            if abs(_exponent(text)) > MAX_EXPONENT:
                raise ValidationException(numbers.NumberErrorCause.SYNTAX.value.format(text=text)) from None
            return


def _numbers_in(value: Any) -> Iterator[str]:
    """Yield the numbers in a value, in order."""
    pending = [value]
    while pending:
        ((tag, content),) = pending.pop().items()
        if tag == "N":
            yield content
        elif tag == "NS":
            yield from content
        elif tag in ("L", "M"):
            pending += reversed(content if tag == "L" else list(content.values()))


def _exponent(text: str) -> int:
    exponent = text.lower().partition("e")[2] or "0"
    return int(exponent) if len(exponent) < 25 else 10**25


def is_literal(node: Expression) -> bool:
    """Return whether an expression is a literal or a parameter."""
    if isinstance(node, ConstantLiteral):
        return node.word != "missing"
    return isinstance(
        node, StringLiteral | NumberLiteral | StatementParameter | ListLiteral | SetLiteral | MapLiteral | IonLiteral
    )


class LiteralConverter:
    """Converts literals and parameters to attribute values."""

    def __init__(self, parameters: Sequence[Value]) -> None:
        self._parameters = parameters

    def convert_item(self, node: MapLiteral) -> Item:
        """Return the item of a map literal; error texts name the path inside an attribute's value from `root`."""
        item: Item = {}
        for key, value in node.members:
            name = _convert_key(key, ROOT)
            if name in item:
                raise ValidationException(f"Duplicate keys in tuple. Key: {name} under {ROOT} at {key.span}")
            item[name] = self.convert_value(value)
        return item

    def convert_value(self, node: Expression) -> Value:
        """Return the value of a literal or parameter."""
        if isinstance(node, StatementParameter):
            return self._parameters[node.position]
        return self._convert(node, ROOT, 0)

    def _convert(self, node: Expression, path: str, depth: int) -> Value:
        if depth > MAX_DEPTH:
            raise ValidationException(f"Nesting Levels have exceeded supported limits under {path}")
        match node:
            case StringLiteral():
                return {"S": node.text}
            case NumberLiteral():
                return {"N": _convert_number(node.text, path)}
            case ConstantLiteral() if node.word in CONSTANTS:
                return CONSTANTS[node.word]()
            case ListLiteral():
                elements = enumerate(node.elements)
                return {"L": [self._convert(element, f"{path}[{at}]", depth + 1) for at, element in elements]}
            case MapLiteral():
                return {"M": self._convert_members(node, path, depth)}
            case SetLiteral():
                return _convert_set(node, path)
            case IonLiteral():
                raise ValidationException(
                    f"Ion Literals are not supported: {node.text} under key {path} at {node.span}"
                )
        raise ValidationException(f"Unsupported data type: {describe_node(node)} under key {path} at {node.span}")

    def _convert_members(self, node: MapLiteral, path: str, depth: int) -> Item:
        members: Item = {}
        for key, value in node.members:
            name = _convert_key(key, path)
            if name in members:
                raise ValidationException(f"Duplicate keys in tuple. Key: {name} under {path} at {node.span}")
            members[name] = self._convert(value, f"{path}.{name}", depth + 1)
        return members


def describe_node(node: Expression) -> str:
    """Return the service's name of an expression that is not a value."""
    match node:
        case Identifier():
            return node.text
        case CallExpression():
            return node.name
        case PathExpression():
            return "Path"
        case OperatorExpression():
            return node.operator
        case ConstantLiteral():
            return node.word.upper()
    return service_name(node)


def _convert_key(node: Expression, path: str) -> str:
    if not isinstance(node, StringLiteral):
        raise ValidationException(
            f"Tuple keys must be of type String. Actual type: {describe_node(node)} under {path} at {node.span}"
        )
    if not node.text:
        raise ValidationException("Path component cannot be an empty string")
    return node.text


def _convert_number(text: str, path: str) -> str:
    try:
        return numbers.normalize(text)
    except numbers.NumberError as error:
        cause = error.cause
        if cause is numbers.NumberErrorCause.OVERFLOW and _exponent(text) >= MAX_EXPONENT:
            cause = (
                numbers.NumberErrorCause.UNDERFLOW
            )  # the service computes the magnitude in 32 bits, and it overflows
        raise ValidationException(f"{cause.value} under {path}") from None


def _convert_set(node: SetLiteral, path: str) -> Value:
    if not node.elements:
        raise ValidationException("Empty bags are not supported")
    if all(isinstance(element, StringLiteral) for element in node.elements):
        texts = [element.text for element in node.elements if isinstance(element, StringLiteral)]
        _check_distinct(texts, texts, ".")
        return {"SS": sorted(texts)}
    if all(isinstance(element, NumberLiteral) for element in node.elements):
        written = [element.text for element in node.elements if isinstance(element, NumberLiteral)]
        members = [_convert_number(text, path) for text in written]
        _check_distinct(members, written, f"! under {path}")
        return {"NS": sorted(members, key=Decimal)}
    raise ValidationException("Unsupported data type in Bag. DynamoDB only supports either numbers or strings in bags")


def _check_distinct(members: list[str], written: list[str], end: str) -> None:
    if len(set(members)) != len(members):
        raise ValidationException(
            f"{INVALID_PARAMETER}Input collection [{', '.join(written)}] contains duplicates{end}"
        )
