"""Posts notifications as JSON to a URL that a user gave, signed with the destination's secret, by the guarded fetcher.

Any 2xx response accepts the message. Redirects are not followed: the signature is for one server.
"""

from __future__ import annotations

from dataclasses import dataclass

import orjson

from hashrange import Clock
from hashrange_systems.shared.channels.sender import DeliveryFailed, DeliveryRefused, Destination, Notification
from hashrange_systems.shared.channels.webhook_signature import DELIVERY, SIGNATURE, TIMESTAMP, sign
from hashrange_systems.shared.fetching.errors import FetchError, RequestRefused
from hashrange_systems.shared.fetching.fetcher import Fetcher
from hashrange_systems.shared.fetching.http_message import Request, Response

TIMEOUT_S = 15.0
MAX_BYTES = 16_384  # of a response that is not used
MAX_WAIT_S = 3600
GONE = 410


@dataclass(frozen=True, slots=True)
class Webhook:
    """Sends notifications to webhooks."""

    fetcher: Fetcher
    clock: Clock

    async def send(self, destination: Destination, notification: Notification, key: str) -> None:
        """Post a notification; raise unless the response is 2xx."""
        try:
            request = build_request(destination, notification, key, self.clock.millis() // 1000)
            response = await self.fetcher.fetch(request)
        except RequestRefused as refusal:
            raise DeliveryRefused(str(refusal)) from refusal
        except FetchError as error:
            raise DeliveryFailed(str(error)) from error
        check_response(response)


def build_request(destination: Destination, notification: Notification, key: str, timestamp: int) -> Request:
    """Return the request; each attempt has the same body, and its own timestamp and signature."""
    body = orjson.dumps({"id": key, **notification.data})
    headers = [("Content-Type", "application/json"), (DELIVERY, key), (TIMESTAMP, str(timestamp))]
    if destination.secret:
        headers.append((SIGNATURE, sign(destination.secret, timestamp, body)))
    return Request(
        url=destination.target,
        method="POST",
        headers=tuple(headers),
        body=body,
        timeout_s=TIMEOUT_S,
        max_bytes=MAX_BYTES,
        follow=False,
        decompress=False,
    )


def check_response(response: Response) -> None:
    """Raise the error for a response that does not accept the message."""
    if 200 <= response.status < 300:
        return
    if response.status == GONE:
        raise DeliveryRefused("the receiver answered 410: it is gone")
    raise DeliveryFailed(f"the receiver answered {response.status}", parse_retry_after(response.header("retry-after")))


def parse_retry_after(text: str | None) -> int | None:
    """Return the seconds of a Retry-After header, up to a maximum; dates are ignored."""
    if not text or not text.isascii() or not text.isdecimal() or len(text) > 9:
        return None
    return min(int(text), MAX_WAIT_S)
