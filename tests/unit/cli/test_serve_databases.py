"""Which database `hashrange serve` opens: separate ones, one for all, and what a directory has had so far."""

import pytest

import hashrange
from hashrange.cli.serve import ServeOptions, is_shared_directory, open_served
from hashrange.engine.engine import Engine
from hashrange.server.separate_databases import SeparateDatabases


def open_with(**options):
    chosen = {
        "data": None,
        "fsync": False,
        "shared": False,
        "region": "",
        "credentials": None,
        "unsigned": False,
        "faults": None,
    }
    return open_served(ServeOptions(**{**chosen, **options}))


def test_databases_are_separate_unless_they_are_shared():
    separate, shared = open_with(), open_with(shared=True)
    assert isinstance(separate, SeparateDatabases)
    assert isinstance(shared, Engine)
    separate.close()
    shared.close()


@pytest.mark.parametrize("region", ["", "us-east-1"])
def test_the_default_database_is_that_of_the_region_and_the_key(tmp_path, region):
    served = open_with(data=tmp_path, region=region, credentials=("app", "secret"))
    assert served.main.settings.region == (region or "eu-west-2")
    assert (tmp_path / "databases" / "app" / (region or "eu-west-2") / "hashrange.db").exists()
    served.close()


def test_a_directory_with_one_database_stays_shared(tmp_path):
    with hashrange.open(tmp_path):
        pass
    assert is_shared_directory(tmp_path)


def test_a_new_directory_and_one_with_separate_databases_are_not_shared(tmp_path):
    assert not is_shared_directory(tmp_path)
    open_with(data=tmp_path).close()
    assert not is_shared_directory(tmp_path)
    open_with(data=tmp_path, shared=True).close()
    assert not is_shared_directory(tmp_path)  # what was served without --shared is found without it
