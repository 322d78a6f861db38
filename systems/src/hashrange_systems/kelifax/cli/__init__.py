"""The commands of the directory, `hashrange kelifax ...`: for operators, without signing in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hashrange_systems.kelifax.cli import account_commands as account
from hashrange_systems.kelifax.cli import entry_commands as entry
from hashrange_systems.kelifax.cli import moderation_commands as moderation
from hashrange_systems.kelifax.cli import operation_commands as operation
from hashrange_systems.shared.cli.account_commands import list_users, sign_out
from hashrange_systems.shared.cli.system_commands import add_worker_commands, make_cli

if TYPE_CHECKING:
    from hashrange_systems.kelifax.application import Application
    from hashrange_systems.shared.application.application_type import ApplicationType

EXAMPLES = """\
  hashrange kelifax admin add ann --role admin     asks for a password
  hashrange kelifax submit form.json               a form of the API, without its limits
  hashrange kelifax queue                          what waits, oldest first
  hashrange kelifax approve pixel-kit
  hashrange kelifax reject pixel-kit --reason "The page is empty."
  hashrange kelifax search "vector icons"
  hashrange kelifax export --format md > directory.md
  hashrange kelifax adopt --target aws --dry-run  a table of the original system
  hashrange kelifax erase zoe@example.com           personal data of a submitter"""


def load() -> ApplicationType[Application]:
    """Import the application."""
    from hashrange_systems.kelifax.application import APPLICATION

    return APPLICATION


app = make_cli("kelifax", "The resource directory: submissions, moderation, search, exports, admins.", EXAMPLES, load)
accounts = app.add_group("admin", "Accounts: add, list, password, remove, sign-out.")
accounts.command("add")(account.add)
accounts.command("list")(list_users)
accounts.command("password")(account.change_password)
accounts.command("remove")(account.remove)
accounts.command("sign-out")(sign_out)
app.command("submit", help=entry.SUBMIT_HELP)(entry.submit)
app.command("import", help=entry.IMPORT_HELP)(entry.import_entries)
app.command("export", help=entry.EXPORT_HELP)(entry.export)
app.command("search", help=entry.SEARCH_HELP)(entry.search)
app.command("queue", help=moderation.QUEUE_HELP)(moderation.queue)
app.command("show")(moderation.show)
app.command("approve")(moderation.approve)
app.command("reject")(moderation.reject)
app.command("unpublish")(moderation.unpublish)
app.command("undo")(moderation.undo)
app.command("delete")(moderation.delete)
app.command("check-links", help=operation.LINKS_HELP)(operation.check_links)
app.command("adopt", help=operation.ADOPT_HELP)(operation.adopt)
app.command("analytics", help=operation.ANALYTICS_HELP)(operation.analytics)
app.command("person", help=operation.PERSON_HELP)(operation.person)
app.command("erase", help=operation.ERASE_HELP)(operation.erase)
add_worker_commands(app, operation.WORKER_HELP)
