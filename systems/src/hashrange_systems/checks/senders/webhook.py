"""Posts messages as JSON to an address that a user gave, signed with the channel's secret, by the guarded fetcher.

Any 2xx answer takes the message. Redirects are not followed: what is signed for one server is not for another.
"""

from __future__ import annotations

from dataclasses import dataclass

import orjson

from hashrange import Clock
from hashrange_systems.checks.model.message import Letter
from hashrange_systems.checks.schema import Channel
from hashrange_systems.checks.senders.sender import ReceiverRefuses, Undelivered
from hashrange_systems.checks.senders.signature import DELIVERY, SIGNATURE, TIMESTAMP, sign
from hashrange_systems.shared.fetching.errors import FetchError, RequestRefused
from hashrange_systems.shared.fetching.fetcher import Fetcher
from hashrange_systems.shared.fetching.message import Request, Response

TIMEOUT_S = 15.0
MOST_BYTES = 16_384  # of an answer that nobody reads
LONGEST_WAIT_S = 3600
GONE = 410


@dataclass(frozen=True, slots=True)
class Webhook:
    """A sender to web servers."""

    fetcher: Fetcher
    clock: Clock

    async def send(self, channel: Channel, letter: Letter, key: str) -> None:
        """Post it, and see that it was taken."""
        try:
            response = await self.fetcher.fetch(build_request(channel, letter, key, self.clock.millis() // 1000))
        except RequestRefused as refusal:
            raise ReceiverRefuses(str(refusal)) from refusal
        except FetchError as fault:
            raise Undelivered(str(fault)) from fault
        judge(response)


def build_request(channel: Channel, letter: Letter, key: str, timestamp: int) -> Request:
    """Return the request: the body is the same for each attempt, the timestamp and the signature are not."""
    body = orjson.dumps({"id": key, **letter.data})
    headers = [("Content-Type", "application/json"), (DELIVERY, key), (TIMESTAMP, str(timestamp))]
    if channel.secret:
        headers.append((SIGNATURE, sign(channel.secret, timestamp, body)))
    return Request(
        url=channel.target,
        method="POST",
        headers=tuple(headers),
        body=body,
        timeout_s=TIMEOUT_S,
        max_bytes=MOST_BYTES,
        follow=False,
    )


def judge(response: Response) -> None:
    """Raise what an answer means that does not take the message."""
    if 200 <= response.status < 300:
        return
    if response.status == GONE:
        raise ReceiverRefuses("the receiver answered 410: it is gone")
    raise Undelivered(f"the receiver answered {response.status}", read_wait(response.header("retry-after")))


def read_wait(text: str | None) -> int | None:
    """Return how many seconds a Retry-After asks for, within reason; dates are not read."""
    if not text or not text.isascii() or not text.isdecimal() or len(text) > 9:
        return None
    return min(int(text), LONGEST_WAIT_S)
