"""Opens connections to one endpoint: its addresses, the proxy that the environment names, TLS."""

from __future__ import annotations

import base64
import socket
import ssl
import time
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from hashrange.client.fault import CertificateRefused, EndpointUnknown, Unreachable
from hashrange.client.http.channel import Channel, Plain, Tls
from hashrange.client.http.connection import Connection
from hashrange.client.http.driver import Address, Driver

PORTS = {"http": 80, "https": 443}
LONGEST_HEAD = 16 * 1024


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An address taken apart."""

    scheme: str
    host: str
    port: int
    path: str = "/"
    authority: str = ""  # what the Host header says
    user: str = ""  # name:password; proxies have one


def read_endpoint(url: str) -> Endpoint:
    """Take a URL apart; raise EndpointUnknown for what is none."""
    parts = urlsplit(url)
    try:
        port = parts.port
    except ValueError as fault:
        raise EndpointUnknown(f"{url!r} is no endpoint: {fault}") from fault
    if parts.scheme not in PORTS or not parts.hostname or parts.query or parts.fragment:
        raise EndpointUnknown(f"{url!r} is no endpoint; one looks like http://127.0.0.1:8000")
    name = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    default = PORTS[parts.scheme]
    authority = name if port in {None, default} else f"{name}:{port}"
    user = f"{unquote(parts.username)}:{unquote(parts.password or '')}" if parts.username else ""
    return Endpoint(parts.scheme, parts.hostname, port or default, parts.path or "/", authority, user)


def find_proxy(endpoint: Endpoint) -> Endpoint | None:
    """Return the proxy that the environment names for an https endpoint; http ones are local and have none."""
    if endpoint.scheme != "https":
        return None
    from urllib.request import getproxies, proxy_bypass  # 30 ms that a local endpoint spares

    url = getproxies().get("https")
    if not url or proxy_bypass(f"{endpoint.host}:{endpoint.port}"):
        return None
    return read_endpoint(url if "://" in url else f"http://{url}")


class Dialler:
    """Makes connections to one endpoint."""

    def __init__(self, endpoint: Endpoint, context: ssl.SSLContext | None, timeout: float) -> None:
        self._endpoint = endpoint
        self._proxy = find_proxy(endpoint)
        self._context = context  # None without TLS anywhere
        self._timeout = timeout

    async def open(self, driver: Driver) -> Connection:
        """Return a new connection; raise Unreachable with the reason."""
        where = f"{self._endpoint.scheme}://{self._endpoint.authority}"
        try:
            return Connection(await self._open(driver, time.monotonic() + self._timeout))
        except TimeoutError as fault:
            raise Unreachable(f"{where} did not answer within {self._timeout:g} s") from fault
        except ssl.SSLCertVerificationError as fault:
            raise CertificateRefused(
                f"{where} shows a certificate that does not hold: {fault.verify_message}"
            ) from fault
        except OSError as fault:
            raise Unreachable(f"{where} cannot be reached: {fault}") from fault

    async def _open(self, driver: Driver, deadline: float) -> Channel:
        first = self._proxy or self._endpoint
        sock = await connect(driver, first, deadline)
        try:
            channel: Channel = Plain(sock)
            if self._proxy:
                channel = await self._secure(driver, channel, self._proxy, deadline)
                await tunnel(driver, channel, self._proxy, self._endpoint, deadline)
            return await self._secure(driver, channel, self._endpoint, deadline)
        except BaseException:
            sock.close()
            raise

    async def _secure(self, driver: Driver, channel: Channel, peer: Endpoint, deadline: float) -> Channel:
        if peer.scheme != "https" or self._context is None:
            return channel
        secured = Tls(channel, self._context, peer.host)
        await secured.greet(driver, deadline)
        return secured


async def connect(driver: Driver, endpoint: Endpoint, deadline: float) -> socket.socket:
    """Return a socket connected to the first address of the endpoint that takes it."""
    addresses = await driver.resolve(endpoint.host, endpoint.port, deadline)
    for at, address in enumerate(addresses, 1):
        left = deadline - time.monotonic()
        share = left / (len(addresses) - at + 1)  # one address that swallows packets must not use up all of the time
        try:
            return await _connect(driver, address, time.monotonic() + share)
        except OSError:
            if at == len(addresses):
                raise
    raise OSError(f"{endpoint.host} has no address")


async def _connect(driver: Driver, address: Address, deadline: float) -> socket.socket:
    family, kind, protocol, _, place = address
    sock = socket.socket(family, kind, protocol)
    try:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        await driver.connect(sock, place, deadline)
    except BaseException:
        sock.close()
        raise
    return sock


async def tunnel(driver: Driver, channel: Channel, proxy: Endpoint, endpoint: Endpoint, deadline: float) -> None:
    """Ask a proxy for a way through to the endpoint."""
    target = f"{endpoint.authority.removesuffix(f':{endpoint.port}')}:{endpoint.port}"
    login = f"Proxy-Authorization: Basic {base64.b64encode(proxy.user.encode()).decode()}\r\n" if proxy.user else ""
    await channel.send(driver, f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n{login}\r\n".encode(), deadline)
    head = b""
    while b"\r\n\r\n" not in head:
        data = await channel.receive(driver, deadline)
        head += data
        if not data or len(head) > LONGEST_HEAD:
            raise OSError(f"the proxy {proxy.authority} does not answer in HTTP")
    status = head.partition(b"\r\n")[0].decode("latin-1")
    if status.split(" ")[1:2] != ["200"]:
        raise OSError(f"the proxy {proxy.authority} answered {status!r}")
