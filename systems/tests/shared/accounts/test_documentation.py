"""The example of accounts in the documentation is a system that people sign in to."""

import asyncio
import re
from dataclasses import fields
from importlib import import_module

import httpx
from starlette.applications import Starlette
from starlette.routing import Mount

import hashrange
from hashrange_systems.shared.accounts.account_services import AccountServices
from systems.tests.hosting import make_host
from tests.e2e.pages import find_blocks, read


def test_the_example_of_accounts_signs_in(clock, tmp_path, monkeypatch):
    blocks = find_blocks(read("systems/shared.md"), "python")
    accounts = next(block for block in blocks if "make_account_services(" in block)
    pages = next(block for block in blocks if "Offers(" in block)
    base, error = find_blocks(read("systems/shared.md"), "html")
    program = "\n\n".join((blocks[0], accounts, pages)).replace("myapp.stock", "staff_example")
    home = '{% extends "base.html" %}{% block main %}{{ greeting }}{% endblock %}'
    site = {"__init__.py": "", "staff.py": program, "static/icon.svg": "<svg/>"}
    site |= {f"templates/{name}.html": text for name, text in (("base", base), ("error", error), ("home", home))}
    for name, text in site.items():
        path = tmp_path / "staff_example" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    module = import_module("staff_example.staff")

    async def act(database):
        hashrange.create_tables(database, module.Clerks, module.StockAccounts)
        host = make_host(database, clock, base_url="http://127.0.0.1:8002/stock")
        runtime = module.Runtime.open(host, module.Settings)
        staff = module.Staff(runtime)
        key = await staff.add("ann", "ann@example.com")
        app = Starlette(routes=[Mount("/stock", module.make_app(staff))])
        transport = httpx.ASGITransport(app, client=("127.0.0.1", 50000))
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8002/stock") as browser:
            pages = [await browser.post("/sign-in", data={"key": key})]
            pages += [await browser.get(path) for path in ("/", "/account", "/none")]
            token = re.search(r'sign-out"><input type="hidden" name="form_token" value="([^"]+)"', pages[1].text)[1]
            pages.append(await browser.post("/sign-out", data={"form_token": token}))
            assert (await browser.get("/")).headers["location"] == "/stock/sign-in"
            pages.append(await browser.get("/api/me", headers={"Authorization": f"Bearer {key}"}))
        await runtime.close()
        return pages

    with hashrange.open(clock=clock) as database:
        pages = asyncio.run(act(database))
    assert [page.status_code for page in pages] == [303, 200, 200, 404, 303, 200]
    _, home, account, missing, _, caller = pages
    assert "Hello ann" in home.text
    assert "Stock" in account.text
    assert "There is no such page." in missing.text
    assert caller.json() == {"name": "ann"}
    assert module.OFFERS.issuer == "Stock"


def test_the_table_of_services_names_every_one():
    _, _, section = read("systems/shared.md").partition("## Accounts")
    rows = section.partition("## Channels and messages")[0]
    named = set(re.findall(r"`(\w+)`", "".join(re.findall(r"^\|([^|]*)\|", rows, re.MULTILINE))))
    assert {each.name for each in fields(AccountServices)} - {"owners", "clock", "signer"} == named
