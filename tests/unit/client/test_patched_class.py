"""A decorated class: the patch is active in its set-up, fixtures, tests and tear-down, as pytest runs them."""

import pytest

HEAD = """
import unittest

import boto3
import pytest

from hashrange import ManualClock, patch_boto3

TABLE = dict(
    TableName="things",
    KeySchema=[dict(AttributeName="pk", KeyType="HASH")],
    AttributeDefinitions=[dict(AttributeName="pk", AttributeType="S")],
    BillingMode="PAY_PER_REQUEST",
)


def create():
    boto3.client("dynamodb").create_table(**TABLE)


def tables():
    return boto3.client("dynamodb").list_tables()["TableNames"]


def teardown_module():
    from botocore.session import Session

    assert Session.create_client.__globals__["__name__"].startswith("botocore."), "a patch is still active"
"""

CLASSES = {
    "static and class methods": """
@patch_boto3
class TestThings:
    name = "things"

    @staticmethod
    def test_one():
        create()
        assert tables() == ["things"]

    @classmethod
    def test_two(cls):
        create()
        assert tables() == [cls.name]

    def test_three(self):
        TestThings.test_one()
""",
    "setup_method": """
@patch_boto3
class TestThings:
    def setup_method(self):
        create()

    def teardown_method(self, method):
        assert tables() == ["things"]

    def test_one(self):
        assert tables() == ["things"]

    def test_two(self):
        assert tables() == ["things"]
""",
    "setup_method with its argument, and a clock": """
@patch_boto3(clock=ManualClock(0))
class TestThings:
    def setup_method(self, method):
        assert method.__name__ in ("test_one", "test_two")
        create()

    def test_one(self):
        assert boto3.client("dynamodb").describe_table(TableName="things")["Table"]["CreationDateTime"].year == 1970

    def test_two(self):
        assert tables() == ["things"]
""",
    "fixtures of the class, and of the module for its tests": """
@pytest.fixture
def outside():
    create()

@patch_boto3()
class TestThings:
    @pytest.fixture
    def table(self):
        create()
        yield
        assert tables() == ["things"]

    def test_one(self, table):
        assert tables() == ["things"]

    def test_two(self, outside):
        assert tables() == ["things"]
""",
    "autouse fixtures of the class": """
@patch_boto3
class TestThings:
    @pytest.fixture(autouse=True)
    def table(self):
        create()

    def test_one(self):
        assert tables() == ["things"]

    def test_two(self):
        assert tables() == ["things"]
""",
    "setup_class: one database for all tests": """
@patch_boto3
class TestThings:
    @classmethod
    def setup_class(cls):
        create()

    @classmethod
    def teardown_class(cls):
        assert tables() == []

    def test_one(self):
        assert tables() == ["things"]

    def test_two(self):
        boto3.client("dynamodb").delete_table(TableName="things")
""",
    "a fixture of class scope: one database for all tests": """
@patch_boto3
class TestThings:
    @pytest.fixture(scope="class")
    def table(self):
        create()

    def test_one(self, table):
        assert tables() == ["things"]

    def test_two(self):
        assert tables() == ["things"]
""",
    "a failing set-up": """
@patch_boto3
class TestThings:
    @pytest.fixture(autouse=True)
    def fixture(self):
        assert tables() == []
        create()

    def test_one(self):
        assert tables() == ["things"]

    @pytest.mark.xfail(strict=True, reason="a test that fails, to see what the next ones find")
    def test_two(self):
        raise RuntimeError

class Fails:
    def setup_method(self):
        raise RuntimeError

Fails = patch_boto3(Fails)

def test_a_failing_setup_ends_the_patch():
    with pytest.raises(RuntimeError):
        Fails().setup_method(None)
    Fails().teardown_method(None)
""",
    "unittest with pytest's fixtures": """
@patch_boto3
class TestThings(unittest.TestCase):
    @pytest.fixture(autouse=True)
    def table(self):
        create()

    def setUp(self):
        assert tables() == ["things"]

    def test_one(self):
        assert tables() == ["things"]

    def test_two(self):
        assert tables() == ["things"]
""",
    "unittest with setUpClass": """
@patch_boto3
class TestThings(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        create()

    @classmethod
    def tearDownClass(cls):
        assert tables() == ["things"]

    def test_one(self):
        assert tables() == ["things"]

    def test_two(self):
        assert tables() == ["things"]
""",
    "inherited tests, and a set-up that replaces ours": """
@patch_boto3
class Base:
    def test_one(self):
        assert tables() == []
        create()

class TestThings(Base):
    def setup_method(self):
        pass

class TestMore(Base):
    def teardown_method(self):
        pass
""",
    "tests of nested classes": """
@patch_boto3
class TestThings:
    class TestInner:
        def test_one(self):
            assert tables() == []
            create()

        def test_two(self):
            assert tables() == []
            create()

    def test_three(self):
        assert tables() == []
""",
    "a decorated class below another": """
@patch_boto3
class TestBase:
    def setup_method(self):
        create()

    def test_one(self):
        assert tables() == ["things"]

    def test_two(self):
        assert tables() == ["things"]

@patch_boto3
class TestThings(TestBase):
    def setup_method(self, method):
        super().setup_method(method)
""",
    "a set-up that calls the one above without its argument": """
@patch_boto3
class Base:
    def setup_method(self):
        create()

    def teardown_method(self):
        assert tables() == ["things"]

class TestThings(Base):
    def setup_method(self):
        super().setup_method()

    def teardown_method(self):
        super().teardown_method()

    def test_one(self):
        assert tables() == ["things"]

    def test_two(self):
        assert tables() == ["things"]
""",
    "nested classes": """
@patch_boto3
class TestThings:
    class TestInner:
        def setup_method(self):
            create()

        def test_one(self):
            assert tables() == ["things"]

        async def not_a_test(self): ...

    class Data:
        pass

    def test_two(self):
        assert not hasattr(self.Data, "setup_method")
""",
}


@pytest.mark.parametrize("name", CLASSES)
def test_a_decorated_class_is_covered(pytester, name):
    pytester.makepyfile(HEAD + CLASSES[name])
    outcome = pytester.runpytest_inprocess("-p", "no:cacheprovider").parseoutcomes()
    assert outcome.get("passed", 0) + outcome.get("xfailed", 0) >= 2, outcome
    assert not {"failed", "errors"} & set(outcome)


def test_a_patch_around_the_class_is_shared(pytester):
    pytester.makepyfile(
        HEAD
        + """
@pytest.fixture(scope="module", autouse=True)
def patched():
    with patch_boto3():
        yield

@patch_boto3
class TestThings:
    def setup_method(self):
        if not tables():
            create()

    def test_one(self):
        boto3.client("dynamodb").put_item(TableName="things", Item={"pk": {"S": "a"}})

    def test_two(self):
        assert boto3.client("dynamodb").scan(TableName="things")["Count"] == 1
"""
    )
    pytester.runpytest_inprocess("-p", "no:cacheprovider").assert_outcomes(passed=2)
