"""Which parts of an account members have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from hashrange_systems.aura.application import Application
from hashrange_systems.aura.work_schema import Subscription
from hashrange_systems.shared.web.account_dependencies import Offers, Visitor

MAILS = 10  # that are shown in the demo
SUBSCRIPTIONS: dict[str, str] = {
    "WATCHED": "My watch list and searches",
    "ALARMS": "These, and shops that break",
    "EVERYTHING": "These, and every change",
}
assert tuple(SUBSCRIPTIONS) == get_args(Subscription)


async def find_mails(services: Application, visitor: Visitor) -> Mapping[str, Any]:
    """Return the mails of the demo's member; None without a demo."""
    mailbox = services.mailbox
    return {"mails": mailbox.mails(visitor.member)[:MAILS] if mailbox else None}


OFFERS = Offers(
    api_keys=True,
    password=True,
    second_factor=True,
    channels=True,
    scopes=True,
    export=True,
    subscriptions=SUBSCRIPTIONS,
    issuer="hashrange aura",
    add_context=find_mails,
)
