"""An incident: from the first failure to the first success, with cause and evidence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hashrange_systems.checks.model.fetch_result import Cause
from hashrange_systems.checks.model.outcome import Outcome, drop_absent, read_choice, read_text, read_whole
from hashrange_systems.shared.text import shorten

MAX_EVIDENCE_LENGTH = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Incident:
    """An outage; open while `ended_at` is None. `interrupted` if it ended because the check was paused."""

    started_at: int
    cause: Cause | None
    evidence: str
    ended_at: int | None = None
    interrupted: bool = False


def make_incident_start(outcome: Outcome, at: int) -> Incident:
    """Return the incident that starts with a failure."""
    status = f"HTTP {outcome.http_status}: " if outcome.http_status is not None else ""
    return Incident(started_at=at, cause=outcome.cause, evidence=shorten(status + outcome.message, MAX_EVIDENCE_LENGTH))


def write_incident(incident: Incident) -> dict[str, Any]:
    """Return the incident as it is stored."""
    return drop_absent(
        {
            "startedAt": incident.started_at,
            "endedAt": incident.ended_at,
            "cause": incident.cause.value if incident.cause else None,
            "evidence": incident.evidence or None,
            "interrupted": True if incident.interrupted else None,
        }
    )


def read_incident(stored: object) -> Incident | None:
    """Read a stored incident; None if there is none or it has no start."""
    if not isinstance(stored, Mapping) or (started_at := read_whole(stored.get("startedAt"))) is None:
        return None
    return Incident(
        started_at=started_at,
        ended_at=read_whole(stored.get("endedAt")),
        cause=read_choice(Cause, stored.get("cause")),
        evidence=read_text(stored.get("evidence")) or "",
        interrupted=stored.get("interrupted") is True,
    )
