"""The e-mail digest: what was published since the last one, once a week, to addresses that confirmed.

- `subscribe(email, categories, client)`: sends a confirmation; never says whether an address is subscribed.
- `confirm(token)`, `unsubscribe(token)`: the links of the mails; unsubscribing needs one request and no question.
- `send_due()`: queues the digests that are due; for the worker.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from hashrange import Clock, Conflict, Write
from hashrange_systems.kelifax.model.content import CATEGORIES
from hashrange_systems.kelifax.model.field_rule import Checker
from hashrange_systems.kelifax.model.mail_text import CONFIRM_WITHIN
from hashrange_systems.kelifax.model.slug import path_of_resource
from hashrange_systems.kelifax.record_item import DueDigest, Subscribed, UnconfirmedSubscription
from hashrange_systems.kelifax.schema import Kelifax, Listing
from hashrange_systems.kelifax.service.mails import Mailer
from hashrange_systems.kelifax.service.quotas import Quotas
from hashrange_systems.shared.email_address import fold_email
from hashrange_systems.shared.epoch import to_second
from hashrange_systems.shared.errors import InvalidInput, StateConflict, TokenInvalid
from hashrange_systems.shared.signed_token import TokenSigner
from hashrange_systems.shared.text import clean

EVERY = timedelta(days=7)
INDEX_LAG = timedelta(minutes=1)  # after which what was published is in the index, and nothing joins it any more
LEASE = timedelta(minutes=5)
PER_CLIENT, PER_ADDRESS = 20, 3  # subscriptions on a day
MAX_ENTRIES = 30


@dataclass(frozen=True, slots=True)
class Digests:
    """Subscriptions to the digest."""

    db: Kelifax
    clock: Clock
    signer: TokenSigner
    quotas: Quotas
    mailer: Mailer
    base_url: str

    async def subscribe(self, email: str, categories: Sequence[str], client: str) -> None:
        """Ask an address whether it wants the digest, of these categories or of all."""
        if not self.mailer.enabled:
            raise StateConflict("This directory sends no mail.")
        check = Checker()
        address = check.email({"email": email}, "email")
        chosen = check.choices({"categories": list(categories)}, "categories", CATEGORIES)
        if check.errors or address is None:
            raise InvalidInput(check.errors)
        await self.quotas.use("digest", client, PER_CLIENT)
        await self.quotas.use_for_mailbox("digest", address.text, PER_ADDRESS)
        if isinstance(await self.db.subscription(fold_email(address.text)).consistent(), Subscribed):
            return
        now = to_second(self.clock.millis())
        new = UnconfirmedSubscription(
            address=address.text,
            recipient=address.text,
            created_at=now,
            categories=list(chosen),
            expires_at=now + CONFIRM_WITHIN,
        )
        cause = f"digest {now.isoformat()}"
        mail = self.mailer.write("confirm-digest", address.text, cause, {"words": [fold_email(address.text)]})
        with suppress(Conflict):  # the same form, sent twice within a second
            await self.db.transact(self.db.put(new), mail).unread()

    async def confirm(self, token: str) -> None:
        """Start a subscription."""
        (address,) = self.signer.open("digest", token, self.clock.millis())
        known = await self.db.subscription(address).consistent()
        if known is None:
            raise TokenInvalid("This subscription was not confirmed in time: subscribe again.")
        if isinstance(known, UnconfirmedSubscription):
            now = to_second(self.clock.millis())
            with suppress(Conflict):  # the link was opened twice
                await self.db.confirm_subscription(known, due_at=now + EVERY, sent_until=now - INDEX_LAG)

    async def unsubscribe(self, token: str) -> None:
        """End a subscription, and forget the address."""
        (address,) = self.signer.open("unsubscribe", token, self.clock.millis())
        await self.db.unsubscribe(address)

    async def send_due(self, limit: int = 100) -> int:
        """Queue the digests that are due; return how many mails."""
        due = await self.db.digests_due(due_at=to_second(self.clock.millis())).limit(limit)
        queued = 0
        for each in due:
            with suppress(Conflict):  # another process has claimed it, or it was ended
                queued += await self._send(each)
        return queued

    async def _send(self, due: DueDigest) -> int:
        now = to_second(self.clock.millis())
        lease, until = now + LEASE, now - INDEX_LAG
        subscription = await self.db.move_digest(due, due_at=lease)
        entries = await self._find_entries(subscription, until)
        sent = self.db.digest_sent(subscription, lease=lease, due_at=now + EVERY, sent_until=until)
        if not entries:
            await sent
            return 0
        content = {"words": [subscription.address], "entries": [self._describe(each) for each in entries]}
        cause = f"digest {subscription.sent_until.isoformat()}"
        writes: list[Write[Any]] = [sent, self.mailer.write("digest", subscription.recipient, cause, content)]
        await self.db.transact_all(writes).unread()
        return 1

    async def _find_entries(self, subscription: Subscribed, until: datetime) -> list[Listing]:
        """Return what was published after the last digest, up to a second: the next digest begins after it."""
        found = await self.db.published_since(subscription.sent_until).skip_unreadable().limit(500)
        wanted = set(subscription.categories)
        complete = [each for each in found if each.published_at <= until]
        return [each for each in complete if not wanted or each.category in wanted][:MAX_ENTRIES]

    def _describe(self, entry: Listing) -> str:
        name, purpose = clean(entry.resource_name, 200), clean(entry.usage_purpose, 200)
        return f"{name}\n{purpose}\n{self.base_url}{path_of_resource(entry.resource_slug)}"
