"""Every route is tried without a session, and by a member who sends what another one has."""

import asyncio

import pytest

from hashrange import ManualClock
from hashrange_systems.aura.web import app as pages
from hashrange_systems.aura.web.api import shop_api
from systems.tests.aura.web.hosted_aura import host_aura
from systems.tests.aura.web.test_pages import add_product
from systems.tests.web_routes import list_requests

SECRETS = ("one@example.com", "hooks.example.com", "Heron", "the first member's key")


PAGES = sorted({request for module in pages.PAGES for request in list_requests(module.router)})
CALLS = list_requests(shop_api.router)
PUBLIC = {
    ("GET", "/confirm"),
    ("POST", "/confirm"),
    ("GET", "/health"),
    ("GET", "/metrics"),
    ("GET", "/sign-in"),
    ("POST", "/sign-in"),
    ("POST", "/sign-in/code"),
    ("POST", "/sign-in/demo"),  # with --demo only
}
NOT_OFFERED = ("/account/team", "/invitation", "/reset", "/sign-up")  # of the pages of accounts
ENDING = {("POST", "/sign-out"), ("POST", "/account/sign-out-everywhere")}  # the session of who asks
FEEDS = {("GET", f"/changes.{form}") for form in ("json", "rss", "csv")}  # a program gets no page to sign in
REFUSED = {  # what a member may not do with what another one has; shops and products belong to all
    ("POST", "/account/channels/{channel_id}/ask"): 404,
    ("POST", "/account/channels/{channel_id}/remove"): 404,
    ("POST", "/account/keys/{key_id}/revoke"): 404,
    ("POST", "/product/unwatch"): 404,
    ("POST", "/search/remove"): 404,
    ("POST", "/shop/{domain}/remove"): 403,
}
REFUSED_CALLS = {("DELETE", "/shops/{domain}"): 403, ("DELETE", "/watches"): 404}


async def own(site):
    """Let a member have one of everything; return what requests name it by."""
    url = await add_product(site)
    one = await site.sign_up(SECRETS[0])
    watches, accounts, member = site.services.watches, site.services.accounts, one.member.member_id
    await site.post("/product/watch", domain="haus.test", url=url, below="40")
    await site.post("/search/save", q="Heron")
    await site.post("/account/channels", 200, channelType="WEBHOOK", target="https://hooks.example.com/a")
    await accounts.keys.add(member, SECRETS[3])
    (search,), (channel,) = await watches.list_searches(member), await accounts.channels.list_by_owner(member)
    key = next(each for each in await accounts.keys.list_by_owner(member) if each.name == SECRETS[3])
    ids = {"search": search.search_id, "channel_id": channel.channel_id, "key_id": key.key_id}
    usual = {
        "country": "DE",
        "code": "DE",
        "first": "2026-01-01",
        "last": "2026-02-01",
        "q": "Vase",
        "name": "new",
        "other": "x.test",
    }
    return member, {"domain": "haus.test", "url": url, **ids, **usual}


async def read_owned(site, member):
    """Return every item that names a member, as it is stored."""
    tables = ("aura-historia-work", "aura-historia-accounts")
    call = site.services.work.session.transport.call
    found = [item for table in tables for item in call("Scan", {"TableName": table})["Items"]]
    return [item for item in found if member in str(item)]


def test_no_page_and_no_call_answers_without_a_session_or_a_key():
    async def scenario():
        async with host_aura(ManualClock()) as site:
            _, ids = await own(site)
            site.client.cookies.clear()
            for method, path in PAGES:
                answer = await site.client.request(method, f"/aura{path.format(**ids)}", params=ids)
                if path.startswith(NOT_OFFERED):
                    assert answer.status_code == 404, (method, path, answer.text[:200])
                elif (method, path) not in PUBLIC | FEEDS:
                    assert answer.status_code == 303, (method, path, answer.text[:200])
                    assert answer.headers["Location"].startswith("/aura/sign-in")
                assert (method, path) not in FEEDS or answer.status_code == 401
                assert not [secret for secret in SECRETS if secret in answer.text], (method, path)
            for method, path in CALLS:
                answer = await site.client.request(method, f"/aura/api{path.format(**ids)}", params=ids)
                assert answer.status_code in {401, 429}, (method, path, answer.text[:200])

    asyncio.run(scenario())


def test_no_page_shows_or_changes_what_another_member_has():
    async def scenario():
        async with host_aura(clock := ManualClock()) as site:
            member, ids = await own(site)
            before = await read_owned(site, member)
            await site.sign_up("two@example.com")
            form = ids | {"form_token": await site.find_token()}
            for method, path in sorted(set(PAGES) - PUBLIC - ENDING):
                address = f"/aura{path.format(**ids)}"
                sent = {"data": form} if method == "POST" else {"params": ids}
                answer = await site.client.request(method, address, **sent)
                assert answer.status_code < 500, (method, path, answer.text[:200])
                assert answer.status_code == REFUSED.get((method, path), answer.status_code), (method, path)
                assert not answer.headers.get("Location", "").startswith("/aura/sign-in?"), (method, path)
                assert not [secret for secret in SECRETS if secret in answer.text], (method, path)
                clock.advance(10)
            for number, (_, path) in enumerate(sorted(ENDING)):
                await site.sign_up(f"{number}@example.com")
                assert (await site.post_any(path, **ids)).status_code == 303
            assert await read_owned(site, member) == before

    asyncio.run(scenario())


def test_no_call_of_the_api_shows_or_changes_what_another_member_has():
    async def scenario():
        async with host_aura(clock := ManualClock()) as site:
            member, ids = await own(site)
            before = await read_owned(site, member)
            site.client.headers["Authorization"] = f"Bearer {(await site.sign_up('two@example.com')).key}"
            for method, path in sorted(CALLS):  # DELETE before POST
                address = f"/aura/api{path.format(**ids)}"
                body = {"domain": ids["domain"]} | ({"url": ids["url"]} if path == "/watches" else {})
                answer = await site.client.request(method, address, params=ids, json=body if method == "POST" else None)
                assert answer.status_code < 500, (method, path, answer.text[:200])
                assert answer.status_code == REFUSED_CALLS.get((method, path), answer.status_code), (method, path)
                assert not [secret for secret in SECRETS if secret in answer.text], (method, path)
                clock.advance(10)
            assert await read_owned(site, member) == before

    asyncio.run(scenario())


@pytest.mark.parametrize("listed", [PUBLIC | FEEDS | set(REFUSED), set(REFUSED_CALLS)])
def test_what_is_listed_here_exists(listed):
    assert listed <= {*PAGES, *CALLS}
    assert len(PAGES) >= 35
    assert len(CALLS) >= 16
