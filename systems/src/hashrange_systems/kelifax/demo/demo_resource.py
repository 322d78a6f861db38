"""The resources of the demo, read from `resources.toml`: fields of the form, and what became of each resource."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Literal

from hashrange_systems.kelifax.model.draft import split_fields

State = Literal["pending", "approved", "rejected"]
TITLES = {"documentation": "Getting started", "video": "A tour in ten minutes"}  # of lessons


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoResource:
    """A resource as it is submitted, and what became of it."""

    fields: Mapping[str, Any]  # by the names of the form
    state: State
    featured: bool

    def to_form(self) -> dict[str, Any]:
        """Return the form without its submitter."""
        return dict(split_fields(self.fields))


def load_resources() -> list[DemoResource]:
    """Return all resources, the latest submission first."""
    text = files(__package__).joinpath("resources.toml").read_text("utf-8")
    return [_read(row) for row in tomllib.loads(text)["resource"]]


def _read(row: dict[str, Any]) -> DemoResource:
    """Return the resource of a row; its URL and those of its lessons have the same host."""
    state, featured = row.pop("state", "approved"), row.pop("featured", False)
    address = f"https://{row.pop('host')}"
    lessons = row.pop("lessons", ())
    learning = [{"title": TITLES[kind], "url": f"{address}{path}", "type": kind} for path, kind in lessons]
    fields = {**row, "resourceUrl": f"{address}/", "learningResources": learning}
    return DemoResource(fields=fields, state=state, featured=featured)
