"""Without any extra, hashrange embeds, declares, tests and connects; what needs an extra names it."""

import subprocess
import sys

PROGRAM = """
import sys

from hashrange.client.optional_import import EXTRAS

for library in {*EXTRAS, "uvloop"}:
    sys.modules[library] = None  # as if it were not installed

from typing import Protocol

import hashrange
from hashrange import Get, Gsi, Item, Latest, Patterns, Table


class Shop(Item, table=Table("shops", "pk", indexes=[Gsi("ByName", "name")]), pk="SHOP#{domain}"):
    domain: str
    name: str


class Shops(Patterns, Protocol):
    def shop(self, domain: str) -> Get[Shop]: ...
    def named(self, name: str) -> Latest[Shop]: ...


with hashrange.open(clock=hashrange.ManualClock(0), faults=hashrange.Faults()) as database:
    hashrange.create_tables(database, Shops)
    db = Shops.open(database, hooks=[print])
    db.create(Shop(domain="a", name="b")).run()
    assert db.shop("a").required().run() == db.named("b").first().run()

hashrange.connect("http://127.0.0.1:1").close()


exec("from hashrange import *")
assert all(hasattr(hashrange, name) for name in {*dir(hashrange), *hashrange._names})

for call in (hashrange.patch_boto3, lambda: hashrange.patch_boto3(print), lambda: hashrange.patch_boto3(region="a")):
    try:
        call()
    except ImportError as error:
        assert isinstance(error, hashrange.HashrangeError)
        assert str(error) == "botocore is not installed: pip install 'hashrange[boto3]'"
    else:
        raise AssertionError("it needs boto3")
"""


def test_the_library_works_without_its_extras():
    outcome = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False, timeout=60)
    assert outcome.returncode == 0, outcome.stderr
    assert outcome.stdout.count("Event(") == 4  # PutItem, GetItem, DescribeTable, Query


def test_the_fixtures_work_without_the_extras(pytester):
    pytester.makepyfile(
        """
        import sys

        import pytest

        from hashrange.client.optional_import import EXTRAS

        def test_bare(monkeypatch, hashrange_db, hashrange_clock, hashrange_faults):
            for library in EXTRAS:
                monkeypatch.setitem(sys.modules, library, None)
            monkeypatch.delitem(sys.modules, "hashrange.client.boto3_clients", raising=False)
            assert hashrange_db.list_tables() == {"TableNames": []}
            with pytest.raises(ImportError, match="pip install 'hashrange.boto3.'"):
                hashrange_db.client()
        """
    )
    pytester.runpytest_inprocess("-p", "no:cacheprovider").assert_outcomes(passed=1)
