"""The forms of the JSON API, for its documentation. The form of a submission is checked by the model, not here."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field, create_model
from pydantic.alias_generators import to_camel

from hashrange_systems.kelifax.model.content import CONTENT_FIELDS, LISTED_FIELDS, ContentField
from hashrange_systems.kelifax.model.draft import CONTENT_SECTIONS, split_fields

EXAMPLE_FORM: dict[str, Any] = {
    "submitter": {"firstName": "Zoë", "lastName": "Díaz", "companyEmail": "zoe@example.com", "company": "Example"},
    **split_fields({each.name: each.example for each in CONTENT_FIELDS if each.example is not None}),
}


def describe_section(section: str) -> dict[str, Any]:
    """Return the JSON schema of a section of the form."""
    entries = [each for each in CONTENT_FIELDS if each.section == section]
    return {
        "type": "object",
        "properties": {each.name: {"description": each.label, **each.kind.form_schema} for each in entries},
        "required": [each.name for each in entries if each.kind.required],
        "additionalProperties": False,
    }


FORM: dict[str, Any] = {
    "type": "object",
    "properties": {"submitter": {"type": "object"}, **{name: describe_section(name) for name in CONTENT_SECTIONS}},
    "required": ["submitter", *CONTENT_SECTIONS],
    "additionalProperties": False,
}


class CamelModel(BaseModel):
    """A model whose JSON has the names of the original system."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)


def list_types(entries: Iterable[ContentField]) -> dict[str, Any]:
    """Return the types of fields in JSON; only what may be null may be left out."""
    return {
        each.attribute: (each.kind.shown, Field(... if each.kind.empty is not None else None, title=each.label))
        for each in entries
    }


if TYPE_CHECKING:

    class ListedContentModel(CamelModel):
        """The fields of resources that lists have."""

    class ContentModel(ListedContentModel):
        """All fields of resources."""

else:
    ListedContentModel = create_model("ListedContentModel", __base__=CamelModel, **list_types(LISTED_FIELDS))
    ContentModel = create_model("ContentModel", __base__=ListedContentModel, **list_types(CONTENT_FIELDS))


class ListedResourceModel(ListedContentModel):
    """A resource in a list; `damaged` says why another program stored it in a form that cannot be read."""

    resource_slug: str
    featured: bool = False
    view_count: int = 0
    published_at: str | None = None
    damaged: str | None = None


class ResourceModel(ContentModel, ListedResourceModel):
    """A resource; of a damaged one, the raw texts are shown too."""

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
