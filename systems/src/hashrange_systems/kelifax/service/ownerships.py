"""Claiming a listing: somebody proves an address, a moderator accepts, and the owner edits it by a mailed link.

- `claim(slug, email, statement, client)`; `confirm(token)`: the link of the mail.
- `waiting(size, after)`, `grant(slug, claim_id, actor)`, `refuse(slug, claim_id, actor)`: for moderators; refusing a
  granted one takes the right to edit away at once.
- `open_listing(token)`: what the owner may edit; `edit(token, fields)`: changes it, with the rules of the form.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hashrange import Clock, Conflict, Write
from hashrange_systems.kelifax.errors import DecisionTaken
from hashrange_systems.kelifax.model.field_rule import Checker
from hashrange_systems.kelifax.model.mail_text import CONFIRM_WITHIN
from hashrange_systems.kelifax.model.slug import is_stored_slug
from hashrange_systems.kelifax.model.web_address import find_host
from hashrange_systems.kelifax.record_item import PersonLink
from hashrange_systems.kelifax.schema import Approved, Decision, Kelifax, Published
from hashrange_systems.kelifax.service.actor import Actor
from hashrange_systems.kelifax.service.mails import Mailer
from hashrange_systems.kelifax.service.moderation import Moderation
from hashrange_systems.kelifax.service.quotas import Quotas
from hashrange_systems.kelifax.service.resource_read import find_resource, next_moment
from hashrange_systems.kelifax.visitor_item import (
    AnyOwnership,
    GrantedOwnership,
    UnconfirmedOwnership,
    WaitingOwnership,
)
from hashrange_systems.shared.epoch import to_second
from hashrange_systems.shared.errors import FieldError, InvalidInput, ResourceMissing, TokenInvalid
from hashrange_systems.shared.identifier import MakeId, is_valid_id, make_id
from hashrange_systems.shared.signed_token import TokenSigner

PER_CLIENT, PER_ADDRESS = 10, 5  # claims on a day


@dataclass(frozen=True, slots=True)
class Ownerships:
    """Owners of listings."""

    db: Kelifax
    clock: Clock
    signer: TokenSigner
    quotas: Quotas
    mailer: Mailer
    moderation: Moderation
    by_mail: bool = True
    make_id: MakeId = make_id

    async def claim(self, slug: str, email: str, statement: str, client: str) -> None:
        """Store a claim until its address is confirmed."""
        resource = await find_resource(self.db, slug)
        if not isinstance(resource, Approved):
            raise ResourceMissing("resource")
        check = Checker()
        given = {"email": email, "statement": statement}
        address = check.email(given, "email")
        text = check.text(given, "statement", range(10, 501), lines=True)
        if check.errors or address is None:
            raise InvalidInput(check.errors)
        await self.quotas.use("claim", client, PER_CLIENT)
        await self.quotas.use_for_mailbox("claim", address.text, PER_ADDRESS)
        now = to_second(self.clock.millis())
        host = find_host(resource.resource_url)
        claim = UnconfirmedOwnership(
            slug=slug,
            claim_id=self.make_id(),
            created_at=now,
            email=address.text,
            statement=text,
            same_domain=host == address.domain or host.endswith("." + address.domain),
            expires_at=now + CONFIRM_WITHIN,
        )
        reference = f"{slug}/{claim.claim_id}"
        link = PersonLink(address=address.text, kind="claim", reference=reference, created_at=now)
        writes: list[Write[Any]] = [self.db.create(claim), self.db.put(link)]
        if self.by_mail:
            content = {"name": resource.resource_name, "words": [slug, claim.claim_id]}
            writes.append(self.mailer.write("confirm-claim", address.text, reference, content))
        await self.db.transact_all(writes).unread()
        if not self.by_mail:
            await self.db.confirm_ownership(claim)

    async def confirm(self, token: str) -> str:
        """Queue a claim for the moderators; return the slug of its resource."""
        slug, claim_id = self.signer.open("claim", token, self.clock.millis())
        claim = await self.db.ownership(slug, claim_id).consistent()
        if claim is None:
            raise TokenInvalid("This claim was not confirmed in time: make it again.")
        if isinstance(claim, UnconfirmedOwnership):
            try:
                await self.db.confirm_ownership(claim)
            except Conflict:
                return slug  # the link was opened twice
        return slug

    # ── for moderators ───────────────────────────────────────────────────────────────────────────────────────────────
    async def waiting(self, size: int = 20, after: str | None = None) -> tuple[Sequence[WaitingOwnership], str | None]:
        """Return a page of the claims that wait, oldest first, and the cursor of the next."""
        page = await self.db.waiting_ownerships().whole().page(size, after=after)
        return page.items, page.cursor

    async def grant(self, slug: str, claim_id: str, actor: Actor) -> None:
        """Let somebody edit a listing."""
        claim = await self._find(slug, claim_id)
        if not isinstance(claim, WaitingOwnership):
            raise DecisionTaken(claim.claim_status)
        granted = self.db.grant_ownership(claim, decided_at=to_second(self.clock.millis()))
        await self._decide(claim, actor, granted, "claim-granted")

    async def refuse(self, slug: str, claim_id: str, actor: Actor) -> None:
        """Refuse a claim, or take back a granted one."""
        claim = await self._find(slug, claim_id)
        if not isinstance(claim, WaitingOwnership | GrantedOwnership):
            raise DecisionTaken(claim.claim_status)
        refused = self.db.refuse_ownership(claim, decided_at=to_second(self.clock.millis()))
        await self._decide(claim, actor, refused, "claim-refused")

    async def _decide(self, claim: AnyOwnership, actor: Actor, write: Write[Any], topic: str) -> None:
        resource = await find_resource(self.db, claim.slug)
        at = await next_moment(self.db, self.clock, claim.slug)
        content = {"name": resource.resource_name, "slug": claim.slug, "words": [claim.slug, claim.claim_id]}
        decision = Decision(
            resource_slug=claim.slug, decided_at=at, actor=actor.name, verdict="owned", reason=topic.partition("-")[2]
        )
        mail = self.mailer.write_all(topic, claim.email, f"{claim.claim_id} {at.isoformat()}", content)
        writes: list[Write[Any]] = [write, self.db.create(decision), *mail]
        try:
            await self.db.transact_all(writes).unread()
        except Conflict:
            raise DecisionTaken("decided") from None

    async def _find(self, slug: str, claim_id: str) -> AnyOwnership:
        known = is_stored_slug(slug) and is_valid_id(claim_id)
        claim = await self.db.ownership(slug, claim_id).consistent() if known else None
        if claim is None:
            raise ResourceMissing("claim")
        return claim

    # ── for owners ───────────────────────────────────────────────────────────────────────────────────────────────────
    async def open_listing(self, token: str) -> Published:
        """Return the listing that the holder of a mailed link may edit; raise TokenInvalid."""
        slug, claim_id = self.signer.open("owner", token, self.clock.millis())
        claim = await self.db.ownership(slug, claim_id).consistent()
        if not isinstance(claim, GrantedOwnership):
            raise TokenInvalid("This link does not allow to edit the listing any more.")
        resource = await find_resource(self.db, slug)
        if not isinstance(resource, Published):
            raise ResourceMissing("resource")
        return resource

    async def edit(self, token: str, fields: Mapping[str, Any]) -> None:
        """Change a listing as its owner; another host needs a moderator."""
        resource = await self.open_listing(token)
        url = fields.get("resourceUrl", resource.resource_url)
        if not isinstance(url, str) or find_host(url) != find_host(resource.resource_url):
            raise InvalidInput(
                [FieldError("resource.resourceUrl", "must stay on the same host: suggest an edit instead")]
            )
        await self.moderation.edit(resource.resource_slug, fields, Actor("owner", "moderator"))
