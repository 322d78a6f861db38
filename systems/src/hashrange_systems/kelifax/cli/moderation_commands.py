"""`hashrange kelifax queue|show|approve|reject|unpublish|undo|delete`: decisions of an operator."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hashrange_systems.shared.cli.database_target import AsJson

if TYPE_CHECKING:
    from hashrange_systems.kelifax.application import Application
    from hashrange_systems.kelifax.schema import Decision
    from hashrange_systems.shared.cli.system_commands import Runner

QUEUE_HELP = """List what waits for a moderator, oldest first; damaged entries are marked.

[bold]Example[/bold]

\b
  hashrange kelifax queue --limit 50 --json"""

Slugs = Annotated[list[str], typer.Argument(metavar="SLUG...", help="The slugs of the resources.")]
SlugArgument = Annotated[str, typer.Argument(metavar="SLUG", help="The slug of the resource.")]
Reason = Annotated[str, typer.Option("--reason", help="Why; the submitter reads it.", prompt=True)]


def queue(
    runner: Runner[Application],
    limit: Annotated[int, typer.Option("--limit", min=1, max=100, help="At most so many.")] = 20,
    as_json: AsJson = False,
) -> None:
    """List what waits."""
    from hashrange_systems.kelifax.cli.entry_tables import print_entries

    waiting = runner.run(lambda services: services.moderation.queue(limit))
    print_entries("Waiting", waiting.entries, as_json=as_json)


def show(runner: Runner[Application], slug: SlugArgument, as_json: AsJson = False) -> None:
    """Show a resource with its submitter and its audit entries."""
    from hashrange_systems.kelifax.cli.entry_tables import describe_decision, describe_entry, print_decisions
    from hashrange_systems.shared.cli.output import print_json

    detail = runner.run(lambda services: services.moderation.read_detail(slug))
    fields = describe_entry(detail.resource)
    if as_json:
        print_json(fields | {"decisions": [describe_decision(each) for each in detail.decisions]})
        return
    for name, value in fields.items():
        typer.echo(f"{name:20} {value if value is not None else ''}")
    print_decisions(detail.decisions, as_json=False)


def approve(runner: Runner[Application], slugs: Slugs, as_json: AsJson = False) -> None:
    """Publish pending resources."""
    _decide(
        runner,
        slugs,
        lambda services, slug, actor: services.moderation.approve(slug, actor),
        as_json=as_json,
    )


def reject(runner: Runner[Application], slugs: Slugs, reason: Reason, as_json: AsJson = False) -> None:
    """Reject pending resources, or damaged ones."""
    _decide(
        runner,
        slugs,
        lambda services, slug, actor: services.moderation.reject(slug, actor, reason),
        as_json=as_json,
    )


def unpublish(runner: Runner[Application], slugs: Slugs, reason: Reason, as_json: AsJson = False) -> None:
    """Take approved resources off the site."""
    _decide(
        runner,
        slugs,
        lambda services, slug, actor: services.moderation.unpublish(slug, actor, reason),
        as_json=as_json,
    )


def undo(runner: Runner[Application], slugs: Slugs, as_json: AsJson = False) -> None:
    """Take back the latest decision on resources, within ten minutes."""
    _decide(
        runner,
        slugs,
        lambda services, slug, actor: services.moderation.undo(slug, actor),
        as_json=as_json,
    )


def _decide(
    runner: Runner[Application],
    slugs: Sequence[str],
    decide: Callable[[Application, str, Any], Awaitable[Decision]],
    *,
    as_json: bool,
) -> None:
    from hashrange_systems.kelifax.cli.entry_tables import describe_decision
    from hashrange_systems.kelifax.service.actor import OPERATOR
    from hashrange_systems.shared.cli.output import print_json

    async def act(services: Application) -> list[Decision]:
        return [await decide(services, slug, OPERATOR) for slug in slugs]

    decisions = runner.run(act)
    if as_json:
        print_json([describe_decision(decision) for decision in decisions])
        return
    for decision in decisions:
        typer.echo(f"{decision.verdict}  {decision.resource_slug}")


def delete(
    runner: Runner[Application],
    slug: SlugArgument,
    reason: Annotated[str, typer.Option("--reason", help="Why, for the audit.")] = "",
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Delete a resource with everything that belongs to it; its audit entries stay. If interrupted, run it again."""
    from hashrange_systems.kelifax.service.actor import OPERATOR

    if not yes:
        typer.confirm(f"Delete {slug} with its reviews, votes and history?", abort=True)
    runner.run(lambda services: services.deletion.delete(slug, OPERATOR, reason))
    typer.echo(f"deleted  {slug}")
