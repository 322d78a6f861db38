"""Takes many entries in: forms, which obey the rules of submissions, or items as the original system stores them.

- `load(rows)`: each row is a form (`submitter`, `resource`, `details`) or an item (`resourceSlug`, ...). A form becomes
  a pending resource; an item is stored as it is, unless its slug is taken, and is listed if it is approved.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from hashrange import ConditionalCheckFailedException, ServiceError
from hashrange_systems.kelifax.model.content import CONTENT_FIELDS
from hashrange_systems.kelifax.model.draft import parse_draft
from hashrange_systems.kelifax.model.slug import is_stored_slug
from hashrange_systems.kelifax.schema import Kelifax, table
from hashrange_systems.kelifax.service.adoption import Adoption
from hashrange_systems.kelifax.service.submissions import Submissions
from hashrange_systems.shared.errors import ApplicationError

NEVER_IMPORTED = frozenset({"publicFeed", "publicCategory", "publishedAt", "damage"})  # the adoption sets them
SETS = frozenset(each.name for each in CONTENT_FIELDS if each.kind.stored == set[str])  # which the original has not


@dataclass(slots=True)
class EntryReport:
    """What became of the rows: slugs, and the reason by the number of a refused row, from 1."""

    submitted: list[str] = field(default_factory=list)
    stored: list[str] = field(default_factory=list)
    refused: dict[int, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Importer:
    """Takes entries in, for operators."""

    db: Kelifax
    submissions: Submissions
    adoption: Adoption

    async def load(self, rows: Iterable[object]) -> EntryReport:
        """Take rows in; each succeeds or fails on its own."""
        report = EntryReport()
        for number, row in enumerate(rows, 1):
            try:
                if isinstance(row, Mapping) and "resourceSlug" in row:
                    report.stored.append(await self._store(row))
                else:
                    draft = parse_draft(row)
                    report.submitted.append((await self.submissions.accept(draft, confirmed=True)).slug)
            except (ApplicationError, ServiceError, ValueError) as error:
                report.refused[number] = str(error)
        return report

    async def _store(self, row: Mapping[str, Any]) -> str:
        slug = row["resourceSlug"]
        if not isinstance(slug, str) or not is_stored_slug(slug):
            raise ValueError(f"{slug!r} cannot be the slug of a resource")
        kept = {
            name: value for name, value in row.items() if name not in NEVER_IMPORTED and (value or name not in SETS)
        }
        item = {name: to_set(value) if name in SETS else to_wire(value) for name, value in kept.items()}
        request = {
            "TableName": table.physical_name,
            "Item": item,
            "ConditionExpression": "attribute_not_exists(resourceSlug)",
        }
        try:
            await self.db.session.transport.call_async("PutItem", request)
        except ConditionalCheckFailedException:
            raise ValueError(f"{slug} is taken") from None
        await self.adoption.repair(slug)
        return slug


def to_set(value: Any) -> dict[str, Any]:
    """Return a JSON list of texts as a set in wire form."""
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise ValueError(f"{str(value)[:80]!r} is not a list of texts")
    return {"SS": list(dict.fromkeys(value))}


def to_wire(value: Any) -> dict[str, Any]:
    """Return a JSON value in wire form; the original system stores texts, numbers and booleans."""
    match value:
        case bool():
            return {"BOOL": value}
        case int() | float():
            return {"N": str(value)}
        case None:
            return {"S": ""}
        case str():
            return {"S": value}
        case _:
            raise ValueError(f"{str(value)[:80]!r} is not text, a number or a boolean")
