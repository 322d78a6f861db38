"""Export, import, copy and diff: nothing is lost on the way, whatever the values and wherever it is interrupted."""

import gzip
import tempfile
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import orjson
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

import hashrange
from hashrange import Item, PlanError, Table
from hashrange.provision import (
    LinesRefused,
    copy_items,
    create_tables,
    diff_items,
    export_items,
    import_items,
    item_transfer,
)

table = Table("orders", "pk", "sk", deletion_protection=False)


class Order(Item, table=table, pk="ORDER#{number}", sk="{part}"):
    number: str
    part: str
    price: int = 0


def put(database, *items):
    for item in items:
        database.call("PutItem", {"TableName": "orders", "Item": item})


def make(number, **attributes):
    return {"pk": {"S": f"ORDER#{number}"}, "sk": {"S": "a"}, "number": {"S": str(number)}, **attributes}


def read_all(database, name="orders"):
    return sorted(database.call("Scan", {"TableName": name})["Items"], key=orjson.dumps)


def make_database():
    database = hashrange.open()
    create_tables(database, table)
    return database


NUMBERS = st.one_of(st.integers(-(10**30), 10**30).map(str), st.sampled_from(["0.1", "1E-100", "-7.25", "1E+100"]))
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
VALUES = st.recursive(
    st.one_of(
        TEXTS.map(lambda text: {"S": text}),
        NUMBERS.map(lambda number: {"N": number}),
        st.booleans().map(lambda value: {"BOOL": value}),
        st.just({"NULL": True}),
        st.sampled_from([{"B": "AAEC"}, {"SS": ["a", "b"]}, {"NS": ["1", "2"]}, {"BS": ["AA==", "AQ=="]}]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda values: {"L": values}),
        st.dictionaries(TEXTS.filter(bool), inner, max_size=3).map(lambda values: {"M": values}),
    ),
    max_leaves=5,
)
NAMES = st.sampled_from(["price", "note", "a:N", "_other", "with,comma", 'with"quote', "ü", "line\nbreak"])
FILES = ["items.jsonl", "items.jsonl.gz", "items.csv", "items.csv.gz", "items.parquet"]
ITEMS = st.lists(st.dictionaries(NAMES, VALUES, max_size=5), max_size=8)


@settings(max_examples=120, deadline=None)
@given(attributes=ITEMS, name=st.sampled_from(FILES))
def test_what_is_exported_and_imported_is_the_same(attributes, name):
    items = [make(number, **more) for number, more in enumerate(attributes)]
    with make_database() as source, make_database() as target, tempfile.TemporaryDirectory() as folder:
        put(source, *items)
        path = Path(folder) / name
        assert export_items(source, "orders", path) == len(items)
        assert import_items(target, "orders", [path]).stored == len(items)
        assert read_all(target) == read_all(source)
        assert list(diff_items(source, "orders", target)) == []


@settings(max_examples=60, deadline=None)
@given(attributes=ITEMS)
def test_plain_json_keeps_everything_but_the_types_that_json_lacks(attributes):
    items = [make(number, **more) for number, more in enumerate(attributes)]
    with make_database() as source, make_database() as target, tempfile.TemporaryDirectory() as folder:
        put(source, *items)
        path = Path(folder) / "items.ndjson"
        export_items(source, "orders", path)
        import_items(target, "orders", [path])
        assert [simplify(item) for item in read_all(target)] == [simplify(item) for item in read_all(source)]


def simplify(value):
    if not isinstance(value, dict):
        return value
    if len(value) == 1:
        [(tag, inner)] = value.items()
        if tag in {"B", "S"}:
            return {"S": inner}
        if tag in {"SS", "BS"}:
            return {"L": [{"S": one} for one in inner]}
        if tag == "NS":
            return {"L": [{"N": one} for one in inner]}
        if tag == "L" and isinstance(inner, list):
            return {"L": [simplify(one) for one in inner]}
    return {name: simplify(one) for name, one in value.items()}


class FailingTransport:
    """A transport that fails at one call, as if the process were killed there."""

    def __init__(self, database, failing):
        self.database, self.left = database, failing

    def call(self, operation, request, *read):
        self.left -= 1
        if self.left == 0:
            raise InterruptedError
        return self.database.call(operation, request, *read)


@pytest.mark.parametrize("name", ["items.jsonl", "items.csv.gz"])
def test_an_interrupted_export_continues(database, tmp_path, monkeypatch, name):
    monkeypatch.setattr(item_transfer, "RECORD_INTERVAL", 0)
    create_tables(database, table)
    put(database, *(make(number, price={"N": "1"}) for number in range(2_300)))
    path = tmp_path / name
    for failing in (3, 4):
        with pytest.raises(InterruptedError):
            export_items(FailingTransport(database, failing), "orders", path, segments=1)
        with (tmp_path / f"{name}.part").open("ab") as file:
            file.write(b"written, but not recorded")
    assert orjson.loads((tmp_path / f"{name}.progress").read_bytes())["count"] >= 1_000
    assert export_items(database, "orders", path, segments=1) == 2_300
    assert [file.name for file in tmp_path.iterdir()] == [name]
    with make_database() as target:
        import_items(target, "orders", [path])
        assert list(diff_items(database, "orders", target)) == []


def test_an_export_is_not_continued_in_another_format(database, tmp_path, monkeypatch):
    monkeypatch.setattr(item_transfer, "RECORD_INTERVAL", 0)
    create_tables(database, table)
    put(database, *(make(number) for number in range(600)))
    with pytest.raises(InterruptedError):
        export_items(FailingTransport(database, 3), "orders", tmp_path / "items", form="dynamodb", segments=1)
    with pytest.raises(PlanError, match="belongs to another export"):
        export_items(database, "orders", tmp_path / "items", form="json", segments=1)


@settings(max_examples=25, deadline=None)
@given(failing=st.lists(st.integers(1, 20), max_size=4))
def test_an_interrupted_copy_continues(failing):
    with make_database() as source, make_database() as target:
        put(source, *(make(number) for number in range(1_100)))
        for calls in failing:
            with suppress(InterruptedError):
                copy_items(FailingTransport(source, calls), "orders", FailingTransport(target, calls + 3), segments=2)
        assert copy_items(source, "orders", target, segments=2) == 1_100
        assert list(diff_items(source, "orders", target)) == []


def test_a_copy_creates_the_table_and_its_indexes(database):
    with hashrange.open() as source:
        create_tables(source, Table("orders", "pk", "sk", indexes=[hashrange.Gsi("ByNumber", "number")]))
        put(source, make(1), make(2))
        with pytest.raises(PlanError, match="There is no table copied"):
            copy_items(source, "orders", database, "copied")
        assert copy_items(source, "orders", database, "copied", create=True) == 2
        found = database.call("Scan", {"TableName": "copied", "IndexName": "ByNumber"})
        assert found["Count"] == 2


def test_differences_are_found_on_both_sides(database):
    create_tables(database, table)
    with make_database() as other:
        put(database, make(1), make(2), make(3, tags={"SS": ["b", "a"]}), make(4, price={"N": "1"}))
        put(other, make(2), make(3, tags={"SS": ["a", "b"]}), make(4, price={"N": "2"}), make(5))
        found = {difference.key["pk"]["S"]: difference for difference in diff_items(database, "orders", other)}
    assert {key: one.kind for key, one in found.items()} == {
        "ORDER#1": "only in first",
        "ORDER#4": "changed",
        "ORDER#5": "only in second",
    }
    assert found["ORDER#4"].attributes == ["price"]


BAD = [
    ("not json", "not JSON"),
    ("[1]", "not an item"),
    ('{"pk": {"S": "x"}}', "has no sk of type S, which is a key of the table"),
    ('{"pk": {"N": "1"}, "sk": {"S": "a"}}', "has no pk of type S"),
    ('{"pk": {"S": "x"}, "sk": {"S": "a"}, "n": {"N": "one"}}', "numeric value"),
    ('{"pk": {"S": "x"}, "sk": {"S": "a"}, "n": 5}', "wrong type"),
    ('{"pk": {"S": "x"}, "sk": {"S": "a"}, "n": {"S": "%s"}}' % ("a" * 410_000), "size"),
]


@pytest.mark.parametrize(("line", "reason"), BAD)
def test_a_bad_line_is_named_and_nothing_is_imported_unless_asked_for(database, tmp_path, line, reason):
    create_tables(database, table)
    path = tmp_path / "items.jsonl"
    path.write_text("\n".join([orjson.dumps(make(1)).decode(), line, orjson.dumps(make(2)).decode()]))
    with pytest.raises(LinesRefused) as caught:
        import_items(database, "orders", [path])
    [refusal] = caught.value.report.refusals
    assert refusal.line == 2
    assert reason.lower() in refusal.reason.lower()
    assert read_all(database) == []
    report = import_items(database, "orders", [path], skip_refused=True)
    assert (report.stored, report.refused) == (2, 1)
    assert len(read_all(database)) == 2


def test_a_line_with_an_index_key_of_another_type_is_named_before_anything_is_imported(database, tmp_path):
    create_tables(
        database, Table("indexed", "pk", indexes=[hashrange.Gsi("ByUser", "user")], deletion_protection=False)
    )
    path = tmp_path / "items.csv"
    path.write_text("pk,user:N\n" + "".join(f"{number},\n" for number in range(60)) + "60,7\n")
    with pytest.raises(LinesRefused) as caught:
        import_items(database, "indexed", [path])
    assert [str(each) for each in caught.value.report.refusals] == [
        f"{path}, line 62: has a user that is not of type S, as the index has it"
    ]
    assert database.call("Scan", {"TableName": "indexed"})["Count"] == 0


def test_items_are_checked_against_a_declaration(database, tmp_path):
    create_tables(database, table)
    path = tmp_path / "items.jsonl"
    lines = [make(1), make(2, price={"S": "much"}), {"pk": {"S": "CUSTOMER#1"}, "sk": {"S": "a"}}]
    path.write_bytes(b"\n".join(orjson.dumps(line) for line in lines))
    with pytest.raises(LinesRefused) as caught:
        import_items(database, "orders", [path], table)
    assert [(one.line, one.reason) for one in caught.value.report.refusals][1] == (3, "fits no declared class")
    assert "price" in caught.value.report.refusals[0].reason


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("items.csv", b"pk:S,sk:S,price:X\n", "the column price:X has an unknown type"),
        ("items.csv", b"pk:S,sk:S\nx\n", "has 1 cells, and the header 2"),
        ("items.csv", b"pk:S,sk:S,ok:BOOL\nx,a,maybe\n", "neither true nor false"),
        ("items.jsonl.gz", b"no gzip", "cannot be read"),
        ("items.jsonl.gz", gzip.compress(b"{}" * 999, mtime=0)[:-9], "cannot be read"),
        ("items.jsonl", b"\xff\xfe", "cannot be read"),
        ("items.ndjson", b'{"pk": NaN}', "NaN is not a number of DynamoDB"),
    ],
)
def test_a_damaged_file_is_refused_with_the_reason(database, tmp_path, name, content, reason):
    create_tables(database, table)
    (tmp_path / name).write_bytes(content)
    with pytest.raises(LinesRefused, match="Nothing was imported") as caught:
        import_items(database, "orders", [tmp_path / name])
    assert reason in str(caught.value)


def test_what_exists_is_not_overwritten_and_what_does_not_exist_is_named(database, tmp_path):
    create_tables(database, table)
    (tmp_path / "items.jsonl").touch()
    with pytest.raises(PlanError, match="exists"):
        export_items(database, "orders", tmp_path / "items.jsonl")
    with pytest.raises(PlanError, match=r"There is no table other\. There are: orders"):
        export_items(database, "other", tmp_path / "x.jsonl")
    with pytest.raises(PlanError, match=r"In which format is items\.xlsx"):
        export_items(database, "orders", tmp_path / "items.xlsx")
    with pytest.raises(PlanError, match="cannot be written: No such file or directory"):
        export_items(database, "orders", tmp_path / "no" / "items.jsonl")


@pytest.mark.parametrize("declared", [[], [table]])
def test_the_directory_of_an_export_of_dynamodb_is_imported(database, tmp_path, declared):
    create_tables(database, table)
    export = tmp_path / "AWSDynamoDB" / "01700000000000-1a2b3c4d"
    (export / "data").mkdir(parents=True)
    items = [make(number, price={"N": "1"}) for number in range(6)]
    for part in range(2):
        lines = b"".join(orjson.dumps({"Item": item}) + b"\n" for item in items[3 * part : 3 * part + 3])
        (export / "data" / f"part{part}.json.gz").write_bytes(gzip.compress(lines))
    (export / "manifest-summary.json").write_text('{"version": "2020-06-30"}')
    (export / "manifest-files.json").write_text('{"itemCount": 3}\n{"itemCount": 3}\n')
    (export / "manifest-summary.md5").write_text("x")
    (export / "_started").touch()
    assert import_items(database, "orders", [export], *declared).stored == 6
    assert read_all(database) == items


def test_equal_keys_of_a_file_leave_the_last_one(database, tmp_path):
    create_tables(database, table)
    path = tmp_path / "items.jsonl"
    path.write_bytes(b"\n".join(orjson.dumps(make(1, price={"N": str(price)})) for price in range(60)))
    import_items(database, "orders", [path])
    [item] = read_all(database)
    assert item["price"] == {"N": "59"}


def test_a_parquet_file_has_typed_columns_and_the_rest_as_json(tmp_path):
    with make_database() as source:
        put(source, make(1, price={"N": "7"}, rate={"N": "0.5"}, far={"N": "1E+100"}, mixed={"S": "x"}))
        put(source, make(2, price={"N": "-9"}, rate={"N": "12.25"}, mixed={"N": "1"}, tags={"SS": ["a"]}))
        export_items(source, "orders", tmp_path / "orders.parquet")
    found = parquet.read_table(tmp_path / "orders.parquet")
    types = {field.name: str(field.type) for field in found.schema}
    texts = dict.fromkeys(["pk", "sk", "number", "far", "_other"], "string")
    assert types == {**texts, "price": "int64", "rate": "decimal128(38, 2)"}
    assert sorted(found["price"].to_pylist()) == [-9, 7]
    rest = [orjson.loads(text) for text in found["_other"].to_pylist()]
    assert sorted(rest, key=len) == [{"mixed": {"S": "x"}}, {"mixed": {"N": "1"}, "tags": {"SS": ["a"]}}]
    assert [path.name for path in tmp_path.iterdir()] == ["orders.parquet"]


def test_a_parquet_file_of_another_program_is_imported_and_its_bad_rows_are_listed(tmp_path):
    path = tmp_path / "foreign.parquet"
    rows = [
        {
            "pk": "ORDER#1",
            "sk": "a",
            "price": 1.5,
            "at": datetime(2027, 1, 15, 9, 30, tzinfo=UTC),
            "sizes": [1, None],
            "gone": None,
        },
        {"pk": None, "sk": "b", "price": 2.0, "at": None, "sizes": [], "gone": None},
    ]
    parquet.write_table(pa.Table.from_pylist(rows), path)
    with make_database() as target:
        with pytest.raises(LinesRefused, match=r"foreign.parquet, line 2: has no pk of type S"):
            import_items(target, "orders", [path])
        assert import_items(target, "orders", [path], skip_refused=True).stored == 1
        [item] = read_all(target)
        assert item["price"] == {"N": "1.5"}
        assert item["at"] == {"S": "2027-01-15T09:30:00+00:00"}
        assert item["sizes"] == {"L": [{"N": "1"}, {"NULL": True}]}


@pytest.mark.parametrize("contents", [b"", b"PAR1 is not all of it", b"PAR1" + bytes(100) + b"PAR1"])
def test_a_damaged_parquet_file_is_refused(tmp_path, contents):
    path = tmp_path / "bad.parquet"
    path.write_bytes(contents)
    with make_database() as target, pytest.raises(LinesRefused, match="line 1: cannot be read"):
        import_items(target, "orders", [path])
    with make_database() as source, pytest.raises(PlanError, match=r"compressed already. Name it orders.parquet"):
        export_items(source, "orders", tmp_path / "orders.parquet.gz")
