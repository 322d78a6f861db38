"""Reading everything freezes nothing: other tasks of the event loop run meanwhile, and what was read is used again."""

import asyncio
from datetime import timedelta

import pytest

import hashrange
from hashrange_systems.kelifax.schema import Published
from hashrange_systems.kelifax.service.directory import Filters
from hashrange_systems.kelifax.web.feeds import COLUMNS, write_json, write_markdown, write_table
from systems.tests.kelifax.entries import NOON, make_submission
from systems.tests.kelifax.services import ANN, KelifaxServices

MANY = 320


def run(coroutine):
    return asyncio.run(coroutine)


@pytest.fixture
def reads():
    return []


@pytest.fixture
def full(clock, reads):
    """Services with many published resources; `reads` are the requests since."""
    with hashrange.open(clock=clock) as opened:
        kelifax = KelifaxServices(opened, clock, hooks=[reads.append])
        clock.advance(10 * 3600)  # after the last publication
        run(wait(kelifax.db.batch([make_published(number) for number in range(MANY)])))
        reads.clear()
        yield kelifax


async def wait(awaitable):
    return await awaitable


def make_published(number):
    at = NOON + timedelta(minutes=number)
    fields = {name: value for name, value in make_submission(f"tool-{number:03d}", number) if name != "resource_status"}
    return Published(**fields, approved_at=at, published_at=at)


async def count_turns(work):
    """How often another task runs while some work is done."""
    turns = 0

    async def turn():
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    other = asyncio.create_task(turn())
    await work
    other.cancel()
    return turns


def count_queries(reads):
    return sum(event.operation == "Query" for event in reads)


async def exhaust(parts):
    return [part async for part in parts]


@pytest.mark.parametrize(
    "work",
    [
        lambda kelifax: exhaust(write_table(kelifax.directory.list_all())),
        lambda kelifax: exhaust(write_json(kelifax.directory.list_all())),
        lambda kelifax: exhaust(write_markdown(kelifax.directory.list_all())),
        lambda kelifax: kelifax.directory.count_facets(),
        lambda kelifax: kelifax.directory.browse(Filters(sort="name")),
        lambda kelifax: kelifax.submissions.duplicates.look_up("Tool 7", "https://tool-007.example/"),
    ],
    ids=["csv", "json", "markdown", "facets", "sorted list", "duplicates"],
)
def test_other_requests_have_their_turn_while_everything_is_read(full, work):
    assert run(count_turns(work(full))) >= MANY // 100


def test_a_table_is_written_while_it_is_read_and_has_one_header(full, reads):
    async def act():
        parts = write_table(full.directory.list_all())
        head = [await anext(parts), await anext(parts)]
        early = len(reads)
        lines = b"".join([*head, *await exhaust(parts)]).decode("utf-8-sig").splitlines()
        assert 0 < early < len(reads) / 2
        assert (len(lines), lines[0]) == (MANY + 1, ",".join([*COLUMNS, "damaged"]))
        assert [line.split(",")[0] for line in lines[1:]] == [f"tool-{at:03d}" for at in range(MANY - 1, -1, -1)]

    run(act())


def test_the_rows_of_a_sorted_list_are_kept_for_ten_seconds_for_all_its_pages(full, reads):
    async def act():
        first = await full.directory.browse(Filters(sort="name"))
        before = len(reads)
        second = await full.directory.browse(Filters(sort="name"), after=first.cursor)
        assert [entry.slug for entry in second.entries] == [f"tool-{at:03d}" for at in range(20, 40)]
        assert len(reads) == before
        await full.moderation.unpublish("tool-000", ANN, "Sold to another company.")
        full.clock.advance(10)
        assert (await full.directory.browse(Filters(sort="name"))).entries[0].slug == "tool-001"

    run(act())


def test_names_that_were_read_are_used_again_and_only_new_ones_are_added(full, reads):
    async def act():
        look_up = full.submissions.duplicates.look_up
        assert "tool-007" in [each.entry.slug for each in await look_up("Tool 007", "")]
        everything = count_queries(reads)
        await full.list_resource("Pixel Kit")
        full.clock.advance(61)
        reads.clear()
        assert [each.likeness for each in await look_up("Pixel Kitt", "")] == ["similar name"]
        assert count_queries(reads) < everything / 2
        await full.moderation.unpublish("pixel-kit", ANN, "Sold to another company.")
        assert await look_up("Pixel Kitt", "") == []
        full.clock.advance(3601)
        await look_up("Pixel Kitt", "")
        await asyncio.gather(*(task for task in asyncio.all_tasks() if task.get_name() == "kelifax names"))
        assert "pixel-kit" not in full.submissions.duplicates._published

    run(act())
