"""Personal data: export and erasure by address; analytics."""

import asyncio

import pytest

from hashrange_systems.kelifax.errors import NotPermitted
from hashrange_systems.kelifax.service.analytics import Analytics
from hashrange_systems.kelifax.service.directory import Filters
from hashrange_systems.shared.errors import InvalidInput
from systems.tests.kelifax.entries import EXAMPLE, put_plain
from systems.tests.kelifax.services import ANN, BOB, make_form


def run(coroutine):
    return asyncio.run(coroutine)


async def leave_traces(kelifax):
    """Everything that a person can send in, and the same of another person."""
    for email, name in (("zoe@techcorp.com", "Pixel Kit"), ("eve@other.example.org", "Other Kit")):
        slug = await kelifax.list_resource(name, email=email)
        await kelifax.submissions.submit(make_form(f"Draft of {name}", email=email), name)
        await kelifax.suggestions.suggest(slug, {"category": "ai"}, "c", author=email)
        review = {"rating": "4", "text": "Does what it says, every day.", "displayName": "Someone", "email": email}
        await kelifax.reviews.submit(slug, review, "c")
        await kelifax.reviews.confirm(await kelifax.find_token("confirm-review"))
        (waiting, *_), _ = await kelifax.reviews.waiting()
        await kelifax.reviews.publish(slug, waiting.reviewer, ANN)
        await kelifax.ownerships.claim(slug, email, "It is my product.", "c")
        await kelifax.digests.subscribe(email, [], "c")
    put_plain(kelifax.database, EXAMPLE | {"resourceSlug": "old", "submitterEmail": "Zoe@TechCorp.com "})


def test_a_person_gets_everything_that_is_stored_about_them_and_nothing_of_others(kelifax):
    async def act():
        await leave_traces(kelifax)
        privacy = kelifax.privacy
        with pytest.raises(NotPermitted):
            await privacy.export_person("zoe@techcorp.com", BOB)
        found = await privacy.export_person("ZOE@techcorp.com", ANN)
        assert {item["resourceSlug"] for item in found["submissions"]} == {"pixel-kit", "old"}
        for kind in ("reviews", "suggestions", "claims"):
            assert len(found[kind]) == 1, kind
        assert [item["form"]["resource"]["resourceName"] for item in found["unconfirmed"] if item["form"]] == [
            "Draft of Pixel Kit"
        ]
        topics = {"submission-approved", "confirm-submission", "confirm-review", "confirm-claim", "confirm-digest"}
        assert {mail["topic"] for mail in found["mails"]} == topics
        assert "other.example.org" not in repr(found)

    run(act())


def test_after_erasure_no_table_contains_the_address_and_the_resources_stay(kelifax):
    async def act():
        await leave_traces(kelifax)
        privacy = kelifax.privacy
        with pytest.raises(NotPermitted):
            await privacy.erase_person("zoe@techcorp.com", BOB)
        report = await privacy.erase_person("zoe@techcorp.com", ANN)
        assert sorted(report.resources) == ["old", "pixel-kit"]
        for table in ("kelifax-resources", "kelifax-records", "kelifax-accounts", "kelifax-audit"):
            stored = repr(kelifax.database.call("Scan", {"TableName": table})["Items"]).lower()
            assert "techcorp" not in stored, table
        everything = repr(kelifax.database.call("Scan", {"TableName": "kelifax-records"})["Items"])
        assert "eve@other.example.org" in everything
        assert {entry.slug for entry in (await kelifax.directory.browse(Filters())).entries} == {
            "pixel-kit",
            "other-kit",
        }
        assert (await kelifax.reviews.score("pixel-kit")).ratings == 0
        assert (await kelifax.moderation.history("pixel-kit"))[0].verdict == "erased"
        again = await privacy.erase_person("zoe@techcorp.com", ANN)
        assert (again.resources, again.records) == ([], 0)
        await kelifax.moderation.unpublish("pixel-kit", ANN, "Its submitter is unknown now.")

    run(act())


def test_analytics_count_by_domain_and_views(kelifax):
    async def act():
        await kelifax.list_resource("One Kit")
        await kelifax.list_resource("Two Kit")
        await kelifax.submit("Three Kit", email="a@other.example.org")
        put_plain(kelifax.database, EXAMPLE | {"resourceSlug": "broken", "learningResources": "nonsense"})
        kelifax.view_counts.count("two-kit")
        await kelifax.view_counts.store()
        await kelifax.view_counts.flush()
        report = await Analytics(kelifax.db).report()
        assert (report.total, report.damaged) == (4, 1)
        assert [(row.domain, row.submitted, row.approved, row.views) for row in report.domains] == [
            ("techcorp.com", 2, 2, 1),
            ("other.example.org", 1, 0, 0),
        ]
        assert not [row for row in report.domains if isinstance(row.approved, bool)]  # a page would print True
        assert [(row.slug, row.views) for row in report.most_viewed] == [("two-kit", 1), ("one-kit", 0)]
        narrow = await Analytics(kelifax.db).report("other.example.org", min_views=1)
        assert (narrow.statuses, narrow.damaged, narrow.most_viewed) == ({"pending": 1}, 0, [])
        assert (await Analytics(kelifax.db).report("techcorp.com")).damaged == 1

    run(act())


@pytest.mark.parametrize("stored", ["john@intranet", '"a b"@techcorp.com', "John", "jo\u0308rg@techcorp.com"])
def test_a_person_is_erased_whatever_address_the_original_accepted(kelifax, stored):
    async def act():
        put_plain(kelifax.database, EXAMPLE | {"resourceSlug": "old", "submitterEmail": stored})
        put_plain(kelifax.database, EXAMPLE | {"resourceSlug": "other"})
        privacy = kelifax.privacy
        found = await privacy.export_person(stored, ANN)
        assert [item["resourceSlug"] for item in found["submissions"]] == ["old"]
        assert (await privacy.erase_person(stored, ANN)).resources == ["old"]
        for nobody in ("john@@intranet", "erased", ""):
            with pytest.raises(InvalidInput):
                await privacy.erase_person(nobody, ANN)

    run(act())
