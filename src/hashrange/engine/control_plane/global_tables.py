"""Error texts about global tables: there are none, and none can be created."""

from __future__ import annotations

from hashrange.core.values import INVALID_PARAMETER

UNSUPPORTED = (
    f"{INVALID_PARAMETER}DynamoDB global tables version 2017.11.29 is not supported. We recommend using DynamoDB "
    "global tables "
    "version 2019.11.21, instead of version 2017.11.29 (Legacy)."
)


def message_for_missing(name: str) -> str:
    """Return the text that there is no global table of a name."""
    return f"Global table with name: '{name}' does not exist."
