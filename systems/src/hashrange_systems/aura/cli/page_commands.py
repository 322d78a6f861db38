"""Commands for pages: changes, history, search, explain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from hashrange_systems.aura.cli.argument import Country, PageUrl
from hashrange_systems.shared.cli.database_target import AsJson, find_default_url

if TYPE_CHECKING:
    from hashrange_systems.aura.application import Application
    from hashrange_systems.aura.service.changes import AnyChange
    from hashrange_systems.aura.service.preview import Explanation
    from hashrange_systems.aura.service.products import ProductHistory
    from hashrange_systems.aura.work_schema import ProductWord
    from hashrange_systems.shared.cli.system_commands import Runner

CHANGES_HELP = """Show what changed, newest first.

[bold]Examples[/bold]

\b
  hashrange aura changes --days 7 --country DE
  hashrange aura changes --format csv > changes.csv"""
HISTORY_HELP = """Show the recorded prices of a product.

[bold]Example[/bold]  hashrange aura history https://antik-mueller.de/vase"""
SEARCH_HELP = """Find products by the words of their titles.

[bold]Example[/bold]  hashrange aura search "blue vase" --country DE"""
EXPLAIN_HELP = """Show what every extractor says about a page, and which answer was chosen.

[bold]Examples[/bold]

\b
  hashrange aura explain https://antik-mueller.de/vase --price-selector .preis
  hashrange aura explain https://antik-mueller.de/vase --target aws    with the selectors that its shop has there

Without a database, only the selectors that are given are asked."""


def changes(
    runner: Runner[Application],
    days: Annotated[int, typer.Option("--days", help="How far back.", min=1, max=365)] = 7,
    country: Country = None,
    limit: Annotated[int, typer.Option("--limit", help="At most so many.", min=1, max=10_000)] = 100,
    form: Annotated[
        Literal["table", "json", "csv", "rss"], typer.Option("--format", help="For people or programs.")
    ] = "table",
    as_json: AsJson = False,
) -> None:
    """Show what changed."""
    from hashrange_systems.aura.cli.shop_output import print_changes
    from hashrange_systems.aura.web.change_feed import write_changes_csv, write_json, write_rss
    from hashrange_systems.shared.cli.output import print_json

    async def find(services: Application) -> list[AnyChange]:
        return await services.changes.latest(limit, days=days, country=country.upper() if country else None)

    found = runner.run(find)
    match "json" if as_json else form:
        case "json":
            print_json([write_json(change) for change in found])
        case "csv":
            typer.echo(write_changes_csv(found).decode(), nl=False)
        case "rss":
            typer.echo(write_rss(found, find_default_url("aura")), nl=False)
        case "table":
            print_changes(found)


def history(runner: Runner[Application], url: PageUrl, as_json: AsJson = False) -> None:
    """Show the recorded prices of a product."""
    from hashrange_systems.aura.cli.shop_output import format_time
    from hashrange_systems.aura.model.price_format import format_price
    from hashrange_systems.shared.cli.output import print_json, print_table

    async def find(services: Application) -> ProductHistory:
        shop = await services.registry.find(url)
        return await services.products.history(shop.domain, url)

    found = runner.run(find)
    if as_json:
        print_json([price.model_dump(mode="json", exclude_none=True) for price in found.prices])
        return
    rows = [
        (format_time(price.at), price.state, format_price(price.price_minor, price.currency)) for price in found.prices
    ]
    print_table(
        found.product.title or found.product.url, ("at", "state", "price"), rows, empty="No price is recorded.",
        right=("price",),
    )  # fmt: skip


def search(
    runner: Runner[Application],
    text: Annotated[str, typer.Argument(help="Words of the title.")],
    country: Country = None,
    limit: Annotated[int, typer.Option("--limit", help="At most so many.", min=1, max=200)] = 50,
    as_json: AsJson = False,
) -> None:
    """Find products by the words of their titles."""
    from hashrange_systems.aura.model.price_format import format_price
    from hashrange_systems.aura.service.products import ProductQuery
    from hashrange_systems.shared.cli.output import print_json, print_table

    query = ProductQuery(text=text, country=country.upper() if country else None)
    found: list[ProductWord] = runner.run(lambda services: services.products.search(query, limit))
    if as_json:
        print_json([entry.model_dump(mode="json", exclude_none=True, exclude={"word"}) for entry in found])
        return
    rows = [
        (entry.title, entry.state or "", format_price(entry.price_minor, entry.currency), entry.url) for entry in found
    ]
    print_table("Products", ("title", "state", "price", "page"), rows, empty="Nothing was found.", right=("price",))


def explain(
    runner: Runner[Application],
    url: PageUrl,
    price_selector: Annotated[str | None, typer.Option(help="Try this CSS selector of the price.")] = None,
    state_selector: Annotated[str | None, typer.Option(help="Try this CSS selector of the state.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show what every extractor says about a page."""
    from hashrange_systems.aura.cli.preview_target import run_with_preview, say_where_demo_is
    from hashrange_systems.aura.extraction.page_facts import Overrides

    async def find(services: Application) -> Explanation:
        stored = await services.registry.find_overrides(url)
        price, state = price_selector or stored.price, state_selector or stored.state
        return await say_where_demo_is(url, services.preview.explain(url, Overrides(price=price, state=state)))

    if runner.target.data is None and runner.target.name is None:
        given = Overrides(price=price_selector, state=state_selector)
        found = run_with_preview(lambda preview: say_where_demo_is(url, preview.explain(url, given)))
    else:
        found = runner.run(find)
    if as_json:
        from dataclasses import asdict

        from hashrange_systems.shared.cli.output import print_json

        print_json(asdict(found))
    else:
        _print_explanation(found)


def _print_explanation(found: Explanation) -> None:
    from hashrange_systems.aura.model.price_format import format_price
    from hashrange_systems.shared.cli.output import print_table

    typer.echo(f"{found.stored_as}  {found.status or ''}  {found.problem or ''}".rstrip())
    if found.redirect:
        typer.echo(f"leads to {found.redirect}")
    facts = found.facts
    if facts is None:
        return
    rows = [
        (
            answer.extractor,
            answer.page_type or "",
            answer.state or "",
            str(answer.price or answer.price_note or ""),
            answer.title or "",
            "; ".join(answer.problems),
        )
        for answer in facts.answers
    ]
    chosen = format_price(facts.price_minor, facts.currency)
    rows.append(("chosen", facts.type, facts.state, chosen, facts.title or "", "; ".join(facts.problems)))
    columns = ("extractor", "type", "state", "price", "title", "problems")
    print_table("What the page says", columns, rows, empty="")
    for each in facts.disagreements:
        typer.echo(
            f"they disagree about {each.field}: " + ", ".join(f"{name} says {value}" for name, value in each.values)
        )
