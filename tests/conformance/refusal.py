"""What a refused call looks like to a boto3 user: `with refused("ValidationException", "the text"):`."""

import contextlib
import re

import pytest
from botocore.exceptions import ClientError

ENVELOPE = "1 validation error detected: "
INVALID = "One or more parameter values were invalid: "
CONDITION_FAILED = "The conditional request failed"


@contextlib.contextmanager
def refused(code, text=None, *, containing=None):
    """The block must be refused with that code, and exactly that text or the texts it contains."""
    with pytest.raises(ClientError) as caught:
        yield caught
    error = caught.value.response["Error"]
    if text is not None:
        assert (error["Code"], error.get("Message")) == (code, text)
    else:
        assert error["Code"] == code, error
    if containing is not None:
        assert re.search(re.escape(containing), error["Message"]), error["Message"]


def invalid(text=None, **options):
    """The block must be refused with a ValidationException."""
    return refused("ValidationException", text, **options)


def not_found(text="Requested resource not found"):
    """The block must be refused because there is no such table or index."""
    return refused("ResourceNotFoundException", text)
