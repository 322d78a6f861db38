"""Converts requests as the engine does: with the report of violations that the operation declares."""

from hashrange.engine import shape
from hashrange.engine.shape.constraint_message import ALL_TOGETHER
from hashrange.operations import OPERATIONS


def convert(operation, request):
    report = OPERATIONS[operation].violations if operation in OPERATIONS else ALL_TOGETHER
    return shape.convert(operation, request, report)
