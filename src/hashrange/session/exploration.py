"""Exploration: reads by conditions that are written at run time, with their cost before they run.

books = db.explore(Book).where("author = {author} AND pages > 200", author="Lem")
print(books.cost().run())
books.query().run()
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from msgspec import Struct

from hashrange.core.errors import DeclarationError, ValueInvalid
from hashrange.schema.declare.model import Model
from hashrange.schema.read.explored_condition import plan_condition
from hashrange.session.reads import Query, Scan
from hashrange.session.runnable import Runnable, Task
from hashrange.session.steps import Call, Steps

if TYPE_CHECKING:
    from hashrange.core.wire import Wire
    from hashrange.schema.read.read_plan import ReadPlan
    from hashrange.session.session import Session

T_co = TypeVar("T_co", bound=Model, covariant=True)

BYTES_PER_HALF_UNIT = 4096  # of an eventually consistent read


class ReadCost(Struct, frozen=True):
    """What a read may cost at most: the size of the table or index that it reads, as DescribeTable reports it."""

    operation: Literal["Query", "Scan"]
    source: str  # the table or index
    items: int
    bytes: int

    @property
    def read_units(self) -> float:
        """The units of reading all of it once, eventually consistent."""
        return -(-self.bytes // BYTES_PER_HALF_UNIT) / 2

    def __str__(self) -> str:
        all_of_it = f"{self.items:,} items, {self.bytes:,} bytes, {self.read_units:,} read units"
        part = "the whole of" if self.operation == "Scan" else "one partition of"
        return f"{self.operation} reads {part} {self.source}, which has {all_of_it}"


class Exploration(Generic[T_co]):
    """A condition over the items of one class. `query()` or `scan()` reads them."""

    def __init__(self, session: Session, model: type[T_co], texts: tuple[str, ...], values: dict[str, Any]) -> None:
        self.session, self.model, self.texts, self.values = session, model, texts, values
        self.read = plan_condition(model, session.table_of(model), texts, values)

    def where(self, condition: str, **values: Any) -> Exploration[T_co]:
        """Add a condition in DynamoDB's grammar over the names of fields; `{name}` is one of the values."""
        for name, value in values.items():
            if value is None or (name in self.values and self.values[name] != value):
                why = "None, which nothing equals" if value is None else "given twice"
                raise ValueInvalid(f"explore({self.model.__name__}): {name} is {why}")
        return Exploration(self.session, self.model, (*self.texts, condition), {**self.values, **values})

    def explain(self) -> str:
        """Return a description of the plan: the query if an index serves it, otherwise the scan."""
        return self._plan().explain()

    def cost(self) -> Runnable[ReadCost]:
        """Ask for the size of what would be read; this reads no items."""
        return Task(self.session, self._cost)

    def query(self) -> Query[T_co]:
        """Read by the index that serves the condition; raise ValueInvalid if there is none."""
        if isinstance(self.read.query, DeclarationError):
            raise ValueInvalid(
                f"{self.read.query.problem}: cost() returns what a scan reads, and scan() reads it"
            ) from self.read.query
        return Query(self.session, self.read.query, self.read.arguments)

    def scan(self) -> Scan[T_co]:
        """Read the whole table, and return the items that meet the condition; raise ValueInvalid if that cannot be."""
        if isinstance(self.read.scan, DeclarationError):
            raise ValueInvalid(f"a scan cannot test it: {self.read.scan.problem}") from self.read.scan
        return Scan(self.session, self.read.scan, self.read.arguments)

    def _plan(self) -> ReadPlan:
        return self.scan().plan if isinstance(self.read.query, DeclarationError) else self.read.query

    def _cost(self) -> Steps[ReadCost]:
        plan = self._plan()
        response = yield Call("DescribeTable", {"TableName": self.session.name_of(plan.table)}, "explore")
        described: Wire = response["Table"]
        operation: Literal["Query", "Scan"] = "Scan" if plan.verb == "Scan" else "Query"
        if not plan.path.name:
            return ReadCost(operation, described["TableName"], described["ItemCount"], described["TableSizeBytes"])
        deployed = (yield from self.session.find_indexes(plan.table))[plan.path.name].name
        indexes = [*described.get("GlobalSecondaryIndexes", ()), *described.get("LocalSecondaryIndexes", ())]
        index = next(found for found in indexes if found["IndexName"] == deployed)
        return ReadCost(operation, deployed, index["ItemCount"], index["IndexSizeBytes"])
