"""Personal data: export and erasure by address; analytics."""

import asyncio

import pytest

from hashrange_systems.kelifax.errors import NotPermitted
from hashrange_systems.kelifax.service.analytics import Analytics
from hashrange_systems.kelifax.service.directory import Filters
from hashrange_systems.kelifax.service.privacy import Privacy
from systems.tests.kelifax.entries import EXAMPLE, put_plain
from systems.tests.kelifax.services import ANN, BOB, make_form


def run(coroutine):
    return asyncio.run(coroutine)


async def leave_traces(desk):
    """Everything that a person can send in, and the same of another person."""
    for email, name in (("zoe@techcorp.com", "Pixel Kit"), ("eve@other.example.org", "Other Kit")):
        slug = await desk.list_resource(name, email=email)
        await desk.submissions.submit(make_form(f"Draft of {name}", email=email), name)
        await desk.suggestions.suggest(slug, {"category": "ai"}, "c", author=email)
        review = {"rating": "4", "text": "Does what it says, every day.", "displayName": "Someone", "email": email}
        await desk.reviews.submit(slug, review, "c")
        await desk.reviews.confirm(await desk.find_token("confirm-review"))
        (waiting, *_), _ = await desk.reviews.waiting()
        await desk.reviews.publish(slug, waiting.reviewer, ANN)
        await desk.ownerships.claim(slug, email, "It is my product.", "c")
        await desk.digests.subscribe(email, [], "c")
    put_plain(desk.database, EXAMPLE | {"resourceSlug": "old", "submitterEmail": "Zoe@TechCorp.com "})


def test_a_person_gets_everything_that_is_stored_about_them_and_nothing_of_others(desk):
    async def act():
        await leave_traces(desk)
        privacy = Privacy(desk.db, desk.clock, desk.reviews)
        with pytest.raises(NotPermitted):
            await privacy.export_person("zoe@techcorp.com", BOB)
        found = await privacy.export_person("ZOE@techcorp.com", ANN)
        assert {item["resourceSlug"] for item in found["submissions"]} == {"pixel-kit", "old"}
        for kind in ("reviews", "suggestions", "claims"):
            assert len(found[kind]) == 1, kind
        assert [item["form"]["resource"]["resourceName"] for item in found["unconfirmed"] if item["form"]] == [
            "Draft of Pixel Kit"
        ]
        assert "other.example.org" not in repr(found)

    run(act())


def test_after_erasure_no_table_contains_the_address_and_the_resources_stay(desk):
    async def act():
        await leave_traces(desk)
        privacy = Privacy(desk.db, desk.clock, desk.reviews)
        with pytest.raises(NotPermitted):
            await privacy.erase_person("zoe@techcorp.com", BOB)
        report = await privacy.erase_person("zoe@techcorp.com", ANN)
        assert sorted(report.resources) == ["old", "pixel-kit"]
        for table in ("kelifax-resources", "kelifax-records", "kelifax-audit"):
            stored = repr(desk.database.call("Scan", {"TableName": table})["Items"]).lower()
            assert "techcorp" not in stored, table
        everything = repr(desk.database.call("Scan", {"TableName": "kelifax-records"})["Items"])
        assert "eve@other.example.org" in everything
        assert {entry.slug for entry in (await desk.directory.browse(Filters())).entries} == {"pixel-kit", "other-kit"}
        assert (await desk.reviews.score("pixel-kit")).ratings == 0
        assert (await desk.moderation.history("pixel-kit"))[0].verdict == "erased"
        again = await privacy.erase_person("zoe@techcorp.com", ANN)
        assert (again.resources, again.records) == ([], 0)
        await desk.moderation.unpublish("pixel-kit", ANN, "Its submitter is unknown now.")

    run(act())


def test_analytics_count_by_domain_and_views(desk):
    async def act():
        await desk.list_resource("One Kit")
        await desk.list_resource("Two Kit")
        await desk.submit("Three Kit", email="a@other.example.org")
        put_plain(desk.database, EXAMPLE | {"resourceSlug": "broken", "learningResources": "nonsense"})
        desk.views.count("two-kit")
        await desk.views.store()
        await desk.views.flush()
        report = await Analytics(desk.db).report()
        assert (report.total, report.damaged) == (4, 1)
        assert [(row.domain, row.submitted, row.approved, row.views) for row in report.domains] == [
            ("techcorp.com", 2, 2, 1),
            ("other.example.org", 1, 0, 0),
        ]
        assert not [row for row in report.domains if isinstance(row.approved, bool)]  # a page would print True
        assert [(row.slug, row.views) for row in report.most_viewed] == [("two-kit", 1), ("one-kit", 0)]
        narrow = await Analytics(desk.db).report("other.example.org", min_views=1)
        assert (narrow.statuses["pending"], narrow.most_viewed) == (2, [])  # one of them damaged

    run(act())
