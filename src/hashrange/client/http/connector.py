"""Opens connections to one endpoint: address resolution, proxy from the environment, TLS."""

from __future__ import annotations

import base64
import socket
import ssl
import time
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from hashrange.client.errors import CertificateRefused, EndpointUnknown, Unreachable
from hashrange.client.http.connection import HttpConnection
from hashrange.client.http.network_backend import Address, NetworkBackend
from hashrange.client.http.network_stream import NetworkStream, PlainStream, TlsStream

PORTS = {"http": 80, "https": 443}
MAX_HEAD_BYTES = 16 * 1024


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The parts of a URL."""

    scheme: str
    host: str
    port: int
    path: str = "/"
    authority: str = ""  # the Host header
    user: str = ""  # name:password; proxies have one


def parse_endpoint(url: str) -> Endpoint:
    """Parse a URL; raise EndpointUnknown if it is not an endpoint."""
    parts = urlsplit(url)
    try:
        port = parts.port
    except ValueError as error:
        raise EndpointUnknown(f"{url!r} is not an endpoint: {error}") from error
    if parts.scheme not in PORTS or not parts.hostname or parts.query or parts.fragment:
        raise EndpointUnknown(f"{url!r} is not an endpoint; one looks like http://127.0.0.1:8000")
    name = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    default = PORTS[parts.scheme]
    authority = name if port in {None, default} else f"{name}:{port}"
    user = f"{unquote(parts.username)}:{unquote(parts.password or '')}" if parts.username else ""
    return Endpoint(parts.scheme, parts.hostname, port or default, parts.path or "/", authority, user)


def find_proxy(endpoint: Endpoint) -> Endpoint | None:
    """Return the environment's proxy for an https endpoint; http endpoints are local and use none."""
    if endpoint.scheme != "https":
        return None
    from urllib.request import getproxies, proxy_bypass  # 30 ms, not needed for local endpoints

    url = getproxies().get("https")
    if not url or proxy_bypass(f"{endpoint.host}:{endpoint.port}"):
        return None
    return parse_endpoint(url if "://" in url else f"http://{url}")


class Connector:
    """Opens connections to one endpoint."""

    def __init__(self, endpoint: Endpoint, context: ssl.SSLContext | None, timeout: float) -> None:
        self._endpoint = endpoint
        self._proxy = find_proxy(endpoint)
        self._context = context  # None without TLS
        self._timeout = timeout

    async def open(self, backend: NetworkBackend) -> HttpConnection:
        """Return a new connection; raise Unreachable with the reason."""
        where = f"{self._endpoint.scheme}://{self._endpoint.authority}"
        try:
            return HttpConnection(await self._open(backend, time.monotonic() + self._timeout))
        except TimeoutError as error:
            raise Unreachable(f"{where} did not respond within {self._timeout:g} s") from error
        except ssl.SSLCertVerificationError as error:
            raise CertificateRefused(f"the certificate of {where} is not valid: {error.verify_message}") from error
        except OSError as error:
            raise Unreachable(
                f"{where} cannot be reached: {error}. Check the address, and that the server is running."
            ) from error

    async def _open(self, backend: NetworkBackend, deadline: float) -> NetworkStream:
        first = self._proxy or self._endpoint
        sock = await connect(backend, first, deadline)
        try:
            stream: NetworkStream = PlainStream(sock)
            if self._proxy:
                stream = await self._secure(backend, stream, self._proxy, deadline)
                await open_tunnel(backend, stream, self._proxy, self._endpoint, deadline)
            return await self._secure(backend, stream, self._endpoint, deadline)
        except BaseException:
            sock.close()
            raise

    async def _secure(
        self, backend: NetworkBackend, stream: NetworkStream, peer: Endpoint, deadline: float
    ) -> NetworkStream:
        if peer.scheme != "https" or self._context is None:
            return stream
        secured = TlsStream(stream, self._context, peer.host)
        await secured.handshake(backend, deadline)
        return secured


async def connect(backend: NetworkBackend, endpoint: Endpoint, deadline: float) -> socket.socket:
    """Return a socket connected to the first address that accepts."""
    addresses = await backend.resolve(endpoint.host, endpoint.port, deadline)
    for at, address in enumerate(addresses, 1):
        left = deadline - time.monotonic()
        share = left / (len(addresses) - at + 1)  # an address that drops packets must not use up all of the time
        try:
            return await _connect(backend, address, time.monotonic() + share)
        except OSError:
            if at == len(addresses):
                raise
    raise OSError(f"{endpoint.host} has no address")


async def _connect(backend: NetworkBackend, address: Address, deadline: float) -> socket.socket:
    family, socket_type, protocol, _, socket_address = address
    sock = socket.socket(family, socket_type, protocol)
    try:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        await backend.connect(sock, socket_address, deadline)
    except BaseException:
        sock.close()
        raise
    return sock


async def open_tunnel(
    backend: NetworkBackend, stream: NetworkStream, proxy: Endpoint, endpoint: Endpoint, deadline: float
) -> None:
    """Open a tunnel to the endpoint through a proxy."""
    target = f"{endpoint.authority.removesuffix(f':{endpoint.port}')}:{endpoint.port}"
    login = f"Proxy-Authorization: Basic {base64.b64encode(proxy.user.encode()).decode()}\r\n" if proxy.user else ""
    await stream.send(backend, f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n{login}\r\n".encode(), deadline)
    head = b""
    while b"\r\n\r\n" not in head:
        data = await stream.receive(backend, deadline)
        head += data
        if not data or len(head) > MAX_HEAD_BYTES:
            raise OSError(f"the proxy {proxy.authority} does not respond in HTTP")
    status = head.partition(b"\r\n")[0].decode("latin-1")
    if status.split(" ")[1:2] != ["200"]:
        raise OSError(f"the proxy {proxy.authority} responded {status!r}")
