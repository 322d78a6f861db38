"""The page of messages: what was sent and what waits, of all checks of a user, latest first."""

import re
from datetime import timedelta

from hashrange_systems.checks.schema import Sent
from systems.tests.checks.check_items import NOON
from systems.tests.checks.services import do
from systems.tests.checks.web.web_client import read_text


def test_messages_are_the_latest_of_all_checks_however_many_there_are(client, ann):
    client.db.batch([make_alert(ann, number) for number in range(300)]).run()
    shown = re.findall(r'<time datetime="([^"]+)" data-local>', client.browser(ann.key).get("/messages").text)
    latest = [NOON + timedelta(seconds=number) for number in range(299, 249, -1)]
    assert shown == [each.isoformat() for each in latest]


def make_alert(owner, number):
    """A reminder of one of twenty checks, one a second."""
    return Sent(
        checkid=f"c{number % 20}",
        message_id=f"c{number % 20}#REMINDER#1#{number}",
        owner=owner.user.userid,
        channel_id=owner.channel.channel_id,
        topic="REMINDER",
        content={"name": "Shop", "url": "https://example.com/", "at": 0, "result": {"status": "DOWN"}},
        created_at=NOON + timedelta(seconds=number),
        sent_at=NOON,
    )


def test_messages_show_what_was_sent(client, ann):
    do(client.channels.verify(ann.token))
    (checkid,) = client.add(ann.user.userid, name="Shop")
    client.run(ann.user.userid, checkid, "uudddd")
    browser = client.browser(ann.key)
    assert "waiting" in read_text(browser.get("/messages"))
    client.deliver()
    page = read_text(browser.get("/messages"))
    assert "DOWN: Shop" in page
    assert "Shop is down since" in page
    assert "sent" in page
