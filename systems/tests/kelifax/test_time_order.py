"""Stored times of different widths: every list is in the order of time, on whatever page an entry is."""

import asyncio
import random
from fractions import Fraction

import pytest

from hashrange import CursorInvalid
from hashrange_systems.kelifax.service.adoption import Adoption
from hashrange_systems.kelifax.service.directory import Filters
from hashrange_systems.kelifax.service.time_ordered_list import MAX_TOGETHER
from systems.tests.kelifax.entries import EXAMPLE, put_plain

WIDTHS = ("Z", ".5Z", ".50Z", ".499999Z", ".501Z", ".51Z", ".000001Z", ".999Z", ".999999Z", ".25+00:00Z", "+00:00")
DAMAGED = '{"title":"A","url":"https://a.example/"}'


def run(coroutine):
    return asyncio.run(coroutine)


def exact(text):
    """The time of a stored text as a number: the oracle of the order."""
    second, _, rest = text.partition(".")
    digits = rest.rstrip("Z").partition("+")[0]
    return second.partition("+")[0].rstrip("Z"), Fraction(int(digits or 0), 10 ** len(digits))


def put(kelifax, slug, text, status="approved", **more):
    item = EXAMPLE | {"resourceSlug": slug, "resourceStatus": status, "createdAt": text, "tags": "mixed"}
    times = {"approved": {"approvedAt": text}, "rejected": {"rejectedAt": text}}.get(status, {})
    url = {"resourceUrl": f"https://{slug}.example/"}
    put_plain(kelifax.database, item | times | url | more)


async def adopt(kelifax):
    await Adoption(kelifax.db, kelifax.clock, kelifax.deletion).adopt()


async def read_pages(read, size):
    """All entries of a list, and the length of each page."""
    found, lengths, cursor = [], [], None
    while True:
        page = await read(size, cursor)
        found += [getattr(entry, "slug", None) or entry.resource_slug for entry in page.entries]
        lengths.append(len(page.entries))
        cursor = page.cursor
        if cursor is None:
            return found, lengths


def lists_of(kelifax):
    """Every list, the status of what it shows, and whether the latest come first."""
    browse = kelifax.directory.browse
    return {
        "queue": (kelifax.moderation.queue, "pending", False),
        "rejected": (kelifax.moderation.rejected, "rejected", True),
        "live": (kelifax.moderation.live, "approved", True),
        "feed": (lambda size, after: browse(Filters(), size, after), "approved", True),
        "category": (lambda size, after: browse(Filters(category="development"), size, after), "approved", True),
        "tag": (lambda size, after: browse(Filters(tags=("mixed",)), size, after), "approved", True),
    }


@pytest.mark.parametrize("name", ["queue", "rejected", "live", "feed", "category", "tag"])
def test_entries_of_one_second_are_in_the_order_of_time_on_pages_of_every_size(kelifax, name):
    read, status, backwards = lists_of(kelifax)[name]
    chance = random.Random(name)
    texts = [f"2025-10-25T10:30:0{second}{width}" for second in range(3) for width in WIDTHS]
    times = {f"tool-{at}": text for at, text in enumerate(chance.sample(texts, len(texts)))}

    async def act():
        for slug, text in times.items():
            put(kelifax, slug, text, status)
        await adopt(kelifax)
        wanted = sorted(map(exact, times.values()), reverse=backwards)
        for size in (1, 2, 3, 7, 20, 50):
            found, lengths = await read_pages(read, size)
            assert sorted(found) == sorted(times), size
            assert [exact(times[slug]) for slug in found] == wanted, size
            assert set(lengths[:-1]) <= {size}, "pages are full"

    run(act())


def test_a_damaged_entry_has_its_place_within_its_second_and_one_without_a_time_is_listed_once(kelifax):
    async def act():
        put(kelifax, "third", "2025-10-25T10:30:00.75Z", "pending")
        put(kelifax, "first", "2025-10-25T10:30:00Z", "pending")
        put(kelifax, "second", "2025-10-25T10:30:00.5Z", "pending", learningResources=DAMAGED)
        put(kelifax, "odd", "yesterday", "pending")
        put(kelifax, "odder", "yesterday, or before", "pending")
        for size in (1, 2, 3, 5):
            found, _ = await read_pages(kelifax.moderation.queue, size)
            assert found[:3] == ["first", "second", "third"], size
            assert sorted(found[3:]) == ["odd", "odder"], size

    run(act())


def test_what_changes_between_pages_neither_hides_nor_repeats_another_entry_of_its_second(kelifax):
    async def act():
        for number in range(12):
            put(kelifax, f"tool-{number:02d}", f"2025-10-25T10:30:00.{number:06d}Z", "pending")
        first = await kelifax.moderation.queue(4)
        kelifax.database.call("DeleteItem", {
            "TableName": "kelifax-resources", "Key": {"resourceSlug": {"S": "tool-03"}},
        })  # fmt: skip
        put(kelifax, "early", "2025-10-25T10:30:00.000001Z", "pending")
        put(kelifax, "late", "2025-10-25T10:30:00.5Z", "pending")
        second = await kelifax.moderation.queue(50, first.cursor)
        shown = [entry.resource_slug for entry in (*first.entries, *second.entries)]
        assert shown == [*(f"tool-{number:02d}" for number in range(12)), "late"]

    run(act())


def test_a_second_with_very_many_entries_is_listed_once_and_its_pages_do_not_cost_all_of_it(clock):
    import hashrange
    from systems.tests.kelifax.services import KelifaxServices

    read = []
    with hashrange.open(clock=clock) as opened:
        kelifax = KelifaxServices(opened, clock, hooks=[read.append])
        many = [f"many-{number:03d}" for number in range(MAX_TOGETHER * 3)]
        for slug in many:
            put(kelifax, slug, "2025-10-25T10:30:05Z", "pending")
        put(kelifax, "before", "2025-10-25T10:30:04.5Z", "pending")
        put(kelifax, "just-before", "2025-10-25T10:30:04.75Z", "pending")
        put(kelifax, "after", "2025-10-25T10:30:06Z", "pending")
        put(kelifax, "just-after", "2025-10-25T10:30:06.5Z", "pending")

        async def act():
            for size in (7, 100):
                found, lengths = await read_pages(kelifax.moderation.queue, size)
                assert sorted(found) == sorted([*many, "before", "just-before", "after", "just-after"])
                assert found[:2] + found[-2:] == ["before", "just-before", "after", "just-after"]
                assert 0 not in lengths
                assert len([length for length in lengths if length < size]) <= 3, "at its ends"
            first = await kelifax.moderation.queue(7)
            inside = await kelifax.moderation.queue(7, first.cursor)
            read.clear()
            await kelifax.moderation.queue(7, inside.cursor)
            assert len([event for event in read if event.operation == "Query"]) == 1

        run(act())


def test_a_cursor_is_refused_by_another_list_and_when_it_was_changed(kelifax):
    async def act():
        for number in range(6):
            put(kelifax, f"waiting-{number}", f"2025-10-25T10:30:00.{number}Z", "pending")
            put(kelifax, f"listed-{number}", f"2025-10-25T10:30:00.{number}Z")
        await adopt(kelifax)
        queue = (await kelifax.moderation.queue(2)).cursor
        feed = (await kelifax.directory.browse(Filters(), 2)).cursor
        tag = (await kelifax.directory.browse(Filters(tags=("mixed",)), 2)).cursor
        swapped = queue[:-6] + ("A" if queue[-6] != "A" else "B") + queue[-5:]
        for read, cursor in (
            (kelifax.moderation.queue, feed),
            (kelifax.moderation.rejected, queue),
            (kelifax.moderation.queue, swapped),
            (kelifax.moderation.queue, queue.lstrip(".")),
            (kelifax.moderation.queue, ""),
            (kelifax.moderation.queue, "."),
            (lambda size, after: kelifax.directory.browse(Filters(category="development"), size, after), feed),
            (lambda size, after: kelifax.directory.browse(Filters(tags=("other",)), size, after), tag),
            (lambda size, after: kelifax.directory.browse(Filters(), size, after), tag),
        ):
            with pytest.raises(CursorInvalid):
                await read(2, cursor)

    run(act())
