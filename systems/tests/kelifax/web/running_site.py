"""The directory on a loopback port, in a thread of the test: pages, worker, and a mail server whose inbox it reads."""

import asyncio
import email
import email.policy
import re
import threading
from contextlib import contextmanager

import uvicorn
from aiosmtpd.controller import Controller
from starlette.applications import Starlette
from starlette.routing import Mount

import hashrange
from hashrange import SystemClock
from hashrange_systems.kelifax.application import APPLICATION, PATTERNS
from hashrange_systems.kelifax.model.draft import parse_draft
from hashrange_systems.kelifax.service.actor import OPERATOR
from hashrange_systems.kelifax.web.app import make_app
from systems.tests.hosting import make_host
from tests.conftest import find_free_port

PASSWORD = "a long password of moderators"


class Inbox:
    """The mails that were sent, by recipient."""

    def __init__(self):
        self.mails = []
        self.arrived = threading.Condition()

    async def handle_DATA(self, _server, _session, envelope):  # noqa: N802 - aiosmtpd's name
        mail = email.message_from_bytes(envelope.content, policy=email.policy.default)
        with self.arrived:
            self.mails.append((envelope.rcpt_tos[0], mail["Subject"], mail.get_body(("plain",)).get_content()))
            self.arrived.notify_all()
        return "250 OK"

    def wait_for_link(self, recipient, path):
        """The link of a mail to this recipient, once it has arrived."""

        def find():
            texts = (text for to, _, text in self.mails if to == recipient)
            links = (link for text in texts for link in re.findall(r"http\S+", text) if path in link)
            return next(links, None)

        with self.arrived:
            assert self.arrived.wait_for(find, timeout=120), self.mails
            return find()


class RunningSite:
    """The site while it runs; `do` runs a coroutine on its event loop."""

    def __init__(self, port, inbox):
        self.url = f"http://127.0.0.1:{port}/kelifax"
        self.inbox, self.port = inbox, port
        self.loop = asyncio.new_event_loop()
        self.ready = threading.Event()

    def do(self, awaitable):
        return asyncio.run_coroutine_threadsafe(awaitable, self.loop).result(120)

    async def serve(self, database, smtp_port):
        self.database = database
        mail = {"KELIFAX_SMTP_URL": f"smtp://127.0.0.1:{smtp_port}", "KELIFAX_SENDER": "kelifax@example.com"}
        host = make_host(database, SystemClock(), base_url=self.url, own_ports={self.port}, **mail)
        self.services = APPLICATION.open(host)
        app = Starlette(routes=[Mount("/kelifax", make_app(self.services))])
        self.server = uvicorn.Server(uvicorn.Config(app, port=self.port, log_level="warning", lifespan="off"))
        work = asyncio.create_task(self.services.loops.work())
        self.ready.set()
        await self.server.serve()
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)
        await self.services.runtime.close()

    # ── contents ─────────────────────────────────────────────────────────────────────────────────────────────────────
    def publish(self, name, **more):
        """Add an approved resource; return its slug."""
        receipt = self.do(self.services.submissions.accept(parse_draft(make_form(name, **more)), confirmed=True))
        self.do(self.services.moderation.approve(receipt.slug, OPERATOR))
        return receipt.slug

    def submit(self, name, **more):
        """Add a resource that waits; return its slug."""
        return self.do(self.services.submissions.accept(parse_draft(make_form(name, **more)), confirmed=True)).slug


def make_form(name, email="zoe@example.com", **more):
    """A valid form."""
    host = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    resource = {
        "resourceName": name,
        "resourceUrl": f"https://{host}.example.com/",
        "usagePurpose": f"{name} draws icons for interfaces, in every size.",
        "category": "design",
        "tags": ["icons", "vector"],
        "pricing": ["free"],
    }
    details = {
        "keyFeatures": ["Draws on a grid of pixels", "Exports to every format", "Shares libraries with a team"],
        "useCases": ["Icons of an application", "Drawings for documentation"],
        "learningResources": [{"title": "Guide", "url": "https://docs.example.com/guide", "type": "tutorial"}],
    }
    for field, value in more.items():
        (details if field in details else resource)[field] = value
    submitter = {"firstName": "Zoë", "lastName": "Díaz", "companyEmail": email, "company": "Example"}
    return {"submitter": submitter, "resource": resource, "details": details}


@contextmanager
def run_site():
    """A site with a moderator `ann`, until the block ends."""
    inbox = Inbox()
    smtp = Controller(inbox, hostname="127.0.0.1", port=find_free_port())
    smtp.start()
    site = RunningSite(find_free_port(), inbox)
    with hashrange.open() as database:
        hashrange.create_tables(database, *PATTERNS)
        thread = threading.Thread(target=site.loop.run_until_complete, args=(site.serve(database, smtp.port),))
        thread.start()
        try:
            assert site.ready.wait(60)
            site.do(site.services.admins.add("ann", PASSWORD, "admin", OPERATOR))
            yield site
        finally:
            site.server.should_exit = True
            thread.join(60)
            site.loop.close()
            smtp.stop()
