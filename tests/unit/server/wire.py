"""A client that speaks HTTP byte by byte, so that tests can misbehave in any way."""

import json
import socket
from dataclasses import dataclass

AUTHORIZATION = (
    "AWS4-HMAC-SHA256 Credential=AKID/20260314/eu-west-2/dynamodb/aws4_request, "
    "SignedHeaders=host;x-amz-date;x-amz-target, Signature=00"
)
HEADERS = {
    "Host": "127.0.0.1",
    "Content-Type": "application/x-amz-json-1.0",
    "X-Amz-Date": "20260314T150926Z",
    "Authorization": AUTHORIZATION,
}
TABLE = {
    "TableName": "things",
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
    "BillingMode": "PAY_PER_REQUEST",
}


@dataclass(frozen=True)
class Answer:
    """A response, headers by lower-case name."""

    status: int
    headers: dict
    body: bytes

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def error(self):
        return self.json["__type"].partition("#")[2]


def build(operation=None, request=None, *, method="POST", path="/", body=None, **headers):
    """The bytes of a request; a header given as None is left out, `x_amz_target` is X-Amz-Target."""
    if body is None:
        body = json.dumps(request).encode() if request is not None else b""
    wanted = dict(HEADERS)
    if operation:
        wanted["X-Amz-Target"] = f"DynamoDB_20120810.{operation}"
    if method == "POST":
        wanted["Content-Length"] = str(len(body))
    wanted.update({name.replace("_", "-").title(): value for name, value in headers.items()})
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in wanted.items() if value is not None)]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def put(key, **attributes):
    """The bytes of a PutItem."""
    item = {"pk": {"S": key}, **{name: {"S": value} for name, value in attributes.items()}}
    return build("PutItem", {"TableName": "things", "Item": item})


def get(key, **headers):
    """The bytes of a GetItem."""
    return build("GetItem", {"TableName": "things", "Key": {"pk": {"S": key}}}, **headers)


class Client:
    """One connection."""

    def __init__(self, port, timeout=200.0):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout)
        self.file = self.socket.makefile("rb")

    def send(self, data):
        self.socket.sendall(data)

    def read(self, *, bodyless=False):
        """The next response."""
        status = int(self.file.readline().split()[1])
        headers = {}
        while line := self.file.readline().strip():
            name, _, value = line.decode("latin-1").partition(": ")
            headers[name.lower()] = value
        length = 0 if bodyless or status == 100 else int(headers["content-length"])
        return Answer(status, headers, self.file.read(length))

    def ask(self, data):
        """The response to a request."""
        self.send(data)
        return self.read()

    def call(self, operation, request):
        """The JSON that an operation answers."""
        response = self.ask(build(operation, request))
        assert response.status == 200, response
        return response.json

    def has_ended(self):
        """Return whether the server hung up; waits for it."""
        try:
            return self.file.read(1) == b""
        except ConnectionResetError:
            return True

    def send_until_cut_off(self, data):
        """Send without end; return when the server does not take it any more."""
        try:
            while True:
                self.send(data)
        except (ConnectionResetError, BrokenPipeError):
            return

    def count_rest(self):
        """How many bytes still come before the end."""
        received = 0
        try:
            while data := self.socket.recv(1 << 20):
                received += len(data)
        except ConnectionResetError:
            pass
        return received

    def close(self):
        self.file.close()
        self.socket.close()


def wait_until_refused(port):
    """Return when nobody listens on the port any more."""
    try:
        while True:
            with socket.create_connection(("127.0.0.1", port), 20):
                pass
    except (ConnectionRefusedError, ConnectionResetError):
        return
