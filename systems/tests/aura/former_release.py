"""A database as the release before `aura-historia-accounts` left it: keys, channels and messages in the working table.

The code of commit 57b718b wrote `former_release.json`: two members with keys; a confirmed address, one that was asked,
and a webhook; messages that wait, were sent, and were given up; a session that was ended.
"""

import json
from pathlib import Path

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
