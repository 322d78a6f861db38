"""Converts the expressions of a statement to the conditions, operands and update actions of `expr`, with values bound.

`expr` checks what the two languages share; here is what only statements have: literals, `IS`, conditions compared with
booleans, SET_ADD and SET_DELETE, and error texts that contain a position in the statement.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

from hashrange.core.errors import ValidationException
from hashrange.core.limits import MAX_IN_OPERANDS
from hashrange.core.numbers import NumberError, normalize
from hashrange.core.values import Value
from hashrange.expr import nodes as expr
from hashrange.expr.functions import Role, has_role, misplaced
from hashrange.expr.operators import COMPARATORS, MIRRORED, SET_TYPES
from hashrange.expr.validation import MAX_INDEX, TOO_MANY_OPTIONS
from hashrange.partiql.literal import LiteralConverter, is_literal
from hashrange.partiql.nodes import (
    CallExpression,
    ConstantLiteral,
    Expression,
    Identifier,
    ListLiteral,
    NumberLiteral,
    OperatorExpression,
    PathExpression,
    RemoveClause,
    SetClause,
    SetLiteral,
    StringLiteral,
    TypeTest,
    Wildcard,
    service_name,
)

SET_FUNCTIONS: dict[str, Callable[[expr.DocumentPath, expr.Literal], expr.Action]] = {
    "set_add": expr.AddAction,
    "set_delete": expr.DeleteAction,
}
TESTABLE_TYPES = frozenset({"BOOL", "S", "N", "B", "M", "L", "NULL"})
NEVER = expr.Comparison("=", expr.Literal({"BOOL": True}), expr.Literal({"BOOL": False}))
INVALID_IN = (
    "IN operator must have a left hand argument of type Variable Reference and right hand argument of type Seq with at "
    "least one member"
)
UNSUPPORTED_TYPE = (
    "Unsupported data type for IS operator: {}. Supported data types are "
    "[MISSING, NULL, BOOLEAN, BLOB, STRING, NUMERIC, STRUCT, TUPLE, LIST] at {}"
)
WRONG_COUNT = "Incorrect number of operands for operator or function; operator or function: {}, number of operands: {}"
BOOLEAN_ORDER = "Incorrect operand type for operator or function; operator or function: {}, operand type: BOOL"


class ExpressionConverter:
    """Converts the expressions of one statement, with the values of its parameters."""

    def __init__(self, parameters: Sequence[Value]) -> None:
        self.literals = LiteralConverter(parameters)

    # -- paths ----------------------------------------------------------------------------------------------------

    def convert_path(self, node: Expression) -> expr.DocumentPath:
        """Return the document path of a name or path."""
        if isinstance(node, Identifier):
            return expr.DocumentPath((_check_name(node.text),))
        if not isinstance(node, PathExpression) or not isinstance(node.root, Identifier):
            raise ValidationException(f"Unexpected path component at {node.span}")
        return expr.DocumentPath((_check_name(node.root.text), *(_convert_step(step) for step in node.steps)))

    # -- conditions -----------------------------------------------------------------------------------------------

    def convert_condition(self, node: Expression) -> expr.Condition:
        """Return the condition of a WHERE clause."""
        if not is_condition(node):
            raise _condition_error(node, "WHERE clause must contain an expression that resolves to a boolean")
        return self._convert_condition(node)

    def _convert_condition(self, node: Expression) -> expr.Condition:
        match node:
            case OperatorExpression(operator="and" | "or"):
                parts = tuple(
                    self._convert_part(part, "The arguments to AND/OR must be Expressions") for part in node.operands
                )
                return expr.And(parts) if node.operator == "and" else expr.Or(parts)
            case OperatorExpression(operator="not"):
                return expr.negate(
                    self._convert_part(node.operands[0], "The argument to NOT must be a Type or Expression")
                )
            case OperatorExpression(operator="between"):
                operand, low, high = (self.convert_operand(part) for part in node.operands)
                return expr.Between(operand, low, high)
            case OperatorExpression(operator="in"):
                return self._convert_membership(node)
            case OperatorExpression():
                return self._convert_comparison(node)
            case TypeTest():
                return self._convert_type_test(node)
            case CallExpression():
                return self._convert_call(node)
        raise ValidationException(f"Unsupported token in expression: {service_name(node)}")

    def _convert_part(self, node: Expression, message: str) -> expr.Condition:
        if not is_condition(node):
            raise _condition_error(node, message)
        return self._convert_condition(node)

    def _convert_comparison(self, node: OperatorExpression) -> expr.Condition:
        left, right = node.operands
        if is_condition(left):
            return self._compare_truth(node.operator, self._convert_condition(left), right)
        if is_condition(right):
            return self._compare_truth(MIRRORED[node.operator], self._convert_condition(right), left)
        return expr.Comparison(node.operator, self.convert_operand(left), self.convert_operand(right))

    def _compare_truth(self, operator: str, condition: expr.Condition, other: Expression) -> expr.Condition:
        """Return a condition compared with a boolean, an attribute, or another condition."""
        if operator not in ("=", "<>"):
            raise ValidationException(BOOLEAN_ORDER.format(operator))
        if is_condition(other):
            same = _same_truth(condition, self._convert_condition(other), expr.negate(self._convert_condition(other)))
        else:
            same = _equals(condition, self.convert_operand(other))
        return same if operator == "=" else expr.negate(same)

    def _convert_membership(self, node: OperatorExpression) -> expr.Condition:
        operand, choices = node.operands
        options = choices.elements if isinstance(choices, ListLiteral | SetLiteral) else ()
        if not options:
            raise ValidationException(INVALID_IN)
        if is_condition(operand):
            condition = self._convert_condition(operand)
            return expr.Or(tuple(self._compare_truth("=", condition, option) for option in options))
        converted = self.convert_operand(operand)
        if len(options) > MAX_IN_OPERANDS:  # before they are converted: there may be thousands
            raise ValidationException(TOO_MANY_OPTIONS.format(len(options)))
        return expr.Membership(converted, tuple(self.convert_operand(option) for option in options))

    def _convert_type_test(self, node: TypeTest) -> expr.Condition:
        if not isinstance(node.operand, Identifier | PathExpression) and not is_literal(node.operand):
            raise ValidationException(
                "The left hand side argument to IS must be a Variable Reference, Literal, or Path"
            )
        operand = self.convert_operand(node.operand)
        if node.type == "MISSING":
            return expr.FunctionCall("attribute_not_exists", (operand,))
        if node.type not in TESTABLE_TYPES:
            raise ValidationException(UNSUPPORTED_TYPE.format(node.type, node.span))
        return expr.FunctionCall("attribute_type", (operand, expr.Literal({"S": node.type})))

    def convert_operand(self, node: Expression) -> expr.Operand:
        """Return an operand of a condition."""
        if type(node) is StringLiteral or type(node) is NumberLiteral:  # of IN, there may be thousands
            return expr.Literal(self.literals.convert_value(node))
        match node:
            case Identifier() | PathExpression():
                return self.convert_path(node)
            case CallExpression() if has_role(node.name, Role.OPERAND, in_partiql=True):
                return self._convert_call(node)
            case CallExpression():
                raise ValidationException(f"Unrecognized function: {node.name} at {node.span}")
            case ConstantLiteral(word="missing"):
                raise ValidationException("MISSING must be compared using IS operator")
            case OperatorExpression() if len(node.operands) == 1 and node.operator in ("+", "-"):
                raise ValidationException(WRONG_COUNT.format(node.operator, 1))
            case OperatorExpression():
                raise ValidationException(f"Unsupported operator in Condition Expression. Operator: {node.operator}")
        if is_literal(node):
            return expr.Literal(self.literals.convert_value(node))
        raise ValidationException(f"Unsupported token in expression: {service_name(node)}")

    def _convert_call(self, node: CallExpression) -> expr.FunctionCall:
        _check_has_arguments(node)
        return expr.FunctionCall(node.name, tuple(self.convert_operand(argument) for argument in node.arguments))

    # -- updates --------------------------------------------------------------------------------------------------

    def convert_change(self, node: SetClause | RemoveClause) -> expr.Action:
        """Return the update action of a SET or REMOVE."""
        target = self.convert_path(node.target)
        if isinstance(node, RemoveClause):
            return expr.RemoveAction(target)
        if isinstance(node.value, CallExpression) and node.value.name in SET_FUNCTIONS:
            return self._convert_set_function(target, node.value)
        return expr.SetAction(target, self.convert_assigned(node.value))

    def _convert_set_function(self, target: expr.DocumentPath, call: CallExpression) -> expr.Action:
        name = call.name.upper()
        if len(call.arguments) != 2:
            raise ValidationException(f"{name} must have exactly two arguments at {call.span}")
        first, second = call.arguments
        if not isinstance(first, Identifier | PathExpression) or self.convert_path(first) != target:
            raise ValidationException(f"The first argument to {name} must equal the assignment value at {call.span}")
        value = self.literals.convert_value(second) if is_literal(second) else {}
        if not value.keys() & SET_TYPES:
            raise ValidationException(f"The second argument to {name} must be a value with type SET at {first.span}")
        return SET_FUNCTIONS[call.name](target, expr.Literal(value))

    def convert_assigned(self, node: Expression) -> expr.Assigned:
        """Return the right side of SET: a value, a path, a sum or difference, or a function call."""
        match node:
            case Identifier() | PathExpression():
                return self.convert_path(node)
            case TypeTest():
                raise ValidationException("IS operator is not supported in update expressions")
            case CallExpression() if has_role(node.name, Role.ASSIGNMENT, in_partiql=True):
                _check_has_arguments(node)
                return expr.FunctionCall(
                    node.name, tuple(self._convert_argument(argument) for argument in node.arguments)
                )
            case CallExpression():
                raise ValidationException(f"Unrecognized function: {node.name} at {node.span}")
            case OperatorExpression(operator="+" | "-"):
                return self._convert_arithmetic(node)
            case OperatorExpression():
                raise ValidationException(f"Unsupported operator in Update Expression. Operator: {node.operator}")
        if is_literal(node):
            return expr.Literal(self.literals.convert_value(node))
        raise ValidationException(f"Unsupported token in expression: {service_name(node)}")

    def _convert_arithmetic(self, node: OperatorExpression) -> expr.Assigned:
        if len(node.operands) == 1:
            raise ValidationException(WRONG_COUNT.format(node.operator, 1))
        left, right = (
            cast("expr.Operand", self.convert_assigned(operand)) for operand in node.operands
        )  # PartiQL allows nested sums
        return expr.Arithmetic(node.operator, left, right)

    def _convert_argument(self, node: Expression) -> expr.Operand:
        argument = self.convert_assigned(node)
        if isinstance(argument, expr.Arithmetic):
            raise ValidationException(f"Unsupported operator in Update Expression. Operator: {argument.operator}")
        return argument


def is_condition(node: Expression) -> bool:
    """Return whether the syntax of an expression makes it a condition."""
    match node:
        case OperatorExpression():
            return node.operator in COMPARATORS or node.operator in ("and", "or", "not", "between", "in")
        case CallExpression():
            return has_role(node.name, Role.CONDITION, in_partiql=True)
    return isinstance(node, TypeTest)


def _check_has_arguments(call: CallExpression) -> None:
    if not call.arguments:
        raise ValidationException(WRONG_COUNT.format(call.name, 0))


def _condition_error(node: Expression, message: str) -> ValidationException:
    match node:
        case CallExpression() if has_role(node.name, Role.OPERAND, in_partiql=True):
            return ValidationException(misplaced(node.name).text)
        case CallExpression():
            return ValidationException(f"Unrecognized function: {node.name} at {node.span}")
        case OperatorExpression():
            return ValidationException(f"Unsupported operator in Condition Expression. Operator: {node.operator}")
    return ValidationException(message)


def _equals(condition: expr.Condition, operand: expr.Operand) -> expr.Condition:
    """Return the condition that another condition has the truth value of an operand."""
    if isinstance(operand, expr.Literal):
        if operand.value == {"BOOL": True}:
            return condition
        return expr.negate(condition) if operand.value == {"BOOL": False} else NEVER
    held, failed = (expr.Comparison("=", operand, expr.Literal({"BOOL": truth})) for truth in (True, False))
    return _same_truth(condition, held, failed)


def _same_truth(condition: expr.Condition, held: expr.Condition, failed: expr.Condition) -> expr.Condition:
    return expr.Or((expr.And((condition, held)), expr.And((expr.negate(condition), failed))))


def _check_name(text: str) -> str:
    if not text:
        raise ValidationException("Path component cannot be an empty string")
    return text


def _convert_step(step: Expression) -> expr.Element:
    match step:
        case Identifier() | StringLiteral():
            return _check_name(step.text)
        case NumberLiteral():
            return _convert_index(step)
        case Wildcard(bracketed=True):
            raise ValidationException("Wildcard path component like a[*].b are not supported")
        case Wildcard():
            raise ValidationException("Unpivot path component like a.*.b are not supported")
    raise ValidationException(f"Unexpected path component at {step.span}")


def _convert_index(step: NumberLiteral) -> int:
    try:
        text = normalize(step.text)
    except NumberError:
        text = step.text
    if not text.lstrip("-").isdigit():
        raise ValidationException(f"Unexpected path component at {step.span}")
    if not 0 <= int(text) <= MAX_INDEX:
        raise ValidationException(f"List index is not within the allowable range; index: [{text}] at {step.span}")
    return int(text)
