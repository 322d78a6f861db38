"""Confirmation of e-mail addresses: a link goes to the address, and nothing else before it was used.

The token is signed and made when the message is sent. It is not stored: who can read the messages of a member cannot
confirm an address for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING
from urllib.parse import quote

from hashrange import Conflict
from hashrange_systems.aura.work_schema import Channel, WaitingMessage, Work
from hashrange_systems.shared.channels.message_budget import MessageBudgets
from hashrange_systems.shared.epoch import DAY_MS, from_ms
from hashrange_systems.shared.errors import TokenInvalid
from hashrange_systems.shared.identifier import MakeId, make_id
from hashrange_systems.shared.signed_token import TokenSigner

if TYPE_CHECKING:
    from hashrange import Clock

PURPOSE = "confirm channel"
LASTS_MS = 3 * DAY_MS
KEPT = timedelta(days=3)


@dataclass(frozen=True, slots=True)
class Confirmations:
    """Asks for confirmations, and accepts them."""

    work: Work
    clock: Clock
    base_url: str = ""
    make_id: MakeId = make_id

    async def spend(self, member_id: str, address: str) -> None:
        """Count a confirmation message; raise DayBudgetSpent if the address or the member had enough of them today."""
        await MessageBudgets(self.work, self.clock).spend(member_id, address)

    async def ask(self, channel: Channel) -> None:
        """Write the message that asks to confirm an address; it was counted with `spend`."""
        now = from_ms(self.clock.millis())
        message = WaitingMessage(
            message_id=self.make_id(),
            member_id=channel.member_id,
            channel_id=channel.channel_id,
            subject="Confirm this address",
            text=f"A link was sent to {channel.target}.",
            confirms=True,
            created_at=now,
            send_at=now,
            expires_at=now + KEPT,
        )
        await self.work.create(message)

    def write_text(self, channel: Channel) -> str:
        """Return the text of the message, with the link."""
        link = f"{self.base_url}/confirm?token={quote(self._sign(channel))}"
        return (
            "Somebody asked to send messages about antiques and their prices to this address.\n"
            f"If that was you, confirm it within three days: {link}\n"
            "If not, do nothing: no other message is sent."
        )

    async def confirm(self, token: str) -> Channel:
        """Confirm the address of a token; raise TokenInvalid."""
        member_id, channel_id, target = self._signer.open(PURPOSE, token, self.clock.millis())
        channel = await self.work.channel(member_id, channel_id).consistent()
        if channel is None or channel.target != target:
            raise TokenInvalid("This link is for an address that has been removed.")
        if channel.confirmed_at is not None:
            return channel
        try:
            return await self.work.confirm_channel(member_id, channel_id, confirmed_at=from_ms(self.clock.millis()))
        except Conflict:
            raise TokenInvalid("This link is for an address that has been removed.") from None

    def _sign(self, channel: Channel) -> str:
        words = [channel.member_id, channel.channel_id, channel.target]
        return self._signer.sign(PURPOSE, words, self.clock.millis() + LASTS_MS)

    @property
    def _signer(self) -> TokenSigner:
        return TokenSigner(self.work.session.secret, "aura")
