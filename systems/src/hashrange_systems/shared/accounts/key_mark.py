"""A mark that only the right keys can decrypt: a process with other keys does not start."""

from __future__ import annotations

from hashrange import Clock, HashrangeError, SealError, Taken, Unreadable
from hashrange_systems.shared.accounts.schema import Accounts, KeyMark
from hashrange_systems.shared.epoch import from_ms

MARK = "these are the keys"


class KeysDiffer(HashrangeError):
    """This process cannot decrypt what the database holds; the text says how to mend it."""


def verify_keys(accounts: Accounts, clock: Clock, variable: str, *, kept: bool) -> None:
    """Raise KeysDiffer if this process cannot decrypt what the database holds.

    The first process whose keys are `kept` in a file leaves the mark for the others; `variable` names that file.
    """
    try:
        mark = accounts.key_mark().consistent().run()
    except (SealError, Unreadable) as error:
        raise KeysDiffer(
            "This process cannot decrypt the secrets in the database: its keys are others. "
            f"Copy keys.json of the directory of the first process, or set {variable} to it."
        ) from error
    if mark is None and kept:
        try:
            accounts.create(KeyMark(mark=MARK, created_at=from_ms(clock.millis()))).run()
        except Taken:  # by another process, at the same moment
            verify_keys(accounts, clock, variable, kept=kept)
