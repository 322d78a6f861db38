"""The commands of aura, `hashrange aura ...`: for operators, without signing in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hashrange_systems.aura.cli import member_commands as member
from hashrange_systems.aura.cli import page_commands as page
from hashrange_systems.aura.cli import shop_commands as shop
from hashrange_systems.aura.cli import table_commands as tables
from hashrange_systems.aura.cli import work_commands as work
from hashrange_systems.shared.cli.account_commands import add_account_commands
from hashrange_systems.shared.cli.system_commands import add_worker_commands, make_cli

if TYPE_CHECKING:
    from hashrange_systems.aura.application import Application
    from hashrange_systems.shared.application.application_type import ApplicationType

EXAMPLES = """\
  hashrange aura try antik-mueller.de            ten pages, nothing is stored
  hashrange aura add antik-mueller.de --country DE --name "Antik Müller"
  hashrange aura import shops.csv
  hashrange aura list                            all shops by country
  hashrange aura crawl antik-mueller.de          now, in this process
  hashrange aura scrape antik-mueller.de
  hashrange aura changes --days 7
  hashrange aura explain https://antik-mueller.de/vase
  hashrange aura stuck --release
  hashrange aura migrate --from old-table        a table of the original
  hashrange aura repair                          index keys and countries
  hashrange aura worker --target aws             another worker"""


def load() -> ApplicationType[Application]:
    """Import the application."""
    from hashrange_systems.aura.application import APPLICATION

    return APPLICATION


app = make_cli(
    "aura",
    "Antique shops: a registry, a crawler and a scraper of prices.",
    EXAMPLES,
    load,
    exit_codes="0 success, 1 refused, failed or not found, 2 wrong usage or no database",
)
members = add_account_commands(app, "member").user
members.command("add")(member.add)
members.command("list")(member.list_members)  # with operators, instead of the usual one
members.command("operator")(member.set_operator)
app.command("move-accounts", help=member.MOVE_HELP)(member.move_accounts)
app.command("try", help=shop.TRY_HELP)(shop.dry_run)
app.command("add", help=shop.ADD_HELP)(shop.add)
app.command("import", help=shop.IMPORT_HELP)(shop.import_shops)
app.command("list", help=shop.LIST_HELP)(shop.list_shops)
app.command("show", help=shop.SHOW_HELP)(shop.show)
app.command("move", help=shop.MOVE_HELP)(shop.move)
app.command("remove", help=shop.REMOVE_HELP)(shop.remove)
app.command("set", help=shop.SET_HELP)(shop.set_options)
app.command("crawl", help=work.CRAWL_HELP)(work.crawl)
app.command("scrape", help=work.SCRAPE_HELP)(work.scrape)
app.command("between", help=work.BETWEEN_HELP)(work.between)
app.command("stuck", help=work.STUCK_HELP)(work.stuck)
app.command("changes", help=page.CHANGES_HELP)(page.changes)
app.command("history", help=page.HISTORY_HELP)(page.history)
app.command("search", help=page.SEARCH_HELP)(page.search)
app.command("explain", help=page.EXPLAIN_HELP)(page.explain)
app.command("migrate", help=tables.MIGRATE_HELP)(tables.migrate)
app.command("repair", help=tables.REPAIR_HELP)(tables.repair)
add_worker_commands(app, work.WORKER_HELP, work.describe_worker)
