"""`hashrange kelifax queue|show|approve|reject|unpublish|undo|delete`: decisions of an operator."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hashrange_systems.kelifax.cli.command_target import SlugArgument, run_with_services
from hashrange_systems.shared.cli.database_target import AsJson, Data, DatabaseTarget, Target

if TYPE_CHECKING:
    from hashrange_systems.kelifax.schema import Decision
    from hashrange_systems.kelifax.service.moderation_detail import ModerationDetail
    from hashrange_systems.kelifax.services import Services

QUEUE_HELP = """List what waits for a moderator, oldest first; damaged entries are marked.

[bold]Example[/bold]

\b
  hashrange kelifax queue --limit 50 --json"""

Slugs = Annotated[list[str], typer.Argument(metavar="SLUG...", help="The slugs of the resources.")]
Reason = Annotated[str, typer.Option("--reason", help="Why; the submitter reads it.", prompt=True)]


def queue(
    limit: Annotated[int, typer.Option("--limit", min=1, max=100, help="At most so many.")] = 20,
    data: Data = None,
    database: Target = None,
    as_json: AsJson = False,
) -> None:
    """List what waits."""
    from hashrange_systems.kelifax.cli.entry_tables import print_entries

    async def act(services: Services) -> Sequence[Any]:
        return (await services.moderation.queue(limit)).entries

    print_entries("Waiting", run_with_services(DatabaseTarget(data, database), act), as_json=as_json)


def show(slug: SlugArgument, data: Data = None, database: Target = None, as_json: AsJson = False) -> None:
    """Show a resource with its submitter and its audit entries."""
    from hashrange_systems.kelifax.cli.entry_tables import describe_decision, describe_entry, print_decisions
    from hashrange_systems.shared.cli.output import print_json

    async def act(services: Services) -> ModerationDetail:
        return await services.moderation.read_detail(slug)

    detail = run_with_services(DatabaseTarget(data, database), act)
    fields = describe_entry(detail.resource)
    if as_json:
        print_json(fields | {"decisions": [describe_decision(each) for each in detail.decisions]})
        return
    for name, value in fields.items():
        typer.echo(f"{name:20} {value if value is not None else ''}")
    print_decisions(detail.decisions, as_json=False)


def approve(slugs: Slugs, data: Data = None, database: Target = None, as_json: AsJson = False) -> None:
    """Publish pending resources."""
    _decide(
        DatabaseTarget(data, database),
        slugs,
        lambda services, slug, actor: services.moderation.approve(slug, actor),
        as_json=as_json,
    )


def reject(slugs: Slugs, reason: Reason, data: Data = None, database: Target = None, as_json: AsJson = False) -> None:
    """Reject pending resources, or damaged ones."""
    _decide(
        DatabaseTarget(data, database),
        slugs,
        lambda services, slug, actor: services.moderation.reject(slug, actor, reason),
        as_json=as_json,
    )


def unpublish(
    slugs: Slugs, reason: Reason, data: Data = None, database: Target = None, as_json: AsJson = False
) -> None:
    """Take approved resources off the site."""
    _decide(
        DatabaseTarget(data, database),
        slugs,
        lambda services, slug, actor: services.moderation.unpublish(slug, actor, reason),
        as_json=as_json,
    )


def undo(slugs: Slugs, data: Data = None, database: Target = None, as_json: AsJson = False) -> None:
    """Take back the latest decision on resources, within ten minutes."""
    _decide(
        DatabaseTarget(data, database),
        slugs,
        lambda services, slug, actor: services.moderation.undo(slug, actor),
        as_json=as_json,
    )


def _decide(
    target: DatabaseTarget,
    slugs: Sequence[str],
    decide: Callable[[Services, str, Any], Awaitable[Decision]],
    *,
    as_json: bool,
) -> None:
    from hashrange_systems.kelifax.cli.entry_tables import describe_decision
    from hashrange_systems.kelifax.service.actor import OPERATOR
    from hashrange_systems.shared.cli.output import print_json

    async def act(services: Services) -> list[Decision]:
        return [await decide(services, slug, OPERATOR) for slug in slugs]

    decisions = run_with_services(target, act)
    if as_json:
        print_json([describe_decision(decision) for decision in decisions])
        return
    for decision in decisions:
        typer.echo(f"{decision.verdict}  {decision.resource_slug}")


def delete(
    slug: SlugArgument,
    reason: Annotated[str, typer.Option("--reason", help="Why, for the audit.")] = "",
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    data: Data = None,
    database: Target = None,
) -> None:
    """Delete a resource with everything that belongs to it; its audit entries stay. If interrupted, run it again."""
    if not yes:
        typer.confirm(f"Delete {slug} with its reviews, votes and history?", abort=True)

    async def act(services: Services) -> None:
        from hashrange_systems.kelifax.service.actor import OPERATOR

        await services.deletion.delete(slug, OPERATOR, reason)

    run_with_services(DatabaseTarget(data, database), act)
    typer.echo(f"deleted  {slug}")
