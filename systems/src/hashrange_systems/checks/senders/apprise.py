"""Hands messages to the services that Apprise knows, in a thread, for at most a while.

Apprise connects by itself, past the guarded fetcher. So users can only choose services whose addresses are the
vendors' own, or that run on hosts which the operator names; and only options that hold no file and no address.
"""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl, urlsplit

from hashrange_systems.checks.model.message import Letter
from hashrange_systems.checks.schema import Channel
from hashrange_systems.checks.senders.sender import ReceiverRefuses, Undelivered

if TYPE_CHECKING:
    from apprise import AppriseAsset, NotifyBase

TIMEOUT_S = 30.0
THREADS = 4
LONGEST_URL = 2000

# Where the address is the vendor's, whatever the URL says.
VENDORS: Final = frozenset(
    {"slack", "discord", "guilded", "tgram", "gchat", "webex", "wxteams", "twist", "groupme", "line", "feishu", "lark"}
    | {"dingtalk", "wecombot", "pagerduty", "opsgenie", "splunk", "victorops", "ilert", "incidentio", "squadcast"}
    | {"signl4", "pover", "pbul", "pushy", "pushed", "prowl", "join", "simplepush", "spush", "ifttt"}
    | {"twilio", "vonage", "plivo", "telnyx", "clicksend", "d7sms", "msgbird"}
)
# Where the address is in the URL.
SELF_HOSTED: Final = frozenset(
    {"json", "jsons", "xml", "xmls", "form", "forms", "gotify", "gotifys", "mmost", "mmosts", "rocket", "rockets"}
    | {"ntfy", "ntfys", "nctalk", "nctalks"}
)
PUBLIC_HOSTS: Final = frozenset({"ntfy.sh"})
OPTIONS: Final = frozenset(
    {"to", "from", "token", "key", "apikey", "sid", "secret", "channel", "channels", "thread", "topic", "route", "tags"}
    | {"priority", "severity", "region", "sound", "device", "silent", "preview", "format", "avatar", "footer", "image"}
)


class Apprise:
    """A sender to the services of Apprise; `hosts` are those that the operator lets users' URLs name."""

    def __init__(self, hosts: Iterable[str] = (), timeout_s: float = TIMEOUT_S) -> None:
        self._hosts = PUBLIC_HOSTS | {host.lower() for host in hosts}
        self._timeout_s = timeout_s
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="apprise")

    async def send(self, channel: Channel, letter: Letter, key: str) -> None:
        """Send it; a service that is still busy when the time is over may have taken it all the same."""
        url = channel.secret or channel.target  # such a URL is a password
        scheme = check_url(url)
        sending = asyncio.get_running_loop().run_in_executor(self._threads, self._notify, url, letter)
        try:
            async with asyncio.timeout(self._timeout_s):
                taken = await sending
        except TimeoutError as error:
            raise Undelivered(f"{scheme}:// did not answer within {self._timeout_s:g} s") from error
        if not taken:
            raise Undelivered(f"{scheme}:// did not take the message")

    def open(self, url: str) -> NotifyBase:
        """Return the service that a URL names, or refuse it."""
        scheme = check_url(url)
        asset = load_services()
        from apprise import Apprise as Services

        service = Services.instantiate(url, asset=asset)
        if service is None:
            raise ReceiverRefuses(f"the {scheme}:// address is not complete")
        if scheme in SELF_HOSTED and str(service.host).lower() not in self._hosts:
            raise ReceiverRefuses(f"{scheme}:// may only be used with a host that the operator of this service allows")
        return service

    def _notify(self, url: str, letter: Letter) -> bool:
        """Send the message, and wait until it is taken or not."""
        service = self.open(url)
        return bool(service.notify(body=letter.text, title=letter.subject, notify_type=letter.mood, body_format="text"))

    def close(self) -> None:
        """Take no more; what is being sent is not waited for."""
        self._threads.shutdown(wait=False, cancel_futures=True)


@cache
def load_services() -> AppriseAsset:
    """Import Apprise and all it knows, which takes a second; return what it is to use: no templates, and no files."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of its plugins, which are not ours to mend
        from apprise import AppriseAsset, PersistentStoreMode
        from apprise.manager_plugins import NotificationManager

        NotificationManager().load_modules()  # type: ignore[no-untyped-call]
    return AppriseAsset(
        app_id="hashrange",
        app_desc="hashrange checks",
        app_url="",
        storage_mode=PersistentStoreMode.MEMORY,
        allow_templates=False,
    )


def check_url(url: str) -> str:
    """Return the scheme of a URL that may be handed to Apprise."""
    if len(url) > LONGEST_URL or not url.isprintable() or any(sign in url for sign in " ,\\"):
        raise ReceiverRefuses("the address is too long, or holds a character that it must not")
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise ReceiverRefuses("the address cannot be read") from error
    if parts.scheme not in VENDORS | SELF_HOSTED:
        raise ReceiverRefuses(f"the service {parts.scheme or '(none)'}:// cannot be used here")
    unknown = sorted({option for option, _ in parse_qsl(parts.query, keep_blank_values=True)} - OPTIONS)
    if unknown:
        raise ReceiverRefuses(f"the option {unknown[0][:40]} cannot be used here")
    return parts.scheme
