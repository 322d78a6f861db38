"""A database as the release before `kelifax-accounts` left it: admins and mails in `kelifax-records`.

The code of commit 743e2fb wrote `former_release.json` with `python -m systems.tests.kelifax.former_release`: an admin
and a moderator, a session, a name with a wrong password; mails that wait, were sent, and were given up.
"""

import asyncio
import json
from contextlib import suppress
from pathlib import Path

import hashrange
from hashrange import ManualClock

FILE = Path(__file__).with_name("former_release.json")
NOON = 1_768_478_400  # 2026-01-15T12:00:00Z
PASSWORDS = {"ann": "correct horse battery", "bob": "another good one"}


def load_former(database, **changes):
    """Put the items of the former release into the tables of a database; return them by table.

    `changes` replace attributes that an item has: a real server deletes what has expired by its own clock.
    """
    former = json.loads(FILE.read_text("utf-8"))
    for table, items in former.items():
        for item in items:
            item.update({name: value for name, value in changes.items() if name in item})
            database.call("PutItem", {"TableName": table, "Item": item})
    return former


def make_former_directory(directory):
    """A data directory with the tables that the release had; what would have expired by now has not."""
    from hashrange_systems.kelifax.logos.logo_schema import LogoRecords
    from hashrange_systems.kelifax.schema import Kelifax

    with hashrange.open(directory) as database:
        hashrange.create_tables(database, Kelifax, LogoRecords)
        load_former(database, expiresAt={"N": str(2**31)})


async def write_former(kelifax):
    """Run the services of this checkout for a day."""
    from hashrange_systems.shared.errors import SignInRefused
    from systems.tests.kelifax.services import ANN, make_form

    for name, role in (("ann", "admin"), ("bob", "moderator")):
        await kelifax.admins.add(name, "the first password", role, ANN)
        await kelifax.admins.change_password(name, PASSWORDS[name], ANN)
    await kelifax.admins.sign_in("ann", PASSWORDS["ann"])
    with suppress(SignInRefused):
        await kelifax.admins.sign_in("bob", "wrong password")
    slug = await kelifax.list_resource("Pixel Kit")  # its mail that it is listed is given up
    object.__setattr__(kelifax.outbox, "sender", None)
    kelifax.clock.advance(3600)
    await kelifax.outbox.send_all_due()
    kelifax.clock.advance(86_400)
    await kelifax.outbox.send_all_due()
    object.__setattr__(kelifax.outbox, "sender", kelifax.mailbox)
    await kelifax.submissions.submit(make_form("Other Kit", email="Eve@other.example.org"), "c")
    await kelifax.submissions.confirm(await kelifax.find_token("confirm-submission"))  # whose mail was sent
    await kelifax.digests.subscribe("lena@example.com", [], "c")
    object.__setattr__(kelifax.outbox, "sender", None)
    await kelifax.outbox.send_all_due()  # puts the others off
    await kelifax.moderation.reject("other-kit", ANN, "The page is empty.")
    assert slug == "pixel-kit"


def main():
    """Write the file."""
    from systems.tests.kelifax.services import KelifaxServices

    clock = ManualClock(NOON)
    with hashrange.open(clock=clock) as database:
        kelifax = KelifaxServices(database, clock)
        asyncio.run(write_former(kelifax))
        tables = ("kelifax-resources", "kelifax-records", "kelifax-audit")
        left = {name: database.call("Scan", {"TableName": name})["Items"] for name in tables}
        asyncio.run(kelifax.runtime.close())
    FILE.write_text(json.dumps(left, indent=1, sort_keys=True) + "\n", "utf-8")


if __name__ == "__main__":
    main()
