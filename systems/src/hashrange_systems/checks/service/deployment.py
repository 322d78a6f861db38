"""What all processes of a deployment must agree on, kept in the database: the address policy and the keys.

A process that does not agree does not start. Otherwise one worker could disable checks that another may run, or fail
exactly the runs that must alert.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hashrange import Clock, Conflict, HashrangeError, Taken
from hashrange_systems.checks.deployment_schema import AddressPolicy, KeyMark
from hashrange_systems.checks.schema import Checks
from hashrange_systems.shared.epoch import from_ms
from hashrange_systems.shared.errors import EditConflict, FieldError, InvalidInput
from hashrange_systems.shared.fetching.errors import PolicyInvalid
from hashrange_systems.shared.fetching.policy import parse_exemptions

LOOPBACK = ("127.0.0.0/8", "::1", "localhost")  # the exemptions of the demo
MARK = "these are the keys"
CHANNELS_TRIED = 1000  # by the first process that has keys, before it writes the mark


class DeploymentMismatch(HashrangeError):
    """This process disagrees with the database; the text says how to mend it."""


@dataclass(frozen=True, slots=True)
class DeploymentSettings:
    """Reads and writes what the processes agree on."""

    db: Checks
    clock: Clock

    # ── the address policy ───────────────────────────────────────────────────────────────────────────────────────────
    def agree_on_policy(self, given: Sequence[str] | None, demo: Sequence[str] = ()) -> list[str]:
        """Return the exemptions of the deployment; the first process stores its own, and another one must not differ.

        `given` is None if this process has none of its own. The exemptions of the demo are added to what is stored, so
        that all processes have them.
        """
        stored = self.db.address_policy().consistent().run() or self._store_policy((*(given or ()), *demo))
        if not set(demo) <= set(stored.allow):
            stored = self._extend_policy(stored, demo)
        if given is not None and set(stored.allow) not in (set(given), {*given, *LOOPBACK}):
            wanted, now = ",".join(given), ",".join(stored.allow) or "none"
            raise DeploymentMismatch(
                f"CHECKS_ALLOW is {wanted!r}, but the processes of this database have agreed on {now}. "
                f"hashrange checks policy set '{wanted}' changes it for all of them; or unset CHECKS_ALLOW."
            )
        return stored.allow

    def _store_policy(self, allow: Sequence[str]) -> AddressPolicy:
        policy = AddressPolicy(allow=list(allow), updated_at=from_ms(self.clock.millis()))
        try:
            self.db.create(policy).run()
        except Taken:  # another process was faster
            return self.db.address_policy().consistent().required().run()
        return policy

    def _extend_policy(self, stored: AddressPolicy, more: Sequence[str]) -> AddressPolicy:
        allow, at = list(dict.fromkeys((*stored.allow, *more))), from_ms(self.clock.millis())
        try:
            return self.db.change_policy(allow, at, revision=stored.revision + 1, seen=stored.revision).run()
        except Conflict:  # changed at the same moment
            return self._extend_policy(self.db.address_policy().consistent().required().run(), more)

    def load_policy(self) -> list[str]:
        """Return the exemptions that are stored, without an event loop."""
        stored = self.db.address_policy().run()
        return stored.allow if stored else []

    async def read_policy(self) -> list[str]:
        """Return the exemptions that are stored."""
        stored = await self.db.address_policy()
        return stored.allow if stored else []

    async def change_policy(self, allow: Sequence[str]) -> AddressPolicy:
        """Change the exemptions of all processes, on purpose; running processes use them within seconds."""
        try:
            parse_exemptions(allow)
        except PolicyInvalid as error:
            raise InvalidInput([FieldError("policy", f"cannot be used: {error}")]) from error
        at = from_ms(self.clock.millis())
        stored = await self.db.address_policy().consistent()
        if stored is None:
            return self._store_policy(allow)
        try:
            return await self.db.change_policy(list(allow), at, revision=stored.revision + 1, seen=stored.revision)
        except Conflict:
            raise EditConflict("policy") from None

    # ── the keys ─────────────────────────────────────────────────────────────────────────────────────────────────────
    def verify_keys(self, *, kept: bool) -> None:
        """Raise DeploymentMismatch if this process cannot decrypt what the database holds; `kept`: its keys are a file.

        The first process with keys of its own leaves a mark for the others.
        """
        try:
            mark = self.db.key_mark().consistent().run()
            if mark is None:
                self._try_channels()
        except HashrangeError as error:
            raise DeploymentMismatch(
                "This process cannot decrypt the webhook secrets in the database: its keys are others. "
                "Copy keys.json of the directory of the first process, or set CHECKS_KEYS to it."
            ) from error
        if mark is None and kept:
            self._leave_mark()

    def _try_channels(self) -> None:
        for number, channel in enumerate(self.db.all_channels()):
            if channel.secret is not None or number >= CHANNELS_TRIED:
                return

    def _leave_mark(self) -> None:
        try:
            self.db.create(KeyMark(mark=MARK, created_at=from_ms(self.clock.millis()))).run()
        except Taken:
            self.verify_keys(kept=True)
