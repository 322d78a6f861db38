"""The example of accounts in the documentation is a system that people sign in to."""

import asyncio
import re
from dataclasses import fields
from importlib import import_module

import hashrange
from hashrange_systems.shared.accounts.account_services import AccountServices
from systems.tests.hosting import make_host
from tests.e2e.pages import find_blocks, read


def test_the_example_of_accounts_signs_in(clock, tmp_path, monkeypatch):
    blocks = find_blocks(read("systems/shared.md"), "python")
    accounts = next(block for block in blocks if "make_account_services(" in block)
    pages = next(block for block in blocks if "Offers(" in block)
    (tmp_path / "staff_example.py").write_text("\n\n".join((blocks[0], accounts, pages)))
    monkeypatch.syspath_prepend(tmp_path)
    module = import_module("staff_example")

    async def act(database):
        hashrange.create_tables(database, module.Clerks, module.StockAccounts)
        host = make_host(database, clock, base_url="http://127.0.0.1:8002/stock")
        runtime = module.Runtime.open(host, module.Settings)
        staff = module.Staff(runtime)
        admitted = await staff.accounts.sign_in.with_key(await staff.add("ann", "ann@example.com"))
        signed_in = await staff.accounts.sign_in.find(admitted.cookie)
        await runtime.close()
        return signed_in.user.name

    with hashrange.open(clock=clock) as database:
        assert asyncio.run(act(database)) == "ann"
    assert module.OFFERS.issuer == "Stock"


def test_the_table_of_services_names_every_one():
    _, _, section = read("systems/shared.md").partition("## Accounts")
    rows = section.partition("## Channels and messages")[0]
    named = set(re.findall(r"`(\w+)`", "".join(re.findall(r"^\|([^|]*)\|", rows, re.MULTILINE))))
    assert {each.name for each in fields(AccountServices)} - {"owners", "clock", "signer"} == named
