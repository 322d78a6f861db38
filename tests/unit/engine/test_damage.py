"""Damaged files: a flipped bit is noticed when it is read, and a log that lacks acknowledged writes is refused."""

import contextlib
import http.client
import os
import random
import re
import shutil
import struct

import orjson
import pytest

from hashrange.core.errors import CorruptFile, InternalServerError, LogIncomplete, StorageError
from hashrange.engine.data_directory import END_FILE, INDEX_FILE, LOG_FILE, MAIN_FILE
from hashrange.engine.engine import open_engine
from hashrange.engine.log_end import FRAME_HEADER, LOG_HEADER, read_record
from hashrange.engine.store import BACKUPS, UNCHECKED_FORMAT
from hashrange.engine.verification import verify_directory
from hashrange.operations import OPERATIONS
from hashrange.server.runner import serve_in_background
from tests.conformance.wire import item
from tests.unit.engine.local import Local, sort_items

ITEMS = 300
FLIPS = 60
HEADERS = {
    "Content-Type": "application/x-amz-json-1.0",
    "Authorization": "AWS4-HMAC-SHA256 Credential=key/20260101/eu-west-2/dynamodb/aws4_request, "
    "SignedHeaders=host;x-amz-date;x-amz-target, Signature=00",
    "X-Amz-Date": "20260101T000000Z",
}


def fill(local):
    local.create("pk:S / sk:N", gsi={"byn": "n:N"}, view="NEW_AND_OLD_IMAGES")
    for number in range(ITEMS):
        body = "text " * (1_500 if number % 50 == 0 else 20)  # some spill into overflow pages
        local.put(pk=f"k{number % 7}", sk=number, n=number % 5, body=body)


@pytest.fixture(scope="module")
def pristine(tmp_path_factory):
    """A directory that was closed cleanly, and what is in it."""
    local = Local(tmp_path_factory.mktemp("pristine") / "data")
    fill(local)
    contents = local.items()
    local.close()
    return local.directory, contents


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    """A directory as a kill leaves it, with a log, and what was acknowledged."""
    directory = tmp_path_factory.mktemp("killed")
    local = Local(directory / "data")
    fill(local)
    contents = local.items()
    shutil.copytree(local.directory, directory / "left", ignore=shutil.ignore_patterns(INDEX_FILE))
    local.close()
    return directory / "left", contents


def flip(path, chosen):
    content = bytearray(path.read_bytes())
    at = chosen.randrange(len(content))
    content[at] ^= 1 << chosen.randrange(8)
    path.write_bytes(content)


def read_by_every_way(call):
    """Return all items as Scan, an index, GetItem and Query give them."""
    scanned = call("Scan", {"TableName": "tab"})["Items"]
    indexed = call("Scan", {"TableName": "tab", "IndexName": "byn"})["Items"]
    found = []
    for number in range(ITEMS):
        key = item(pk=f"k{number % 7}", sk=number)
        found += [page["Item"] for page in [call("GetItem", {"TableName": "tab", "Key": key})] if "Item" in page]
    queried = [
        row
        for number in range(7)
        for row in call(
            "Query",
            {
                "TableName": "tab",
                "KeyConditionExpression": "pk = :pk",
                "ExpressionAttributeValues": item(**{":pk": f"k{number}"}),
            },
        )["Items"]
    ]
    return [sort_items(each) for each in (scanned, indexed, found, queried)]


def find_damage(directory, contents):
    """Open a directory and read everything; return the error, or the damaged pages when none was needed."""
    try:
        local = Local(directory)
    except CorruptFile as failure:
        return str(failure)
    try:
        assert read_by_every_way(lambda name, request: local.call(name, **request)) == [contents] * 4
        return local.engine.store.verify_pages()
    except InternalServerError as failure:
        return str(failure)
    finally:
        local.close()


@pytest.mark.parametrize("seed", range(FLIPS))
def test_a_flipped_bit_in_the_database_file_is_never_read_as_data(pristine, tmp_path, seed):
    source, contents = pristine
    shutil.copytree(source, tmp_path / "data")
    flip(tmp_path / "data" / MAIN_FILE, random.Random(seed))
    assert find_damage(tmp_path / "data", contents)


class WireCaller:
    """Calls a server; an error of its becomes a CorruptFile."""

    def __init__(self, url):
        host, port = url.removeprefix("http://").split(":")
        self.connection = http.client.HTTPConnection(host, int(port), timeout=100)

    def __call__(self, name, request):
        headers = {**HEADERS, "X-Amz-Target": f"DynamoDB_20120810.{name}"}
        self.connection.request("POST", "/", orjson.dumps(request), headers)
        response = self.connection.getresponse()
        answer = orjson.loads(response.read())
        if response.status != 200:
            raise CorruptFile(f"{response.status} {answer['message']}")
        return answer

    def close(self):
        self.connection.close()


def find_damage_over_the_wire(directory, contents):
    """Do the same with a server."""
    try:
        engine = open_engine(directory, OPERATIONS)
    except CorruptFile as failure:
        return str(failure)
    with serve_in_background(engine) as server, contextlib.closing(WireCaller(server.url)) as call:
        try:
            assert read_by_every_way(call) == [contents] * 4
            return engine.store.verify_pages()
        except CorruptFile as failure:
            assert str(failure).startswith("500 ")  # noqa: PT017 - one of three outcomes
            return str(failure)
        finally:
            engine.close()


@pytest.mark.parametrize("seed", range(100, 120))
def test_a_flipped_bit_is_never_sent_over_the_wire(pristine, tmp_path, seed):
    source, contents = pristine
    shutil.copytree(source, tmp_path / "data")
    flip(tmp_path / "data" / MAIN_FILE, random.Random(seed))
    assert find_damage_over_the_wire(tmp_path / "data", contents)


def test_the_error_says_what_to_do(pristine, tmp_path):
    shutil.copytree(pristine[0], tmp_path / "data")
    path = tmp_path / "data" / MAIN_FILE
    content = bytearray(path.read_bytes())
    content[4096 * (len(content) // 4096 // 2)] ^= 4
    path.write_bytes(content)
    text = find_damage(tmp_path / "data", pristine[1])
    assert "a page does not match its checksum" in text
    assert f"hashrange verify {tmp_path / 'data'}" in text


@pytest.mark.parametrize("seed", range(FLIPS))
def test_a_flipped_bit_in_the_log_loses_nothing_silently(killed, tmp_path, seed):
    source, contents = killed
    shutil.copytree(source, tmp_path / "data")
    flip(tmp_path / "data" / LOG_FILE, random.Random(seed))
    assert_refused_or_complete(tmp_path / "data", contents)


@pytest.mark.parametrize("seed", range(10))
def test_a_log_that_was_cut_off_loses_nothing_silently(killed, tmp_path, seed):
    source, contents = killed
    shutil.copytree(source, tmp_path / "data")
    log = tmp_path / "data" / LOG_FILE
    log.write_bytes(log.read_bytes()[: random.Random(seed).randrange(log.stat().st_size)])
    assert_refused_or_complete(tmp_path / "data", contents)


def assert_refused_or_complete(directory, contents):
    try:
        local = Local(directory)
    except LogIncomplete:
        return
    assert read_by_every_way(lambda name, request: local.call(name, **request)) == [contents] * 4
    local.close()


def test_a_removed_log_is_refused_until_the_loss_is_accepted(killed, tmp_path):
    data = tmp_path / "my data"
    shutil.copytree(killed[0], data)
    (data / LOG_FILE).unlink()
    command = f"hashrange verify '{data}' --accept-loss"
    for _ in range(2):  # the refusal itself changes nothing
        with pytest.raises(LogIncomplete, match=rf"lacks \d+ pages of acknowledged writes.*{re.escape(command)}"):
            Local(data)
    open_engine(data, OPERATIONS, accept_loss=True).close()
    Local(data).close()


@pytest.mark.parametrize("change", [-60, -1, 10, -4096, 4096])
def test_a_file_with_another_size_is_refused_and_found(pristine, tmp_path, change):
    shutil.copytree(pristine[0], tmp_path / "data")
    path = tmp_path / "data" / MAIN_FILE
    os.truncate(path, path.stat().st_size + change)
    with pytest.raises(CorruptFile, match="is damaged"):
        Local(tmp_path / "data")
    assert verify_directory(tmp_path / "data", lambda *_: None).findings


def test_a_file_that_is_cut_off_beside_a_log_is_refused(pristine, tmp_path):
    shutil.copytree(pristine[0], tmp_path / "data")
    local = Local(tmp_path / "data")
    local.put(pk="k0", sk=0, n=0)
    shutil.copytree(local.directory, tmp_path / "left", ignore=shutil.ignore_patterns(INDEX_FILE))
    local.close()
    shutil.copytree(tmp_path / "left", tmp_path / "whole")
    Local(tmp_path / "whole").close()
    path = tmp_path / "left" / MAIN_FILE
    os.truncate(path, path.stat().st_size - 60)
    with pytest.raises(CorruptFile, match="and should have"):
        Local(tmp_path / "left")


def test_a_file_whose_last_pages_are_in_the_log_is_complete(killed, tmp_path):
    source, contents = killed
    shutil.copytree(source, tmp_path / "data")
    path = tmp_path / "data" / MAIN_FILE
    with path.open("ab") as file:
        file.write(b"\0" * 6_000)  # a checkpoint that a kill interrupted, inside a page
    local = Local(tmp_path / "data")
    assert local.items() == contents
    local.close()
    assert not verify_directory(tmp_path / "data", lambda *_: None).findings


@pytest.mark.parametrize("cut", [1, 60, 3_000, 5_000])
def test_a_backup_file_that_is_cut_off_is_refused(pristine, tmp_path, cut):
    shutil.copytree(pristine[0], tmp_path / "data")
    local = Local(tmp_path / "data")
    local.call("CreateBackup", TableName="tab", BackupName="backup")
    (name,) = local.engine.store.list_copies()
    path = local.directory / BACKUPS / name
    os.truncate(path, path.stat().st_size - cut)
    with pytest.raises(CorruptFile, match="is not a complete copy of a table"):
        local.engine.store.read_copy(name, 0, ITEMS)
    local.close()
    assert verify_directory(local.directory, lambda *_: None).findings


def test_a_log_without_its_database_is_refused(killed, tmp_path):
    shutil.copytree(killed[0], tmp_path / "data")
    (tmp_path / "data" / MAIN_FILE).unlink()
    for _ in range(2):
        with pytest.raises(CorruptFile, match="is missing, but its log is there"):
            Local(tmp_path / "data")


def test_a_refused_log_is_kept_and_works_once_it_is_whole_again(killed, tmp_path):
    source, contents = killed
    shutil.copytree(source, tmp_path / "data")
    log = tmp_path / "data" / LOG_FILE
    whole = log.read_bytes()
    damaged = bytearray(whole)
    damaged[len(damaged) // 2] ^= 1
    log.write_bytes(damaged)
    with pytest.raises(LogIncomplete):
        Local(tmp_path / "data")
    assert log.read_bytes() == bytes(damaged)
    log.write_bytes(whole)
    local = Local(tmp_path / "data")
    assert local.items() == contents
    local.close()


def test_an_older_log_in_its_place_is_refused(tmp_path):
    local = Local(tmp_path / "data")
    local.create()
    local.put_many(50)
    shutil.copytree(local.directory, tmp_path / "early", ignore=shutil.ignore_patterns(INDEX_FILE))
    local.put_many(100)
    shutil.copytree(local.directory, tmp_path / "late", ignore=shutil.ignore_patterns(INDEX_FILE))
    local.close()
    shutil.copy(tmp_path / "early" / LOG_FILE, tmp_path / "late" / LOG_FILE)
    with pytest.raises(LogIncomplete):
        Local(tmp_path / "late")
    Local(tmp_path / "early").close()


@pytest.fixture(scope="module")
def other(tmp_path_factory):
    """The log of another database that was killed."""
    directory = tmp_path_factory.mktemp("other")
    local = Local(directory / "data")
    fill(local)
    shutil.copy(local.directory / LOG_FILE, directory / LOG_FILE)
    local.close()
    return directory / LOG_FILE


def give_salt(log, ahead, directory):
    """Let a log have a salt that is so far ahead of the recorded one."""
    content = bytearray(log.read_bytes())
    recorded = read_record(directory)
    salt = ((recorded.salt + ahead) % 2**32).to_bytes(4, "big")
    content[16:20] = salt
    order = ">" if content[3] & 1 else "<"
    sums = sum_words(bytes(content[:24]), order)
    content[24:32] = struct.pack(">2I", *sums)
    for start in range(LOG_HEADER, len(content), FRAME_HEADER + 4096):
        content[start + 8 : start + 12] = salt
        checked = bytes(content[start : start + 8] + content[start + 24 : start + 24 + 4096])
        sums = sum_words(checked, order, *sums)
        content[start + 16 : start + 24] = struct.pack(">2I", *sums)
    (directory / LOG_FILE).write_bytes(content)


def sum_words(content, order, first=0, second=0):
    words = struct.unpack(f"{order}{len(content) // 4}I", content)
    for even, odd in zip(words[::2], words[1::2], strict=True):
        first = (first + even + second) % 2**32
        second = (second + odd + first) % 2**32
    return first, second


@pytest.mark.parametrize("ahead", [1_000, 2**30, 2**31 - 1, 2**31 + 5, -1])
def test_the_log_of_another_database_is_refused(killed, other, tmp_path, ahead):
    shutil.copytree(killed[0], tmp_path / "data")
    give_salt(other, ahead, tmp_path / "data")
    with pytest.raises(LogIncomplete, match="removed or replaced"):
        Local(tmp_path / "data")
    assert "lacks" in verify_directory(tmp_path / "data", lambda *_: None).findings[0]


def test_an_accepted_loss_does_not_read_the_log_of_another_database(pristine, other, tmp_path):
    source, contents = pristine
    shutil.copytree(source, tmp_path / "data")
    local = Local(tmp_path / "data")
    local.put(pk="k0", sk=1_000, n=0)
    shutil.copytree(local.directory, tmp_path / "left", ignore=shutil.ignore_patterns(INDEX_FILE))
    local.close()
    give_salt(other, 1_000, tmp_path / "left")
    assert not verify_directory(tmp_path / "left", lambda *_: None, accept_loss=True).findings
    local = Local(tmp_path / "left")
    assert local.items() == contents
    local.close()
    assert list((tmp_path / "left").glob(f"{LOG_FILE}-*"))  # kept


def test_a_log_that_verify_has_moved_is_not_missed_after_a_kill(killed, tmp_path):
    source, contents = killed
    shutil.copytree(source, tmp_path / "data")
    local = Local(tmp_path / "data")
    local.engine.store.verify_pages()
    shutil.copytree(local.directory, tmp_path / "left", ignore=shutil.ignore_patterns(INDEX_FILE))
    local.close()
    local = Local(tmp_path / "left")
    assert local.items() == contents
    local.close()


def test_a_log_that_started_over_is_complete(tmp_path):
    local = Local(tmp_path / "data")
    local.create()
    local.put_many(50)
    before = (local.directory / END_FILE).read_bytes()
    local.engine.store.execute("PRAGMA wal_checkpoint(RESTART)").fetchall()
    local.put(pk="after")
    shutil.copytree(local.directory, tmp_path / "left", ignore=shutil.ignore_patterns(INDEX_FILE))
    (tmp_path / "left" / END_FILE).write_bytes(before)  # killed between the commit and its record
    local.close()
    local = Local(tmp_path / "left")
    assert len(local.items()) == 51
    local.close()


@pytest.mark.parametrize("left", [b"", b"\0" * 4096, b"\x55" * 4096], ids=["empty", "zeros", "damaged"])
def test_a_record_that_says_nothing_keeps_nobody_out(killed, tmp_path, left):
    source, contents = killed
    shutil.copytree(source, tmp_path / "data")
    (tmp_path / "data" / END_FILE).write_bytes(left)
    local = Local(tmp_path / "data")
    assert local.items() == contents
    local.close()


def test_after_power_loss_without_fsync_the_loss_is_logged_and_accepted(killed, tmp_path, caplog, monkeypatch):
    shutil.copytree(killed[0], tmp_path / "data")
    (tmp_path / "data" / LOG_FILE).unlink()
    monkeypatch.setattr("hashrange.engine.log_end._find_boot", lambda: b"another boot")
    Local(tmp_path / "data").close()
    assert "the last writes before that are lost" in caplog.text


def test_after_power_loss_with_fsync_a_loss_is_refused(tmp_path, monkeypatch):
    engine = open_engine(tmp_path / "data", OPERATIONS, fsync=True)
    shutil.copytree(tmp_path / "data", tmp_path / "left", ignore=shutil.ignore_patterns(INDEX_FILE, LOG_FILE))
    engine.close()
    monkeypatch.setattr("hashrange.engine.log_end._find_boot", lambda: b"another boot")
    with pytest.raises(LogIncomplete):
        Local(tmp_path / "left")


def test_a_directory_without_checksums_stays_as_it_is(tmp_path, monkeypatch):
    monkeypatch.setattr("hashrange.engine.sqlite_file.has_checksums", lambda: False)
    monkeypatch.setattr("hashrange.engine.store.has_checksums", lambda: False)
    local = Local(tmp_path / "data")
    fill(local)
    contents = local.items()
    local.close()
    monkeypatch.undo()
    local.reopen()
    local.put(pk="k0", sk=0, n=0, body="text " * 1_500)
    assert local.items() == contents
    assert local.engine.store.execute("PRAGMA user_version").fetchone() == (UNCHECKED_FORMAT,)
    local.close()


@pytest.mark.parametrize(
    "damage", ["UPDATE backup SET details = 7", "UPDATE backup SET details = '{'", "UPDATE catalog SET definition = 7"]
)
def test_records_that_make_no_sense_are_called_damaged(tmp_path, damage):
    """As after pages were written to each other's places: each has its checksum."""
    local = Local(tmp_path / "data")
    fill(local)
    local.call("CreateBackup", TableName="tab", BackupName="backup")
    local.engine.finish_jobs()
    local.engine.store.execute(damage)
    local.close()
    with pytest.raises(CorruptFile, match="restore the directory from a copy"):
        local.reopen()
    assert len(verify_directory(local.directory, lambda phase, done, total: None).findings) == 1


def test_checksums_that_cannot_be_written_are_refused(pristine, tmp_path, monkeypatch):
    shutil.copytree(pristine[0], tmp_path / "data")
    monkeypatch.setattr("hashrange.engine.sqlite_file.has_checksums", lambda: False)
    monkeypatch.setattr("hashrange.engine.store.has_checksums", lambda: False)
    with pytest.raises(StorageError, match="pip install -U apsw"):
        Local(tmp_path / "data")
