"""What is stored about logos: each logo once, by the hash of its content, and each resource or suggestion that uses it.

A logo is due for a check when it was uploaded a day ago and when a resource stopped using it; without a use it is
deleted then. The contents themselves are in the object store.
"""

from datetime import datetime
from typing import Any, Literal, Protocol

from hashrange import (
    KEYS_ONLY,
    Delete,
    Eq,
    Get,
    Gsi,
    Item,
    Key,
    Le,
    Patterns,
    Query,
    Table,
    Update,
    Upsert,
    View,
    camel,
    where,
)
from hashrange_systems.kelifax.schema import Published

logos = Table("${KELIFAX_LOGOS_TABLE:-kelifax-logos}", "logo", "part", naming=camel, indexes=[
    Gsi("LogoDueIndex", "dueShard", "dueAt", KEYS_ONLY),
])  # fmt: skip


class Logo(Item, table=logos, logo="{name}", part="LOGO", dueShard="{name:shard4}"):
    """A logo; uploading it again only moves the time at which it is looked at."""

    name: Key[str]
    uploaded_at: datetime
    due_at: datetime


class KeptLogo(Logo):
    logo_state: Literal["kept"] = "kept"


class DeletingLogo(Logo):
    """A logo whose content is being deleted: it cannot be uploaded before that is done."""

    logo_state: Literal["deleting"] = "deleting"


class DueLogo(View[Logo]):
    """A logo in the due index."""

    name: Key[str]
    due_at: datetime


class LogoUse(Item, table=logos, logo="{name}", part="USE#{slug:fit}"):
    """A resource that refers to a logo: the references that are counted."""

    name: Key[str]
    slug: str


class SuggestedLogo(Item, table=logos, logo="{name}", part="SUGGESTION#{suggestion_id}"):
    """A suggested edit with a logo, which is kept while a moderator has not decided."""

    name: Key[str]
    suggestion_id: Key[str]
    slug: str


class ResourceLogo(View[Published]):
    """The logo of any resource in the stream, damaged or not."""

    resource_slug: str
    logo_image: Any = None

    @property
    def name(self) -> str | None:
        """The name of the logo, if it is a text."""
        return self.logo_image if isinstance(self.logo_image, str) else None


class LogoRecords(Patterns, Protocol):
    def logo(self, name: str) -> Get[KeptLogo | DeletingLogo]: ...
    def uses(self, name: str) -> Query[LogoUse]: ...
    def suggested(self, name: str) -> Query[SuggestedLogo]: ...
    def drop_suggested(self, name: str, suggestion_id: str) -> Delete[SuggestedLogo]: ...
    def due(self, due_shard: str, due_at: Le[datetime]) -> Query[DueLogo]: ...
    @where("attribute_not_exists(logo_state) OR logo_state = {kept}")
    def keep(self, name: str, uploaded_at: datetime, due_at: datetime, kept: Literal["kept"]) -> Upsert[KeptLogo]: ...
    def look_later(self, logo: KeptLogo, due_at: datetime) -> Update[KeptLogo]: ...
    @where("due_at = {seen}")
    def begin_deletion(self, logo: KeptLogo, seen: datetime, due_at: datetime) -> Update[DeletingLogo]: ...
    def finish_deletion(self, name: str, logo_state: Eq[Literal["deleting"]]) -> Delete[DeletingLogo]: ...
    def drop_use(self, name: str, slug: str) -> Delete[LogoUse]: ...
