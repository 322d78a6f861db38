"""The commands of the directory, `hashrange kelifax ...`: for operators, without signing in.

Shared parts are in `command_target` (which database) and `entry_tables` (output).
"""

from __future__ import annotations

import typer

from hashrange_systems.kelifax.cli import account_commands as account
from hashrange_systems.kelifax.cli import entry_commands as entry
from hashrange_systems.kelifax.cli import moderation_commands as moderation
from hashrange_systems.kelifax.cli import operation_commands as operation

HELP = """The resource directory: submissions, moderation, search, exports, admins.

[bold]Examples[/bold]

\b
  hashrange kelifax admin add ann --role admin     asks for a password
  hashrange kelifax submit form.json               a form of the API, without its limits
  hashrange kelifax queue                          what waits, oldest first
  hashrange kelifax approve pixel-kit
  hashrange kelifax reject pixel-kit --reason "The page is empty."
  hashrange kelifax search "vector icons"
  hashrange kelifax export --format md > directory.md
  hashrange kelifax adopt --target aws --dry-run  a table of the original system
  hashrange kelifax erase zoe@example.com           personal data of a submitter

[bold]Which database[/bold]

\b
  --target DIR                      a directory that no other process uses; --data DIR creates it
  --target http://127.0.0.1:8000    what a running hashrange up or serve has
  --target aws                      DynamoDB at AWS

[bold]Exit codes[/bold]

0 success, 1 refused or not found, 2 wrong usage or no database."""

app = typer.Typer(help=HELP, no_args_is_help=True, rich_markup_mode="rich", pretty_exceptions_enable=False)
app.add_typer(account.app, name="admin")
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
app.command("worker", help=operation.WORKER_HELP)(operation.worker)
