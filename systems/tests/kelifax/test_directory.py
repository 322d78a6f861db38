"""Public reads: filters that combine, full pages while statuses change, and no personal data anywhere."""

import asyncio
import random

import pytest

from hashrange import KEYS_ONLY, CursorInvalid
from hashrange_systems.kelifax.model.content import CATEGORIES, PRICING
from hashrange_systems.kelifax.model.public_entry import PUBLIC_ATTRIBUTES, ListedResource, PublicResource
from hashrange_systems.kelifax.record_item import records
from hashrange_systems.kelifax.schema import PUBLIC
from hashrange_systems.kelifax.service.directory import Filters
from hashrange_systems.shared.errors import ResourceMissing
from systems.tests.kelifax.services import ANN, make_form

PERSONAL = ("Zoë", "Díaz", "techcorp", "Tech Corp", "+49301234567")


def run(coroutine):
    return asyncio.run(coroutine)


async def fill(kelifax, count):
    """Publish resources whose category, tags and pricing vary; return what each has."""
    made = {}
    for number in range(count):
        tags = [tag for tag, every in (("even", 2), ("third", 3), ("fifth", 5)) if number % every == 0]
        category, pricing = CATEGORIES[number % 3], PRICING[number % 4]
        slug = await kelifax.list_resource(f"Tool {number:03d}", category=category, tags=tags, pricing=[pricing])
        made[slug] = (category, set(tags), pricing)
        kelifax.clock.advance(60)
    return made


async def read_all(kelifax, filters, size):
    found, cursor, sizes = [], None, []
    while True:
        page = await kelifax.directory.browse(filters, size, cursor)
        found += [entry.slug for entry in page.entries]
        sizes.append(len(page.entries))
        cursor = page.cursor
        if cursor is None:
            return found, sizes


def test_filters_combine_and_pages_are_full_in_every_order(kelifax):
    async def act():
        made = await fill(kelifax, 36)
        newest = sorted(made, reverse=True)
        for filters in (
            Filters(),
            Filters(category="design"),
            Filters(tags=("even",)),
            Filters(tags=("even", "third")),
            Filters(tags=("Third",), category="development", choices={"pricing": "free"}),
            Filters(choices={"pricing": "paid"}),
            Filters(choices={"pricing": "paid"}, sort="name"),
            Filters(tags=("fifth",), sort="popular"),
            Filters(category="other"),
        ):
            wanted = [
                slug
                for slug in newest
                if filters.category in {None, made[slug][0]}
                and {tag.lower() for tag in filters.tags} <= made[slug][1]
                and filters.choices.get("pricing") in {None, made[slug][2]}
            ]
            found, sizes = await read_all(kelifax, filters, 4)
            assert found == (wanted if filters.sort == "newest" else sorted(wanted)), filters
            assert all(size == 4 for size in sizes[:-1]), filters

    run(act())


def test_a_cursor_of_another_list_or_a_forged_one_is_refused(kelifax):
    async def act():
        await fill(kelifax, 8)
        newest = (await kelifax.directory.browse(Filters(), 2)).cursor
        by_name = (await kelifax.directory.browse(Filters(sort="name"), 2)).cursor
        for filters, cursor in (
            (Filters(category="design"), newest),
            (Filters(), newest[:-2]),
            (Filters(), by_name),
            (Filters(sort="popular"), by_name),
            (Filters(sort="name", choices={"pricing": "free"}), by_name),
            (Filters(sort="name"), by_name[:-2] + "AA"),
            (Filters(sort="name"), newest),
            (Filters(tags=("even",)), newest),
        ):
            with pytest.raises(CursorInvalid):
                await kelifax.directory.browse(filters, 2, cursor)

    run(act())


@pytest.mark.parametrize("seed", range(4))
def test_while_statuses_change_between_pages_what_stays_is_listed_once(kelifax, seed):
    """The oracle: what is published before the first page and after the last one is listed exactly once."""
    chance = random.Random(seed)

    async def act():
        made = await fill(kelifax, 14)
        filters = (Filters(), Filters(tags=("even",)))[seed % 2]
        moved, found, cursor = set(), [], None
        while True:
            page = await kelifax.directory.browse(filters, 2, cursor)
            found += [entry.slug for entry in page.entries]
            cursor = page.cursor
            if cursor is None:
                break
            slug = chance.choice(sorted(made))
            moved.add(slug)
            if chance.random() < 0.5:
                await kelifax.moderation.bulk("unpublish", [slug], ANN, "for a while")
            else:
                new = f"New {len(moved)} {chance.random()}"
                moved.add(await kelifax.list_resource(new, tags=["even"]))
        stable = [slug for slug in made if slug not in moved and set(filters.tags) <= made[slug][1]]
        assert [slug for slug in found if slug in stable] == sorted(stable, reverse=True)
        assert len(found) == len(set(found))

    run(act())


def test_related_resources_share_tags_and_the_category_and_are_published(kelifax):
    async def act():
        await kelifax.list_resource("Pixel Kit", tags=["icons", "vector"])
        await kelifax.list_resource("Vector Pen", tags=["vector", "icons"])
        await kelifax.list_resource("Grid Maker", tags=["grid"])
        await kelifax.list_resource("Word Bot", category="ai", tags=["vector"])
        await kelifax.list_resource("Far Away", category="other", tags=["sea"])
        await kelifax.submit("Waiting", tags=["icons", "vector"])
        found = await kelifax.directory.related(await kelifax.directory.find("pixel-kit"))
        assert [entry.slug for entry in found] == ["vector-pen", "word-bot", "grid-maker"]

    run(act())


def test_what_is_not_published_is_missing_and_so_are_keys_of_other_items(kelifax):
    async def act():
        await kelifax.submit("Waiting One")
        await kelifax.submit("Rejected One")
        await kelifax.moderation.reject("rejected-one", ANN, "The page is empty.")
        for slug in (
            "waiting-one",
            "rejected-one",
            "none",
            "",
            "URL#https://waiting-one.example.com/",
            "ALIAS#x",
            "a/b",
        ):
            with pytest.raises(ResourceMissing):
                await kelifax.directory.find(slug)
        assert await kelifax.directory.scan("icons") == []

    run(act())


def test_views_are_counted_apart_and_flushed_exactly_once(services_anywhere):
    async def act(kelifax):
        await kelifax.list_resource()
        for _ in range(7):
            kelifax.view_counts.count("pixel-kit")
        kelifax.view_counts.count("none")
        await kelifax.view_counts.store()
        assert (await kelifax.directory.find("pixel-kit")).views == 0
        kelifax.view_counts.count("pixel-kit")
        await kelifax.view_counts.store()
        await asyncio.gather(kelifax.view_counts.flush(), kelifax.view_counts.flush(), kelifax.view_counts.flush())
        await kelifax.view_counts.flush()
        resource = await kelifax.db.resource("pixel-kit").consistent()
        assert (resource.view_count, resource.last_viewed is not None) == (8, True)
        assert await kelifax.db.views("pixel-kit") is None
        trend = await kelifax.view_counts.trend("pixel-kit", 7)
        assert [views for _, views in trend] == [0] * 6 + [8]

    run(act(services_anywhere))


# ── personal data ────────────────────────────────────────────────────────────────────────────────────────────────────
def test_no_public_value_and_no_public_index_has_personal_data(kelifax):
    async def act():
        form = make_form(email="zoe@techcorp.com")
        form["submitter"] |= {"phoneNumber": "+49301234567", "company": "Tech Corp"}
        await kelifax.submissions.submit(form, "c")
        await kelifax.submissions.confirm(await kelifax.find_token("confirm-submission"))
        await kelifax.moderation.approve("pixel-kit", ANN)
        review = {
            "rating": "4",
            "text": "Does what it says, every day.",
            "displayName": "Lena",
            "email": "l@techcorp.com",
        }
        await kelifax.reviews.submit("pixel-kit", review, "c")
        await kelifax.reviews.confirm(await kelifax.find_token("confirm-review"))
        (waiting,), _ = await kelifax.reviews.waiting()
        await kelifax.reviews.publish("pixel-kit", waiting.reviewer, ANN)
        entry = await kelifax.directory.find("pixel-kit")
        shown = [
            entry,
            entry.to_json(),
            await kelifax.directory.browse(Filters()),
            await kelifax.directory.browse(Filters(tags=("icons",), sort="popular")),
            await kelifax.directory.scan("icons"),
            [each async for each in kelifax.directory.list_all()],
            await kelifax.directory.featured(),
            await kelifax.directory.facets(),
            await kelifax.reviews.published("pixel-kit"),
            await kelifax.submissions.preflight(make_form("Pixel Kid", email="eve@example.com")),
        ]
        for value in shown:
            assert not [word for word in PERSONAL if word in repr(value)], value
        for index in ("PublicFeedIndex", "PublicCategoryIndex"):
            rows = kelifax.database.call("Scan", {"TableName": "kelifax-resources", "IndexName": index})["Items"]
            assert rows
            assert not [word for word in PERSONAL if word in repr(rows)]

    run(act())


def test_the_public_values_and_projections_name_no_personal_attribute():
    fields = {*ListedResource.__dataclass_fields__, *PublicResource.__dataclass_fields__}
    for name in (*fields, *PUBLIC_ATTRIBUTES, *PUBLIC):
        assert not name.lower().startswith(("submitter", "email", "phone"))


def test_only_keys_and_times_are_in_the_indexes_of_the_records():
    assert [index.project for index in records.indexes] == [["expiresAt"], KEYS_ONLY]
