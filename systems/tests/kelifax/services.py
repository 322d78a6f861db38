"""The services of the directory on a database of a test, with a clock that the test moves and mails that it reads."""

import re

import hashrange
from hashrange_systems.kelifax.application import APPLICATION, PATTERNS, Application
from hashrange_systems.kelifax.model.draft import parse_draft
from hashrange_systems.kelifax.service.actor import Actor
from hashrange_systems.shared.application.runtime import Runtime
from systems.tests.hosting import make_host

SECRET = "a secret of thirty-two bytes ..."
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


class KelifaxServices(Application):
    """The application in the demo, whose mails go to a mailbox; or without `by_mail`, where they go nowhere."""

    def __init__(self, database, clock, *, by_mail=True, hooks=(), **environment):
        hashrange.create_tables(database, *PATTERNS)
        self.database = database
        settings = {"KELIFAX_SECRET": SECRET, "KELIFAX_PROOF_COST": "200", **environment}
        host = make_host(database, clock, base_url=SITE, demo=by_mail, **settings)
        super().__init__(Runtime.open(host, APPLICATION.settings, hooks=hooks))

    async def send_mails(self):
        """Send what is due; return the mails so far, latest first."""
        await self.outbox.send_all()
        return self.mailbox.mails("")

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
        receipt = await self.submissions.accept(parse_draft(make_form(name, **changes)), confirmed=True)
        return receipt.slug
