"""What the commands print: tables for people, JSON for programs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from hashrange_systems.shared.cli.output import print_json, print_table

if TYPE_CHECKING:
    from hashrange_systems.kelifax.schema import AnyResource, Decision
    from hashrange_systems.kelifax.service.analytics import AnalyticsReport
    from hashrange_systems.kelifax.service.tolerant_read import DamagedItem


def describe_entry(entry: AnyResource | DamagedItem) -> dict[str, Any]:
    """Return a resource for an operator, personal data included."""
    from hashrange_systems.kelifax.service.privacy import show_submission
    from hashrange_systems.kelifax.service.tolerant_read import DamagedItem as Damaged

    status = entry.status if isinstance(entry, Damaged) else entry.resource_status
    return {"resourceStatus": status, **show_submission(entry)}


def print_entries(title: str, entries: Sequence[AnyResource | DamagedItem], *, as_json: bool) -> None:
    """Print resources."""
    rows = [describe_entry(entry) for entry in entries]
    if as_json:
        print_json(rows)
        return
    names = ("resourceSlug", "resourceStatus", "submittedAt", "submitterEmail", "resourceName", "damaged")
    print_table(
        title,
        ("slug", "status", "submitted", "by", "name", "damage"),
        ([str(row.get(name) or "") for name in names] for row in rows),
        empty="Nothing waits.",
    )


def describe_decision(decision: Decision) -> dict[str, Any]:
    """Return an audit entry."""
    return {
        "resourceSlug": decision.resource_slug,
        "decidedAt": decision.decided_at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "actor": decision.actor,
        "verdict": decision.verdict,
        "reason": decision.reason,
    }


def print_decisions(decisions: Iterable[Decision], *, as_json: bool) -> None:
    """Print audit entries."""
    rows = [describe_decision(decision) for decision in decisions]
    if as_json:
        print_json(rows)
        return
    names = ("decidedAt", "verdict", "actor", "reason")
    print_table("Audit", names, ([str(row[name] or "") for name in names] for row in rows), empty="No decisions.")


def print_report(report: AnalyticsReport) -> None:
    """Print the figures of the directory."""
    import typer

    states = ", ".join(f"{count} {name}" for name, count in sorted(report.statuses.items()))
    damaged = f", {report.damaged} damaged" if report.damaged else ""
    typer.echo(f"{report.total} resources: {states or 'none'}{damaged}")
    print_table(
        "Submitters by domain",
        ("domain", "submitted", "approved", "views"),
        ((row.domain, str(row.submitted), str(row.approved), str(row.views)) for row in report.domains),
        empty="Nobody submitted anything.",
        right=("submitted", "approved", "views"),
    )
    print_table(
        "Most viewed",
        ("slug", "name", "domain", "views"),
        ((row.slug, row.name, row.domain, str(row.views)) for row in report.most_viewed),
        empty="Nothing is published.",
        right=("views",),
    )
