"""An engine in memory with a clock that stands still, and short ways to call it and to be refused."""

import json

import pytest

from hashrange.core.clock import ManualClock
from hashrange.core.errors import ServiceError
from hashrange.engine.context import EngineSettings
from hashrange.engine.engine import open_engine
from hashrange.operations import OPERATIONS
from tests.conformance.table import define

REGION = "eu-west-2"
ACCOUNT = "111122223333"


class Control:
    """The control plane of one engine: calls by operation name, with members as keyword arguments."""

    def __init__(self, delay=0):
        self.clock = ManualClock()
        settings = EngineSettings(region=REGION, account=ACCOUNT, status_delay=delay)
        self.engine = open_engine(None, OPERATIONS, clock=self.clock, settings=settings)

    def call(self, operation, **members):
        response = self.engine.call(operation, members)
        return json.loads(response) if response else None

    def refusal(self, operation, **members):
        """What a call is refused with, as `Name: text`."""
        with pytest.raises(ServiceError) as caught:
            self.engine.call(operation, members)
        return f"{caught.value.name}: {caught.value.message}"

    def create(self, keys="pk:S", **options):
        """Make a table in the notation of `define` and return the answer's description."""
        return self.call("CreateTable", **define(keys, **{"name": "tab", **options}))["TableDescription"]

    def refuse_create(self, keys="pk:S", **options):
        return self.refusal("CreateTable", **define(keys, **{"name": "tab", **options}))

    def update(self, **members):
        return self.call("UpdateTable", TableName="tab", **members)["TableDescription"]

    def refuse_update(self, **members):
        return self.refusal("UpdateTable", TableName="tab", **members)

    def describe(self, name="tab"):
        return self.call("DescribeTable", TableName=name)["Table"]

    def index(self, name):
        """The description of a global index of the table."""
        return next(index for index in self.describe()["GlobalSecondaryIndexes"] if index["IndexName"] == name)


@pytest.fixture
def control():
    opened = Control()
    yield opened
    opened.engine.close()


@pytest.fixture
def slow():
    """A control plane on which every state lasts ten seconds."""
    opened = Control(delay=10_000)
    yield opened
    opened.engine.close()
