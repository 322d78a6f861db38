"""Counts the references to logos: follows the stream of the resources, whoever writes them, and records each use.

Recording a use twice changes nothing, so that changes may be handled again. One process at a time follows.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from datetime import timedelta

from hashrange import Conflict, Consumer, ItemChange, StreamTrimmed
from hashrange_systems.kelifax.logos.logo_schema import KeptLogo, LogoRecords, LogoUse, ResourceLogo
from hashrange_systems.kelifax.logos.logos import NAME, TEMPORARY
from hashrange_systems.kelifax.schema import Kelifax, checkpoints
from hashrange_systems.shared.epoch import from_ms

log = logging.getLogger(__name__)

RELEASED = timedelta(hours=1)  # after which a logo is looked at that lost a reference


@dataclass(slots=True)
class LogoConsumer:
    """Keeps the uses of logos in step with the resources."""

    resources: Kelifax
    db: LogoRecords
    _consumer: Consumer = field(init=False)

    def __post_init__(self) -> None:
        self._consumer = self.resources.consumer("logos", checkpoints, attempts=3)
        self._consumer.on(ResourceLogo)(self._record)

    async def catch_up(self) -> None:
        """Record the uses that changed; return at once if another process does so at this moment."""
        try:
            await self._consumer
        except Conflict:
            log.info("another process counts the references to logos")
        except StreamTrimmed:
            log.warning("changes of the last day were missed: all references to logos are recorded again")
            await self._consumer.forget()
            await self._record_all()

    async def _record_all(self) -> None:
        """Record the use of every resource; uses that ended while changes were missed keep their logo."""
        async for resource in self.resources.everything().skip_unreadable():
            await self._add(resource.logo_image, resource.resource_slug)

    async def _record(self, change: ItemChange[ResourceLogo]) -> None:
        before = change.before.name if change.before else None
        after = change.after.name if change.after else None
        slug = (change.after or change.before or _missing()).resource_slug
        await self._add(after, slug)
        if before and before != after and NAME.fullmatch(before):
            await self.db.drop_use(before, slug)
            await self._check_soon(before)

    async def _add(self, name: str | None, slug: str) -> None:
        if name and NAME.fullmatch(name):
            await self.db.put(LogoUse(name=name, slug=slug))

    async def _check_soon(self, name: str) -> None:
        """Let a logo that may be unused now be checked soon."""
        logo = await self.db.logo(name)
        now = from_ms(self.resources.session.clock.millis())
        if isinstance(logo, KeptLogo) and logo.due_at > now + TEMPORARY:
            try:
                await self.db.look_later(logo, due_at=now + RELEASED)
            except Conflict:
                log.debug("the logo was changed meanwhile")


def _missing() -> ResourceLogo:
    raise AssertionError("a change has an item before it or after it")
