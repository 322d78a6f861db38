"""Queued alerts, channels for them, and scripted senders."""

import asyncio
from collections import Counter
from datetime import timedelta

from hashrange_systems.checks.model.alert_message import read_alert_context, render_notification
from hashrange_systems.checks.schema import Channel, Waiting
from hashrange_systems.checks.service.alert_outbox import AlertOutbox
from systems.tests.checks.check_items import NOON

CONTENT = {
    "name": "Shop",
    "url": "https://shop.example/",
    "at": 1_768_478_400_000,
    "result": {"status": "DOWN", "httpStatus": 503, "cause": "STATUS", "message": "answered 503", "responseTime": 88},
    "incident": {"startedAt": 1_768_478_280_000, "cause": "STATUS", "evidence": "HTTP 503: answered 503"},
}
NOTIFICATION = render_notification(read_alert_context("DOWN", "c1", CONTENT))
KEY = "0123456789abcdef0123456789abcdef"


def make_channel(channel_id="m1", channel_type="EMAIL", target="ann@example.com", **more):
    given = {"userid": "u1", "created_at": NOON, "verified_at": NOON}
    return Channel(channel_id=channel_id, channel_type=channel_type, target=target, **(given | more))


def make_alert(number=1, **more):
    given = {
        "checkid": "c1",
        "message_id": f"c1#DOWN#{number}#m1",
        "owner": "u1",
        "channel_id": "m1",
        "topic": "DOWN",
        "content": CONTENT,
        "created_at": NOON,
        "send_at": NOON,
        "expires_at": NOON + timedelta(days=36_500),  # a server in another process has its own clock for TTL
    }
    return Waiting(**(given | more))


class RecordingSender:
    """A sender that records messages, after raising the scripted errors."""

    def __init__(self, *errors, meanwhile=None):
        self.errors = list(errors)
        self.meanwhile = meanwhile
        self.keys = []
        self.letters = []

    async def send(self, channel, notification, key):
        await asyncio.sleep(0)
        if self.errors:
            raise self.errors.pop(0)
        self.keys.append(key)
        self.letters.append(notification)
        if self.meanwhile is not None:
            await self.meanwhile()


def make_outbox(db, clock, **senders):
    return AlertOutbox(db=db, clock=clock, senders=senders, spread=lambda: 1.0)


async def send_all(outbox):
    """Send the due alerts of all shards, and count the outcomes."""
    total = Counter()
    for shard in range(8):
        total.update({outcome.value: count for outcome, count in (await outbox.send_due(str(shard))).items()})
    return dict(total)


def send_now(outbox):
    return asyncio.run(send_all(outbox))


def waiting(db, after=timedelta()):
    return [alert for shard in range(8) for alert in db.outbox(str(shard), NOON + after)]
