"""Byte streams to a server: plain TCP, or TLS over another stream.

TLS uses memory buffers (`ssl.MemoryBIO`), so that it works with both backends, and inside the TLS of a proxy.
"""

from __future__ import annotations

import os
import socket
import ssl
from importlib.util import find_spec
from typing import Protocol

from hashrange.client.errors import CertificateRefused
from hashrange.client.http.network_backend import CHUNK, NetworkBackend


class NetworkStream(Protocol):
    """Sends and receives bytes."""

    @property
    def sock(self) -> socket.socket:
        """The socket under it."""
        ...

    async def send(self, backend: NetworkBackend, data: bytes, deadline: float) -> None:
        """Send everything."""
        ...

    async def receive(self, backend: NetworkBackend, deadline: float) -> bytes:
        """Return the received bytes, at least one; empty at the end of the stream."""
        ...


class PlainStream:
    """A plain TCP socket."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock

    async def send(self, backend: NetworkBackend, data: bytes, deadline: float) -> None:
        """Send everything."""
        await backend.send(self.sock, data, deadline)

    async def receive(self, backend: NetworkBackend, deadline: float) -> bytes:
        """Return the received bytes."""
        return await backend.receive(self.sock, deadline)


class TlsStream:
    """TLS over another stream."""

    def __init__(self, inner: NetworkStream, context: ssl.SSLContext, host: str) -> None:
        self._inner = inner
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_hostname=host)

    @property
    def sock(self) -> socket.socket:
        """The socket under it."""
        return self._inner.sock

    async def handshake(self, backend: NetworkBackend, deadline: float) -> None:
        """Do the TLS handshake and verify the certificate."""
        while True:
            try:
                self._tls.do_handshake()
            except ssl.SSLWantReadError:
                await self._fill(backend, deadline)
            else:
                return await self._flush(backend, deadline)

    async def send(self, backend: NetworkBackend, data: bytes, deadline: float) -> None:
        """Send everything."""
        self._tls.write(data)
        await self._flush(backend, deadline)

    async def receive(self, backend: NetworkBackend, deadline: float) -> bytes:
        """Return the received bytes."""
        while True:
            try:
                return self._tls.read(CHUNK)
            except ssl.SSLWantReadError:
                await self._fill(backend, deadline)
            except ssl.SSLZeroReturnError:
                return b""

    async def _fill(self, backend: NetworkBackend, deadline: float) -> None:
        await self._flush(backend, deadline)
        if data := await self._inner.receive(backend, deadline):
            self._incoming.write(data)
        else:
            self._incoming.write_eof()

    async def _flush(self, backend: NetworkBackend, deadline: float) -> None:
        if self._outgoing.pending:
            await self._inner.send(backend, self._outgoing.read(), deadline)


def make_tls_context(bundle: str | None = None) -> ssl.SSLContext:
    """Return a context that trusts the certificates in that file, else AWS_CA_BUNDLE's, else the system's.

    A system without any, as Python on macOS may be, gets those of certifi when that is installed.
    """
    chosen = bundle or os.environ.get("AWS_CA_BUNDLE") or _find_certifi()
    try:
        context = ssl.create_default_context(cafile=chosen)
    except OSError as error:
        raise CertificateRefused(f"{chosen} has no certificates that could be trusted: {error}") from error
    context.minimum_version = ssl.TLSVersion.TLSv1_2  # Debian's Python leaves it to the system's settings
    return context


def _find_certifi() -> str | None:
    paths = ssl.get_default_verify_paths()
    if paths.cafile or paths.capath or not find_spec("certifi"):
        return None
    import certifi

    return certifi.where()
