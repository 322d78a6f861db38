"""A target is a data directory, a URL, or AWS with a profile and a region."""

import pytest

import hashrange
from hashrange.client.target import TargetInvalid, connect_target, is_remote


@pytest.mark.parametrize("target", ["aws", "aws:live", "aws:live/eu-west-1", "aws:/eu-west-1", "http://127.0.0.1:8000"])
def test_urls_and_aws_are_remote(target):
    assert is_remote(target)


@pytest.mark.parametrize("target", ["data", "./data", "/var/lib/data", "aws-data", "localhost"])
def test_anything_else_is_a_directory(target):
    assert not is_remote(target)


def test_a_directory_is_opened_and_closed(tmp_path):
    with hashrange.open_target(str(tmp_path)) as database:
        assert database.call("ListTables", {})["TableNames"] == []
    with hashrange.open(tmp_path) as again:
        assert again.list_tables()["TableNames"] == []


def test_a_missing_directory_is_not_created(tmp_path):
    missing = tmp_path / "data"
    with pytest.raises(TargetInvalid, match="There is no directory"), hashrange.open_target(str(missing)):
        pass
    assert not missing.exists()


def test_a_file_is_no_target(tmp_path):
    file = tmp_path / "items.jsonl"
    file.touch()
    with pytest.raises(TargetInvalid, match="is a file, not a data directory"), hashrange.open_target(str(file)):
        pass


def test_aws_takes_the_region_of_the_target(monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "local")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "local")
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    with connect_target("aws:/eu-west-1") as remote:
        assert (remote.region, remote.endpoint) == ("eu-west-1", "https://dynamodb.eu-west-1.amazonaws.com")
