"""What AWS's service model says of each operation: its target, the shape of its request, its idempotency token.

`model.json` is an extract of the model (`scripts/extract_model.py`). This module imports little, so that remote clients
can read it without loading the engine; `engine.shape.request_shape` builds the shapes.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

_MODEL: dict[str, dict[str, Any]] = orjson.loads((Path(__file__).parent / "model.json").read_bytes())
SHAPES = _MODEL.pop("shapes")
DYNAMODB, STREAMS = TARGET_PREFIXES = tuple(_MODEL)  # of the header X-Amz-Target, by service


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceOperation:
    """An operation as AWS's model declares it."""

    name: str
    prefix: str = DYNAMODB
    input: str = ""  # the name of the shape of its request
    token: str | None = None  # the member that makes a repeated request harmless
    reports_capacity: bool = False  # it takes ReturnConsumedCapacity

    @property
    def target(self) -> str:
        """The value of the header X-Amz-Target."""
        return f"{self.prefix}.{self.name}"

    @property
    def is_of_streams(self) -> bool:
        """Whether it belongs to DynamoDB Streams, which has an endpoint of its own."""
        return self.prefix == STREAMS


def _read(name: str, prefix: str, shape: str) -> ServiceOperation:
    facts = SHAPES[shape]
    reports_capacity = "ReturnConsumedCapacity" in facts.get("members", ())
    return ServiceOperation(
        name=name, prefix=prefix, input=shape, token=facts.get("token"), reports_capacity=reports_capacity
    )


SERVICE_OPERATIONS = {
    name: _read(name, prefix, shape) for prefix, operations in _MODEL.items() for name, shape in operations.items()
}


def list_targets(name: str) -> set[str]:
    """Return the values of X-Amz-Target that name an operation: DynamoDB takes those of its streams too."""
    return {f"{DYNAMODB}.{name}", find_service_operation(name).target}


def find_service_operation(name: str) -> ServiceOperation:
    """Return what the model says of an operation; one that it does not know is taken for a plain one of DynamoDB."""
    return SERVICE_OPERATIONS.get(name) or ServiceOperation(name=name)
