"""The pages and the API on one database in this process: visitors with cookies, admins, and their forms."""

import asyncio
import re
from functools import cache
from html import unescape

import httpx
from starlette.applications import Starlette
from starlette.routing import Mount

import hashrange
from hashrange_systems.kelifax.application import APPLICATION, PATTERNS
from hashrange_systems.kelifax.model.draft import parse_draft
from hashrange_systems.kelifax.service.actor import OPERATOR, Actor
from hashrange_systems.kelifax.web.app import make_app
from hashrange_systems.shared.accounts.password import hash_password
from systems.tests.hosting import make_host
from systems.tests.kelifax.web.running_site import PASSWORD, make_form

BASE_URL = "http://127.0.0.1:8002/kelifax"
TOKEN = re.compile(r'name="form_token" value="([^"]+)"')


@cache
def hash_once():
    """The hash of the password of all admins."""
    return asyncio.run(hash_password(PASSWORD))


class WebClient:
    """All services with their pages; mails go to the mailbox of the demo."""

    moderator, owner = Actor("ann", "moderator"), Actor("ann", "admin")

    def __init__(self, database, clock, *, base_url=BASE_URL):
        hashrange.create_tables(database, *PATTERNS)
        self.database, self.clock, self.base_url = database, clock, base_url
        self.services = APPLICATION.open(
            make_host(database, clock, base_url=base_url, demo=True, KELIFAX_PROOF_COST="200")
        )
        self.site = Starlette(routes=[Mount("/kelifax", make_app(self.services))])
        self.loop = asyncio.new_event_loop()

    def do(self, awaitable):
        async def wait():
            return await awaitable

        return self.loop.run_until_complete(wait())

    def close(self):
        self.do(self.services.runtime.close())
        self.loop.close()

    def visitor(self, peer="127.0.0.1", **headers):
        """A browser with cookies of its own."""
        transport = InProcess(self.site, self.loop, peer)
        return httpx.Client(transport=transport, base_url=self.base_url, headers={"User-Agent": "Firefox", **headers})

    def admin(self, name="ann", role="admin"):
        """A browser in which an admin is signed in; the password is hashed once, because that is slow on purpose."""
        accounts = self.services.accounts
        account = accounts.credentials.write_new(name, role, hash_once())
        self.do(accounts.db.transact(accounts.logins.claim(name, name), account).unread())
        browser = self.visitor()
        browser.cookies.set("kelifax_admin", self.do(accounts.sign_in.start(name)))
        return browser

    def publish(self, name, **more):
        slug = self.submit(name, **more)
        self.do(self.services.moderation.approve(slug, OPERATOR))
        return slug

    def submit(self, name, **more):
        return self.do(self.services.submissions.accept(parse_draft(make_form(name, **more)), confirmed=True)).slug

    def read_mails(self):
        """Send what is due, and return the texts of all mails, latest first."""
        self.do(self.services.outbox.send_all())
        return [mail.notification.text for mail in self.services.mailbox.mails("")]

    def find_link(self, path):
        """The path of the latest mailed link of this kind."""
        links = [link for text in self.read_mails() for link in re.findall(r"http\S+", text) if path in link]
        return links[0].removeprefix(self.base_url)


class InProcess(httpx.BaseTransport):
    """Calls an application on an event loop of the test, with a client address."""

    def __init__(self, app, loop, peer):
        self.inner = httpx.ASGITransport(app, raise_app_exceptions=False, client=(peer, 50000))
        self.loop = loop

    def handle_request(self, request):
        return self.loop.run_until_complete(self.ask(request))

    async def ask(self, request):
        asked = httpx.Request(request.method, request.url, headers=request.headers, content=request.read())
        response = await self.inner.handle_async_request(asked)
        return httpx.Response(response.status_code, headers=response.headers, content=await response.aread())


def find_token(browser, path):
    """The CSRF token of a page."""
    return TOKEN.search(browser.get(path).text)[1]


def send(browser, path, page=None, **fields):
    """Send a form of a page as a browser does."""
    return browser.post(path, data={"form_token": find_token(browser, page or path), **fields})


def read_text(response):
    """The text of a page, without markup."""
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", response.text)).split())


def flatten(form):
    """The fields of the HTML form for a form of the original system."""
    fields = {f"{section}.{name}": value for section, values in form.items() for name, value in values.items()}
    lessons = fields.pop("details.learningResources", [])
    for part in ("title", "url", "type"):
        fields[f"details.learningResources.{part}"] = [lesson[part] for lesson in lessons]
    fields["resource.tags"] = ", ".join(fields.get("resource.tags", []))
    return {name: value if isinstance(value, list) else value or "" for name, value in fields.items()}
