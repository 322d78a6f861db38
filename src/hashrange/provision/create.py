"""Makes the declared tables that are not there yet. What is there is left alone."""

from __future__ import annotations

import time
from typing import Protocol

from hashrange.client.transport import Transport
from hashrange.core.errors import PlanError, ResourceInUseException, ResourceNotFoundException
from hashrange.core.wire import Wire
from hashrange.provision.request import create_request, later_requests
from hashrange.schema.table import Table

LONGEST_WAIT = 300.0


class Declared(Protocol):
    """A class of patterns; said by what it can do, because a Protocol class is no `type[...]` to the type checkers."""

    def tables(self) -> list[Table]:
        """Return the tables that it touches."""
        ...


def create_tables(database: Transport, *declared: Declared | Table) -> list[str]:
    """Create the tables of these patterns that the database does not have; return the names of those created."""
    tables = [table for one in declared for table in ([one] if isinstance(one, Table) else one.tables())]
    return [table.physical_name for table in dict.fromkeys(tables) if _create(database, table)]


def _create(database: Transport, table: Table) -> bool:
    name = table.physical_name
    if _describe(database, name) is not None:
        return False
    try:
        database.call("CreateTable", create_request(table))
    except ResourceInUseException:  # somebody else was faster
        return False
    _wait_until_active(database, name)
    for operation, request in later_requests(table):
        database.call(operation, request)
    return True


def _describe(database: Transport, name: str) -> Wire | None:
    try:
        answer = database.call("DescribeTable", {"TableName": name})
    except ResourceNotFoundException:
        return None
    description: Wire = answer["Table"]
    return description


def _wait_until_active(database: Transport, name: str) -> None:
    deadline = time.monotonic() + LONGEST_WAIT
    while True:
        description = _describe(database, name)
        if description is not None and description["TableStatus"] == "ACTIVE":
            return
        if time.monotonic() > deadline:
            raise PlanError(f"{name} is not active after {LONGEST_WAIT:.0f} s: look at its status, then try again")
        time.sleep(0.2)
