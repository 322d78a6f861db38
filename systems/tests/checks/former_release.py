"""A database as the release before `checks-history` left it: all of a check in the partition of `CHECK`.

The code of commit eec49af wrote `former_release.json` with `python -m systems.tests.checks.former_release`: three
checks of two users, with runs, roll-ups of a past day, incidents that have ended and one that goes on, alerts and a
pause.
"""

import json
from datetime import timedelta
from pathlib import Path

import hashrange
from hashrange import ManualClock
from hashrange_systems.checks.schema import Checks
from hashrange_systems.checks.service.history import History
from hashrange_systems.checks.table_definitions import checks, users
from systems.tests.checks.check_items import NOON, TABLES
from systems.tests.checks.services import ServiceSet, do

FILE = Path(__file__).with_name("former_release.json")
LEFT_AT = NOON + timedelta(days=1, hours=2)  # when the release wrote last


def read_former_items():
    """The items by table, as they are stored."""
    return json.loads(FILE.read_text("utf-8"))


def make_former_directory(directory):
    """A data directory with the two tables that the release had; what would have expired by now has not."""
    with hashrange.open(directory) as opened:
        hashrange.create_tables(opened, users, checks)
        for name, items in read_former_items().items():
            for item in items:
                kept = item | ({"expiresAt": {"N": str(2**31)}} if "expiresAt" in item else {})
                opened.call("PutItem", {"TableName": name, "Item": kept})
    return directory


def write_former_items():
    """Run the services of this checkout for a day, and write what is stored."""
    clock = ManualClock(NOON.timestamp())
    with hashrange.open(clock=clock) as database:
        hashrange.create_tables(database, Checks)
        services = ServiceSet(database, clock)
        ann, bob = services.sign_up("ann", "PRO"), services.sign_up("bob")
        do(services.channels.verify(ann.token))
        userid = ann.user.userid
        shop, blog = services.add(userid, 2, attributes={"retries": 0})
        (other,) = services.add(bob.user.userid)
        services.run(userid, shop, "uudduu")
        services.run(userid, blog, "uud")
        services.run(bob.user.userid, other, "ddd")
        clock.set((LEFT_AT - timedelta(hours=1)).timestamp())
        services.run(userid, shop, "uduu")
        services.run(userid, blog, "dd")
        do(services.checks.pause(bob.user.userid, other))
        history = History(services.db, clock)
        for checkid in (shop, blog):
            assert do(history.finalise_days(services.check(checkid))) == 1
        items = {name: database.call("Scan", {"TableName": name})["Items"] for name in TABLES}
    FILE.write_text(json.dumps(items, indent=1, sort_keys=True) + "\n", "utf-8")


if __name__ == "__main__":
    write_former_items()
