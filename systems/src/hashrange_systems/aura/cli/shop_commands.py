"""Commands for shops: try, add, import, list, show, move, remove, set."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hashrange_systems.aura.cli.argument import FAILED, Country, ShopName
from hashrange_systems.shared.cli.database_target import AsJson

if TYPE_CHECKING:
    from hashrange_systems.aura.application import Application
    from hashrange_systems.aura.schema import Shop
    from hashrange_systems.aura.service.damaged_shops import DamagedShop
    from hashrange_systems.aura.service.preview import DryRun
    from hashrange_systems.aura.service.registry import ImportReport, RelatedHint
    from hashrange_systems.aura.work_schema import CrawlReport, ScrapeReport, ShopOptions
    from hashrange_systems.shared.cli.system_commands import Runner

TRY_HELP = """Look at ten pages of a shop before adding it; nothing is stored.

[bold]Example[/bold]  hashrange aura try antik-mueller.de"""
ADD_HELP = """Add a shop.

[bold]Example[/bold]  hashrange aura add https://www.antik-mueller.de/shop --country DE --name "Antik Müller"

The domain is stored in lower case, in ASCII, without www., port and path; the crawl begins at the URL that you gave."""
IMPORT_HELP = """Add the shops of a CSV file with the columns domain (or url), name, country and type.

[bold]Example[/bold]  hashrange aura import shops.csv

Rows that are refused are listed, and the others are added. Exit code 1 if any was refused."""
LIST_HELP = """List the shops by country.

[bold]Examples[/bold]

\b
  hashrange aura list --country DE
  hashrange aura list --damaged     those that are skipped: they cannot be read, or have no usable domain"""
SHOW_HELP = """Show one shop: its state, its options, its last crawls and scrapes, related domains.

[bold]Example[/bold]  hashrange aura show antik-mueller.de"""
MOVE_HELP = """Change the country of a shop.

[bold]Example[/bold]  hashrange aura move antik-mueller.de --country AT"""
REMOVE_HELP = """Remove a shop with its URLs and prices.

[bold]Example[/bold]  hashrange aura remove antik-mueller.de --yes"""
SET_HELP = """Set what is special about a shop; what is not given stays.

[bold]Examples[/bold]

\b
  hashrange aura set antik-mueller.de --price-selector .preis --delay-ms 5000
  hashrange aura set antik-mueller.de --stop       a running crawl ends at its next page
  hashrange aura set antik-mueller.de --go         and goes on where it stopped"""


def dry_run(shop: ShopName, as_json: AsJson = False) -> None:
    """Look at ten pages of a shop."""
    from hashrange_systems.aura.cli.preview_target import run_with_preview, say_where_demo_is

    found = run_with_preview(lambda preview: say_where_demo_is(shop, preview.dry_run(shop)))
    if as_json:
        from dataclasses import asdict

        from hashrange_systems.shared.cli.output import print_json

        print_json(asdict(found))
    else:
        _print_dry_run(found)


def _print_dry_run(found: DryRun) -> None:
    from hashrange_systems.aura.model.price_format import format_price
    from hashrange_systems.shared.cli.output import print_table

    rows = [
        (
            str(page.status or ""),
            page.facts.type if page.facts else "",
            page.url,
            (page.facts.title if page.facts else None) or page.problem or "",
            format_price(page.facts.price_minor, page.facts.currency) if page.facts else "",
        )
        for page in found.pages
    ]
    print_table(found.domain, ("status", "type", "page", "title", "price"), rows, empty="No page could be read.")
    typer.echo(
        f"core name {found.core_domain_name}, {found.sitemap_urls} URLs in the sitemap, "
        f"{found.delay_s:g} s between requests, standards: {', '.join(found.standards_used) or 'none'}"
    )


def add(
    runner: Runner[Application],
    shop: ShopName,
    name: Annotated[str | None, typer.Option("--name", help="What to call it.")] = None,
    country: Country = None,
    shop_type: Annotated[
        str | None, typer.Option("--type", help="AUCTION_HOUSE, AUCTION_PLATFORM, COMMERCIAL_DEALER or MARKETPLACE.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Add a shop."""
    from hashrange_systems.aura.service.registry import ShopInput

    given = ShopInput(address=shop, name=name, country=country, shop_type=shop_type)
    _print([runner.run(lambda services: services.registry.add(given))], as_json)


def import_shops(
    runner: Runner[Application],
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A CSV file.", exists=True, dir_okay=False)],
    as_json: AsJson = False,
) -> None:
    """Add the shops of a CSV file."""
    from hashrange_systems.shared.cli.output import print_json

    text = file.read_text("utf-8-sig", "replace")
    report: ImportReport = runner.run(lambda services: services.registry.import_csv(text))
    if as_json:
        print_json({"added": report.added, "known": report.known, "refused": report.refused})
    else:
        typer.echo(f"{len(report.added)} added, {len(report.known)} were there, {len(report.refused)} refused")
        for line, address, reason in report.refused:
            typer.echo(f"  line {line}: {address}: {reason}", err=True)
    if report.refused:
        raise typer.Exit(FAILED)


def list_shops(
    runner: Runner[Application],
    country: Country = None,
    damaged: Annotated[
        bool, typer.Option("--damaged", help="Only those that cannot be read or worked on, with the reason.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """List the shops by country."""
    if damaged:
        _print_damaged(runner.run(_find_damaged), as_json)
        return

    async def find(services: Application) -> list[Shop]:
        countries = (country.upper(),) if country else await services.registry.countries()
        found: list[Shop] = []
        for each in countries:
            found += [shop async for shop in services.db.shops_in(each).whole().skip_unreadable()]
        return found

    _print(runner.run(find), as_json)


async def _find_damaged(services: Application) -> list[DamagedShop]:
    return await services.damaged.find()


def _print_damaged(found: list[DamagedShop], as_json: bool) -> None:
    from hashrange_systems.shared.cli.output import print_json, print_table

    if as_json:
        print_json([{"domain": each.domain, "reason": each.reason} for each in found])
        return
    rows = [(each.domain, each.reason) for each in found]
    print_table("Damaged shops", ("domain", "reason"), rows, empty="No shop is damaged.")


def show(runner: Runner[Application], shop: ShopName, as_json: AsJson = False) -> None:
    """Show one shop."""
    from hashrange_systems.aura.cli.shop_output import shop_json
    from hashrange_systems.shared.cli.output import print_json

    async def find(services: Application) -> ShopDetails:
        found = await services.registry.find(shop)
        return ShopDetails(
            found,
            await services.registry.options(found.domain),
            await services.products.crawl_reports(found.domain, 5),
            await services.products.scrape_reports(found.domain, 5),
            await services.registry.related(found.domain),
        )

    details = runner.run(find)
    if as_json:
        print_json(
            {
                **shop_json(details.shop),
                "options": details.options.model_dump(mode="json", exclude_none=True),
                "crawls": [each.model_dump(mode="json") for each in details.crawls],
                "scrapes": [each.model_dump(mode="json") for each in details.scrapes],
                "related": [{"domain": hint.shop.domain, "same": hint.same} for hint in details.related],
            }
        )
    else:
        details.print()


class ShopDetails:
    """What `show` prints."""

    def __init__(
        self,
        shop: Shop,
        options: ShopOptions,
        crawls: list[CrawlReport],
        scrapes: list[ScrapeReport],
        related: tuple[RelatedHint, ...],
    ) -> None:
        self.shop, self.options, self.crawls, self.scrapes, self.related = shop, options, crawls, scrapes, related

    def print(self) -> None:
        """Print the shop, its options and its last reports."""
        from hashrange_systems.aura.cli.shop_output import format_time, print_shops
        from hashrange_systems.shared.cli.output import print_table

        print_shops([self.shop])
        options = self.options.model_dump(exclude_defaults=True, exclude={"domain"})
        if options:
            typer.echo("options: " + ", ".join(f"{name}={value}" for name, value in options.items()))
        print_table(
            "Crawls",
            ("ended", "pages", "unchanged", "failed", "delay", "note"),
            [
                (format_time(each.at), str(each.fetched), str(each.unchanged), str(each.failed), f"{each.delay_s:g} s",
                 each.note or "")
                for each in self.crawls
            ],
            empty="It was never crawled.",
        )  # fmt: skip
        print_table(
            "Scrapes",
            ("ended", "products", "with price", "with state", "changed", "alarm"),
            [
                (format_time(each.at), str(each.products), str(each.priced), str(each.stated), str(each.changed),
                 each.broken or "")
                for each in self.scrapes
            ],
            empty="It was never scraped.",
        )  # fmt: skip
        for hint in self.related:
            answer = {True: "the same shop", False: "another shop", None: "same shop?"}[hint.same]
            typer.echo(f"related: {hint.shop.domain}  {answer}")


def move(
    runner: Runner[Application],
    shop: ShopName,
    country: Annotated[str, typer.Option("--country", help="ISO code of the new country.")],
    as_json: AsJson = False,
) -> None:
    """Change the country of a shop."""
    _print(
        [runner.run(lambda services: services.registry.move(shop, country))],
        as_json,
    )


def remove(
    runner: Runner[Application],
    shop: ShopName,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Remove a shop with its URLs and prices."""
    if not yes:
        typer.confirm(f"Remove {shop} with its URLs and prices?", abort=True)
    runner.run(lambda services: services.registry.remove(shop))
    typer.echo(f"removed  {shop}")


def set_options(  # noqa: PLR0913, PLR0917 each option is a parameter
    runner: Runner[Application],
    shop: ShopName,
    price_selector: Annotated[str | None, typer.Option(help="CSS selector of the price; '' removes it.")] = None,
    state_selector: Annotated[str | None, typer.Option(help="CSS selector of the state; '' removes it.")] = None,
    delay_ms: Annotated[int | None, typer.Option(help="Pause between requests.", min=0, max=600_000)] = None,
    max_pages: Annotated[int | None, typer.Option(help="Pages of one crawl.", min=1)] = None,
    crawl_every_h: Annotated[int | None, typer.Option(help="Hours between crawls.", min=1)] = None,
    scrape_every_h: Annotated[int | None, typer.Option(help="Hours between scrapes.", min=1)] = None,
    exclude: Annotated[list[str] | None, typer.Option(help="A part of URLs that are not visited; repeatable.")] = None,
    pause: Annotated[bool | None, typer.Option("--pause/--resume", help="Start no crawls and scrapes.")] = None,
    stop: Annotated[bool | None, typer.Option("--stop/--go", help="End a running crawl at its next page.")] = None,
) -> None:
    """Set what is special about a shop."""
    given: dict[str, Any] = {
        "price_selector": price_selector,
        "state_selector": state_selector,
        "delay_ms": delay_ms,
        "max_pages": max_pages,
        "crawl_every_h": crawl_every_h,
        "scrape_every_h": scrape_every_h,
        "excludes": exclude,
        "paused": pause,
        "stop": stop,
    }
    changed = {
        name: value or None if isinstance(value, str) else value for name, value in given.items() if value is not None
    }

    async def act(services: Application) -> ShopOptions:
        known = await services.registry.options((await services.registry.find(shop)).domain)
        return await services.registry.save_options(known.model_copy(update=changed))

    saved = runner.run(act)
    shown = saved.model_dump(exclude_defaults=True, exclude={"domain"})
    typer.echo(", ".join(f"{name}={value}" for name, value in shown.items()) or "nothing is special about this shop")


def _print(shops: list[Shop], as_json: bool) -> None:
    from hashrange_systems.aura.cli.shop_output import print_shops, shop_json
    from hashrange_systems.shared.cli.output import print_json

    if as_json:
        print_json([shop_json(shop) for shop in shops])
    else:
        print_shops(shops)
