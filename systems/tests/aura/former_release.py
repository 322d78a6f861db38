"""A database as the release before `aura-historia-accounts` left it: keys, channels and messages in the working table.

The code of commit 57b718b wrote `former_release.json`: two members with keys; a confirmed address, one that was asked,
and a webhook; messages that wait, were sent, and were given up; a session that was ended.
"""

import json
from pathlib import Path

import hashrange
from hashrange_systems.aura.schema import Aura
from hashrange_systems.aura.work_schema import Work

FILE = Path(__file__).with_name("former_release.json")
LEFT_AT = 1_768_478_400 + 86_400 + 60  # when the release wrote last
ANN, BOB, SECOND = "ann@example.com", "bob@example.com", "ann+second@example.com"
HOOK = "https://hooks.example.com/a"
WORK_TABLE = "aura-historia-work"


def load_former(database):
    """Put the items of the former release into the working table of a database; return what the file says."""
    former = json.loads(FILE.read_text("utf-8"))
    for item in former["items"]:
        database.call("PutItem", {"TableName": WORK_TABLE, "Item": item})
    return former


def make_former_directory(directory):
    """A data directory with the tables and keys that the release had; what would have expired by now has not.

    Return what the file says.
    """
    keys = directory / "aura" / "keys.json"
    keys.parent.mkdir(parents=True)
    with hashrange.open(directory) as database:
        hashrange.create_tables(database, Aura, Work)
        former = load_former(database)
        for item in former["items"]:
            if "expires_at" in item:
                later = item | {"expires_at": {"N": str(2**31)}}
                database.call("PutItem", {"TableName": WORK_TABLE, "Item": later})
    keys.write_text(json.dumps(former["keyring"]), "utf-8")
    keys.chmod(0o600)
    return former
