"""Sends notifications to the services of Apprise, in a thread with a timeout.

Apprise does not use the guarded fetcher. So users can only choose services with fixed vendor addresses, or on hosts
that the operator allows; and only options that contain no file and no address.
"""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TYPE_CHECKING, Final, TypeVar, TypeVarTuple
from urllib.parse import parse_qsl, urlsplit

from hashrange_systems.shared.channels.sender import DeliveryFailed, DeliveryRefused, Destination, Notification
from hashrange_systems.shared.user_url import MAX_URL_LENGTH

if TYPE_CHECKING:
    from apprise import AppriseAsset, NotifyBase

T = TypeVar("T")
Arguments = TypeVarTuple("Arguments")

TIMEOUT_S = 30.0
THREADS = 4

# Services with fixed vendor addresses.
VENDORS: Final = frozenset(
    {"slack", "discord", "guilded", "tgram", "gchat", "webex", "wxteams", "twist", "groupme", "line", "feishu", "lark"}
    | {"dingtalk", "wecombot", "pagerduty", "opsgenie", "splunk", "victorops", "ilert", "incidentio", "squadcast"}
    | {"signl4", "pover", "pbul", "pushy", "pushed", "prowl", "join", "simplepush", "spush", "ifttt"}
    | {"twilio", "vonage", "plivo", "telnyx", "clicksend", "d7sms", "msgbird"}
)
# Services whose address is in the URL.
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
    """Sends notifications through Apprise; `hosts` are those that the operator allows in URLs."""

    def __init__(self, hosts: Iterable[str] = (), timeout_s: float = TIMEOUT_S, description: str = "hashrange") -> None:
        self._description = description
        self._hosts = frozenset(hosts)
        self._timeout_s = timeout_s
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="apprise")

    async def send(self, destination: Destination, notification: Notification, key: str) -> None:
        """Send a notification; after a timeout the service may still have accepted it."""
        url = destination.secret or destination.target  # such a URL contains a password
        scheme = check_url(url)
        if not await self._run_in_thread(scheme, self._notify, url, notification):
            raise DeliveryFailed(f"{scheme}:// did not take the message")

    async def _run_in_thread(self, scheme: str, function: Callable[[*Arguments], T], *arguments: *Arguments) -> T:
        running = asyncio.get_running_loop().run_in_executor(self._threads, function, *arguments)
        try:
            async with asyncio.timeout(self._timeout_s):
                return await running
        except TimeoutError as error:
            raise DeliveryFailed(f"{scheme}:// did not answer within {self._timeout_s:g} s") from error

    def open(self, url: str) -> NotifyBase:
        """Return the service of a URL; raise DeliveryRefused if it cannot be used."""
        return open_service(url, self._hosts, self._description)

    def _notify(self, url: str, notification: Notification) -> bool:
        """Send the message; return whether it was accepted."""
        service = self.open(url)
        return bool(
            service.notify(
                body=notification.text,
                title=notification.subject,
                notify_type=notification.severity,
                body_format="text",
            )
        )

    def close(self) -> None:
        """Stop the threads without waiting."""
        self._threads.shutdown(wait=False, cancel_futures=True)


def open_service(url: str, hosts: Iterable[str] = (), description: str = "hashrange") -> NotifyBase:
    """Return the service of a URL, on one of these hosts if it has one; raise DeliveryRefused if it cannot be used."""
    scheme = check_url(url)
    try:
        asset = load_services(description)
    except ModuleNotFoundError as missing:
        raise DeliveryRefused("Apprise is not installed: pip install 'hashrange-systems[apprise]'") from missing
    from apprise import Apprise as Services

    service = Services.instantiate(url, asset=asset)
    if service is None:
        raise DeliveryRefused(f"the {scheme}:// address is not complete")
    if scheme in SELF_HOSTED and str(service.host).lower() not in PUBLIC_HOSTS | {host.lower() for host in hosts}:
        raise DeliveryRefused(f"{scheme}:// may only be used with a host that the operator of this service allows")
    return service


@cache
def load_services(description: str) -> AppriseAsset:
    """Import Apprise with all its services, which takes a second; return its settings: no templates and no files."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of its plugins
        from apprise import AppriseAsset, PersistentStoreMode
        from apprise.manager_plugins import NotificationManager

        NotificationManager().load_modules()  # type: ignore[no-untyped-call]
    return AppriseAsset(
        app_id="hashrange",
        app_desc=description,
        app_url="",
        storage_mode=PersistentStoreMode.MEMORY,
        allow_templates=False,
    )


def check_url(url: str) -> str:
    """Return the scheme of a URL that may be given to Apprise; raise DeliveryRefused otherwise."""
    if len(url) > MAX_URL_LENGTH or not url.isprintable() or any(sign in url for sign in " ,\\"):
        raise DeliveryRefused("the address is too long, or holds a character that it must not")
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise DeliveryRefused("the address cannot be read") from error
    if parts.scheme not in VENDORS | SELF_HOSTED:
        raise DeliveryRefused(f"the service {parts.scheme or '(none)'}:// cannot be used here")
    unknown = sorted({option for option, _ in parse_qsl(parts.query, keep_blank_values=True)} - OPTIONS)
    if unknown:
        raise DeliveryRefused(f"the option {unknown[0][:40]} cannot be used here")
    return parts.scheme
