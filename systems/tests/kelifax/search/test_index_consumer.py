"""The index follows the stream, is built again whenever it cannot be trusted, and answers as the scan does."""

import asyncio
import shutil
from datetime import timedelta
from decimal import Decimal
from random import Random

import pytest

import hashrange
from hashrange_systems.kelifax.schema import Kelifax, checkpoints
from hashrange_systems.kelifax.search import text_index
from hashrange_systems.kelifax.search.index_consumer import IndexConsumer
from hashrange_systems.kelifax.search.query import SearchQuery
from hashrange_systems.kelifax.search.search import Search
from hashrange_systems.kelifax.service.adoption import Adoption
from hashrange_systems.kelifax.service.deletion import Deletion
from systems.tests.kelifax.entries import EXAMPLE, NOON, approve, put_plain, submit


def do(awaitable):
    async def wait():
        return await awaitable

    return asyncio.run(wait())


@pytest.fixture
def db(clock):
    with hashrange.open(clock=clock) as database:
        hashrange.create_tables(database, Kelifax, checkpoints)
        yield Kelifax.open(database, clock=clock)


@pytest.fixture
def database(db):
    return db.session.transport


def publish(db, slug, minute=0, **more):
    return approve(db, submit(db, slug, minute, **more), NOON + timedelta(minutes=minute))


def find(db, index_consumer, text="", **more):
    return do(Search(db, index_consumer).find(SearchQuery(text=text, **more)))


def catch_up(index_consumer):
    do(index_consumer.catch_up())


@pytest.mark.parametrize("where", ["memory", "directory"])
def test_what_is_published_changed_and_unpublished_is_found_accordingly(db, tmp_path, where):
    index_consumer = IndexConsumer(db, tmp_path if where == "directory" else None)
    first = publish(db, "first-tool")
    assert find(db, index_consumer, "first").by == "scan"
    catch_up(index_consumer)
    assert find(db, index_consumer, "first").by == "index"
    assert find(db, index_consumer, "frist").slugs == ("first-tool",)
    submit(db, "second-tool")
    publish(db, "third-tool", 1)
    catch_up(index_consumer)
    assert set(find(db, index_consumer, "tool").slugs) == {"first-tool", "third-tool"}, "a pending one is not public"
    db.unpublish(first, rejected_at=NOON, rejection_reason="gone", featured=False).run()
    catch_up(index_consumer)
    assert find(db, index_consumer, "tool").slugs == ("third-tool",)
    assert index_consumer.builds == 1
    do(index_consumer.close())


def test_an_index_is_used_again_after_a_restart_and_catches_up(db, tmp_path):
    index_consumer = IndexConsumer(db, tmp_path)
    publish(db, "first-tool")
    catch_up(index_consumer)
    do(index_consumer.close())
    publish(db, "second-tool", 1)
    again = IndexConsumer(db, tmp_path)
    catch_up(again)
    assert again.builds == 0
    assert set(find(db, again, "tool").slugs) == {"first-tool", "second-tool"}
    do(again.close())


def spoil_state(directory):
    (directory / "state.json").write_text("{")


def spoil_version(directory):
    state = directory / "state.json"
    state.write_text(state.read_text().replace('"version":', '"version":9'))


def spoil_files(directory):
    for path in next(directory.glob("search-*")).iterdir():
        path.write_bytes(b"nonsense")


def lose_files(directory):
    shutil.rmtree(next(directory.glob("search-*")))


def die_before_the_commit(directory):
    (directory / "uncommitted").touch()


@pytest.mark.parametrize(
    "spoil", [spoil_state, spoil_version, spoil_files, lose_files, die_before_the_commit, shutil.rmtree]
)
def test_an_index_that_cannot_be_trusted_is_built_again(db, tmp_path, spoil):
    directory = tmp_path / "search"
    index_consumer = IndexConsumer(db, directory)
    publish(db, "first-tool")
    catch_up(index_consumer)
    do(index_consumer.close())
    spoil(directory)
    again = IndexConsumer(db, directory)
    catch_up(again)
    assert again.builds == 1
    assert find(db, again, "first").slugs == ("first-tool",)
    assert len(list(directory.glob("search-*"))) == 1, "the old one is removed"
    do(again.close())


@pytest.mark.parametrize("spoil", [spoil_files, lose_files, shutil.rmtree])
def test_an_index_that_is_damaged_while_it_is_used_is_built_again_and_searches_go_on(db, tmp_path, spoil):
    directory = tmp_path / "search"
    index_consumer = IndexConsumer(db, directory)
    publish(db, "first-tool")
    catch_up(index_consumer)
    spoil(directory)
    assert find(db, index_consumer, "first").slugs == ("first-tool",)
    publish(db, "second-tool", 1)
    for _ in range(3):
        catch_up(index_consumer)
    assert set(find(db, index_consumer, "tool").slugs) == {"first-tool", "second-tool"}
    do(index_consumer.close())
    again = IndexConsumer(db, directory)
    catch_up(again)
    assert set(find(db, again, "tool").slugs) == {"first-tool", "second-tool"}
    do(again.close())


def overwrite_files(directory, suffix):
    """What a failing disk does: other bytes in files that the index has open."""
    for path in sorted(next(directory.glob("search-*")).iterdir()):
        if path.suffix == suffix:
            with path.open("r+b") as file:
                file.write(Random(1).randbytes(path.stat().st_size // 2))


@pytest.mark.parametrize("suffix", [".idx", ".term", ".store"])  # the first makes tantivy panic
def test_an_index_whose_open_files_are_overwritten_is_built_again_and_searches_go_on(db, tmp_path, clock, suffix):
    directory = tmp_path / "search"
    index_consumer = IndexConsumer(db, directory)
    search = Search(db, index_consumer)
    for at in range(20):
        publish(db, f"tool-{at}", at)
    catch_up(index_consumer)
    overwrite_files(directory, suffix)
    found = find(db, index_consumer, "tool", limit=50)
    assert (found.total, found.by, search.problem) == (20, "scan", "search damaged")
    catch_up(index_consumer)
    found = find(db, index_consumer, "tool", limit=50)
    assert (found.total, found.by, search.problem, index_consumer.builds) == (20, "index", "", 2)
    overwrite_files(directory, suffix)
    assert find(db, index_consumer, "tool", limit=50).total == 20
    catch_up(index_consumer)
    assert index_consumer.builds == 2, "whoever can break an index with a query does not keep it from its work"
    clock.advance(3601)
    catch_up(index_consumer)
    assert find(db, index_consumer, "tool", limit=50).by == "index"
    do(index_consumer.close())


def test_an_index_that_missed_a_day_is_built_again(db, tmp_path, clock):
    index_consumer = IndexConsumer(db, tmp_path)
    publish(db, "first-tool")
    catch_up(index_consumer)
    do(index_consumer.close())
    publish(db, "second-tool", 1)
    clock.advance(49 * 3600)
    db.session.transport.wait_until_idle()
    publish(db, "third-tool", 2)
    again = IndexConsumer(db, tmp_path)
    catch_up(again)
    assert set(find(db, again, "tool").slugs) == {"first-tool", "second-tool", "third-tool"}
    do(again.close())


def test_a_damaged_resource_is_found_and_hides_no_other(db, database):
    index_consumer = IndexConsumer(db)
    catch_up(index_consumer)
    damaged = {
        "resourceSlug": "old_tool", "resourceStatus": "approved", "resourceName": "Old Tool", "searchText": "old tool",
        "createdAt": "2025-01-01T00:00:00Z", "approvedAt": "2025-01-01T00:00:00Z", "publicFeed": "approved",
        "publicCategory": "gadgets", "category": "gadgets", "publishedAt": "2025-01-01T00:00:00Z", "usagePurpose": "x",
        "resourceUrl": "https://old.example", "learningResources": '{"title":"a|b"}', "tags": "one,,two ",
    }  # fmt: skip
    put_plain(database, damaged)
    put_plain(database, damaged | {"resourceSlug": "worse-tool", "tags": 7, "viewCount": "many"})
    publish(db, "new-tool")
    for _ in range(2):
        catch_up(index_consumer)
        assert {"old_tool", "new-tool"} <= set(find(db, index_consumer, "tool").slugs)
        do(index_consumer.build())
    do(index_consumer.close())


def test_checkpoints_of_an_index_in_memory_do_not_pile_up(db, database):
    publish(db, "first-tool")
    for _ in range(3):
        index_consumer = IndexConsumer(db)
        catch_up(index_consumer)
        do(index_consumer.close())
    assert database.call("Scan", {"TableName": "kelifax-checkpoints"})["Count"] == 0


def damage(slug, **more):
    """An approved resource as another program may store it."""
    at = "2025-01-01T00:00:00Z"
    return {
        "resourceSlug": slug, "submissionId": "id", "resourceStatus": "approved", "resourceName": slug,
        "searchText": slug.replace("-", " "), "createdAt": at, "submittedAt": at, "approvedAt": at,
        "publicFeed": "approved", "publicCategory": "other", "category": "other", "publishedAt": at,
        "usagePurpose": "x", "resourceUrl": "https://old.example",
    } | more  # fmt: skip


@pytest.mark.parametrize(
    "more",
    [
        {"viewCount": Decimal("1E+100")},
        {"viewCount": Decimal(99999999999999999999)},
        {"viewCount": Decimal(-5)},
        {"publishedAt": "1066-10-14T00:00:00Z"},
    ],
)
def test_a_number_or_a_time_that_cannot_be_ranked_stops_the_index_neither_by_the_stream_nor_by_a_build(
    db, database, more
):
    index_consumer = IndexConsumer(db)
    catch_up(index_consumer)
    put_plain(database, damage("odd-tool", **more))
    publish(db, "new-tool")
    for _ in range(2):
        catch_up(index_consumer)
        assert set(find(db, index_consumer, "tool").slugs) == {"odd-tool", "new-tool"}
        assert set(find(db, index_consumer, "tool", sort="popular").slugs) == {"odd-tool", "new-tool"}
        do(index_consumer.build())
    assert not index_consumer.skipped
    do(index_consumer.close())


def test_a_resource_that_the_index_refuses_is_skipped_counted_and_stops_no_other(db, monkeypatch, caplog):
    make_fields = text_index.make_fields

    def refuse(document):
        if document.slug == "odd-tool":
            raise OverflowError("int too big to convert")
        return make_fields(document)

    monkeypatch.setattr(text_index, "make_fields", refuse)
    index_consumer = IndexConsumer(db)
    catch_up(index_consumer)
    publish(db, "odd-tool")
    publish(db, "new-tool", 1)
    for _ in range(2):
        catch_up(index_consumer)
        assert find(db, index_consumer, "tool").slugs == ("new-tool",)
        assert Search(db, index_consumer).skipped == 1
        assert (Search(db, index_consumer).problem, Search(db, index_consumer).skipped_slugs) == (
            "search incomplete",
            ["odd-tool"],
        )
        do(index_consumer.build())
    assert "not indexed" in caplog.text
    monkeypatch.undo()
    do(index_consumer.build())
    assert (Search(db, index_consumer).skipped, Search(db, index_consumer).problem) == (0, "")
    do(index_consumer.close())


def test_an_index_that_does_not_follow_is_behind(db, clock, monkeypatch):
    index_consumer = IndexConsumer(db)
    search = Search(db, index_consumer)
    clock.advance(3600)
    assert not search.is_behind, "this process does not try to follow"
    catch_up(index_consumer)
    assert not search.is_behind
    publish(db, "new-tool")
    monkeypatch.setattr(text_index.TextIndex, "commit", lambda _self: 1 / 0)
    clock.advance(61)
    with pytest.raises(ZeroDivisionError):
        catch_up(index_consumer)
    assert search.is_behind, "the stream was read, but nothing was indexed"
    monkeypatch.undo()
    catch_up(index_consumer)
    assert not search.is_behind
    do(index_consumer.close())


@pytest.mark.parametrize("at", ["2025-10-26T10:30:00.123456Z", "2025-10-26T10:30:00.5Z", "2025-10-26T10:30:00+00:00"])
def test_what_the_originals_code_approved_is_indexed_whatever_the_form_of_its_time(db, at):
    async def act():
        index_consumer = IndexConsumer(db)
        await index_consumer.catch_up()
        adoption = Adoption(db, db.session.clock, Deletion(db, db.session.clock))
        consumer = adoption.make_consumer()
        item = EXAMPLE | {"resourceStatus": "approved", "approvedAt": at, "createdAt": at, "tags": "alpha, beta  two"}
        put_plain(db.session.transport, item)
        await adoption.follow(consumer)
        await index_consumer.catch_up()
        rebuilt = IndexConsumer(db)
        await rebuilt.catch_up()
        for each in (index_consumer, rebuilt):
            found = await Search(db, each).find(SearchQuery(text="amazing", tags=("Beta two",)))
            assert found.slugs == ("amazing-dev-tool",)
            assert found.hits[0].document.published_at.replace(microsecond=0).isoformat() == "2025-10-26T10:30:00+00:00"
            assert Search(db, each).problem == ""

    asyncio.run(act())
