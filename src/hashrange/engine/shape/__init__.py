"""Request shapes: a fast check that accepts a valid request, and a slow conversion that converts or raises.

Every request goes through `accept`. If it returns False, `convert` returns the request as the service reads it, or
raises the service's exact error. Both are built from AWS's service model and from known differences of the live service
(`model_overrides`, `constraint_message`).
"""

from __future__ import annotations

from hashrange.core.wire import Wire
from hashrange.engine.shape.constraint_message import ALL_TOGETHER, ViolationReport, check_constraints
from hashrange.engine.shape.fast_check import accept
from hashrange.engine.shape.request_shape import OPERATION_NAMES, find_input
from hashrange.engine.shape.type_conversion import convert_request, refuse_nulls

__all__ = ["OPERATION_NAMES", "accept", "convert"]

STRICT = "SearchVectors"  # its parser distinguishes null from absent


def convert(name: str, request: Wire, report: ViolationReport = ALL_TOGETHER) -> Wire:
    """Return a request as the service reads it, or raise its SerializationException or ValidationException."""
    shape = find_input(name)
    if name == STRICT and isinstance(request, dict):
        refuse_nulls(shape, request)
    converted = convert_request(shape, request)
    check_constraints(shape, converted, report)
    return converted
