"""The settings of the directory. docs/systems/kelifax.md shows them; a test compares them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from hashrange_systems.shared.application.settings import (
    SystemSettings,
    declare_exemptions,
    declare_keys,
    number,
    setting,
)
from hashrange_systems.shared.fetching.policy import Exemption
from hashrange_systems.shared.proof_of_work import DEFAULT_COST


@dataclass(frozen=True, kw_only=True)
class Settings(SystemSettings):
    """The settings of a process."""

    system: ClassVar[str] = "kelifax"

    site: str = setting("Kelifax", "The name of the directory.", str)
    logos: str | None = setting(
        None,
        "Where logos are stored: a directory, or `s3://bucket/prefix`; the same for all processes.",
        str,
        usual="the data directory",
    )
    keys: Path | None = declare_keys()
    allow: frozenset[Exemption] = declare_exemptions("the link checker")
    work: int = setting(1, "`0`: no background work in this process; another one must do it.", number(0, 1))
    proof_cost: int = setting(
        DEFAULT_COST, "How many hashes the browser of a submitter computes at most.", number(1, 10_000_000)
    )

    @property
    def works(self) -> bool:
        """Whether this process does background work."""
        return self.work == 1

    @property
    def mail_name(self) -> str:
        """The name that e-mails are from."""
        return self.site
