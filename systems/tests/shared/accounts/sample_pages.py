"""The sample system with pages: one home page, and those of accounts."""

import asyncio
import re
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any, ClassVar

import httpx
from fastapi import APIRouter, Depends, FastAPI, Request
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Mount

import hashrange
from hashrange_systems.shared.accounts.account_services import make_account_services
from hashrange_systems.shared.accounts.sign_up_policy import OPEN
from hashrange_systems.shared.application.runtime import Runtime
from hashrange_systems.shared.application.settings import SystemSettings, declare_keys
from hashrange_systems.shared.channels.channels import ChannelOptions
from hashrange_systems.shared.channels.demo_mailbox import Mailbox
from hashrange_systems.shared.web.account_authenticator import AccountAuthenticator
from hashrange_systems.shared.web.account_dependencies import (
    AccountPageDependencies,
    Offers,
    SignedIn,
    make_sign_in_limit,
)
from hashrange_systems.shared.web.account_routes import make_account_routes
from hashrange_systems.shared.web.pages import Posted, ensure_owner, get_dependencies, make_pages
from hashrange_systems.shared.web.session import SessionCookies
from hashrange_systems.shared.web.session_renderer import SessionRenderer
from systems.tests.hosting import make_host
from systems.tests.shared.accounts.sample_system import (
    Active,
    People,
    PeopleAccounts,
    PeopleOwners,
    do,
    render,
)

BASE_URL = "http://127.0.0.1:8002/people"
STATIC = Path(__file__).with_name("pages") / "static"


async def greet(services, visitor):
    return {"greeting": f"Good day, {visitor.user.owner}."}


EVERYTHING = Offers(
    api_keys=True,
    password=True,
    second_factor=True,
    channels=True,
    scopes=True,
    export=True,
    sign_up=True,
    password_reset=True,
    teams=True,
    subscriptions={"NEWS": "News", "ALARMS": "Alarms only"},
    issuer="People",
    name_user=lambda user: user.owner,
    add_context=greet,
)


@dataclass(frozen=True, kw_only=True)
class Settings(SystemSettings):
    system: ClassVar[str] = "people"

    keys: Path | None = declare_keys()


class Application:
    """The services of the system."""

    runtime: Runtime
    loops: Any = None  # it does no background work

    def __init__(self, runtime):
        self.runtime = runtime
        self.people = runtime.bind(People.open)
        self.accounts = make_account_services(
            runtime.bind(PeopleAccounts.open),
            PeopleOwners(self.people),
            runtime.clock,
            runtime.signer,
            base_url=runtime.base_url,
            demo=runtime.demo,
            channels=ChannelOptions(trusted={"WEBHOOK"}),
            sign_up=OPEN,
        )
        self.mailbox, self.notes = Mailbox(runtime.clock), []
        self.senders = dict.fromkeys(("EMAIL", "WEBHOOK"), self.mailbox)
        self.outbox = self.accounts.make_outbox(self.senders, render)

    async def add(self, owner, password=None):
        accounts = self.accounts
        key = accounts.keys.prepare(owner, "first key")
        stored = None if password is None else await accounts.credentials.hash_new(password)
        writes = [self.people.create(Active(owner=owner)), accounts.logins.claim(f"{owner}@example.com", owner)]
        writes += [accounts.credentials.write_new(owner, None, stored), *accounts.keys.write(key)]
        await accounts.db.transact_all(writes).unread()
        return key


class PeoplePages(AccountPageDependencies):
    """What the pages need."""


router = APIRouter(include_in_schema=False)


@router.get("/")
async def show_home(request: Request, deps: Annotated[PeoplePages, Depends(get_dependencies)], visitor: SignedIn):
    return deps.renderer.render(request, "home.html", visitor)


@router.post("/note")
async def add_note(deps: Annotated[PeoplePages, Depends(get_dependencies)], sent: Posted[Active]):
    deps.services.notes.append((sent.visitor.owner, sent.visitor.member))
    return PlainTextResponse("noted")


@router.post("/delete", dependencies=[Depends(ensure_owner)])
async def delete(deps: Annotated[PeoplePages, Depends(get_dependencies)], sent: Posted[Active]):
    deps.services.notes.append((sent.visitor.owner, "deleted"))
    return PlainTextResponse("deleted")


def make_app(services, offers, demo_login=None):
    """The pages of the system."""
    runtime = services.runtime
    cookies = SessionCookies(runtime.signer)
    deps = PeoplePages(
        services=services,
        renderer=SessionRenderer(
            "systems.tests.shared.accounts.pages", STATIC, cookies, runtime.clock, runtime.base_url, {}
        ),
        authenticator=AccountAuthenticator(
            accounts=services.accounts, cookies=cookies, base_url=runtime.base_url, demo_login=demo_login
        ),
        sign_in_limit=make_sign_in_limit(runtime.clock),
        offers=offers,
    )
    home = SimpleNamespace(router=router)
    return make_pages(deps, (home, make_account_routes(offers)), FastAPI(), static=STATIC, sign_in="/sign-in")


class SampleSite:
    """The pages, mounted under /people, and browsers."""

    def __init__(self, database, clock, *, offers=EVERYTHING, demo=False, services=None, base_url=BASE_URL):
        self.database, self.clock = database, clock
        self.base_url = base_url
        self.services = services or self.open_services(demo=demo)
        self.app = make_app(self.services, offers, "ann@example.com" if demo else None)
        self.site = Starlette(routes=[Mount("/people", self.app)])

    def open_services(self, *, demo):
        hashrange.create_tables(self.database, People, PeopleAccounts)
        runtime = Runtime.open(make_host(self.database, self.clock, base_url=self.base_url, demo=demo), Settings)
        return Application(runtime)

    def browser(self, key=None, **more):
        """A browser, signed in if there is a key."""
        browser = self.open(**more)
        if key:
            assert browser.post("/sign-in", data={"key": key.text}).status_code == 303
        return browser

    def open(self, peer="127.0.0.1"):
        return httpx.Client(transport=InProcessTransport(self.site, peer), base_url=BASE_URL)

    def read_link(self, address):
        """Send what is due; return the path of the link in the last mail to an address."""
        do(self.services.outbox.send_all())
        mail = next(mail for mail in self.services.mailbox.all() if mail.recipient == address)
        return mail.notification.data["url"].removeprefix(self.base_url)


class InProcessTransport(httpx.BaseTransport):
    """Calls an application in this process, with a client address."""

    def __init__(self, app, peer):
        self.inner = httpx.ASGITransport(app, raise_app_exceptions=False, client=(peer, 50000))

    def handle_request(self, request):
        return asyncio.run(self.ask(request))

    async def ask(self, request):
        body = request.read()
        asked = httpx.Request(request.method, request.url, headers=request.headers, content=body)
        response = await self.inner.handle_async_request(asked)
        return httpx.Response(response.status_code, headers=response.headers, content=await response.aread())


def find_token(browser, path="/account"):
    """The token of the forms of a browser's session."""
    return re.search(r'name="form_token" value="([^"]+)"', browser.get(path).text)[1]


def send(browser, path, **fields):
    """Send a form as a browser does."""
    return browser.post(path, data={"form_token": find_token(browser), **fields})


def read_text(response):
    """The text of a page."""
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", response.text)).split())
