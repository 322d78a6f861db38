"""`hashrange kelifax check-links|adopt|analytics|person|erase|worker`: the operation of the directory."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from hashrange_systems.shared.cli.database_target import AsJson

if TYPE_CHECKING:
    from hashrange_systems.kelifax.application import Application
    from hashrange_systems.kelifax.service.link_checks import LinkOutcome
    from hashrange_systems.shared.cli.system_commands import Runner

LINKS_HELP = """Check the links that are due, or those of some resources now.

A link that has failed for a week unpublishes its resource.

[bold]Examples[/bold]

\b
  hashrange kelifax check-links
  hashrange kelifax check-links pixel-kit"""
ADOPT_HELP = """Adopt a table of the original system; it may be repeated at any time.

Adds the missing tables and indexes, publishes approved resources with their approvedAt, writes the claims of URLs,
repairs the lists of tags, and reports URLs that two resources have and items that cannot be read. No resource is
removed. It also turns on the deletion protection of the tables. KELIFAX_TABLE names the table.

[bold]Examples[/bold]

\b
  KELIFAX_TABLE=prod-resources hashrange kelifax adopt --target aws --dry-run
  KELIFAX_TABLE=prod-resources hashrange kelifax adopt --target aws"""
ANALYTICS_HELP = """Show resources by the domain of their submitters, and the most viewed ones; reads the whole table.

[bold]Example[/bold]

\b
  hashrange kelifax analytics --domain techcorp.com --min-views 100"""
PERSON_HELP = """Print everything that is stored about an e-mail address, as JSON.

[bold]Example[/bold]

\b
  hashrange kelifax person zoe@example.com > zoe.json"""
ERASE_HELP = """Erase the personal data of an e-mail address; published resources stay without their submitter.

[bold]Example[/bold]

\b
  hashrange kelifax erase zoe@example.com --yes"""
WORKER_HELP = """Do the background work until Ctrl-C: mails, links, digests, counters, features.

[bold]Example[/bold]

\b
  hashrange kelifax worker --target aws

Any number may work on one database. Give all of them the same KELIFAX_ variables."""

Address = Annotated[str, typer.Argument(metavar="EMAIL", help="The e-mail address.")]


def check_links(
    runner: Runner[Application],
    slugs: Annotated[list[str] | None, typer.Argument(metavar="[SLUG...]", help="Only these, now.")] = None,
    as_json: AsJson = False,
) -> None:
    """Check links."""
    from hashrange_systems.shared.cli.output import print_json, print_table

    async def act(services: Application) -> list[LinkOutcome]:
        if slugs:
            return [await services.link_checks.check(slug) for slug in slugs]
        return await services.link_checks.run_due()

    found = runner.run(act)
    if as_json:
        print_json([asdict(outcome) for outcome in found])
        return
    rows = [(each.slug, "works" if each.alive else "fails", each.text) for each in found]
    print_table("Links", ("slug", "link", "outcome"), rows, empty="No link is due.")


def adopt(
    runner: Runner[Application],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Change nothing: say what would be done.")] = False,
    as_json: AsJson = False,
) -> None:
    """Adopt a table of the original system."""
    from hashrange_systems.shared.cli.output import print_json

    report = runner.run(lambda services: services.adoption.adopt(dry_run=dry_run), create=False)
    if as_json:
        print_json(asdict(report))
        return
    for step in report.steps:
        typer.echo(f"{'would ' if dry_run else ''}{step}")
    typer.echo(
        f"{report.resources} resources: {report.published} {'to publish' if dry_run else 'published'}, "
        f"{report.claimed} URLs claimed, {report.completed} search texts written, "
        f"{report.tags} entries of tags repaired"
    )
    for conflict in report.conflicts:
        typer.echo(f"same URL  {conflict.kept}  {conflict.other}  {conflict.url}")
    for slug, reason in report.damaged.items():
        typer.echo(f"damaged   {slug}  {reason}")


def analytics(
    runner: Runner[Application],
    domain: Annotated[str | None, typer.Option("--domain", help="Only submitters of this domain.")] = None,
    min_views: Annotated[int, typer.Option("--min-views", min=0, help="Only resources with so many views.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Show figures."""
    from hashrange_systems.kelifax.cli.entry_tables import print_report
    from hashrange_systems.shared.cli.output import print_json

    report = runner.run(lambda services: services.analytics.report(domain, min_views))
    if as_json:
        print_json(asdict(report))
    else:
        print_report(report)


def person(runner: Runner[Application], email: Address) -> None:
    """Print what is stored about an address."""
    from hashrange_systems.kelifax.service.actor import OPERATOR
    from hashrange_systems.shared.cli.output import print_json, to_json_types

    print_json(to_json_types(runner.run(lambda services: services.privacy.export_person(email, OPERATOR))))


def erase(
    runner: Runner[Application],
    email: Address,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    as_json: AsJson = False,
) -> None:
    """Erase personal data."""
    from hashrange_systems.kelifax.service.actor import OPERATOR
    from hashrange_systems.shared.cli.output import print_json

    if not yes:
        typer.confirm(f"Erase everything about {email}?", abort=True)

    report = runner.run(lambda services: services.privacy.erase_person(email, OPERATOR))
    if as_json:
        print_json(asdict(report))
    else:
        typer.echo(f"erased  {len(report.resources)} resources, {report.records} records")
