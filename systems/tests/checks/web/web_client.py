"""The web application on one database: API clients with keys, browsers with sessions, and their forms."""

import asyncio
import re
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser

import httpx
from starlette.applications import Starlette
from starlette.routing import Mount

from hashrange_systems.checks.application import Application
from hashrange_systems.checks.service.alert_outbox import AlertOutbox
from hashrange_systems.checks.service.imports import Imports
from hashrange_systems.checks.settings import Settings
from hashrange_systems.checks.web.app import make_app
from hashrange_systems.shared.application.runtime import Runtime
from hashrange_systems.shared.channels.demo_mailbox import Mailbox
from systems.tests.checks.check_items import TABLES
from systems.tests.checks.services import KEYS, SECRET, ServiceSet, do
from systems.tests.hosting import make_host

BASE_URL = "http://127.0.0.1:8002/checks"
ADMIN_TOKEN = "the operator's token, long enough"


class WebApplication(Application):
    """The application with the services of a test, whose checks send nothing and whose mails go to a mailbox."""

    def __init__(self, client, *, demo_email, admin_token):
        token = {"CHECKS_ADMIN_TOKEN": admin_token} if admin_token else {}
        host = make_host(client.database, client.clock, base_url=client.base_url, **token)
        runtime = Runtime.open(host, Settings, is_command=True)  # it agrees with no other process
        super().__init__(replace(runtime, secret=SECRET, keys=KEYS, mailbox=client.mailbox))
        self.users, self.keys, self.channels = client.users, client.keys, client.channels
        self.pages, self.checks, self.imports = client.pages, client.checks, Imports(client.checks)
        self.senders = {"EMAIL": client.mailbox, "WEBHOOK": client.mailbox}
        self.demo_email = demo_email
        self.presence.works = True


class WebClient(ServiceSet):
    """All services with their pages and API, mounted under /checks."""

    def __init__(self, database, clock, *, base_url=BASE_URL, demo_email=None, admin_token=ADMIN_TOKEN):
        super().__init__(database, clock)
        self.base_url = base_url
        self.mailbox = Mailbox(clock)
        self.outbox = AlertOutbox(db=self.db, clock=clock, senders={"EMAIL": self.mailbox})
        self.services = WebApplication(self, demo_email=demo_email, admin_token=admin_token)
        self.serve()

    def serve(self):
        """Serve the pages and the API of the services as they are now."""
        self.app = make_app(self.services)
        self.site = Starlette(routes=[Mount("/checks", self.app)])

    def client(self, key=None, **more):
        """A program that calls the API."""
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        return self._open(f"{self.base_url}/api", headers, **more)

    def browser(self, key=None, **more):
        """A browser, signed in if there is a key."""
        browser = self._open(self.base_url, {}, **more)
        if key:
            assert browser.post("/sign-in", data={"key": key}).status_code == 303
        return browser

    def _open(self, base_url, headers, peer="127.0.0.1"):
        return httpx.Client(transport=InProcessTransport(self.site, peer), base_url=base_url, headers=headers)

    def deliver(self):
        """Send every alert that is due."""
        for shard in range(8):
            do(self.outbox.send_due(str(shard)))

    def everything(self):
        """All items, without the time at which a key was used."""
        rows = [row for table in TABLES for row in self.database.call("Scan", {"TableName": table})["Items"]]
        kept = [{name: value for name, value in row.items() if name != "lastUsedAt"} for row in rows]
        return sorted(kept, key=str)


class InProcessTransport(httpx.BaseTransport):
    """Calls an application in this process, with a client address."""

    def __init__(self, app, peer):
        self.inner = httpx.ASGITransport(app, raise_app_exceptions=False, client=(peer, 50000))

    def handle_request(self, request):
        return asyncio.run(self.ask(request))

    async def ask(self, request):
        stream = SlowBody(request.stream)
        asked = httpx.Request(request.method, request.url, headers=request.headers, stream=stream)
        response = await self.inner.handle_async_request(asked)
        return httpx.Response(response.status_code, headers=response.headers, content=await response.aread())


class SlowBody(httpx.AsyncByteStream):
    """A body that is sent part by part."""

    def __init__(self, parts):
        self.parts = parts

    async def __aiter__(self):
        for part in self.parts:
            yield part


def find_token(browser, path="/account"):
    """The token of the forms of a browser's session."""
    return re.search(r'name="form_token" value="([^"]+)"', browser.get(path).text)[1]


def send(browser, path, **fields):
    """Send a form as a browser does."""
    return browser.post(path, data={"form_token": find_token(browser), **fields})


class Forms(HTMLParser):
    """The values of the inputs of a page, as a browser sends them."""

    def __init__(self, text):
        super().__init__()
        self.values, self.links, self.select, self.area = {}, [], None, None
        self.feed(text)

    def handle_starttag(self, tag, pairs):
        given = dict(pairs)
        if tag in {"a", "link"} and given.get("href"):
            self.links.append(given["href"])
        elif given.get("src") or given.get("action"):
            self.links.append(given.get("src") or given["action"])
        if tag == "input" and "name" in given:
            is_box = given.get("type") in {"checkbox", "radio"}
            if not is_box or "checked" in given:
                self.values[given["name"]] = given.get("value", "")
        elif tag == "select":
            self.select = given["name"]
        elif tag == "option" and "selected" in given:
            self.values[self.select] = given["value"]
        elif tag == "textarea":
            self.area = given["name"]
            self.values[self.area] = ""

    def handle_data(self, data):
        if self.area:
            self.values[self.area] += data

    def handle_endtag(self, tag):
        if tag == "textarea":
            self.values[self.area] = self.values[self.area].removeprefix("\n")
            self.area = None


def read_text(response):
    """The text of a page, without markup."""
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", response.text)).split())
