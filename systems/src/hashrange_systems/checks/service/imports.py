"""Adds the checks of a file of another monitor.

The file is parsed in the sandbox, and each check is validated as any other.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from hashrange_systems.checks.model.delay import MAX_DELAY_MS
from hashrange_systems.checks.model.import_file import read_import_file
from hashrange_systems.checks.model.imported_check import ImportedCheck, ImportedFile
from hashrange_systems.checks.model.tier import Tier, read_tier
from hashrange_systems.checks.registry import CHECK_TYPES
from hashrange_systems.checks.service.check_input import CheckInput
from hashrange_systems.checks.service.checks import CheckService
from hashrange_systems.checks.service.ownership import find_active_user
from hashrange_systems.shared.errors import ApplicationError, FieldError, InvalidInput, LimitReached
from hashrange_systems.shared.sandbox.errors import SandboxError
from hashrange_systems.shared.sandbox.sandbox import Sandbox

SECONDS = 10.0
PAUSE_S = 0.001  # before each check


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportRow:
    """What became of a check of the file; `checkid` if it was added."""

    name: str
    check_type: str
    outcome: str  # added, would be added, refused, skipped
    text: str = ""
    checkid: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportReport:
    """What became of a file."""

    source: str
    rows: tuple[ImportRow, ...]
    only_tried: bool = False

    @property
    def added(self) -> int:
        """How many checks were added, or would be."""
        return sum(row.outcome in ("added", "would be added") for row in self.rows)


@dataclass(frozen=True, slots=True)
class Imports:
    """Imports files for users."""

    checks: CheckService

    async def run(self, userid: str, content: bytes, *, only_try: bool = False) -> ImportReport:
        """Add the checks of a file, or only report what would be added; raise InvalidInput if it is no such file."""
        user = await find_active_user(self.checks.db, userid)
        found = await parse_file(content, userid)
        tier, room = read_tier(user.tier), user.check_limit - (user.check_count or 0)
        rows: list[ImportRow] = []
        for each in found.checks:
            await asyncio.sleep(PAUSE_S)  # an embedded database never suspends the task: others are served meanwhile
            if room <= 0:
                rows.append(describe(each, "refused", f"the tier {tier.name} allows no more checks"))
                continue
            rows.append(await (self._try(userid, each, tier) if only_try else self._add(userid, each, tier)))
            room -= rows[-1].outcome != "refused"
        skipped = [
            ImportRow(name=each.name, check_type="", outcome="skipped", text=each.reason) for each in found.skipped
        ]
        return ImportReport(source=found.source, rows=(*rows, *skipped), only_tried=only_try)

    async def _try(self, userid: str, each: ImportedCheck, tier: Tier) -> ImportRow:
        try:
            await self.checks.validate(userid, make_input(each, tier))
        except ApplicationError as error:
            return describe(each, "refused", str(error))
        return describe(each, "would be added")

    async def _add(self, userid: str, each: ImportedCheck, tier: Tier) -> ImportRow:
        try:
            check = await self.checks.create(userid, make_input(each, tier))
            if each.paused:
                await self.checks.pause(userid, check.checkid)
        except LimitReached:
            return describe(each, "refused", f"the tier {tier.name} allows no more checks")
        except ApplicationError as error:
            return describe(each, "refused", str(error))
        return describe(each, "added", checkid=check.checkid)


async def parse_file(content: bytes, tenant: str) -> ImportedFile:
    """Return the checks of a file, parsed in a process of its own; raise InvalidInput."""
    sandbox = Sandbox(processes=1, seconds=SECONDS)
    try:
        found = await sandbox.run(read_import_file, content, tenant=tenant)
    except SandboxError as error:
        raise InvalidInput([FieldError("file", f"cannot be read: {error}")]) from error
    finally:
        sandbox.close()
    if found.error:
        raise InvalidInput([FieldError("file", found.error)])
    return found


def make_input(each: ImportedCheck, tier: Tier) -> CheckInput:
    """Return the input for a check; its delay is at least what the tier and the type allow."""
    known = CHECK_TYPES[each.check_type]
    delay = max(each.delay_ms, tier.shortest_delay_ms, known.shortest_delay_ms)
    return CheckInput(
        check_type=each.check_type,
        url=each.url,
        name=each.name or None,
        delay_ms=known.usual_delay_ms if known.receives_signals else min(delay, MAX_DELAY_MS),
        attributes=each.attributes,
        group=each.group,
        tags=each.tags or None,
    )


def describe(each: ImportedCheck, outcome: str, text: str = "", checkid: str | None = None) -> ImportRow:
    """Return the row of a check."""
    words = [text, *each.notes, *(["paused"] if each.paused else [])]
    text = "; ".join(word for word in words if word)
    return ImportRow(name=each.name, check_type=each.check_type, outcome=outcome, text=text, checkid=checkid)
