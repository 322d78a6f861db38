"""The forms of the JSON API, for its documentation. The form of a submission is checked by the model, not here."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from hashrange_systems.kelifax.model.public_entry import ListedResource, PublicResource, format_time

EXAMPLE_FORM: dict[str, Any] = {
    "submitter": {"firstName": "Zoë", "lastName": "Díaz", "companyEmail": "zoe@example.com", "company": "Example"},
    "resource": {
        "resourceName": "Amazing Dev Tool",
        "resourceUrl": "https://amazingdevtool.example",
        "usagePurpose": "Generates the code that developers write again and again.",
        "category": "development",
        "tags": ["productivity", "automation"],
    },
    "details": {
        "keyFeatures": ["Automated code generation", "Integrated debugging tools", "Real-time collaboration"],
        "useCases": ["Rapid prototyping for startups", "Enterprise application development"],
        "learningResources": [{"title": "Guide", "url": "https://docs.example", "type": "documentation"}],
    },
}


class CamelModel(BaseModel):
    """A model whose JSON has the names of the original system."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)


class LessonModel(CamelModel):
    """Where a resource can be learned."""

    title: str
    url: str
    type: str


class ListedResourceModel(CamelModel):
    """A resource in a list; `damaged` says why another program stored it in a form that cannot be read."""

    resource_slug: str
    resource_name: str
    resource_url: str
    usage_purpose: str
    category: str
    logo_image: str | None = None
    tags: list[str] = []
    pricing: list[str] = []
    featured: bool = False
    view_count: int = 0
    published_at: str | None = None
    damaged: str | None = None


class ResourceModel(ListedResourceModel):
    """A resource; of a damaged one, the raw texts are shown too."""

    key_features: list[str] = []
    use_cases: list[str] = []
    learning_resources: list[LessonModel] = []
    raw: dict[str, str] | None = None


class ResourcePage(CamelModel):
    """A page of a list; `cursor` continues it, and is null on the last page."""

    resources: list[ListedResourceModel]
    cursor: str | None = Field(description="Give it as `after`, with the same filters.")


class FoundResource(ListedResourceModel):
    """A resource that a search found; `typo` if a word was only found with another spelling."""

    typo: bool = False


class FoundResources(CamelModel):
    """What a search found, best first."""

    resources: list[FoundResource]
    total: int
    by: str = Field(description="`index`, or `scan` while the index is being built.")


class SubmittedModel(CamelModel):
    """An accepted submission."""

    resource_slug: str
    submission_id: str
    resource_status: str = Field(description="`unconfirmed` until the link of the mail is opened, then `pending`.")
    status_url: str


class LogoModel(CamelModel):
    """A stored logo: its name is the `logoImage` of a submission."""

    logo_image: str


def show_listed(entry: ListedResource | Any) -> dict[str, Any]:
    """Return an entry of a list or of a search."""
    published = entry.published_at
    return {
        "resource_slug": entry.slug,
        "resource_name": entry.name,
        "resource_url": entry.url,
        "usage_purpose": entry.purpose,
        "category": entry.category,
        "logo_image": entry.logo or None,
        "tags": list(entry.tags),
        "pricing": list(entry.pricing),
        "featured": entry.featured,
        "view_count": entry.views,
        "published_at": format_time(published),
        "damaged": entry.damage or None,
    }


def show_whole(entry: PublicResource) -> ResourceModel:
    """Return a resource with everything that is public."""
    return ResourceModel.model_validate(entry.to_json())
