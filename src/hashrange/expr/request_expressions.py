"""Reads all expressions of a request: checks them in the service's order and compiles them.

Everything that does not depend on the contents of values is done once per (operation, texts, names, types of the
values) and cached as a plan. A request with a cached plan only has its values canonicalised and bound.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import chain
from typing import Any

from msgspec import Struct

from hashrange.core.cache import BoundedCache
from hashrange.core.errors import RequestInvalid
from hashrange.core.values import (
    EMPTY_NAME,
    MAX_NAME_BYTES,
    NAME_TOO_LONG,
    ErrorWording,
    InvalidValue,
    Item,
    canonicalise_and_measure,
    check_expression_values,
    utf8_length,
)
from hashrange.core.wire import Wire
from hashrange.expr import legacy_parameters
from hashrange.expr.condition import CompiledPredicate, Predicate, compile_condition
from hashrange.expr.errors import ExpressionError
from hashrange.expr.functions import Values
from hashrange.expr.key_condition_expression import CompiledKeyCondition, KeyCondition, compile_key_condition
from hashrange.expr.nodes import Clause, Condition, clauses_of
from hashrange.expr.parameters import NAMES, VALUES, ExpressionParameters
from hashrange.expr.parser import check_size, parse_condition, parse_projection, parse_update
from hashrange.expr.projection import Projection
from hashrange.expr.update import CompiledUpdate, ItemUpdate, compile_update
from hashrange.expr.validation import (
    ExpressionAttributes,
    check_constants,
    has_constants_to_check,
    resolve_condition,
    resolve_projection,
    resolve_update,
)

# The order in which the service reads a request's expressions.
READ_ORDER = (
    "UpdateExpression",
    "ConditionExpression",
    "KeyConditionExpression",
    "FilterExpression",
    "ProjectionExpression",
)
PARSERS: dict[str, Callable[[str], Any]] = {
    "UpdateExpression": parse_update,
    "ProjectionExpression": parse_projection,
} | dict.fromkeys(("ConditionExpression", "KeyConditionExpression", "FilterExpression"), parse_condition)
NAME_KEY = re.compile(r"#[A-Za-z0-9_]+", re.ASCII)
VALUE_KEY = re.compile(r":[A-Za-z0-9_]+", re.ASCII)
MAX_KEY_BYTES = 255
MAX_MAPS_BYTES = 2 * 1024 * 1024
# The service documents the limit, but not the text of the error.
MAPS_TOO_LARGE = f"{NAMES} and {VALUES} together have exceeded the maximum allowed size; allowed size: {MAX_MAPS_BYTES}"


class Expressions(Struct, frozen=True, gc=False):
    """A request's expressions, from expression or legacy parameters; None for those that it does not have."""

    condition: Predicate | None = None
    filter: Predicate | None = None
    projection: Projection | None = None
    key_condition: KeyCondition | None = None
    update: ItemUpdate | None = None


NO_EXPRESSIONS = Expressions()


@dataclass(slots=True)
class _Plan:
    """A request's expressions without its values; `values_limit` is the size allowed for these."""

    condition: CompiledPredicate | None = None
    filter: CompiledPredicate | None = None
    projection: Projection | None = None
    key_condition: CompiledKeyCondition | None = None
    update: CompiledUpdate | None = None
    clauses_to_check: tuple[tuple[str, Clause], ...] = ()
    values_limit: int = MAX_MAPS_BYTES

    def bind(self, values: Values, size: int) -> Expressions:
        if size > self.values_limit:
            raise RequestInvalid(MAPS_TOO_LARGE)
        for parameter, clause in self.clauses_to_check:
            try:
                check_constants(clause, values)
            except ExpressionError as error:
                raise error.service_error(parameter) from None
        return Expressions(
            None if self.condition is None else self.condition.bind(values),
            None if self.filter is None else self.filter.bind(values),
            self.projection,
            None if self.key_condition is None else self.key_condition.bind(values),
            None if self.update is None else self.update.bind(values),
        )


PLANS: BoundedCache[_Plan] = BoundedCache()
PARSED: BoundedCache[Any] = BoundedCache()


def check_mixing(request: Wire, parameters: ExpressionParameters) -> None:
    """Refuse a request that has both expressions and legacy parameters."""
    if not parameters.legacy_members.isdisjoint(request):
        check_mixing_across([request], parameters)


def check_mixing_across(requests: Iterable[Wire], parameters: ExpressionParameters) -> None:
    """Refuse requests of one batch if one has expressions and one has legacy parameters."""
    given = {parameter for request in requests for parameter in request}
    if "KeyConditionExpression" not in given:
        given.discard("KeyConditions")
    old = [parameter for parameter in parameters.legacy if parameter in given]
    new = [parameter for parameter in parameters.expressions if parameter in given]
    if old and new:
        raise RequestInvalid(
            "Can not use both expression and non-expression parameters in the same request: "
            f"Non-expression parameters: {{{', '.join(old)}}} Expression parameters: {{{', '.join(new)}}}"
        )


def read_expressions(request: Wire, parameters: ExpressionParameters) -> Expressions:
    """Return a request's expressions with canonical values, or raise the first error in the service's order."""
    if not parameters.requires_key_condition and parameters.members.isdisjoint(request):
        return NO_EXPRESSIONS
    if parameters.legacy_members.isdisjoint(request):
        if parameters.requires_key_condition:
            _check_key_given(request)
        return _read_texts(request, parameters)
    return _read_legacy(request, parameters)


def _check_key_given(request: Wire) -> None:
    if "KeyConditionExpression" not in request and "KeyConditions" not in request:
        raise RequestInvalid(
            "Either the KeyConditions or KeyConditionExpression parameter must be specified in the request."
        )


def _read_legacy(request: Wire, parameters: ExpressionParameters) -> Expressions:
    """Read the legacy parameters; KeyConditions may be combined with expressions."""
    operator, wording = request.get("ConditionalOperator"), parameters.wording
    conditions = request.get("Expected") or request.get("QueryFilter") or request.get("ScanFilter") or {}
    legacy_parameters.check_operator(operator, conditions)
    update = legacy_parameters.convert_updates(request.get("AttributeUpdates") or {}, wording)
    projection = None
    if parameters.reads_attributes_first and "AttributesToGet" in request:
        projection = legacy_parameters.convert_attributes(request["AttributesToGet"])
    condition = legacy_parameters.convert_expected(request.get("Expected") or {}, operator, wording)
    found = legacy_parameters.convert_filter(
        request.get("QueryFilter") or request.get("ScanFilter") or {}, operator, wording
    )
    if not parameters.reads_attributes_first and "AttributesToGet" in request:
        projection = legacy_parameters.convert_attributes(request["AttributesToGet"])
    if parameters.requires_key_condition:
        _check_key_given(request)
    read = _read_texts(request, parameters)
    key_condition = read.key_condition
    if "KeyConditions" in request:
        key_condition = legacy_parameters.convert_key_conditions(request["KeyConditions"], wording)
    return Expressions(
        condition=condition or read.condition,
        filter=found or read.filter,
        projection=projection or read.projection,
        key_condition=key_condition,
        update=update or read.update,
    )


def _read_texts(request: Wire, parameters: ExpressionParameters) -> Expressions:
    texts = [request.get(parameter) for parameter in parameters.expressions]
    names = request.get(NAMES)
    values = request.get(VALUES) if parameters.takes_values else None
    # The cache key. Counts separate its parts: positive before the names, negative before the values and their types.
    key: tuple[str | int | None, ...] = (parameters.name, *texts)
    if names is not None:
        key += (1 + len(names), *names, *names.values())
    size = 0
    if values is not None:
        values, size = _canonicalise_values(request, parameters, names, values)
        key += (-1 - len(values), *values, *chain.from_iterable(values.values()))
    plan = PLANS.get(key)
    if plan is None:
        plan = _make_plan(request, parameters, names, values)
        PLANS.store(key, plan, _cache_weight(texts, names))
    return plan.bind(values or {}, size)


def _cache_weight(texts: list[str | None], names: Wire | None) -> int:
    return sum(len(text) for text in texts if text) + sum(map(len, names.values() if names else ()))


def _canonicalise_values(
    request: Wire, parameters: ExpressionParameters, names: Wire | None, values: Item
) -> tuple[Item, int]:
    """Return the values in canonical form and their size; errors of the maps themselves come first."""
    try:
        return canonicalise_and_measure(values)
    except InvalidValue:
        _check_maps(request, parameters, names, values)
        return canonicalise_and_measure(check_expression_values(values, parameters.wording))


def _make_plan(request: Wire, parameters: ExpressionParameters, names: Wire | None, values: Item | None) -> _Plan:
    _check_maps(request, parameters, names, values)
    given = [parameter for parameter in READ_ORDER if parameter in parameters.expressions and parameter in request]
    if parameters.checks_emptiness_first:
        for parameter in given:
            if not request[parameter]:
                _check_text(parameter, "")
    attributes = ExpressionAttributes(names or {}, values or {})
    read = {parameter: _read_text(parameter, request[parameter], attributes) for parameter in given}
    _check_unused(NAMES, names, attributes.names_used)
    _check_unused(VALUES, values, attributes.values_used)
    return _compile_plan(read, MAX_MAPS_BYTES - sum(map(utf8_length, (names or {}).values())))


def _compile_plan(read: dict[str, Any], values_limit: int) -> _Plan:
    plan = _Plan(values_limit=values_limit)
    clauses: list[tuple[str, Clause]] = []
    for parameter, resolved in read.items():
        match parameter:
            case "UpdateExpression":
                plan.update = compile_update(resolved)
            case "ConditionExpression":
                plan.condition = compile_condition(resolved)
            case "FilterExpression":
                plan.filter = compile_condition(resolved)
            case "ProjectionExpression":
                plan.projection = Projection(resolved)
            case _:
                plan.key_condition = _compile_key_condition(resolved)
        if PARSERS[parameter] is parse_condition:
            clauses += [(parameter, clause) for clause in clauses_of(resolved) if has_constants_to_check(clause)]
    plan.clauses_to_check = tuple(clauses)
    return plan


def _compile_key_condition(condition: Condition) -> CompiledKeyCondition:
    try:
        return compile_key_condition(condition)
    except ExpressionError as error:
        raise error.service_error("KeyConditionExpression") from None


def _check_text(parameter: str, text: str) -> None:
    try:
        check_size(parameter, text)
    except ExpressionError as error:
        raise error.service_error(parameter) from None


def _read_text(parameter: str, text: str, attributes: ExpressionAttributes) -> Any:
    """Return the resolved tree of an expression, or raise the service error."""
    _check_text(parameter, text)
    try:
        parse = PARSERS[parameter]
        tree = PARSED.get((parse, text))
        if tree is None:
            tree = parse(text)
            PARSED.store((parse, text), tree, len(text))
        match parameter:
            case "UpdateExpression":
                return resolve_update(tree, attributes)
            case "ProjectionExpression":
                return resolve_projection(tree, attributes)
            case _:
                return resolve_condition(tree, attributes)
    except ExpressionError as error:
        raise error.service_error(parameter) from None


def _check_unused(parameter: str, given: Wire | None, used: set[str]) -> None:
    unused = [name for name in given or () if name not in used]
    if unused:
        raise RequestInvalid(f"Value provided in {parameter} unused in expressions: keys: {{{', '.join(unused)}}}")


def _check_maps(request: Wire, parameters: ExpressionParameters, names: Wire | None, values: Item | None) -> None:
    """Refuse names and values without an expression that could use them, then empty maps and malformed keys."""
    _check_needed(request, parameters, names, values)
    if names is not None:
        _check_keys(NAMES, names, NAME_KEY)
        for key, name in names.items():
            if not name:
                raise RequestInvalid(f"{NAMES} contains invalid value: {EMPTY_NAME} for key {key}")
            if utf8_length(name) > MAX_NAME_BYTES:
                raise RequestInvalid(f"{NAMES} contains invalid value: {NAME_TOO_LONG} for key {key}")
    if values is not None:
        _check_keys(VALUES, values, VALUE_KEY)


def _check_needed(request: Wire, parameters: ExpressionParameters, names: Wire | None, values: Item | None) -> None:
    if names is not None and not any(parameter in request for parameter in parameters.expressions):
        raise RequestInvalid(f"{NAMES} can only be specified when using expressions")
    users = [parameter for parameter in parameters.expressions if parameter != "ProjectionExpression"]
    if values is not None and not any(parameter in request for parameter in users):
        missing = f": {' and '.join(users)} {'is' if len(users) == 1 else 'are'} null"
        suffix = missing if parameters.wording is ErrorWording.OLDER else ""
        raise RequestInvalid(f"{VALUES} can only be specified when using expressions{suffix}")


def _check_keys(parameter: str, entries: Wire, pattern: re.Pattern[str]) -> None:
    if not entries:
        raise RequestInvalid(f"{parameter} must not be empty")
    for key in entries:
        size = utf8_length(key)
        if size > MAX_KEY_BYTES:
            size_text = f" size of key: {size}" if parameter == NAMES else ""
            raise RequestInvalid(
                f"{parameter} contains invalid key: "
                f"The expression attribute map contains a key that is too long;{size_text}"
            )
        if not pattern.fullmatch(key):
            raise RequestInvalid(f'{parameter} contains invalid key: Syntax error; key: "{key}"')
