"""What a user is told when an input is refused: every fault at once, each beside the field it belongs to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hashrange_systems.checks.errors import ChecksError


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong: the field, as its owner spells it, and what it must be."""

    field: str
    message: str

    def __str__(self) -> str:
        return f"{self.field} {self.message}"


class InputRefused(ChecksError):
    """What was asked for breaks a rule; `faults` names every field and rule."""

    status = 422

    def __init__(self, faults: Sequence[Fault]) -> None:
        super().__init__("; ".join(str(fault) for fault in faults))
        self.faults = tuple(faults)
