"""Reads expressions as operations do, and returns them or the text of the error."""

import pytest

from hashrange.core.errors import RequestInvalid, ValidationException
from hashrange.expr.parameters import PUT, QUERY, UPDATE
from hashrange.expr.request_expressions import read_expressions


def read(spec, **members):
    return read_expressions(members, spec)


def refusal_of(spec, **members):
    """The text of the error, which must be a RequestInvalid: the kind that single-item writes envelope."""
    with pytest.raises(ValidationException) as caught:
        read(spec, **members)
    assert type(caught.value) is RequestInvalid
    return caught.value.message


def members_for(parameter, text, names=None, values=None):
    members = {parameter: text}
    if names is not None:
        members["ExpressionAttributeNames"] = names
    if values is not None:
        members["ExpressionAttributeValues"] = values
    return members


def condition_of(text, names=None, values=None):
    return read(PUT, **members_for("ConditionExpression", text, names, values)).condition


def update_of(text, names=None, values=None):
    return read(UPDATE, **members_for("UpdateExpression", text, names, values)).update


def key_condition_of(text, names=None, values=None):
    return read(QUERY, **members_for("KeyConditionExpression", text, names, values)).key_condition


def condition_problem(text, names=None, values=None):
    text = refusal_of(PUT, **members_for("ConditionExpression", text, names, values))
    assert text.startswith("Invalid ConditionExpression: ")
    return text.removeprefix("Invalid ConditionExpression: ")


def update_problem(text, names=None, values=None):
    text = refusal_of(UPDATE, **members_for("UpdateExpression", text, names, values))
    assert text.startswith("Invalid UpdateExpression: ")
    return text.removeprefix("Invalid UpdateExpression: ")


def key_condition_problem(text, names=None, values=None):
    text = refusal_of(QUERY, **members_for("KeyConditionExpression", text, names, values))
    assert text.startswith("Invalid KeyConditionExpression: ")
    return text.removeprefix("Invalid KeyConditionExpression: ")


def apply_problem(update, item, **options):
    """The text of the error when an update is applied, which has no envelope even in single-item writes."""
    with pytest.raises(ValidationException) as caught:
        update(item, **options)
    assert type(caught.value) is ValidationException
    return caught.value.message
