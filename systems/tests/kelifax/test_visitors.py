"""What visitors leave: suggestions, reviews, votes, favourites, collections, claims of listings, subscriptions."""

import asyncio

import pytest

from hashrange_systems.kelifax.errors import DecisionTaken, NotPermitted
from hashrange_systems.shared.errors import (
    EditConflict,
    InvalidInput,
    LimitReached,
    ResourceMissing,
    StateConflict,
    TokenInvalid,
    TooManyRequests,
)
from systems.tests.kelifax.services import ANN, BOB, make_form

HOUR, DAY = 3600, 86_400
REVIEW = {"rating": "4", "text": "Does what it says, every day.", "displayName": "Lena", "email": "lena@example.com"}


def run(coroutine):
    return asyncio.run(coroutine)


# ── suggested edits ──────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_suggested_edit_is_shown_as_a_difference_and_applied_once(services_anywhere):
    async def act(kelifax):
        await kelifax.list_resource()
        await kelifax.suggestions.suggest("pixel-kit", {"category": "ai"}, "c", "It is an AI now.", "eve@example.com")
        (waiting,), cursor = await kelifax.suggestions.waiting()
        assert cursor is None
        (difference,) = await kelifax.suggestions.compare(waiting)
        assert [(part.kind, part.text) for part in difference.parts] == [("removed", "design"), ("added", "ai")]
        outcomes = await asyncio.gather(
            *(kelifax.suggestions.accept("pixel-kit", waiting.suggestion_id, who) for who in (ANN, BOB)),
            return_exceptions=True,
        )
        assert sum(outcome is None for outcome in outcomes) == 1
        assert (await kelifax.directory.find("pixel-kit")).category == "ai"
        assert (await kelifax.suggestions.waiting())[0] == []
        with pytest.raises(DecisionTaken):
            await kelifax.suggestions.decline("pixel-kit", waiting.suggestion_id, ANN)

    run(act(services_anywhere))


def test_a_suggestion_for_a_field_that_changed_meanwhile_is_not_applied(kelifax):
    async def act():
        await kelifax.list_resource()
        suggestion = await kelifax.suggestions.suggest("pixel-kit", {"category": "ai"}, "c")
        await kelifax.moderation.edit("pixel-kit", {"category": "learning"}, ANN)
        with pytest.raises(StateConflict, match="category"):
            await kelifax.suggestions.accept("pixel-kit", suggestion.suggestion_id, ANN)
        await kelifax.suggestions.decline("pixel-kit", suggestion.suggestion_id, ANN)
        assert (await kelifax.directory.find("pixel-kit")).category == "learning"

    run(act())


@pytest.mark.parametrize(
    "fields", [{}, {"category": "design"}, {"featured": True}, {"resourceStatus": "x"}, {"resourceUrl": "javascript:1"}]
)
def test_a_suggestion_changes_fields_of_the_form_by_its_rules(kelifax, fields):
    async def act():
        await kelifax.list_resource()
        with pytest.raises(InvalidInput):
            await kelifax.suggestions.suggest("pixel-kit", fields, "c")

    run(act())


# ── reviews and votes ────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_review_is_confirmed_then_published_and_counts(services_anywhere):
    async def act(kelifax):
        await kelifax.list_resource()
        await kelifax.reviews.submit("pixel-kit", REVIEW, "c")
        assert (await kelifax.reviews.waiting())[0] == []
        token = await kelifax.find_token("confirm-review")
        await kelifax.reviews.confirm(token)
        await kelifax.reviews.confirm(token)
        (waiting,), _ = await kelifax.reviews.waiting()
        assert await kelifax.reviews.published("pixel-kit") == []
        await kelifax.reviews.publish("pixel-kit", waiting.reviewer, ANN)
        (shown,) = await kelifax.reviews.published("pixel-kit")
        assert (shown.rating, shown.display_name) == (4, "Lena")
        assert (await kelifax.reviews.score("pixel-kit")).mean == 4.0
        with pytest.raises(DecisionTaken):
            await kelifax.reviews.publish("pixel-kit", waiting.reviewer, BOB)
        with pytest.raises(StateConflict):
            await kelifax.reviews.submit("pixel-kit", REVIEW | {"email": "LENA@example.com"}, "c")
        await kelifax.reviews.hide("pixel-kit", waiting.reviewer, BOB)
        assert await kelifax.reviews.published("pixel-kit") == []
        assert (await kelifax.reviews.score("pixel-kit")).ratings == 0
        audit = [(each.actor, each.verdict, each.reason) for each in await kelifax.moderation.history("pixel-kit")]
        assert audit[:2] == [("bob", "review-hidden", None), ("ann", "review-published", None)]

    run(act(services_anywhere))


def test_a_review_that_is_not_confirmed_in_time_is_gone_and_wrong_ones_are_refused(kelifax):
    async def act():
        await kelifax.list_resource()
        await kelifax.reviews.submit("pixel-kit", REVIEW, "c")
        token = await kelifax.find_token("confirm-review")
        kelifax.clock.advance(3 * DAY)
        with pytest.raises(TokenInvalid):
            await kelifax.reviews.confirm(token)
        for wrong in ({"rating": "6"}, {"rating": True}, {"text": "short"}, {"displayName": ""}, {"email": "x"}):
            with pytest.raises(InvalidInput):
                await kelifax.reviews.submit("pixel-kit", REVIEW | wrong, "c")
        with pytest.raises(ResourceMissing):
            await kelifax.reviews.submit("none", REVIEW, "c")

    run(act())


def test_the_link_of_a_review_does_not_confirm_what_somebody_else_wrote_with_the_address_since(services_anywhere):
    async def act(kelifax):
        slug = await kelifax.list_resource()
        await kelifax.reviews.submit(slug, REVIEW, "198.51.100.7")
        first = await kelifax.find_token("confirm-review")
        kelifax.clock.advance(60)
        await kelifax.reviews.submit(slug, REVIEW | {"text": "Written by somebody else altogether."}, "203.0.113.9")
        with pytest.raises(TokenInvalid, match="Another review"):
            await kelifax.reviews.confirm(first)
        assert (await kelifax.reviews.waiting())[0] == []
        await kelifax.reviews.confirm(await kelifax.find_token("confirm-review"))
        assert len((await kelifax.reviews.waiting())[0]) == 1

    run(act(services_anywhere))


def test_a_visitor_has_one_vote_however_often_and_an_admin_can_void_them(services_anywhere):
    async def act(kelifax):
        await kelifax.list_resource()
        await asyncio.gather(*(kelifax.reviews.vote("pixel-kit", "visitor-1", "c") for _ in range(8)))
        await kelifax.reviews.vote("pixel-kit", "visitor-2", "c")
        assert (await kelifax.reviews.score("pixel-kit")).votes == 2
        await asyncio.gather(*(kelifax.reviews.unvote("pixel-kit", "visitor-1") for _ in range(4)))
        assert (await kelifax.reviews.score("pixel-kit")).votes == 1
        assert not await kelifax.reviews.has_voted("pixel-kit", "visitor-1")
        with pytest.raises(NotPermitted):
            await kelifax.reviews.void_votes("pixel-kit", BOB)
        assert await kelifax.reviews.void_votes("pixel-kit", ANN) == 1
        assert (await kelifax.reviews.score("pixel-kit")).votes == 0

    run(act(services_anywhere))


# ── favourites and collections ───────────────────────────────────────────────────────────────────────────────────────
def test_favourites_and_collections_belong_to_one_visitor(kelifax):
    async def act():
        mine, other = "visitor-1", "visitor-2"
        for slug in ("saw", "hammer"):
            await kelifax.favourites.add(mine, slug)
            kelifax.clock.advance(1)
        await kelifax.favourites.remove(other, "saw")
        assert await kelifax.favourites.list_favourites(mine) == ["hammer", "saw"]
        made = await kelifax.favourites.create_collection(mine, "For the shed")
        await kelifax.favourites.collect(mine, made.collection_id, "saw")
        for attempt in (
            kelifax.favourites.collect(other, made.collection_id, "nail"),
            kelifax.favourites.rename(other, made.collection_id, "Mine"),
            kelifax.favourites.share(other, made.collection_id, shared=True),
            kelifax.favourites.delete_collection(other, made.collection_id),
            kelifax.favourites.find_shared(made.collection_id),
        ):
            with pytest.raises(ResourceMissing):
                await attempt
        await kelifax.favourites.share(mine, made.collection_id, shared=True)
        assert (await kelifax.favourites.find_shared(made.collection_id)).slugs == ["saw"]
        await kelifax.favourites.share(mine, made.collection_id, shared=False)
        with pytest.raises(ResourceMissing):
            await kelifax.favourites.find_shared(made.collection_id)

    run(act())


def test_of_two_who_change_a_collection_at_once_one_is_told(kelifax):
    async def act():
        made = await kelifax.favourites.create_collection("v", "Mine")

        async def attempt(change):
            try:
                await change
            except EditConflict:
                return "conflict"
            return "done"

        changes = [kelifax.favourites.collect("v", made.collection_id, f"tool-{number}") for number in range(4)]
        changes += [kelifax.favourites.rename("v", made.collection_id, f"Mine {number}") for number in range(4)]
        outcomes = await asyncio.gather(*map(attempt, changes))
        assert set(outcomes) <= {"done", "conflict"}
        kept = await kelifax.favourites.find_collection("v", made.collection_id)
        assert len(kept.slugs) == outcomes[:4].count("done") >= 1

    run(act())


def test_collections_are_few_and_their_titles_are_one_line(kelifax):
    async def act():
        for wrong in ("", "a\nb", "x" * 81, "\u202eevil"):
            with pytest.raises(InvalidInput):
                await kelifax.favourites.create_collection("v", wrong)
        for number in range(20):
            await kelifax.favourites.create_collection("v", f"List {number}")
        with pytest.raises(LimitReached):
            await kelifax.favourites.create_collection("v", "One more")

    run(act())


# ── owners ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_an_owner_confirms_is_granted_and_edits_until_the_right_is_taken_back(services_anywhere):
    async def act(kelifax):
        await kelifax.list_resource(url="https://pixel.example.com/")
        await kelifax.ownerships.claim("pixel-kit", "boss@pixel.example.com", "It is my product.", "c")
        await kelifax.ownerships.confirm(await kelifax.find_token("confirm-claim"))
        (claim,), _ = await kelifax.ownerships.waiting()
        assert claim.same_domain
        await kelifax.ownerships.grant("pixel-kit", claim.claim_id, ANN)
        token = await kelifax.find_token("claim-granted")
        await kelifax.ownerships.edit(token, {"usagePurpose": "Draws icons, says its maker."})
        assert (await kelifax.directory.find("pixel-kit")).usage_purpose == "Draws icons, says its maker."
        for wrong in ({"featured": True}, {"resourceUrl": "https://elsewhere.example.com/"}, {"category": "x"}):
            with pytest.raises(InvalidInput):
                await kelifax.ownerships.edit(token, wrong)
        await kelifax.ownerships.refuse("pixel-kit", claim.claim_id, ANN)
        with pytest.raises(TokenInvalid):
            await kelifax.ownerships.edit(token, {"usagePurpose": "Draws icons, says a stranger."})

    run(act(services_anywhere))


def test_a_token_of_one_purpose_opens_nothing_else(kelifax):
    async def act():
        await kelifax.list_resource()
        token = kelifax.runtime.signer.sign("claim", ["pixel-kit", "x"], kelifax.clock.millis() + 1000)
        for attempt in (
            kelifax.ownerships.edit(token, {}),
            kelifax.submissions.confirm(token),
            kelifax.submissions.resubmit(token, make_form()),
            kelifax.reviews.confirm(token),
            kelifax.digests.confirm(token),
            kelifax.digests.unsubscribe(token),
        ):
            with pytest.raises(TokenInvalid):
                await attempt

    run(act())


# ── digest ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_the_digest_is_confirmed_sent_weekly_and_ended_with_one_request(services_anywhere):
    async def act(kelifax):
        await kelifax.digests.subscribe("lena@example.com", ["design"], "c")
        assert await kelifax.digests.send_due() == 0
        await kelifax.digests.confirm(await kelifax.find_token("confirm-digest"))
        kelifax.clock.advance(HOUR)
        await kelifax.list_resource("Pixel Kit")
        await kelifax.list_resource("Word Bot", category="ai")
        kelifax.clock.advance(7 * DAY)
        sent = await asyncio.gather(kelifax.digests.send_due(), kelifax.digests.send_due())
        assert sum(sent) == 1
        token = await kelifax.find_token("digest")
        mail = next(mail for mail in await kelifax.send_mails() if mail.notification.data["topic"] == "digest")
        assert "Pixel Kit" in mail.notification.text
        assert "Word Bot" not in mail.notification.text
        assert mail.notification.unsubscribe_url.endswith(token)
        kelifax.clock.advance(7 * DAY + HOUR)
        assert await kelifax.digests.send_due() == 0  # nothing new
        await kelifax.digests.unsubscribe(token)
        assert await kelifax.db.subscription("lena@example.com") is None
        await kelifax.digests.unsubscribe(token)

    run(act(services_anywhere))


def test_what_is_published_while_a_digest_is_sent_is_in_exactly_one_digest(kelifax):
    async def act():
        await kelifax.digests.subscribe("lena@example.com", [], "c")
        await kelifax.digests.confirm(await kelifax.find_token("confirm-digest"))
        kelifax.clock.advance(7 * DAY)
        await kelifax.list_resource("Just Before")
        kelifax.clock.advance(0.2)
        await kelifax.digests.send_due()
        await kelifax.list_resource("Just After")  # within the same second
        for _ in range(3):
            kelifax.clock.advance(7 * DAY)
            await kelifax.digests.send_due()
        mails = await kelifax.send_mails()
        digests = [mail.notification.text for mail in mails if mail.notification.data["topic"] == "digest"]
        for name in ("Just Before", "Just After"):
            assert sum(name in text for text in digests) == 1, name

    run(act())


def test_subscribing_again_tells_nobody_that_an_address_is_subscribed(kelifax):
    async def act():
        await kelifax.digests.subscribe("lena@example.com", [], "c")
        await kelifax.digests.confirm(await kelifax.find_token("confirm-digest"))
        mails = len(await kelifax.send_mails())
        kelifax.clock.advance(5)
        assert await kelifax.digests.subscribe("LENA@example.com", [], "c") is None
        assert len(await kelifax.send_mails()) == mails
        await kelifax.digests.subscribe("lena@example.com", [], "c")
        with pytest.raises(TooManyRequests):
            await kelifax.digests.subscribe("lena@example.com", [], "c")

    run(act())


# ── limits of mails ──────────────────────────────────────────────────────────────────────────────────────────────────
MAILS = {
    "digest": lambda kelifax, email, client: kelifax.digests.subscribe(email, [], client),
    "review": lambda kelifax, email, client: kelifax.reviews.submit("pixel-kit", REVIEW | {"email": email}, client),
    "claim": lambda kelifax, email, client: kelifax.ownerships.claim("pixel-kit", email, "It is my listing.", client),
    "submission": lambda kelifax, email, client: kelifax.submissions.submit(
        make_form(f"T {client}", email=email), client
    ),
}


@pytest.mark.parametrize("action", MAILS)
def test_a_mailbox_gets_few_mails_a_day_however_its_address_is_spelt(kelifax, action):
    async def send_many():
        for number in range(11):  # no limit is above ten
            spelling = f"{'len.a' if number % 2 else 'Lena'}+{number}@example.com"
            await MAILS[action](kelifax, spelling, f"client {number}")

    async def act():
        await kelifax.list_resource()
        with pytest.raises(TooManyRequests):
            await send_many()
        await MAILS[action](kelifax, "other@example.com", "client")

    run(act())
