"""ARNs of tables, indexes and streams: writes them, and parses those of requests."""

from __future__ import annotations

import re
from dataclasses import dataclass

from hashrange.core.errors import ValidationException
from hashrange.core.values import INVALID_PARAMETER

PARTITION = "aws"
DEFAULT_REGION = "eu-west-2"  # of a new database
DEFAULT_ACCOUNT = "123456789012"
RESOURCE = re.compile(r"table/([^/]+)(?:/(index|stream)/([^/]+))?")


def table_arn(region: str, account: str, name: str) -> str:
    """Return the ARN of a table."""
    return f"arn:{PARTITION}:dynamodb:{region}:{account}:table/{name}"


def index_arn(table: str, name: str) -> str:
    """Return the ARN of an index from its table's."""
    return f"{table}/index/{name}"


def stream_arn(table: str, label: str) -> str:
    """Return the ARN of a stream from its table's."""
    return f"{table}/stream/{label}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """What a ResourceArn names: a table or, with a label, one of its streams."""

    home: tuple[str, str]  # partition and region
    account: str
    table: str
    stream: str | None


def parse_resource(arn: str) -> Resource:
    """Return what an ARN names, or raise for anything but a table or a stream."""
    if not arn.startswith("arn:"):
        raise ValidationException(f"{INVALID_PARAMETER}ARNs must start with 'arn:': {arn}")
    _, partition, service, region, account, path, *_ = (*arn.split(":", 5), "", "", "", "", "")
    match = RESOURCE.fullmatch(path)
    if service != "dynamodb" or match is None:
        raise ValidationException(f"{INVALID_PARAMETER}Provided Arn is not a DynamoDB resource arn: {arn}")
    table, resource_type, name = match.groups()
    if resource_type == "index":
        raise ValidationException(
            f"{INVALID_PARAMETER}Invalid resource arn provided, only table or stream is accepted. Provided resource "
            f"arn: {arn}"
        )
    return Resource(home=(partition, region), account=account, table=table, stream=name)
