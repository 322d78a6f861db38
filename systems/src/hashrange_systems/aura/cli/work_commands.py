"""Commands for the work: crawl, scrape, between, stuck, worker."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from hashrange_systems.aura.cli.argument import FAILED, Country, ShopName
from hashrange_systems.shared.cli.database_target import AsJson
from hashrange_systems.shared.cli.worker_runner import exit_when_stopped

if TYPE_CHECKING:
    from hashrange_systems.aura.application import Application
    from hashrange_systems.aura.schema import Shop
    from hashrange_systems.aura.service.crawls import StuckShop
    from hashrange_systems.shared.cli.system_commands import Runner

GOES_ON = "the next worker or command goes on where it stopped"
CRAWL_HELP = """Crawl a shop now, in this process, and wait until it is done.

[bold]Example[/bold]  hashrange aura crawl antik-mueller.de

Ctrl-C and SIGTERM stop it at once; an interrupted crawl goes on where it stopped.
Exit code 1 if it failed, or another worker has the shop."""
SCRAPE_HELP = """Scrape a shop now, in this process: visit its products and record what changed.

[bold]Example[/bold]  hashrange aura scrape antik-mueller.de

The shop must have been crawled since it was scraped. Exit code 1 if it is not eligible, or fails."""
BETWEEN_HELP = """List the shops whose crawl or scrape ended within a range of days, both included.

[bold]Example[/bold]  hashrange aura between 2026-01-01 2026-01-31 --country DE --what scraped"""
STUCK_HELP = """List crawls and scrapes that have been in progress for over two hours.

[bold]Examples[/bold]

\b
  hashrange aura stuck
  hashrange aura stuck --release     those whose worker is gone

A long crawl whose worker extends its lease is listed, but it is not abandoned and is never released."""
WORKER_HELP = """Crawl and scrape what is due, notify of changes and send messages, until Ctrl-C.

[bold]Examples[/bold]

\b
  hashrange aura worker --target http://127.0.0.1:8000    help a running hashrange up
  AURA_WORKERS=20 hashrange aura worker --target aws      20 shops at the same time

Any number may work on one database: a shop is worked on by one of them, and when that is killed another goes on."""


def crawl(runner: Runner[Application], shop: ShopName, as_json: AsJson = False) -> None:
    """Crawl a shop now."""
    from hashrange_systems.aura.service.owner import make_owner

    async def act(services: Application) -> Shop:
        found = await services.registry.find(shop)
        lease = await services.crawls.start(found, make_owner("command line"))
        if lease is None:
            raise busy(found.domain, "crawled")
        await exit_when_stopped(services.crawler.crawl(lease), GOES_ON)
        return await services.registry.find(shop)

    _finish(runner, act, "crawl", as_json=as_json)


def scrape(runner: Runner[Application], shop: ShopName, as_json: AsJson = False) -> None:
    """Scrape a shop now."""
    from hashrange_systems.aura.service.owner import make_owner

    async def act(services: Application) -> Shop:
        found = await services.registry.find(shop)
        lease = await services.scrapes.start(found, make_owner("command line"))
        if lease is None:
            raise busy(found.domain, "scraped, or has not been crawled since")
        await exit_when_stopped(services.scraper.scrape(lease), GOES_ON)
        return await services.registry.find(shop)

    _finish(runner, act, "scrape", as_json=as_json)


def busy(domain: str, what: str) -> Exception:
    """Return the error for a shop that cannot be started."""
    from hashrange_systems.aura.errors import CrawlRunning

    return CrawlRunning(domain, what, None)


def _finish(
    runner: Runner[Application], act: Callable[[Application], Awaitable[Shop]], what: str, *, as_json: bool
) -> None:
    """Print the shop; exit with 1 if the work failed."""
    from hashrange_systems.aura.cli.shop_output import print_shops, shop_json
    from hashrange_systems.aura.schema import Crawled, Scraped
    from hashrange_systems.shared.cli.output import print_json

    shop = runner.run(act)
    if as_json:
        print_json(shop_json(shop))
    else:
        print_shops([shop])
    error = shop.last_crawl_error if what == "crawl" else shop.last_scrape_error
    done = isinstance(shop.crawl, Crawled) if what == "crawl" else isinstance(shop.scrape, Scraped)
    if error or not done:
        raise typer.Exit(FAILED)


def between(
    runner: Runner[Application],
    first: Annotated[datetime, typer.Argument(help="The first day.", formats=["%Y-%m-%d"])],
    last: Annotated[datetime, typer.Argument(help="The last day.", formats=["%Y-%m-%d"])],
    country: Country = None,
    what: Annotated[Literal["crawled", "scraped"], typer.Option("--what", help="Which end.")] = "crawled",
    as_json: AsJson = False,
) -> None:
    """List the shops whose crawl or scrape ended within a range of days."""
    from hashrange_systems.aura.cli.shop_output import format_time
    from hashrange_systems.shared.cli.output import print_json, print_table

    start = first.replace(tzinfo=UTC)
    end = last.replace(hour=23, minute=59, second=59, tzinfo=UTC)

    async def find(services: Application) -> list[tuple[str, str, datetime]]:
        registry = services.registry
        found: list[tuple[str, str, datetime]] = []
        for each in (country.upper(),) if country else await registry.countries():
            if what == "crawled":
                found += [
                    (each, row.domain, row.last_crawled_end) for row in await registry.crawled_between(each, start, end)
                ]
            else:
                found += [
                    (each, row.domain, row.last_scraped_end) for row in await registry.scraped_between(each, start, end)
                ]
        return found

    rows = runner.run(find)
    if as_json:
        print_json([{"country": each, "domain": domain, "ended": ended.isoformat()} for each, domain, ended in rows])
        return
    table = [(each, domain, format_time(ended)) for each, domain, ended in rows]
    print_table(f"Shops {what}", ("country", "domain", "ended"), table, empty=f"No shop was {what} in these days.")


def stuck(
    runner: Runner[Application],
    release: Annotated[bool, typer.Option("--release", help="Release those whose lease has expired.")] = False,
    as_json: AsJson = False,
) -> None:
    """List crawls and scrapes that have been in progress for over two hours."""
    from hashrange_systems.aura.cli.shop_output import format_time
    from hashrange_systems.shared.cli.output import print_json, print_table

    async def find(services: Application) -> tuple[list[StuckShop], list[str]]:
        found = [*await services.crawls.find_stuck(), *await services.scrapes.find_stuck()]
        released = [*await services.crawls.reap(), *await services.scrapes.reap()] if release else []
        return found, released

    found, released = runner.run(find)
    if as_json:
        rows = [
            {"domain": each.shop.domain, "what": each.what, "owner": each.owner, "abandoned": each.abandoned}
            for each in found
        ]
        print_json({"stuck": rows, "released": released})
        return
    table = [
        (each.what, each.shop.domain, format_time(each.started_at), each.owner or "", format_time(each.lease_until),
         "abandoned" if each.abandoned else "alive")
        for each in found
    ]  # fmt: skip
    columns = ("what", "shop", "since", "worker", "lease until", "worker is")
    print_table("In progress for over two hours", columns, table, empty="Nothing is stuck.")
    for domain in released:
        typer.echo(f"released  {domain}")


def describe_worker(application: Application) -> str:
    """Return what a worker does."""
    workers = application.runtime.settings.workers
    return f"working, {workers} shops at a time" if workers else "AURA_WORKERS is 0: no shop is crawled or scraped here"
