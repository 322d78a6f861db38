"""The services that the web, the worker and the commands use; `application` creates them."""

from __future__ import annotations

from dataclasses import dataclass

from hashrange import Clock
from hashrange_systems.kelifax.logos.logos import Logos
from hashrange_systems.kelifax.record_item import WorkerPresence
from hashrange_systems.kelifax.schema import Kelifax
from hashrange_systems.kelifax.search.search import Search
from hashrange_systems.kelifax.service.admins import Admins
from hashrange_systems.kelifax.service.adoption import Adoption
from hashrange_systems.kelifax.service.analytics import Analytics
from hashrange_systems.kelifax.service.deletion import Deletion
from hashrange_systems.kelifax.service.digests import Digests
from hashrange_systems.kelifax.service.directory import Directory
from hashrange_systems.kelifax.service.duplicates import Duplicates
from hashrange_systems.kelifax.service.favourites import Favourites
from hashrange_systems.kelifax.service.link_checks import LinkChecks
from hashrange_systems.kelifax.service.moderation import Moderation
from hashrange_systems.kelifax.service.ownerships import Ownerships
from hashrange_systems.kelifax.service.privacy import Privacy
from hashrange_systems.kelifax.service.proofs import Proofs
from hashrange_systems.kelifax.service.reviews import Reviews
from hashrange_systems.kelifax.service.submissions import Submissions
from hashrange_systems.kelifax.service.suggestions import Suggestions
from hashrange_systems.kelifax.service.view_counts import ViewCounts
from hashrange_systems.shared.channels.demo_mailbox import Mailbox
from hashrange_systems.shared.presence import Presence
from hashrange_systems.shared.signed_token import TokenSigner


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """One of each service; `service/__init__.py` says for whom each is."""

    db: Kelifax
    clock: Clock
    signer: TokenSigner
    site: str  # the name of the directory
    directory: Directory
    search: Search
    submissions: Submissions
    duplicates: Duplicates
    proofs: Proofs
    logos: Logos
    suggestions: Suggestions
    link_checks: LinkChecks
    view_counts: ViewCounts
    reviews: Reviews
    favourites: Favourites
    ownerships: Ownerships
    digests: Digests
    admins: Admins
    moderation: Moderation
    deletion: Deletion
    analytics: Analytics
    privacy: Privacy
    adoption: Adoption
    presence: Presence[WorkerPresence]  # whether the background work is done: `await presence.read()`
    mailbox: Mailbox | None = None  # the demo's mails
    demo_admin: tuple[str, str] | None = None  # name and password that the demo shows at the sign-in

    @property
    def secret(self) -> bytes:
        """The secret that signs links and forms."""
        return self.signer.secret
