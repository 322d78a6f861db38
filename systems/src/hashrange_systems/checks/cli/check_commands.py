"""`hashrange checks add, list, show, run, pause, resume, delete`: one check, or all of them."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hashrange_systems.checks.cli.argument import NOT_UP, CheckId, Owner, find_check, find_user
from hashrange_systems.shared.cli.database_target import AsJson
from hashrange_systems.shared.epoch import DAY_MS, HOUR_MS, MINUTE_MS

if TYPE_CHECKING:
    from hashrange_systems.checks.application import Application
    from hashrange_systems.checks.schema import AnyCheck, Check
    from hashrange_systems.checks.service.history import Day
    from hashrange_systems.checks.service.runs import RunReport
    from hashrange_systems.shared.cli.system_commands import Runner

UNITS = {"ms": 1, "s": 1000, "m": MINUTE_MS, "h": HOUR_MS, "d": DAY_MS}
DAYS_SHOWN = 30
ADD_HELP = """Add a check of a user. It runs at once, and then again and again.

[bold]Examples[/bold]

\b
  hashrange checks add https://example.com --user ann@example.com
  hashrange checks add https://example.com/shop --user ann@example.com \\
      --name Shop --every 1m --set keyword="Add to basket" --set retries=1
  hashrange checks add db.example.com:5432 --type TCP --user ann@example.com --group Shop --tag production
  hashrange checks add --type HEARTBEAT --user ann@example.com --name Backup \\
      --set cron="30 3 * * *" --set zone=Europe/Berlin --set graceMs=1800000
  hashrange checks add --type EBAY --user ann@example.com \\
      --set query="rangefinder camera" --set threshold=19900 --set currency=USD

--set gives an attribute; docs/systems/checks.md lists them. A price is in the smallest unit: 19900 is 199.00."""


def read_every(text: str) -> int:
    """Parse a duration such as 30s, 5m or 1h; return milliseconds."""
    found = re.fullmatch(r"(\d{1,9})(ms|s|m|h|d)", text.strip())
    if not found:
        raise typer.BadParameter(f"{text!r} is not a length of time: write 30s, 5m, 1h or 1d")
    return int(found[1]) * UNITS[found[2]]


def choose_type(name: str) -> str:
    """Refuse an unknown type of check."""
    from hashrange_systems.checks.registry import CHECK_TYPES

    if name not in CHECK_TYPES:
        raise typer.BadParameter(f"must be one of {', '.join(CHECK_TYPES)}")
    return name


def read_pairs(pairs: list[str]) -> dict[str, Any]:
    """Parse attributes given as NAME=VALUE."""
    given = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise typer.BadParameter(f"--set {pair!r} must be NAME=VALUE")
        given[name] = value
    return given


def add(  # noqa: PLR0913, PLR0917 each option is a parameter
    runner: Runner[Application],
    user: Owner,
    url: Annotated[str | None, typer.Argument(metavar="[URL]", help="The page to look at.")] = None,
    name: Annotated[str | None, typer.Option("--name", help="What to call it.")] = None,
    every: Annotated[
        str | None, typer.Option("--every", help="How often: 30s, 5m, 1h, 1d; usually as its type.")
    ] = None,
    check_type: Annotated[
        str, typer.Option("--type", help="What it is: TCP, DNS, ...", callback=choose_type)
    ] = "AVAILABILITY",
    group: Annotated[str | None, typer.Option("--group", help="The group to list it in.")] = None,
    tags: Annotated[list[str] | None, typer.Option("--tag", help="A tag; may be repeated.")] = None,
    attributes: Annotated[
        list[str] | None, typer.Option("--set", help="An attribute; may be repeated.", metavar="NAME=VALUE")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Add a check."""
    from hashrange_systems.checks.service.check_input import UNSET, CheckInput

    draft = CheckInput(
        url=url,
        check_type=check_type,
        delay_ms=read_every(every) if every else UNSET,
        group=group,
        tags=tags,
        attributes=read_pairs(attributes or []),
        name=name,
    )

    async def act(services: Application) -> AnyCheck:
        return await services.checks.create((await find_user(services, user)).userid, draft)

    _print(runner.run(act), as_json=as_json)


def list_checks(
    runner: Runner[Application],
    user: Annotated[str | None, typer.Option("--user", help="Only of this user: an e-mail address, or an id.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the checks of a user, or of all users."""
    from hashrange_systems.checks.cli.json_output import check_json
    from hashrange_systems.checks.cli.tables import print_checks
    from hashrange_systems.shared.cli.output import print_json

    async def find(services: Application) -> list[AnyCheck]:
        users = [await find_user(services, user)] if user else [each async for each in services.db.all_users()]
        return [check for each in users for check in await services.checks.list_by_user(each.userid)]

    checks = runner.run(find)
    if as_json:
        print_json([check_json(check) for check in checks])
    else:
        print_checks(checks)


def show(runner: Runner[Application], checkid: CheckId, as_json: AsJson = False) -> None:
    """Show one check: its settings, its last result and its last days."""
    from hashrange_systems.checks.cli.json_output import check_json
    from hashrange_systems.checks.cli.tables import print_check
    from hashrange_systems.checks.model.uptime import Rollup, find_uptime, format_uptime, merge_rollups
    from hashrange_systems.shared.cli.output import print_json

    async def find(services: Application) -> tuple[AnyCheck, list[Day]]:
        check = await find_check(services, checkid)
        return check, await services.history.days(check, DAYS_SHOWN)

    check, days = runner.run(find)
    total = Rollup()
    for day in days:
        total = merge_rollups(total, day.rollup)
    uptime = find_uptime(total)
    if as_json:
        print_json({**check_json(check), "uptimePercent": None if uptime is None else float(uptime * 100)})
    else:
        print_check(check, days, format_uptime(uptime))


def run(runner: Runner[Application], checkid: CheckId, as_json: AsJson = False) -> None:
    """Run a check now and wait for the result; its schedule stays. Exit code 3 when it is not up.

    The request is sent by this process, with its CHECKS_ variables.
    """
    from rich.console import Console

    from hashrange_systems.checks.cli.json_output import check_json
    from hashrange_systems.shared.cli.output import print_json

    async def act(services: Application) -> RunReport:
        check = await find_check(services, checkid)
        return await services.checks.run_now(check.userid, checkid)

    with Console(stderr=True).status(f"running {checkid} ..."):
        finished = runner.run(act)
    if as_json:
        print_json({**check_json(_whole(finished.check)), "events": [event.type.value for event in finished.events]})
    else:
        _print_outcome(finished)
    if not finished.outcome.healthy:
        raise typer.Exit(NOT_UP)


def _print_outcome(finished: RunReport) -> None:
    from rich.console import Console

    from hashrange_systems.checks.cli.tables import colour

    outcome = finished.outcome
    line = colour(outcome.status.value)
    line.append(f"  {outcome.response_time} ms" if outcome.response_time is not None else "", style="default")
    line.append(f"  {outcome.message}" if outcome.message else "", style="default")
    console = Console(highlight=False)
    console.print(line)
    for event in finished.events:
        console.print(f"  {event.type.value.lower()}")
    if finished.disabled:
        console.print(f"  disabled: {finished.disabled}", style="red")


def pause(runner: Runner[Application], checkid: CheckId, as_json: AsJson = False) -> None:
    """Stop running a check; its history stays."""
    _change(runner, checkid, lambda services: services.checks.pause, as_json=as_json)


def resume(runner: Runner[Application], checkid: CheckId, as_json: AsJson = False) -> None:
    """Resume a check that was paused or disabled."""
    _change(runner, checkid, lambda services: services.checks.resume, as_json=as_json)


def delete(
    runner: Runner[Application],
    checkid: CheckId,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Delete a check and its history."""
    if not yes:
        typer.confirm(f"Delete {checkid} and its history?", abort=True)

    async def act(services: Application) -> None:
        check = await find_check(services, checkid)
        await services.checks.delete(check.userid, checkid)

    runner.run(act)
    typer.echo(f"deleted  {checkid}")


def _change(
    runner: Runner[Application],
    checkid: str,
    choose: Callable[[Application], Callable[[str, str], Awaitable[AnyCheck]]],
    *,
    as_json: bool,
) -> None:
    async def act(services: Application) -> AnyCheck:
        check = await find_check(services, checkid)
        return await choose(services)(check.userid, checkid)

    _print(runner.run(act), as_json=as_json)


def _print(check: AnyCheck, *, as_json: bool) -> None:
    from hashrange_systems.checks.cli.json_output import check_json
    from hashrange_systems.checks.cli.tables import print_checks
    from hashrange_systems.shared.cli.output import print_json

    if as_json:
        print_json(check_json(check))
    else:
        print_checks([check])


def _whole(check: Check) -> AnyCheck:
    """Return a check with the type that has a status: every check that was run has one."""
    from hashrange_systems.checks.schema import Active, Failed, ForeignCheck, Paused

    assert isinstance(check, Active | Paused | Failed | ForeignCheck)
    return check
