"""The JSON output of the commands (`--json`): one object or one list, with the names of the API."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hashrange_systems.shared.cli.output import to_json_types

if TYPE_CHECKING:
    from datetime import datetime

    from hashrange_systems.checks.history_schema import Ended, Ongoing, Run
    from hashrange_systems.checks.schema import AnyCheck, ApiKey, User
    from hashrange_systems.checks.service.history import ReportRow


def user_json(user: User) -> dict[str, Any]:
    """Return a user."""
    return {
        "userid": user.userid,
        "email": user.email,
        "tier": user.tier,
        "status": user.status,
        "checkCount": user.check_count,
        "checkLimit": user.check_limit,
        "createdAt": format_time(user.created_at),
    }


def key_json(key: ApiKey) -> dict[str, Any]:
    """Return an API key, without its text."""
    return {
        "keyId": key.key_id,
        "name": key.name,
        "createdAt": format_time(key.created_at),
        "lastUsedAt": format_time(key.last_used_at),
    }


def check_json(check: AnyCheck) -> dict[str, Any]:
    """Return a check."""
    return {
        "checkid": check.checkid,
        "userid": check.userid,
        "name": check.name,
        "url": check.url,
        "checkType": check.check_type,
        "status": check.status,
        "delayMs": check.delay_ms,
        "attributes": to_json_types(check.attributes),
        "createdAt": format_time(check.created_at),
        "updatedAt": format_time(check.updated_at),
        "lastExecutedAt": format_time(check.last_executed_at),
        "lastResult": to_json_types(check.last_result),
        "nextRunAt": format_time(getattr(check, "next_run_at", None)),
        "failedReason": getattr(check, "failed_reason", None),
    }


def run_json(run: Run) -> dict[str, Any]:
    """Return a run."""
    return {"at": format_time(run.at), "verdict": run.verdict, "result": to_json_types(dict(run.result))}


def incident_json(incident: Ongoing | Ended) -> dict[str, Any]:
    """Return an incident."""
    return {
        "startedAt": format_time(incident.started_at),
        "endedAt": format_time(incident.ended_at),
        "cause": incident.cause,
        "evidence": incident.evidence,
        "interrupted": incident.interrupted,
    }


def report_json(row: ReportRow) -> dict[str, Any]:
    """Return a row of a report."""
    return {
        "checkid": row.check.checkid,
        "name": row.check.name,
        "url": row.check.url,
        "uptimePercent": None if row.uptime is None else float(row.uptime * 100),
        "downMs": row.rollup.down,
        "unknownMs": row.rollup.unknown + row.rollup.unobserved,
        "pausedMs": row.rollup.paused,
        "maintenanceMs": row.rollup.maintenance,
        "runs": row.rollup.runs,
        "incidents": [incident_json(incident) for incident in row.incidents],
        "p50": row.times.p50,
        "p95": row.times.p95,
        "p99": row.times.p99,
    }


def format_time(moment: datetime | None) -> str | None:
    """Return a time in ISO 8601, UTC, with milliseconds."""
    return None if moment is None else moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
