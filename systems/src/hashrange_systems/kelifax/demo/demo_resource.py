"""The resources of the demo, read from `resources.toml`."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Literal

State = Literal["pending", "approved", "rejected"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoResource:
    """A resource as it is submitted, and what became of it."""

    name: str
    host: str
    category: str
    pricing: tuple[str, ...]
    tags: tuple[str, ...]
    purpose: str
    features: tuple[str, ...]
    use_cases: tuple[str, ...]
    lessons: tuple[tuple[str, str], ...] = ()  # path and type
    state: State = "approved"
    featured: bool = False

    def to_form(self) -> dict[str, Any]:
        """Return the form without its submitter."""
        titles = {"documentation": "Getting started", "video": "A tour in ten minutes"}
        lessons = [
            {"title": titles[kind], "url": f"https://{self.host}{path}", "type": kind} for path, kind in self.lessons
        ]
        return {
            "resource": {
                "resourceName": self.name,
                "resourceUrl": f"https://{self.host}/",
                "usagePurpose": self.purpose,
                "category": self.category,
                "tags": list(self.tags),
                "pricing": list(self.pricing),
            },
            "details": {
                "keyFeatures": list(self.features),
                "useCases": list(self.use_cases),
                "learningResources": lessons,
            },
        }


def load_resources() -> list[DemoResource]:
    """Return all resources, the latest submission first."""
    text = files(__package__).joinpath("resources.toml").read_text("utf-8")
    return [_read(row) for row in tomllib.loads(text)["resource"]]


def _read(row: dict[str, Any]) -> DemoResource:
    return DemoResource(
        name=row["name"],
        host=row["host"],
        category=row["category"],
        pricing=tuple(row["pricing"]),
        tags=tuple(row["tags"]),
        purpose=row["purpose"],
        features=tuple(row["features"]),
        use_cases=tuple(row["useCases"]),
        lessons=tuple((path, kind) for path, kind in row.get("lessons", ())),
        state=row.get("state", "approved"),
        featured=row.get("featured", False),
    )
