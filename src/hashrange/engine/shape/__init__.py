"""The shape of requests: a quick check that accepts, and a slow conversion that converts or explains.

`accept` is on the way of every request and says yes or no; when it says no, `convert` returns the request as the
service reads it, or raises exactly what the service answers. Both are made from `model.json`, an extract of the
service's public model, and from what is known of the service beyond it (`model_overrides`, `constraint_message`).
"""

from __future__ import annotations

from hashrange.core.wire import Wire
from hashrange.engine.shape.constraint_message import ALL_TOGETHER, ViolationReport, check_constraints
from hashrange.engine.shape.fast_check import Check, compile_request
from hashrange.engine.shape.model import OPERATION_NAMES, find_input
from hashrange.engine.shape.type_conversion import convert_request, refuse_nulls

__all__ = ["OPERATION_NAMES", "accept", "convert"]

STRICT = "SearchVectors"  # served by a reader of its own, to which null is not the same as absent


class _Checks(dict[str, Check]):
    """The predicate of each operation, made at its first request."""

    def __missing__(self, name: str) -> Check:
        self[name] = check = compile_request(name)
        return check


_CHECKS = _Checks()


def accept(name: str, request: Wire) -> bool:
    """Return whether a request needs no conversion and breaks no rule, attribute values left aside."""
    return _CHECKS[name](request)


def convert(name: str, request: Wire, report: ViolationReport = ALL_TOGETHER) -> Wire:
    """Return a request as the service reads it, or raise its SerializationException or ValidationException."""
    shape = find_input(name)
    if name == STRICT and isinstance(request, dict):
        refuse_nulls(shape, request)
    converted = convert_request(shape, request)
    check_constraints(shape, converted, report)
    return converted
