"""The region of a directory: stored, because the stored ARNs contain it."""

import pytest

from hashrange.core.errors import StorageError
from hashrange.engine.context import EngineSettings
from hashrange.engine.data_directory import LOCK_FILE
from hashrange.engine.engine import open_engine
from hashrange.operations import OPERATIONS


def open_for(directory, region=""):
    return open_engine(directory, OPERATIONS, settings=EngineSettings(region=region))


def test_a_new_directory_takes_the_region_it_is_given_and_keeps_it(tmp_path):
    open_for(tmp_path, "us-east-1").close()
    engine = open_for(tmp_path)
    assert engine.settings.region == "us-east-1"
    engine.close()


def test_a_directory_is_not_opened_for_another_region(tmp_path):
    open_for(tmp_path, "us-east-1").close()
    with pytest.raises(StorageError, match="made for the region us-east-1"):
        open_for(tmp_path, "eu-central-1")
    open_for(tmp_path, "us-east-1").close()


def test_the_default_is_eu_west_2(tmp_path):
    engine = open_for(tmp_path)
    assert engine.settings.region == "eu-west-2"
    engine.close()


def test_the_lock_tells_the_process_but_none_of_its_options(tmp_path, monkeypatch):
    monkeypatch.setattr("sys.argv", ["/usr/bin/hashrange", "serve", "--secret-key", "TOPSECRET"])
    engine = open_for(tmp_path)
    text = (tmp_path / LOCK_FILE).read_text()
    engine.close()
    assert "(hashrange serve)" in text
    assert "SECRET" not in text
    assert (tmp_path / LOCK_FILE).stat().st_mode & 0o077 == 0
