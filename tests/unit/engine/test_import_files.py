"""Items from files: which files, which lines, and what is said of those that hold none."""

import gzip
import os
import threading

import orjson
import pytest

from hashrange.engine import import_files
from hashrange.engine.import_files import BadLine, ImportFiles, read_line
from tests.conformance.wire import item


def numbered(many, start=0):
    return [item(pk=f"k{number}", n=number) for number in range(start, start + many)]


def write_lines(path, lines):
    text = b"".join(orjson.dumps(line) + b"\n" for line in lines)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    return path


def read(*paths, advance=lambda _: None):
    """All items of the files."""
    chunks = ImportFiles(list(paths)).read(advance)
    found = [read_line(line) for chunk in chunks for line in chunk.read().split(b"\n")]
    return [each for each in found if each is not None]


@pytest.fixture(params=[50, 8_000_000], ids=["small chunks", "large chunks"], autouse=True)
def chunk_bytes(request, monkeypatch):
    monkeypatch.setattr(import_files, "CHUNK_BYTES", request.param)
    return request.param


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
    paths = [write_lines(tmp_path / f"{part}.jsonl", numbered(250, start=250 * part)) for part in range(2)]
    reported = []
    assert read(*paths, advance=reported.append) == numbered(500)
    assert reported == sorted(reported)
    assert reported[-1] == ImportFiles(paths).size == sum(path.stat().st_size for path in paths)


@pytest.mark.parametrize("name", ["items.jsonl", "items.jsonl.gz"])
def test_chunks_are_of_whole_lines_and_know_their_numbers(tmp_path, chunk_bytes, name):
    path = write_lines(tmp_path / name, numbered(100))
    chunks = list(ImportFiles([path]).read(lambda _: None))
    every = [orjson.dumps(line) for line in numbered(100)]
    assert len(chunks) == (1 if chunk_bytes > 50 else 50)
    number = 1
    for chunk in chunks:
        assert chunk.locate(1) == f"{path}, line {number}"
        lines_in = chunk.read().split(b"\n")
        assert lines_in.pop() == b""
        assert lines_in == every[number - 1 : number - 1 + len(lines_in)]
        number += len(lines_in)
    assert number == 101


def test_a_line_may_be_longer_than_a_chunk(tmp_path):
    found = [item(pk="long", x="x" * 1_000), item(pk="short"), item(pk="last", x="x" * 200)]
    assert read(write_lines(tmp_path / "items.jsonl", found)) == found
    assert read(write_lines(tmp_path / "items.jsonl.gz", found)) == found


def test_a_pipe_is_read_to_its_end(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    text = write_lines(tmp_path / "items.jsonl", numbered(100)).read_bytes()
    writer = threading.Thread(target=pipe.write_bytes, args=(text,))
    writer.start()
    assert read(pipe) == numbered(100)
    writer.join()


def test_a_file_that_cannot_be_read_is_told(tmp_path):
    path = write_lines(tmp_path / "items.jsonl", numbered(100))
    chunks = ImportFiles([path]).read(lambda _: None)
    path.unlink()
    with pytest.raises(BadLine, match="cannot be read"):
        next(chunks).read()


def test_an_empty_file_has_no_items(tmp_path):
    assert read(write_lines(tmp_path / "items.jsonl", []), write_lines(tmp_path / "items.jsonl.gz", [])) == []


@pytest.mark.parametrize("line", [b"", b"  ", b"\r", b"\t\r"])
def test_an_empty_line_holds_nothing(line):
    assert read_line(line) is None


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (b'{"pk": {"S": "a"}', "not JSON"),
        (b'{"pk": {"S": "\xff"}}', "not JSON"),
        (b"[1, 2]", "not an item"),
        (b'"text"', "not an item"),
    ],
)
def test_a_line_that_holds_no_item_is_told(line, text):
    with pytest.raises(BadLine, match=text):
        read_line(line)


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
