"""What takes several requests is killed after each of them: doing it again completes it, nothing is lost or doubled."""

import asyncio
from contextlib import suppress

import pytest

import hashrange
from hashrange_systems.kelifax.errors import AlreadyListed
from hashrange_systems.kelifax.service.adoption import Adoption
from hashrange_systems.kelifax.service.directory import Filters
from hashrange_systems.shared.errors import ResourceMissing
from systems.tests.kelifax.entries import EXAMPLE, put_plain
from systems.tests.kelifax.services import ANN, KelifaxServices, make_form

TABLES = ("kelifax-resources", "kelifax-records", "kelifax-accounts")
DAMAGED = '{"title":"A","url":"https://a.example/"}'
REVIEW = {"rating": "4", "text": "Does what it says, every day.", "displayName": "Lena", "email": "lena@example.com"}
WRITES = {"PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems"}


class Killed(BaseException):
    """What a process sees of kill -9: nothing runs after it."""


class Killer:
    """Ends what is done after so many writes."""

    def __init__(self):
        self.left = None

    def __call__(self, event):
        if self.left is None or event.operation not in WRITES:
            return
        self.left -= 1
        if self.left < 0:
            self.left = None
            raise Killed


@pytest.fixture
def killer():
    return Killer()


@pytest.fixture
def make_services(clock, killer):
    opened = []

    def make():
        opened.append(hashrange.open(clock=clock))
        return KelifaxServices(opened[-1], clock, hooks=[killer])

    yield make
    for database in opened:
        database.close()


def interrupt_everywhere(killer, make_services, prepare, act, check):
    """Kill an action after its first write, its second, and so on, and do it again; return how often it was killed."""
    for after in range(60):
        kelifax = make_services()
        asyncio.run(prepare(kelifax))
        killer.left = after
        try:
            asyncio.run(act(kelifax))
        except Killed:
            asyncio.run(act(kelifax))
            asyncio.run(check(kelifax))
        else:
            killer.left = None
            asyncio.run(check(kelifax))
            return after
    raise AssertionError("it never ends")


def read_texts(kelifax, *tables):
    return [repr(item) for table in tables for item in kelifax.database.call("Scan", {"TableName": table})["Items"]]


async def fill(kelifax):
    """A resource with everything that can belong to one."""
    await kelifax.list_resource("Pixel Kit", email="zoe@techcorp.com")
    await kelifax.moderation.add_alias("pixel-kit", "kit", ANN)
    await kelifax.reviews.submit("pixel-kit", REVIEW, "c")
    for visitor in ("v1", "v2"):
        await kelifax.reviews.vote("pixel-kit", visitor, "c")
    kelifax.view_counts.count("pixel-kit")
    await kelifax.view_counts.store()
    await kelifax.link_checks.report("pixel-kit", "c")
    await kelifax.suggestions.suggest("pixel-kit", {"usagePurpose": "Draws icons, only better."}, "c")
    await kelifax.ownerships.claim("pixel-kit", "own@example.com", "It is ours since the beginning.", "c")


async def delete(kelifax):
    with suppress(ResourceMissing):  # nothing is left, which is checked below
        await kelifax.deletion.delete("pixel-kit", ANN)


def test_a_deletion_that_is_killed_anywhere_is_completed_by_the_next(killer, make_services):
    async def check(kelifax):
        left = [text for text in read_texts(kelifax, *TABLES) if "pixel-kit" in text]
        others = [text for text in left if "'PERSON#" not in text and "'ABOUT#" not in text]
        assert others == [], "mails and links stay for their persons"
        assert await kelifax.submit("Pixel Kit") == "pixel-kit", "slug and URL are free again"

    assert interrupt_everywhere(killer, make_services, fill, delete, check) >= 2


def test_an_erasure_that_is_killed_anywhere_is_completed_by_the_next(killer, make_services):
    async def erase(kelifax):
        await kelifax.privacy.erase_person("zoe@techcorp.com", ANN)

    async def check(kelifax):
        assert not [text for text in read_texts(kelifax, *TABLES) if "zoe@techcorp.com" in text]
        assert (await kelifax.directory.find("pixel-kit")).resource_name == "Pixel Kit"

    assert interrupt_everywhere(killer, make_services, fill, erase, check) >= 2


def test_an_adoption_that_is_killed_anywhere_is_completed_by_the_next(killer, make_services):
    approved = {"resourceStatus": "approved", "approvedAt": "2025-10-26T10:00:00.5Z"}

    async def prepare(kelifax):
        for number, more in enumerate(({}, {"searchText": ""}, {"learningResources": DAMAGED})):
            names = {"resourceSlug": f"old-{number}", "resourceUrl": f"https://old{number}.example/"}
            put_plain(kelifax.database, EXAMPLE | approved | names | more)

    async def adopt(kelifax):
        await Adoption(kelifax.db, kelifax.clock, kelifax.deletion).adopt()

    async def check(kelifax):
        for filters in (Filters(), Filters(category="development"), Filters(tags=("automation",))):
            page = await kelifax.directory.browse(filters)
            assert sorted(entry.slug for entry in page.entries) == ["old-0", "old-1", "old-2"], filters
        assert len(await kelifax.db.claims()) == 3
        again = await Adoption(kelifax.db, kelifax.clock, kelifax.deletion).adopt()
        assert (again.published, again.claimed, again.completed, again.conflicts) == (0, 0, 0, [])

    assert interrupt_everywhere(killer, make_services, prepare, adopt, check) >= 6


def test_voided_votes_are_counted_right_wherever_it_is_killed(killer, make_services):
    async def void(kelifax):
        await kelifax.reviews.void_votes("pixel-kit", ANN)

    async def check(kelifax):
        assert (await kelifax.reviews.score("pixel-kit")).votes == 0
        await kelifax.reviews.vote("pixel-kit", "v1", "c")
        assert (await kelifax.reviews.score("pixel-kit")).votes == 1

    assert interrupt_everywhere(killer, make_services, fill, void, check) >= 2


def test_views_are_counted_once_wherever_storing_or_flushing_is_killed(killer, make_services):
    async def flush(kelifax):
        await kelifax.view_counts.flush()

    async def check(kelifax):
        assert (await kelifax.directory.find("pixel-kit")).views == 1

    assert interrupt_everywhere(killer, make_services, fill, flush, check) >= 1


def test_a_submission_that_is_killed_anywhere_can_be_confirmed_or_sent_again(killer, make_services):
    """A killed request may have been done: then its sender is told so, and the mail is there."""

    async def prepare(_kelifax):
        return

    async def submit(kelifax):
        with suppress(AlreadyListed):  # by the first try
            await kelifax.submissions.submit(make_form(), "c")

    async def check(kelifax):
        await kelifax.submissions.confirm(await kelifax.find_token("confirm-submission"))
        assert [entry.resource_slug for entry in (await kelifax.moderation.queue()).entries] == ["pixel-kit"]

    assert interrupt_everywhere(killer, make_services, prepare, submit, check) >= 2
