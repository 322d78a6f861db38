"""Personal data of a person, by e-mail address: export, and erasure. For admins and operators.

What a person sent in is found through the links under `PERSON#<address>`; resources of the original system, which have
no links, by reading the whole table, also by addresses that no form here accepts. An erased resource stays listed,
without its submitter.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal

from hashrange import Clock, Conflict, Item, Write
from hashrange_systems.kelifax.model.content import read_content
from hashrange_systems.kelifax.model.public_entry import format_time
from hashrange_systems.kelifax.record_item import PersonLink, Subscription
from hashrange_systems.kelifax.schema import Decision, Kelifax, Resource
from hashrange_systems.kelifax.service.actor import Actor
from hashrange_systems.kelifax.service.damaged_resource import publish_damaged
from hashrange_systems.kelifax.service.resource_read import find_stored, next_moment, read_everything
from hashrange_systems.kelifax.service.reviews import Reviews
from hashrange_systems.kelifax.service.tolerant_read import DamagedItem
from hashrange_systems.shared.accounts.schema import AnyMessage
from hashrange_systems.shared.channels.messages import Messages
from hashrange_systems.shared.email_address import explain_email, fold_email, validate_email
from hashrange_systems.shared.epoch import from_ms

ERASED: Literal["erased"] = "erased"


@dataclass(slots=True)
class ErasureReport:
    """What was erased."""

    resources: list[str] = field(default_factory=list)
    records: int = 0


@dataclass(frozen=True, slots=True)
class Privacy:
    """Exports and erases personal data."""

    db: Kelifax
    clock: Clock
    reviews: Reviews
    messages: Messages

    async def export_person(self, email: str, actor: Actor) -> dict[str, Any]:
        """Return everything that is stored about an address, with JSON types."""
        actor.require_admin("export personal data")
        address, resources = await self._find_person(email)
        records = await self._read_records(address)
        return {
            "email": address,
            "exportedAt": format_time(from_ms(self.clock.millis())),
            "submissions": [show_submission(item) for item in resources],
            "records": [show_record(record) for record in records],
            "mails": [show_record(mail) for mail in await self._read_mails(address)],
            "reviews": [show_record(item) for item in await self._find_linked(records, "review")],
            "suggestions": [show_record(item) for item in await self._find_linked(records, "suggestion")],
            "claims": [show_record(item) for item in await self._find_linked(records, "claim")],
            "unconfirmed": [show_record(item) for item in await self._find_linked(records, "submission")],
        }

    async def erase_person(self, email: str, actor: Actor) -> ErasureReport:
        """Erase everything that is stored about an address; repeat it if it was interrupted."""
        actor.require_admin("erase personal data")
        address, resources = await self._find_person(email)
        report = ErasureReport()
        for item in resources:
            await self._erase_resource(item.resource_slug, actor)
            report.resources.append(item.resource_slug)
        records: list[Item] = [*await self._read_records(address)]
        mails = await self._read_mails(address)
        report.records = len(records) + len(mails)
        for link in [record for record in records if isinstance(record, PersonLink)]:
            await self._erase_linked(link, address)
        if records:
            await self.db.batch(delete=records)
        if mails:
            await self.messages.delete_about(address)
        return report

    async def _find_person(self, email: str) -> tuple[str, list[Resource | DamagedItem]]:
        """Return an address and its resources; raise InvalidInput if it is none and no resource has it either."""
        address = fold_stored(email)
        found: list[Resource | DamagedItem] = []
        async for item in read_everything(self.db):
            stored = item.text("submitterEmail") if isinstance(item, DamagedItem) else item.submitter_email
            if address not in {"", ERASED} and fold_stored(stored) == address:
                found.append(item)
        if not found:
            validate_email(email)
        return address, found

    async def _read_records(self, address: str) -> list[PersonLink | Subscription]:
        """Return what is stored under an address; nothing is under one that could not have been sent a mail."""
        if explain_email(address):
            return []
        return [record async for record in self.db.everything_of(address).with_expired()]

    async def _read_mails(self, address: str) -> Sequence[AnyMessage]:
        """Return the mails to an address, also those that have expired and are not deleted yet."""
        if explain_email(address):
            return []
        return [mail async for mail in self.messages.accounts.messages_about(address).with_expired()]

    async def _find_linked(self, records: Sequence[object], kind: str) -> list[Any]:
        links = [each for each in records if isinstance(each, PersonLink) and each.kind == kind]
        found = [await self._read_linked(link) for link in links]
        return [item for item in found if item is not None]

    async def _read_linked(self, link: PersonLink) -> Any:
        slug, _, key = link.reference.rpartition("/")
        match link.kind:
            case "review":
                return await self.db.review(slug, key)
            case "suggestion":
                return await self.db.suggestion(slug, key)
            case "claim":
                return await self.db.ownership(slug, key)
            case _:
                return await self.db.unconfirmed(link.reference)

    async def _erase_resource(self, slug: str, actor: Actor) -> None:
        at = await next_moment(self.db, self.clock, slug)
        decision = Decision(resource_slug=slug, decided_at=at, actor=actor.name, verdict="erased")
        erase = self.db.erase(slug, ERASED, ERASED, ERASED, None, None, None, damage=set())
        with suppress(Conflict):  # deleted meanwhile
            await self.db.transact(erase, self.db.create(decision)).unread()
        left = await find_stored(self.db, slug)
        if isinstance(left, DamagedItem) and left.text("publicFeed"):  # something else cannot be read either
            await publish_damaged(self.db, left, from_ms(self.clock.millis()))

    async def _erase_linked(self, link: PersonLink, address: str) -> None:
        item = await self._read_linked(link)
        slug, _, key = link.reference.rpartition("/")
        writes: list[Write[Any]] = []
        if link.kind == "review":
            await self.reviews.erase(slug, key)
        elif link.kind == "suggestion" and item is not None:
            writes.append(self.db.forget_author(slug, key, author=None))
        elif link.kind == "claim" and item is not None:
            writes.append(self.db.drop_ownership(slug, key))
        elif link.kind == "submission" and item is not None and holds_address(item.form, address):
            writes.append(self.db.drop_reservation(link.reference))
        for write in writes:
            with suppress(Conflict):
                await write


def holds_address(form: Any, address: str) -> bool:
    """Return whether an unconfirmed form is of this address."""
    return bool(form) and fold_email(str(form["submitter"]["companyEmail"])) == address


def fold_stored(address: str) -> str:
    """Return the canonical form of an address, also of one that the original system stored without a check."""
    return fold_email(unicodedata.normalize("NFC", address.strip()))


def show_submission(item: Resource | DamagedItem) -> dict[str, Any]:
    """Return a resource with its submitter."""
    if isinstance(item, DamagedItem):
        names = [name for name in item.raw if name.startswith(("submitter", "resource"))]
        return {name: item.text(name) for name in sorted(names)} | {"damaged": item.reason}
    return {
        "resourceSlug": item.resource_slug,
        "submissionId": item.submission_id,
        "createdAt": format_time(item.created_at),
        "submittedAt": format_time(item.submitted_at),
        "submitterFirstName": item.submitter_first_name,
        "submitterLastName": item.submitter_last_name,
        "submitterEmail": item.submitter_email,
        "submitterCompany": item.submitter_company,
        "submitterPhone": item.submitter_phone,
        **read_content(item).to_fields(),
    }


def show_record(record: PersonLink | Subscription | Item) -> dict[str, Any]:
    """Return a record with JSON types."""
    return {"kind": type(record).__name__, **record.model_dump(mode="json")}
