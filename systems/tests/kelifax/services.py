"""The services of the directory on a database of a test, with a clock that the test moves and mails that it reads."""

import re

import hashrange
from hashrange_systems.kelifax.schema import Kelifax
from hashrange_systems.kelifax.service.actor import Actor
from hashrange_systems.kelifax.service.admins import Admins
from hashrange_systems.kelifax.service.deletion import Deletion
from hashrange_systems.kelifax.service.digests import Digests
from hashrange_systems.kelifax.service.directory import Directory
from hashrange_systems.kelifax.service.duplicates import Duplicates
from hashrange_systems.kelifax.service.favourites import Favourites
from hashrange_systems.kelifax.service.link_checks import LinkChecks
from hashrange_systems.kelifax.service.mails import SHARDS, Mailer, MailOutbox
from hashrange_systems.kelifax.service.moderation import Moderation
from hashrange_systems.kelifax.service.ownerships import Ownerships
from hashrange_systems.kelifax.service.proofs import Proofs
from hashrange_systems.kelifax.service.quotas import Quotas
from hashrange_systems.kelifax.service.reviews import Reviews
from hashrange_systems.kelifax.service.submissions import Submissions
from hashrange_systems.kelifax.service.suggestions import Suggestions
from hashrange_systems.kelifax.service.view_counts import ViewCounts
from hashrange_systems.shared.channels.demo_mailbox import Mailbox
from hashrange_systems.shared.fetching.fetcher import Fetcher
from hashrange_systems.shared.fetching.policy import Policy
from hashrange_systems.shared.signed_token import TokenSigner

SECRET = b"a secret of thirty-two bytes ..."
ANN, BOB = Actor("ann", "admin"), Actor("bob", "moderator")
SITE = "https://kelifax.example"


def make_form(name="Pixel Kit", url=None, email="zoe@techcorp.com", **changes):
    """A valid form; `changes` replace fields of the resource or its details."""
    slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "x"
    resource = {
        "resourceName": name,
        "resourceUrl": url or f"https://{slug}.example.com/",
        "usagePurpose": "Draws icons for interfaces, in every size.",
        "category": "design",
        "logoImage": None,
        "tags": ["icons", "vector"],
        "pricing": ["free"],
    }
    details = {
        "keyFeatures": ["Draws on a grid of pixels", "Exports to every format", "Shares libraries with a team"],
        "useCases": ["Icons of an application", "Drawings for documentation"],
        "learningResources": [{"title": "Guide", "url": "https://docs.example.com/a|b", "type": "tutorial"}],
    }
    for field, value in changes.items():
        (details if field in details else resource)[field] = value
    submitter = {"firstName": "Zoë", "lastName": "O'Neill-Díaz", "companyEmail": email, "company": "Tech Corp"}
    return {"submitter": submitter, "resource": resource, "details": details}


class KelifaxServices:
    """All services, with a mailbox."""

    def __init__(self, database, clock, *, by_mail=True, fetcher=None, hooks=()):
        hashrange.create_tables(database, Kelifax)
        self.database, self.clock = database, clock
        self.db = db = Kelifax.open(database, clock=clock, secret=SECRET, hooks=list(hooks))
        signer = self.signer = TokenSigner(SECRET, "kelifax")
        self.mailbox = Mailbox(clock)
        mailer = Mailer(db, clock)
        quotas = Quotas(db, clock)
        duplicates = Duplicates(db, clock)
        self.proofs = Proofs(db, clock, SECRET, cost=200)
        self.directory = Directory(db, clock, signer)
        self.submissions = Submissions(db, clock, signer, self.proofs, quotas, duplicates, mailer, by_mail=by_mail)
        self.moderation = Moderation(db, clock, mailer, duplicates)
        self.deletion = Deletion(db, clock)
        self.admins = Admins(db, clock)
        self.suggestions = Suggestions(db, clock, quotas, self.moderation)
        self.reviews = Reviews(db, clock, signer, quotas, mailer)
        self.favourites = Favourites(db, clock)
        self.ownerships = Ownerships(db, clock, signer, quotas, mailer, self.moderation)
        self.digests = Digests(db, clock, signer, quotas, mailer, SITE)
        self.views = ViewCounts(db, clock)
        self.links = LinkChecks(db, clock, fetcher or Fetcher(Policy()), quotas, self.moderation)
        self.outbox = MailOutbox(db=db, clock=clock, signer=signer, sender=self.mailbox, base_url=SITE, site="Kelifax")

    async def send_mails(self):
        """Send what is due; return the mails so far, latest first."""
        for shard in range(SHARDS):
            await self.outbox.send_due(str(shard))
        return self.mailbox.mails("visitor")

    async def find_token(self, topic):
        """The token in the latest mail about a topic."""
        mails = [mail for mail in await self.send_mails() if mail.notification.data["topic"] == topic]
        return re.findall(r"https://\S+/(\S+)\n", mails[0].notification.text)[-1]

    async def list_resource(self, name="Pixel Kit", **changes):
        """Submit, confirm and approve a resource; return its slug."""
        slug = await self.submit(name, **changes)
        await self.moderation.approve(slug, ANN)
        return slug

    async def submit(self, name="Pixel Kit", **changes):
        """Submit and confirm a resource as an operator does; return its slug."""
        from hashrange_systems.kelifax.model.draft import parse_draft

        receipt = await self.submissions.accept(parse_draft(make_form(name, **changes)), confirmed=True)
        return receipt.slug
