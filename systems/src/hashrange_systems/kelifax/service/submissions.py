"""Submissions: from the form to the moderators' queue, and back again after a rejection.

- `preflight(form)`: the field errors and the possible duplicates of a form, without storing anything.
- `submit(form, client, proof, different)`: raises InvalidInput with all field errors, AlreadyListed, ProofRefused,
  TooManyRequests. `different` says that it is another resource although its name is taken: it gets a numbered slug.
- `confirm(token)`: the link of the mail; the submission is pending from then on. Repeating it changes nothing.
- `status(token)`: for the submitter, with the token of the receipt or of a mail. No personal data.
- `resubmit(token, form)`: after a rejection, with the token of a mail, which proves the address.

An unconfirmed submission is not a resource: it is in `kelifax-records` for 48 hours, and reserves its slug and its URL
that long. What is not confirmed by then is deleted by its TTL, and from that moment others can take slug and URL.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import islice
from typing import Any, Literal
from uuid import uuid4

from hashrange import Clock, Conflict, Write
from hashrange_systems.kelifax.errors import AlreadyListed, DecisionTaken, ExistingEntry
from hashrange_systems.kelifax.model.content import Content, read_content
from hashrange_systems.kelifax.model.draft import Draft, parse_content, parse_draft
from hashrange_systems.kelifax.model.mail_text import CONFIRM_WITHIN
from hashrange_systems.kelifax.model.slug import make_slug, number_slugs
from hashrange_systems.kelifax.model.web_address import normalise_url
from hashrange_systems.kelifax.record_item import PersonLink, Revision, Unconfirmed
from hashrange_systems.kelifax.schema import Approved, Decision, Kelifax, Rejected, Resource, StoredContent, Submission
from hashrange_systems.kelifax.service.duplicates import Duplicate, Duplicates
from hashrange_systems.kelifax.service.mails import Mailer
from hashrange_systems.kelifax.service.proofs import Proofs
from hashrange_systems.kelifax.service.quotas import Quotas
from hashrange_systems.kelifax.service.resource_read import find_resource, next_moment
from hashrange_systems.shared.epoch import DAY_MS, EPOCH, to_second
from hashrange_systems.shared.errors import FieldError, InvalidInput, ResourceMissing, TokenInvalid
from hashrange_systems.shared.signed_token import TokenSigner

STATUS_VALID_MS = 365 * DAY_MS
PER_ADDRESS, PER_CLIENT, PER_CLIENT_WITHOUT_PROOF = 10, 50, 5  # submissions on a day
MAX_NUMBER = 50
SUBMITTER = "submitter"  # the actor of what submitters do, in the audit

HasLogo = Callable[[str], Awaitable[bool]]
State = Literal["unconfirmed", "pending", "approved", "rejected"]


@dataclass(frozen=True, slots=True)
class Preflight:
    """What a form would become: its slug, what a moderator will be told, and what it may duplicate."""

    slug: str
    duplicates: list[Duplicate]
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Receipt:
    """An accepted submission; the token shows its status."""

    slug: str
    submission_id: str
    state: State
    token: str


@dataclass(frozen=True, slots=True)
class StatusStep:
    """A step in the life of a submission, as its submitter sees it."""

    verdict: str
    at: datetime
    reason: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmissionStatus:
    """Where a submission stands; `form` is what a resubmission begins with, only for the holder of a mailed link."""

    slug: str
    name: str
    state: State
    submitted_at: datetime
    reason: str | None = None
    steps: tuple[StatusStep, ...] = ()
    form: dict[str, Any] | None = None


def make_submission_id() -> str:
    """Return a new submission id, as the original system makes them."""
    return str(uuid4())


@dataclass(frozen=True, slots=True)
class Submissions:
    """Takes submissions in; without `by_mail` they are pending at once, because no mail can be sent."""

    db: Kelifax
    clock: Clock
    signer: TokenSigner
    proofs: Proofs
    quotas: Quotas
    duplicates: Duplicates
    mailer: Mailer
    by_mail: bool = True
    renew_logo: HasLogo | None = None  # keeps a logo until the confirmation; whether it was uploaded
    make_id: Callable[[], str] = field(default=make_submission_id)

    async def preflight(self, form: object) -> Preflight:
        """Return what a form would become; raise InvalidInput with all errors."""
        draft = parse_draft(form)
        found = await self.duplicates.look_up(draft.content.resource_name, draft.content.resource_url)
        return Preflight(make_slug(draft.content.resource_name, "id"), found, draft.warnings)

    # ── submission ───────────────────────────────────────────────────────────────────────────────────────────────────
    async def submit(self, form: object, client: str, proof: str | None = None, *, different: bool = False) -> Receipt:
        """Take a submission in; `client` is the network address that it comes from."""
        draft = parse_draft(form)
        await require_uploaded(draft.content, self.renew_logo)
        if proof is None:
            await self.quotas.use("unproven", client, PER_CLIENT_WITHOUT_PROOF)
        else:
            await self.proofs.use(proof)
            await self.quotas.use("submission", client, PER_CLIENT)
        await self.quotas.use_for_mailbox("submission", draft.submitter.email, PER_ADDRESS)
        return await self.accept(draft, different=different, confirmed=not self.by_mail)

    async def accept(self, draft: Draft, *, different: bool = False, confirmed: bool = False) -> Receipt:
        """Store a checked submission, for operators without limits; `confirmed` ones are pending at once."""
        submission_id = self.make_id()
        slug = await self._choose_slug(draft.content, submission_id, different=different)
        await self._reserve(draft, slug, submission_id, mailed=not confirmed)
        if confirmed:
            await self._admit(slug, submission_id, "the address is not confirmed")
        return self._make_receipt(slug, submission_id, "pending" if confirmed else "unconfirmed")

    async def _choose_slug(self, content: Content, submission_id: str, *, different: bool) -> str:
        slug = make_slug(content.resource_name, submission_id)
        taken = await self.duplicates.find_by_slug(slug)
        if taken is None:
            return slug
        if not different:
            raise AlreadyListed(taken, "name", await self._number(slug))
        return await self._number(slug) or f"r-{submission_id}"

    async def _number(self, slug: str) -> str | None:
        for numbered in islice(number_slugs(slug), MAX_NUMBER):
            if await self.duplicates.find_by_slug(numbered) is None:
                return numbered
        return None

    async def _reserve(self, draft: Draft, slug: str, submission_id: str, *, mailed: bool) -> None:
        """Reserve slug and URL for an unconfirmed submission, and queue the mail: all or nothing."""
        now = to_second(self.clock.millis())
        until = now + CONFIRM_WITHIN
        email, url = draft.submitter.email, normalise_url(draft.content.resource_url)
        writes: list[Write[Any]] = [
            self.db.reserve_slug(
                slug, submission_id, submitted_at=now, form=draft.to_form(), expires_at=until, now=now
            ),
            self.db.reserve_url(url, claimed_by=slug, owner=submission_id, reserved_until=until, now=now, epoch=EPOCH),
            self.db.put(PersonLink(address=email, kind="submission", reference=slug, created_at=now)),
        ]
        if mailed:
            content = {"name": draft.content.resource_name, "words": [slug, submission_id]}
            writes.append(self.mailer.write("confirm-submission", email, submission_id, content))
        try:
            await self.db.transact_all(writes).unread()
        except Conflict as conflict:
            raise await self._explain(conflict, slug, url, draft.content.resource_name) from None

    async def _explain(self, conflict: Conflict, slug: str, url: str, name: str) -> AlreadyListed:
        """Return the error for a submission that another one was faster than."""
        by_url = any(failure.position == 1 for failure in conflict.failures)
        found = await (self.duplicates.find_by_url(url) if by_url else self.duplicates.find_by_slug(slug))
        entry = found or ExistingEntry(slug, name, "reserved")
        return AlreadyListed(entry, "URL" if by_url else "name", None if by_url else await self._number(slug))

    # ── confirmation ─────────────────────────────────────────────────────────────────────────────────────────────────
    async def confirm(self, token: str) -> Receipt:
        """Make a submission pending; raise TokenInvalid if the link is not ours or too old."""
        slug, submission_id = self.signer.open("confirm", token, self.clock.millis())
        await self._admit(slug, submission_id, None)
        return self._make_receipt(slug, submission_id, "pending")

    async def _admit(self, slug: str, submission_id: str, note: str | None) -> None:
        waiting = await self.db.unconfirmed(slug).consistent()
        if waiting is None or waiting.submission_id != submission_id or waiting.form is None:
            await self._require_admitted(slug, submission_id)
            return
        draft = parse_draft(waiting.form)
        writes = self._write_submission(waiting, draft, await next_moment(self.db, self.clock, slug), note)
        try:
            await self.db.transact_all(writes).unread()
        except Conflict:
            await self._require_admitted(slug, submission_id)

    async def _require_admitted(self, slug: str, submission_id: str) -> None:
        """Return if the submission is already a resource: the link was opened twice."""
        resource = await self.db.resource(slug).consistent()
        if resource is None or resource.submission_id != submission_id:
            raise TokenInvalid("This submission was not confirmed in time: submit it again.")

    def _write_submission(
        self, waiting: Unconfirmed, draft: Draft, decided_at: datetime, note: str | None
    ) -> list[Write[Any]]:
        item = make_resource(draft, waiting.slug, waiting.submission_id, waiting.submitted_at)
        url = normalise_url(draft.content.resource_url)
        writes: list[Write[Any]] = [
            self.db.create(item),
            self.db.finish_confirmation(
                waiting.slug, waiting.submission_id, form=None, expires_at=decided_at + timedelta(days=1)
            ),
            self.db.keep_url(url, claimed_by=waiting.slug, reserved_until=None),
            self.db.create(
                Decision(
                    resource_slug=waiting.slug,
                    decided_at=decided_at,
                    actor=SUBMITTER,
                    verdict="submitted",
                    reason=note,
                )
            ),
        ]
        if note is None:
            content = {"name": draft.content.resource_name, "words": [waiting.slug, waiting.submission_id]}
            cause = f"received {waiting.submission_id}"
            writes.append(self.mailer.write("submission-received", draft.submitter.email, cause, content))
        return writes

    # ── status ───────────────────────────────────────────────────────────────────────────────────────────────────────
    async def status(self, token: str) -> SubmissionStatus:
        """Return where a submission stands; the token is one of a receipt, or of a mail."""
        slug, submission_id, mailed = self._open(token)
        waiting = await self.db.unconfirmed(slug)
        if waiting and waiting.form and waiting.submission_id == submission_id:
            name = str(waiting.form["resource"]["resourceName"])
            return SubmissionStatus(slug=slug, name=name, state="unconfirmed", submitted_at=waiting.submitted_at)
        resource = await find_resource(self.db, slug)
        if resource.submission_id != submission_id:
            raise ResourceMissing("submission")
        steps = [
            StatusStep(step.verdict, step.decided_at, step.reason if step.verdict in SHOWN_REASONS else None)
            for step in await self.db.decisions(slug)
            if step.verdict in SHOWN_STEPS
        ]
        return SubmissionStatus(
            slug=slug,
            name=resource.resource_name,
            state=resource.resource_status,
            submitted_at=resource.submitted_at,
            reason=resource.rejection_reason if isinstance(resource, Rejected) else None,
            steps=tuple(reversed(steps)),
            form=read_content(resource).to_fields() if mailed and isinstance(resource, Rejected) else None,
        )

    def _open(self, token: str) -> tuple[str, str, bool]:
        now = self.clock.millis()
        try:
            slug, submission_id = self.signer.open("edit", token, now)
        except TokenInvalid:
            slug, submission_id = self.signer.open("status", token, now)
            return slug, submission_id, False
        return slug, submission_id, True

    def _make_receipt(self, slug: str, submission_id: str, state: State) -> Receipt:
        token = self.signer.sign("status", [slug, submission_id], self.clock.millis() + STATUS_VALID_MS)
        return Receipt(slug, submission_id, state, token)

    # ── resubmission ─────────────────────────────────────────────────────────────────────────────────────────────────
    async def resubmit(self, token: str, form: object) -> Receipt:
        """Submit a rejected resource again, with changed content; `form` has `resource` and `details`."""
        slug, submission_id = self.signer.open("edit", token, self.clock.millis())
        content = parse_content(form)
        resource = await find_resource(self.db, slug)
        if resource.submission_id != submission_id:
            raise ResourceMissing("submission")
        if not isinstance(resource, Rejected):
            raise DecisionTaken(resource.resource_status)
        if content.logo_image != resource.logo_image:
            await require_uploaded(content, self.renew_logo)
        at = await next_moment(self.db, self.clock, slug)
        now = to_second(self.clock.millis())
        writes: list[Write[Any]] = [
            self.db.resubmit(
                resource, submitted_at=now, content=store_content(content), search_text=content.make_search_text()
            ),
            *move_claim(self.db, resource, content, now),
            self.db.create(make_revision(resource, at, "resubmitted", SUBMITTER)),
            self.db.create(Decision(resource_slug=slug, decided_at=at, actor=SUBMITTER, verdict="resubmitted")),
        ]
        try:
            await self.db.transact_all(writes).unread()
        except Conflict as conflict:
            if any(failure.position == 1 for failure in conflict.failures) and len(writes) > 3:
                url = normalise_url(content.resource_url)
                raise await self._explain(conflict, slug, url, content.resource_name) from None
            raise DecisionTaken((await find_resource(self.db, slug)).resource_status) from None
        return self._make_receipt(slug, submission_id, "pending")


SHOWN_STEPS = frozenset({"submitted", "approved", "rejected", "unpublished", "resubmitted", "undone"})
SHOWN_REASONS = frozenset({"rejected", "unpublished"})


async def require_uploaded(content: Content, has_logo: HasLogo | None) -> None:
    """Raise InvalidInput if content names a logo that was not uploaded."""
    if content.logo_image and has_logo and not await has_logo(content.logo_image):
        raise InvalidInput([FieldError("resource.logoImage", "was not uploaded, or too long ago: upload it again")])


def store_content(content: Content, changed: Collection[str] | None = None) -> StoredContent:
    """Return content as the patterns that write it take it; with `changed` only the fields with these names."""
    return StoredContent.model_construct(**content.to_stored(changed))


def make_resource(draft: Draft, slug: str, submission_id: str, at: datetime) -> Submission:
    """Return the pending resource of a submission; both times are of one reading of the clock."""
    who = draft.submitter
    return Submission(
        resource_slug=slug,
        submission_id=submission_id,
        created_at=at,
        submitted_at=at,
        submitter_first_name=who.first_name,
        submitter_last_name=who.last_name,
        submitter_email=who.email,
        submitter_company=who.company,
        submitter_phone=who.phone,
        submitter_domain=who.domain,
        search_text=draft.content.make_search_text(),
        **draft.content.to_stored(),
    )


def move_claim(db: Kelifax, resource: Resource, content: Content, now: datetime) -> Sequence[Write[Any]]:
    """Return the writes that claim another URL for a resource and release the former one."""
    old, new = normalise_url(resource.resource_url), normalise_url(content.resource_url)
    if old == new:
        return []
    slug = resource.resource_slug
    return [
        db.reserve_url(new, claimed_by=slug, owner=resource.submission_id, reserved_until=None, now=now, epoch=EPOCH),
        db.release_own(old, claimed_by=slug),
    ]


def make_revision(resource: Resource, at: datetime, cause: Any, actor: str) -> Revision:
    """Return what a resource contains before a change, without its submitter."""
    content = read_content(resource).to_fields()
    if isinstance(resource, Rejected):
        content["rejectionReason"] = resource.rejection_reason
    if isinstance(resource, Approved):
        content["resourceStatus"] = "approved"
    return Revision(slug=resource.resource_slug, at=at, cause=cause, actor=actor, content=content)
