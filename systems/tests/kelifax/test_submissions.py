"""Submissions: confirmation, duplicates, limits, proofs, status, resubmission; and who tries to get around them."""

import asyncio
import re
from datetime import timedelta

import pytest

from hashrange import ManualClock
from hashrange_systems.kelifax.errors import AlreadyListed, DecisionTaken, ProofRefused
from hashrange_systems.kelifax.schema import Pending, Rejected
from hashrange_systems.kelifax.service.submissions import PER_ADDRESS, PER_CLIENT_WITHOUT_PROOF, Receipt
from hashrange_systems.shared.errors import InvalidInput, ResourceMissing, TokenInvalid, TooManyRequests
from hashrange_systems.shared.proof_of_work import solve_challenge
from systems.tests.kelifax.entries import get_plain
from systems.tests.kelifax.services import ANN, KelifaxServices, make_form

HOUR = 3600


def run(coroutine):
    return asyncio.run(coroutine)


def test_a_confirmed_submission_waits_for_review_and_is_stored_as_the_seed_says(services_anywhere):
    async def act(kelifax):
        receipt = await kelifax.submissions.submit(make_form(), "192.0.2.1")
        assert receipt.state == "unconfirmed"
        assert (await kelifax.moderation.queue()).entries == []
        confirmed = await kelifax.submissions.confirm(await kelifax.find_token("confirm-submission"))
        assert (confirmed.slug, confirmed.state) == ("pixel-kit", "pending")
        (waiting,) = (await kelifax.moderation.queue()).entries
        assert isinstance(waiting, Pending)
        return receipt

    receipt = run(act(services_anywhere))
    item = get_plain(services_anywhere.database, "pixel-kit")
    assert item["createdAt"] == item["submittedAt"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", item["createdAt"])
    assert (item["resourceStatus"], item["submissionId"]) == ("pending", receipt.submission_id)
    assert (item["approvedAt"], item["rejectedAt"], item["rejectionReason"], item["lastViewed"]) == ("", "", "", "")
    assert (item["tags"], item["logoImage"], item["submitterDomain"]) == ("icons,vector", "", "techcorp.com")
    assert "\\u007c" in item["learningResources"]
    assert (item["featured"], item["viewCount"]) == (False, 0)


async def submit_many(kelifax, count, make):
    async def submit(number):
        try:
            return await kelifax.submissions.submit(make(number), f"192.0.2.{number}")
        except AlreadyListed as taken:
            return taken

    return await asyncio.gather(*(submit(number) for number in range(count)))


@pytest.mark.parametrize("same", ["everything", "name", "url"])
def test_of_fifty_equal_submissions_at_once_one_wins_and_the_others_see_what_is_there(services_anywhere, same):
    def make(number):
        name = "Pixel Kit" if same != "url" else f"Pixel Kit {number}"
        url = "https://pixel.example.com/" if same != "name" else f"https://pixel.example.com/{number}"
        return make_form(name, url, email=f"zoe{number}@techcorp.com")

    outcomes = run(submit_many(services_anywhere, 50, make))
    won = [found for found in outcomes if isinstance(found, Receipt)]
    assert len(won) == 1
    lost = [found for found in outcomes if isinstance(found, AlreadyListed)]
    assert len(lost) == 49
    assert {found.status for found in lost} == {409}
    assert {found.existing.slug for found in lost} == {won[0].slug}
    assert all("techcorp" not in str(found) for found in lost)


def test_another_resource_of_the_same_name_gets_a_numbered_slug_when_it_is_asked_for(kelifax):
    async def act():
        await kelifax.submit()
        with pytest.raises(AlreadyListed) as taken:
            await kelifax.submissions.submit(make_form(url="https://other.example.com/"), "c")
        assert (taken.value.existing.slug, taken.value.suggestion) == ("pixel-kit", "pixel-kit-2")
        again = await kelifax.submissions.submit(make_form(url="https://other.example.com/"), "c", different=True)
        assert again.slug == "pixel-kit-2"

    run(act())


def test_the_same_url_in_another_spelling_is_taken(kelifax):
    async def act():
        await kelifax.submit(url="https://pixel.example.com/kit")
        spelling = "http://www.PIXEL.example.com/kit/?utm_source=mail#top"
        with pytest.raises(AlreadyListed) as taken:
            await kelifax.submissions.submit(make_form("Another Kit", spelling), "c")
        assert (taken.value.cause, taken.value.existing.slug) == ("URL", "pixel-kit")

    run(act())


def test_an_unconfirmed_submission_reserves_slug_and_url_for_two_days_and_then_neither(kelifax):
    async def act():
        form = make_form()
        await kelifax.submissions.submit(form, "c")
        token = await kelifax.find_token("confirm-submission")
        with pytest.raises(AlreadyListed):
            await kelifax.submissions.submit(form, "d")
        kelifax.clock.advance(48 * HOUR + 1)
        with pytest.raises(TokenInvalid):
            await kelifax.submissions.confirm(token)
        again = await kelifax.submissions.submit(form, "d")
        assert again.slug == "pixel-kit"
        await kelifax.submissions.confirm(await kelifax.find_token("confirm-submission"))
        (waiting,) = (await kelifax.moderation.queue()).entries
        assert waiting.submission_id == again.submission_id

    run(act())


def test_the_claim_of_a_listed_resource_never_lapses(kelifax):
    async def act():
        await kelifax.list_resource()
        kelifax.clock.advance(100 * 24 * HOUR)
        with pytest.raises(AlreadyListed):
            await kelifax.submissions.submit(make_form("Thief", "https://pixel-kit.example.com/"), "c")

    run(act())


def test_the_link_of_a_confirmation_may_be_opened_twice_and_is_bound_to_its_submission(kelifax):
    async def act():
        receipt = await kelifax.submissions.submit(make_form(), "c")
        token = await kelifax.find_token("confirm-submission")
        await kelifax.submissions.confirm(token)
        assert (await kelifax.submissions.confirm(token)).slug == "pixel-kit"
        assert len((await kelifax.moderation.queue()).entries) == 1
        for forged in (token[:-2], token + "A", "", receipt.token, "x" * 5000):
            with pytest.raises(TokenInvalid):
                await kelifax.submissions.confirm(forged)

    run(act())


def test_without_a_mail_server_a_submission_waits_at_once_and_the_audit_says_so(clock, kelifax):
    async def act():
        plain = KelifaxServices(kelifax.database, clock, by_mail=False)
        assert (await plain.submissions.submit(make_form(), "c")).state == "pending"
        (step,) = await plain.moderation.history("pixel-kit")
        assert (step.verdict, step.reason) == ("submitted", "the address is not confirmed")

    run(act())


# ── limits and proofs ────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_proof_of_work_is_used_once_and_must_be_ours_and_fresh(kelifax):
    async def act():
        proof = solve_challenge(kelifax.proofs.make_challenge())
        await kelifax.submissions.submit(make_form(), "c", proof)
        with pytest.raises(ProofRefused, match="used before"):
            await kelifax.submissions.submit(make_form("Another"), "c", proof)
        late = solve_challenge(kelifax.proofs.make_challenge())
        kelifax.clock.advance(HOUR)
        for wrong in (late, "", "AAAA", proof[:-3]):
            with pytest.raises(ProofRefused):
                await kelifax.submissions.submit(make_form("Another"), "c", wrong)

    run(act())


def test_of_many_who_use_one_proof_at_once_one_succeeds(services_anywhere):
    async def act(kelifax):
        proof = solve_challenge(kelifax.proofs.make_challenge())

        async def use():
            try:
                await kelifax.proofs.use(proof)
            except ProofRefused:
                return False
            return True

        assert sum(await asyncio.gather(*(use() for _ in range(20)))) == 1

    run(act(services_anywhere))


def test_a_network_without_proofs_submits_a_few_times_a_day(kelifax):
    async def act():
        for number in range(PER_CLIENT_WITHOUT_PROOF):
            await kelifax.submissions.submit(make_form(f"Tool {number}", email=f"a{number}@techcorp.com"), "c")
        with pytest.raises(TooManyRequests):
            await kelifax.submissions.submit(make_form("One More"), "c")
        await kelifax.submissions.submit(make_form("One More"), "c", solve_challenge(kelifax.proofs.make_challenge()))
        kelifax.clock.advance(24 * HOUR)
        await kelifax.submissions.submit(make_form("Tomorrow"), "c")

    run(act())


def test_an_address_receives_a_few_confirmations_a_day_from_whatever_networks(kelifax):
    async def act():
        for number in range(PER_ADDRESS):
            await kelifax.submissions.submit(make_form(f"Tool {number}"), f"client {number}")
        with pytest.raises(TooManyRequests):
            await kelifax.submissions.submit(make_form("One More", email="ZOE@techcorp.com"), "another")

    run(act())


def test_a_refused_form_stores_nothing_and_counts_nothing(kelifax):
    async def act():
        for _ in range(PER_ADDRESS + 5):
            with pytest.raises(InvalidInput):
                await kelifax.submissions.submit(make_form(category="cooking"), "c")
        await kelifax.submissions.submit(make_form(), "c")

    run(act())


# ── status and resubmission ──────────────────────────────────────────────────────────────────────────────────────────
def test_the_status_shows_each_step_and_no_personal_data(kelifax):
    async def act():
        receipt = await kelifax.submissions.submit(make_form(), "c")
        assert (await kelifax.submissions.status(receipt.token)).state == "unconfirmed"
        await kelifax.submissions.confirm(await kelifax.find_token("confirm-submission"))
        await kelifax.moderation.reject("pixel-kit", ANN, "The page is empty.")
        status = await kelifax.submissions.status(receipt.token)
        assert (status.state, status.reason, status.form) == ("rejected", "The page is empty.", None)
        assert [step.verdict for step in status.steps] == ["submitted", "rejected"]
        assert not any(word in repr(status) for word in ("techcorp", "Zoë", "ann"))
        with pytest.raises(TokenInvalid):
            await kelifax.submissions.status(receipt.token + "x")

    run(act())


def test_a_rejected_resource_is_resubmitted_by_who_has_the_mail_and_its_history_is_kept(services_anywhere):
    async def act(kelifax):
        receipt = await kelifax.submissions.submit(make_form(), "c")
        await kelifax.submissions.confirm(await kelifax.find_token("confirm-submission"))
        await kelifax.moderation.reject("pixel-kit", ANN, "The page is empty.")
        kelifax.clock.advance(HOUR)
        better = {name: make_form(url="https://pixel.example.com/new", usagePurpose="Now it says what it is for.")[name]
                  for name in ("resource", "details")}  # fmt: skip
        with pytest.raises(TokenInvalid):  # the token of the receipt does not prove the address
            await kelifax.submissions.resubmit(receipt.token, better)
        token = await kelifax.find_token("submission-rejected")
        assert (await kelifax.submissions.status(token)).form["resourceName"] == "Pixel Kit"
        await kelifax.submissions.resubmit(token, better)
        (waiting,) = (await kelifax.moderation.queue()).entries
        assert (waiting.usage_purpose, waiting.created_at < waiting.submitted_at) == (
            "Now it says what it is for.",
            True,
        )
        detail = await kelifax.moderation.read_detail("pixel-kit")
        assert [step.verdict for step in detail.decisions] == ["resubmitted", "rejected", "submitted"]
        assert detail.revisions[0].content["rejectionReason"] == "The page is empty."
        with pytest.raises(DecisionTaken):
            await kelifax.submissions.resubmit(token, better)
        assert await kelifax.db.claim("https://pixel-kit.example.com/") is None
        assert (await kelifax.db.claim("https://pixel.example.com/new")).claimed_by == "pixel-kit"

    run(act(services_anywhere))


def test_a_resubmission_cannot_take_the_url_of_another(kelifax):
    async def act():
        await kelifax.list_resource("Other", url="https://other.example.com/")
        await kelifax.submit()
        await kelifax.moderation.reject("pixel-kit", ANN, "The page is empty.")
        kelifax.clock.advance(HOUR)
        token = await kelifax.find_token("submission-rejected")
        stolen = make_form(url="https://other.example.com/")
        with pytest.raises(AlreadyListed):
            await kelifax.submissions.resubmit(token, {name: stolen[name] for name in ("resource", "details")})
        assert isinstance(await kelifax.db.resource("pixel-kit"), Rejected)
        assert (await kelifax.db.claim("https://other.example.com/")).claimed_by == "other"

    run(act())


def test_a_token_of_a_deleted_resource_shows_nothing_of_its_successor(kelifax):
    async def act():
        receipt = await kelifax.submissions.submit(make_form(), "c")
        await kelifax.submissions.confirm(await kelifax.find_token("confirm-submission"))
        await kelifax.deletion.delete("pixel-kit", ANN)
        await kelifax.submit()
        with pytest.raises(ResourceMissing):
            await kelifax.submissions.status(receipt.token)

    run(act())


def test_the_preflight_finds_the_same_url_a_similar_name_and_the_same_host_and_stores_nothing(kelifax):
    async def act():
        await kelifax.list_resource("Pixel Kit", url="https://pixel.example.com/kit")
        await kelifax.list_resource("Pencil", url="https://pixel.example.com/pencil")
        await kelifax.submit("Pixel Kid", url="https://waiting.example.org/")
        kelifax.clock.advance(120)
        found = await kelifax.submissions.preflight(make_form("Pixel Kits", "https://pixel.example.com/kit"))
        assert {(each.likeness, each.entry.slug) for each in found.duplicates} == {
            ("same URL", "pixel-kit"),
            ("same host", "pencil"),
        }
        found = await kelifax.submissions.preflight(make_form("Pixel-Kit!", "https://elsewhere.example.net/"))
        assert [(each.likeness, each.entry.slug) for each in found.duplicates] == [("same name", "pixel-kit")]
        found = await kelifax.submissions.preflight(make_form("Pixl Kit", "https://elsewhere.example.net/"))
        assert [(each.likeness, each.entry.slug) for each in found.duplicates] == [("similar name", "pixel-kit")]
        detail = await kelifax.moderation.read_detail("pixel-kid")
        assert ("similar name", "pixel-kit") in [(each.likeness, each.entry.slug) for each in detail.duplicates]

    run(act())


def test_times_follow_the_latest_decision_when_the_clock_goes_back(kelifax):
    async def act():
        await kelifax.submit()
        behind = ManualClock(kelifax.clock.millis() / 1000 - 3600)
        late = KelifaxServices(kelifax.database, behind)
        decision = await late.moderation.approve("pixel-kit", ANN)
        assert decision.decided_at - (await kelifax.moderation.history("pixel-kit"))[1].decided_at == timedelta(
            milliseconds=1
        )

    run(act())
