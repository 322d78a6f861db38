"""A loopback server that answers each request as a script says: late, wrong, in pieces, or not at all."""

import gzip
import json
import socket
import ssl
import threading
import time
import zlib
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from hashrange.client.credentials import Account, FixedCredentials
from hashrange.client.http.network_backend import BlockingBackend
from hashrange.client.remote import ClientLimits, Remote
from hashrange.client.retry import RetryPolicy
from hashrange.client.signer import Credentials

GREETING = {"TableNames": ["things"]}


def render(status=200, body=b"", **headers):
    """The bytes of a response; `x_amz_crc32` is X-Amz-Crc32, and a header given as None is left out."""
    body = body if isinstance(body, bytes) else json.dumps(body).encode()
    wanted = {"Content-Length": len(body), "X-Amz-Crc32": zlib.crc32(body)}
    wanted.update({name.replace("_", "-").title(): value for name, value in headers.items()})
    lines = [
        f"HTTP/1.1 {status} Whatever",
        *(f"{name}: {value}" for name, value in wanted.items() if value is not None),
    ]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def fail(name, status=400, **members):
    """The bytes of an error of DynamoDB's."""
    return render(status, {"__type": f"com.amazonaws.dynamodb.v20120810#{name}", "message": name, **members})


FINE = render(body=GREETING)
PACKED = render(body=gzip.compress(json.dumps(GREETING).encode()), content_encoding="gzip")


class CloseConnection:
    """Close the connection, after some bytes if any."""

    def __init__(self, data=b"", *, reset=False):
        self.data = data
        self.reset = reset

    def __call__(self, sock):
        sock.sendall(self.data)
        if self.reset:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
        return False


class SendSlowly:
    """Send byte by byte, with a pause after each."""

    def __init__(self, data, pause):
        self.data = data
        self.pause = pause

    def __call__(self, sock):
        for at in range(len(self.data)):
            sock.sendall(self.data[at : at + 1])
            time.sleep(self.pause)
        return True


def hang(sock):
    """Say nothing until the client goes."""
    sock.settimeout(200)
    while sock.recv(1024):
        pass
    return False


def flood(sock):
    """Send a body without end."""
    sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n")
    while True:
        sock.sendall(bytes(1 << 20))


@dataclass(frozen=True)
class ReceivedRequest:
    """A request that arrived."""

    head: str
    body: bytes
    connection: int


class MisbehavingServer:
    """Runs its script, a step for each request; the last step is repeated."""

    def __init__(self, script, context=None):
        self.script = list(script)
        self.context = context
        self.asked = []
        self.connections = 0
        self._lock = threading.Lock()
        self._open = set()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.url = f"{'https' if context else 'http'}://127.0.0.1:{self.port}"
        self._threads = [threading.Thread(target=self._listen, daemon=True)]
        self._threads[0].start()

    def _listen(self):
        while True:
            try:
                sock, _ = self.listener.accept()
            except OSError:
                return
            with self._lock:
                self.connections += 1
                self._open.add(sock)
                thread = threading.Thread(target=self._handle_connection, args=(sock, self.connections), daemon=True)
                self._threads.append(thread)
            thread.start()

    def _handle_connection(self, plain, number):
        sock = plain
        try:
            if self.context:
                sock = self.context.wrap_socket(plain, server_side=True)
            while request := read_request(sock):
                if not self._answer(sock, request, number):
                    break
        except (OSError, ssl.SSLError):
            pass
        finally:
            sock.close()

    def _answer(self, sock, request, number):
        with self._lock:
            self.asked.append(ReceivedRequest(*request, number))  # type: ignore[call-arg]
            step = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        if isinstance(step, bytes):
            sock.sendall(step)
            return True
        return step(sock)

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        with self._lock:
            for sock in self._open:
                close_socket(sock)
        for thread in self._threads:
            thread.join(100)


def close_socket(sock):
    with suppress(OSError):
        sock.shutdown(socket.SHUT_RDWR)


def read_request(sock):
    """The next request's head and body, or nothing at the end."""
    data = b""
    while b"\r\n\r\n" not in data:
        more = sock.recv(65536)
        if not more:
            return None
        data += more
    head, _, body = data.partition(b"\r\n\r\n")
    length = next(int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:"))
    while len(body) < length:
        body += sock.recv(65536)
    return head.decode(), body


@contextmanager
def misbehave(*script, context=None):
    """A server with that script, as long as the block lasts."""
    server = MisbehavingServer(script, context)
    try:
        yield server
    finally:
        server.close()


class NoPauseRemote:
    """A client that never sleeps: it writes down for how long it would have."""

    def __init__(self, url, *, attempts=3, chance=1.0, bundle=None, **limits):
        self.naps = []
        account = Account(
            url=url,
            find_streams=lambda: url,
            region="eu-west-2",
            source=FixedCredentials(Credentials("k", "s")),
            bundle=bundle,
        )
        chosen = ClientLimits(**{"timeout": 10.0, **limits})
        self.policy = RetryPolicy(attempts, chance=lambda: chance)
        self.blocking = BlockingBackend(chosen.max_connections, sleep=self.naps.append)
        self.remote = Remote(account, chosen, self.policy, blocking=self.blocking)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.remote.close()

    def ask(self):
        return self.remote.call("ListTables", {})
