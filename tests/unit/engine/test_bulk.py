"""Loading many items: the same items, indexes and counts as if each had been put; all or nothing where it was empty."""

import gzip
import signal
import subprocess
import sys
from pathlib import Path

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hashrange.core.errors import InternalServerError, ResourceInUseException, ServiceError
from hashrange.engine import bulk
from hashrange.engine.lines import BadLine, Lines
from tests.conformance.wire import item
from tests.unit.engine.local import Local
from tests.unit.engine.naive import Naive

ROOT = Path(__file__).parents[3]
GLOBAL = {"all": "g:S / n:N", "keys": ("n:N", "KEYS_ONLY"), "some": ("g:S", ["x"])}
LOCAL = {"local": ("pk:S / n:N", ["x"])}
KEYS = "pk:S / sk:N"

keys = st.builds(item, pk=st.sampled_from("ab"), sk=st.integers(0, 4))
attributes = st.fixed_dictionaries(
    {},
    optional={
        "g": st.sampled_from([{"S": "g"}, {"S": "h"}]),
        "n": st.sampled_from([{"N": "-1.5"}, {"N": "20"}]),
        "x": st.sampled_from([{"S": "some text"}, {"L": [{"BOOL": True}]}]),
        "y": st.just({"B": "AAEC"}),
    },
)
items = st.lists(st.builds(lambda key, rest: key | rest, keys, attributes), min_size=5, max_size=40)


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    """Batches of ten, so that a few items are several commits."""
    monkeypatch.setattr(bulk, "BATCH", 10)


def create(local, **options):
    local.create(KEYS, gsi=GLOBAL, lsi=LOCAL, **options)
    local.naive = Naive(KEYS, GLOBAL | LOCAL)
    return local


def load(local, found, progress=lambda _: None):
    return bulk.load_items(local.engine, local.engine.catalog.locate("tab"), iter(found), progress)


def copies(found):
    return orjson.loads(orjson.dumps(found))


def numbered(many, pk="p", start=0):
    return [item(pk=pk, sk=number, g="g", n=number, x="x" * number) for number in range(start, start + many)]


def assert_agrees(local):
    described = local.describe()
    assert local.items() == local.naive.entries()
    assert (described["ItemCount"], described["TableSizeBytes"]) == local.naive.count()
    for index in described["GlobalSecondaryIndexes"] + described["LocalSecondaryIndexes"]:
        assert local.items(index=index["IndexName"]) == local.naive.entries(index["IndexName"])
        assert (index["ItemCount"], index["IndexSizeBytes"]) == local.naive.count(index["IndexName"])


def assert_empty_and_usable(local):
    local.naive.items.clear()
    assert_agrees(local)
    mine = item(pk="new", sk=1, g="g", n=1)
    local.call("PutItem", TableName="tab", Item=copies(mine))
    local.naive.put(mine)
    assert_agrees(local)


# -- what is loaded ---------------------------------------------------------------------------------------------------


@settings(max_examples=30, deadline=None)
@given(before=st.just([]) | items, found=items, logged=st.booleans())
def test_a_table_is_the_same_as_if_every_item_had_been_put(before, found, logged):
    local = create(Local(), view="NEW_IMAGE" if logged else None)
    for each in before:
        local.call("PutItem", TableName="tab", Item=copies(each))
        local.naive.put(each)
    assert load(local, copies(found)) == len(found)
    for each in found:
        local.naive.put(each)
    assert_agrees(local)
    local.close()


def test_of_items_with_the_same_key_the_last_one_wins_over_all_batches(local):
    create(local)
    rounds = [item(pk="p", sk=number % 7, n=number) for number in range(100)]
    load(local, copies(rounds))
    for each in rounds:
        local.naive.put(each)
    assert_agrees(local)
    assert {int(each["n"]["N"]) for each in local.items()} == set(range(93, 100))


def test_values_are_made_canonical(local):
    create(local)
    load(local, [{"pk": {"S": "p"}, "sk": {"N": "1.0e0"}, "s": {"SS": ["b", "a"]}, "n": {"N": "007"}}])
    assert local.items() == [{"pk": {"S": "p"}, "sk": {"N": "1"}, "s": {"SS": ["a", "b"]}, "n": {"N": "7"}}]


def test_a_stream_has_a_record_of_every_item(local):
    create(local, view="NEW_IMAGE")
    load(local, numbered(25))
    assert len(local.records()) == 25


def test_expiry_times_are_known_at_once(local):
    create(local)
    local.call(
        "UpdateTimeToLive",
        TableName="tab",
        TimeToLiveSpecification={"AttributeName": "expires", "Enabled": True},
    )
    load(local, [item(pk="p", sk=number, expires=local.seconds - 10 + number) for number in range(20)])
    local.engine.settle()
    assert [int(each["sk"]["N"]) for each in local.items()] == sorted(range(10, 20), key=str)


def test_an_empty_table_that_is_loaded_into_is_not_there_for_others_until_it_is_full(local):
    create(local)
    refusals = []
    load(local, numbered(25), lambda _: refusals.append(local.refusal("Scan", TableName="tab")))
    assert refusals == ["ResourceNotFoundException: Requested resource not found"] * 3
    assert len(local.items()) == 25


def test_a_table_with_items_can_be_used_while_it_is_loaded_into(local):
    create(local)
    load(local, numbered(1))
    seen = []
    load(local, numbered(25, start=1), lambda _: seen.append(len(local.items())))
    assert seen == [11, 21, 26]


# -- what goes wrong --------------------------------------------------------------------------------------------------

BAD = {
    "no key": ({"pk": {"S": "p"}}, "Missing the key sk"),
    "wrong key": ({"pk": {"N": "1"}, "sk": {"N": "1"}}, "Type mismatch for key pk"),
    "wrong index key": (item(pk="p", sk=1, g=5), "Type mismatch for Index Key g"),
    "no value": ({"pk": {"S": "p"}, "sk": {"N": "1"}, "x": {}}, "empty"),
    "plain value": ({"pk": "p", "sk": 1}, "wrong JSON type"),
    "wrong content": ({"pk": {"S": "p"}, "sk": {"N": 1}}, "wrong JSON type: NUMBER_VALUE cannot be converted"),
    "unknown type": ({"pk": {"S": "p"}, "sk": {"N": "1"}, "x": {"Q": "?"}}, "empty"),
    "no number": ({"pk": {"S": "p"}, "sk": {"N": "one"}}, "cannot be converted to a numeric value"),
    "too large": (item(pk="p", sk=1, x="x" * 409_600), "size has exceeded"),
    "too deep": ({"pk": {"S": "p"}, "sk": {"N": "1"}, "x": {"L": []}}, "nested levels"),
}
deepest = BAD["too deep"][0]["x"]
for _ in range(40):
    deepest["L"].append({"L": []})
    deepest = deepest["L"][0]


@pytest.mark.parametrize(("bad", "text"), BAD.values(), ids=BAD)
def test_an_item_that_cannot_be_stored_leaves_an_empty_table_empty(local, bad, text):
    create(local)
    with pytest.raises(ServiceError, match=text):
        load(local, [*numbered(25), copies(bad), *numbered(5, start=30)])
    assert_empty_and_usable(local)


def test_an_item_that_cannot_be_stored_leaves_a_full_table_with_the_batches_before_it(local):
    create(local)
    load(local, numbered(5))
    with pytest.raises(ServiceError):
        load(local, [*numbered(25, start=5), {"pk": {"S": "p"}}])
    for each in numbered(25):
        local.naive.put(each)
    assert_agrees(local)


@pytest.mark.parametrize("present", [0, 5])
def test_an_interrupt_leaves_the_table_consistent_and_usable(local, present):
    create(local)
    load(local, numbered(present))

    def interrupted():
        yield from numbered(25, start=present)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        load(local, interrupted())
    for each in numbered(present + 20 if present else 0):
        local.naive.put(each)
    assert_agrees(local)
    if not present:
        assert_empty_and_usable(local)


@pytest.mark.parametrize("present", [0, 5])
def test_a_full_disk_leaves_the_table_as_it_was_and_usable(on_disk, present):
    create(on_disk)
    load(on_disk, numbered(present))
    for each in numbered(present):
        on_disk.naive.put(each)
    page_count = on_disk.engine.store.execute("PRAGMA page_count").fetchone()[0]
    on_disk.engine.store.execute(f"PRAGMA max_page_count={page_count + 20}")
    large = [item(pk="p", sk=100, x="x" * 300_000)]
    with pytest.raises(InternalServerError, match="full"):
        load(on_disk, large)
    on_disk.engine.store.execute("PRAGMA max_page_count=100000")
    assert_agrees(on_disk)
    on_disk.reopen()
    on_disk.engine.settle()
    assert_agrees(on_disk)
    load(on_disk, numbered(20))
    for each in numbered(20):
        on_disk.naive.put(each)
    assert_agrees(on_disk)


KILLED = """
import os, signal, sys
from pathlib import Path
from hashrange.engine import bulk
from tests.unit.engine.local import Local
from tests.unit.engine.test_bulk import create, load, numbered
bulk.BATCH = 10
local = create(Local(Path(sys.argv[1])))
load(local, numbered(95), lambda done: os.kill(os.getpid(), signal.SIGKILL) if done == 50 else None)
"""


@pytest.fixture
def killed(tmp_path):
    """A database whose loading was killed half-way."""
    process = subprocess.run([sys.executable, "-c", KILLED, tmp_path], cwd=ROOT, capture_output=True, check=False)
    assert process.returncode == -signal.SIGKILL, process.stderr.decode()
    local = Local(tmp_path)
    local.naive = Naive(KEYS, GLOBAL | LOCAL)
    assert local.engine.store.execute("SELECT count(*) FROM t1").fetchone() == (50,)
    yield local
    local.close()


def test_kill_9_leaves_the_table_empty_and_usable(killed):
    assert killed.refusal("Scan", TableName="tab").startswith("ResourceNotFoundException")
    killed.engine.settle()
    assert_empty_and_usable(killed)


def test_loading_again_after_kill_9_loads_everything_for_good(killed):
    load(killed, numbered(30))
    for each in numbered(30):
        killed.naive.put(each)
    assert_agrees(killed)
    killed.reopen()
    killed.engine.settle()
    assert_agrees(killed)


def test_a_table_that_is_being_restored_is_not_loaded_into(local):
    local.create()
    local.put_many(1_100)
    backup = local.call("CreateBackup", TableName="tab", BackupName="copy")["BackupDetails"]["BackupArn"]
    local.call("RestoreTableFromBackup", TargetTableName="back", BackupArn=backup)
    with pytest.raises(ResourceInUseException, match="is being restored"):
        bulk.load_items(local.engine, local.engine.catalog.locate("back"), iter([]), print)


# -- files ------------------------------------------------------------------------------------------------------------


def write_lines(path, lines):
    text = b"".join(orjson.dumps(line) + b"\n" for line in lines)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    return path


def read(*paths):
    return list(Lines(list(paths), lambda _: None))


@pytest.mark.parametrize("name", ["items.jsonl", "items.json.gz"])
@pytest.mark.parametrize("wrapped", [True, False])
def test_lines_are_items_or_wrap_them_plain_or_gzipped(tmp_path, name, wrapped):
    found = numbered(5)
    path = write_lines(tmp_path / name, [{"Item": each} for each in found] if wrapped else found)
    assert read(path) == found


def test_an_attribute_may_be_called_item(tmp_path):
    found = [{"Item": {"S": "x"}}, {"Item": {"S": "x"}, "other": {"N": "1"}}]
    assert read(write_lines(tmp_path / "items.json", found)) == found


def test_empty_lines_are_overlooked_and_the_last_needs_no_end(tmp_path):
    path = tmp_path / "items.jsonl"
    path.write_bytes(b'\n{"pk":{"S":"a"}}\r\n   \n\n{"pk":{"S":"b"}}')
    assert read(path) == [item(pk="a"), item(pk="b")]


def test_an_export_is_read_from_its_data_without_its_manifests(tmp_path):
    export = tmp_path / "01700000000000-1a2b3c4d"
    for part in range(3):
        wrapped = [{"Item": each} for each in numbered(4, start=4 * part)]
        write_lines(export / "data" / f"part{part}.json.gz", wrapped)
    write_lines(export / "manifest-files.json", [{"itemCount": 12}])
    write_lines(export / "manifest-summary.json", [{"version": "2020-06-30"}])
    assert read(export) == numbered(12)


def test_files_are_read_one_after_the_other_and_the_bytes_reported(tmp_path):
    paths = [write_lines(tmp_path / f"{part}.jsonl", numbered(2_500, start=2_500 * part)) for part in range(2)]
    reported = []
    lines = Lines(paths, reported.append)
    assert len(list(lines)) == 5_000
    assert reported == sorted(reported)
    assert reported[-1] == lines.size == sum(path.stat().st_size for path in paths)


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (b'{"pk": {"S": "a"}', "not JSON"),
        (b'{"pk": {"S": "\xff"}}', "not JSON"),
        (b"[1, 2]", "not an item"),
        (b'"text"', "not an item"),
    ],
)
def test_a_line_that_holds_no_item_is_told(tmp_path, line, text):
    path = tmp_path / "items.jsonl"
    path.write_bytes(b'{"pk":{"S":"a"}}\n\n' + line + b"\n")
    lines = Lines([path], lambda _: None)
    with pytest.raises(BadLine, match=text):
        list(lines)
    assert lines.where == f"{path}, line 3"


@pytest.mark.parametrize("damage", [lambda whole: whole[:-20], lambda whole: whole[:40] * 2, lambda whole: b"not gzip"])
def test_a_damaged_gzip_file_is_told(tmp_path, damage):
    path = write_lines(tmp_path / "items.jsonl.gz", numbered(50))
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(BadLine, match="cannot be read"):
        read(path)


def test_a_directory_without_files_is_told(tmp_path):
    (tmp_path / "data").mkdir()
    with pytest.raises(BadLine, match="has no files to load"):
        read(tmp_path)
