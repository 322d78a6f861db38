"""`hashrange kelifax submit|import|export|search`: entries in and out."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from hashrange_systems.shared.cli.database_target import AsJson, fail

if TYPE_CHECKING:
    from hashrange_systems.kelifax.application import Application
    from hashrange_systems.kelifax.service.importer import EntryReport
    from hashrange_systems.shared.cli.system_commands import Runner

SUBMIT_HELP = """Submit a form: a JSON file with submitter, resource and details, or - for standard input.

The rules of the form apply; proofs, limits and the confirmation by mail do not.

[bold]Example[/bold]

\b
  hashrange kelifax submit form.json"""
IMPORT_HELP = """Take many entries in: a JSON array, or one JSON object per line.

An object with submitter, resource and details is a form and becomes a pending resource. One with a resourceSlug is an
item as the original system stores it: it is stored as it is unless its slug is taken.

[bold]Example[/bold]

\b
  hashrange kelifax import curated.json --json"""
EXPORT_HELP = """Print all published resources, without personal data.

[bold]Examples[/bold]

\b
  hashrange kelifax export --format md > README.md
  hashrange kelifax export --format csv > directory.csv"""
SEARCH_HELP = """Find published resources that have all words.

It reads the public list, as the original system does, and has no index: unlike the pages, it forgives no typing error.

[bold]Example[/bold]

\b
  hashrange kelifax search "vector icons" --category design"""

File = Annotated[str, typer.Argument(metavar="FILE", help="A JSON file; - for standard input.")]


def read_json(file: str) -> Any:
    """Return the JSON of a file: one value, or a list of the values of its lines."""
    try:
        text = sys.stdin.read() if file == "-" else Path(file).read_text("utf-8")
    except OSError as error:
        raise fail(f"{file} cannot be read: {error.strerror}", 2) from error
    try:
        return json.loads(text)
    except ValueError:
        pass
    try:
        return [json.loads(line) for line in text.splitlines() if line.strip()]
    except ValueError as error:
        raise fail(f"{file} is not JSON: {error}", 2) from error


def submit(
    runner: Runner[Application],
    file: File,
    different: Annotated[
        bool, typer.Option("--different", help="It is another resource, although its name is taken.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Submit a form."""
    from hashrange_systems.kelifax.model.draft import parse_draft
    from hashrange_systems.shared.cli.output import print_json

    form = read_json(file)

    receipt = runner.run(
        lambda services: services.submissions.accept(parse_draft(form), different=different, confirmed=True)
    )
    if as_json:
        print_json({"resourceSlug": receipt.slug, "submissionId": receipt.submission_id, "status": receipt.state})
    else:
        typer.echo(f"{receipt.state}  {receipt.slug}")


def import_entries(runner: Runner[Application], file: File, as_json: AsJson = False) -> None:
    """Take many entries in."""
    from hashrange_systems.shared.cli.output import print_json

    rows = read_json(file)

    async def act(services: Application) -> EntryReport:
        from hashrange_systems.kelifax.service.importer import Importer

        importer = Importer(services.db, services.submissions, services.adoption)
        return await importer.load(rows if isinstance(rows, list) else [rows])

    report = runner.run(act)
    if as_json:
        refused = {str(number): reason for number, reason in report.refused.items()}
        print_json({"submitted": report.submitted, "stored": report.stored, "refused": refused})
    else:
        typer.echo(f"{len(report.submitted)} submitted, {len(report.stored)} stored, {len(report.refused)} refused")
        for number, reason in report.refused.items():
            typer.echo(f"  {number}: {reason}", err=True)
    if report.refused:
        raise typer.Exit(1)


def export(
    runner: Runner[Application],
    kind: Annotated[
        Literal["json", "csv", "md"], typer.Option("--format", help="JSON, a table, or a Markdown list by category.")
    ] = "json",
) -> None:
    """Print all published resources."""

    async def act(services: Application) -> bytes:
        from hashrange_systems.kelifax.web.feeds import write_json, write_markdown, write_table

        write: Any = {"json": write_json, "csv": write_table, "md": write_markdown}[kind]
        parts = [part async for part in write(services.directory.list_all())]
        return b"".join(part if isinstance(part, bytes) else part.encode() for part in parts)

    content = runner.run(act)
    typer.echo(content.decode("utf-8"), nl=False)


def search(
    runner: Runner[Application],
    words: Annotated[list[str], typer.Argument(metavar="WORDS", help="Words that must all be found.")],
    category: Annotated[str, typer.Option("--category", help="Only this category.")] = "",
    limit: Annotated[int, typer.Option("--limit", min=1, max=50, help="At most so many.")] = 20,
    as_json: AsJson = False,
) -> None:
    """Find published resources."""
    from hashrange_systems.kelifax.search.query import SearchQuery
    from hashrange_systems.shared.cli.output import print_json, print_table

    query = SearchQuery(text=" ".join(words), category=category, limit=limit)
    hits = runner.run(lambda services: services.search.find(query)).hits
    found = [hit.document.to_json() for hit in hits]
    if as_json:
        print_json(found)
    else:
        rows = [[row[name] for name in ("resourceSlug", "resourceName", "category", "resourceUrl")] for row in found]
        print_table("Found", ("slug", "name", "category", "url"), rows, empty="Nothing has all these words.")
