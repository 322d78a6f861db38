"""Stands between the directory and its services in the tests: passes requests on to DynamoDB, and is a bucket of S3.

It notes what IAM would be asked: the action, the resource, and the region and access key of the signature.
"""

import http.client
import json
import re
import threading
from contextlib import closing, contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

SCOPE = re.compile(r"Credential=([^/]+)/\d+/([a-z0-9-]+)/(\w+)/aws4_request")
IN_TRANSACTIONS = {
    "Put": "PutItem", "Update": "UpdateItem", "Delete": "DeleteItem", "ConditionCheck": "ConditionCheckItem",
    "Get": "GetItem",
}  # fmt: skip


def ask_dynamodb(operation, body, account):
    """The pairs of action and ARN that a request needs, as the service authorisation reference has them."""
    table = f"arn:aws:dynamodb:{account}:table/"
    if operation.startswith("Transact"):
        parts = [part for each in body["TransactItems"] for part in each.items()]
        return {(IN_TRANSACTIONS[kind], table + part["TableName"]) for kind, part in parts}
    if operation.startswith("Batch"):
        return {(operation, table + name) for name in body["RequestItems"]}
    if "ShardIterator" in body:
        return {(operation, f"{table}kelifax-resources/stream/of the iterator")}
    if "StreamArn" in body or "ResourceArn" in body:
        return {(operation, body.get("StreamArn") or body["ResourceArn"])}
    if operation == "ListStreams" or "TableName" not in body:
        return {(operation, "*")}
    index = f"/index/{body['IndexName']}" if "IndexName" in body else ""
    return {(operation, table + body["TableName"] + index)}


class RecordedAws:
    """What was asked, and the objects of the bucket."""

    def __init__(self, port, dynamodb):
        self.url, self.dynamodb = f"http://127.0.0.1:{port}", urlsplit(dynamodb)
        self.asked, self.signed_for, self.objects = set(), set(), {}

    def note_signature(self, headers):
        key, region, service = SCOPE.search(headers["Authorization"]).groups()
        self.signed_for.add((key, region, service))
        return f"{region}:123456789012"

    def pass_on(self, handler, body):
        """Send a request to the server, with the same headers, which are signed; return its answer."""
        operation = handler.headers["X-Amz-Target"].rpartition(".")[2]
        account = self.note_signature(handler.headers)
        self.asked |= {
            (f"dynamodb:{action}", arn) for action, arn in ask_dynamodb(operation, json.loads(body), account)
        }
        connection = http.client.HTTPConnection(self.dynamodb.hostname, self.dynamodb.port, timeout=120)
        connection.putrequest("POST", handler.path, skip_host=True, skip_accept_encoding=True)
        for name, value in handler.headers.items():
            connection.putheader(name, value)
        connection.endheaders(body)
        with closing(connection):
            answer = connection.getresponse()
            return answer.status, answer.read()

    def use_bucket(self, handler, body):
        """Answer for an object as S3 does; return status and content."""
        self.note_signature(handler.headers)
        path = urlsplit(handler.path).path
        action = {"PUT": "PutObject", "GET": "GetObject", "DELETE": "DeleteObject"}[handler.command]
        self.asked.add((f"s3:{action}", f"arn:aws:s3::{path.replace('/', ':::', 1).removeprefix('::')}"))
        if handler.command == "PUT":
            self.objects[path] = body
            return 200, b""
        if handler.command == "DELETE":
            self.objects.pop(path, None)
            return 204, b""
        if path in self.objects:
            return 200, self.objects[path]
        return 404, b"<Error><Code>NoSuchKey</Code></Error>"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    recorded: RecordedAws

    def answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        is_dynamodb = "X-Amz-Target" in self.headers
        status, content = (self.recorded.pass_on if is_dynamodb else self.recorded.use_bucket)(self, body)
        self.send_response(status)
        if is_dynamodb:
            self.send_header("Content-Type", "application/x-amz-json-1.0")
        else:
            self.send_header("ETag", '"1"')
            self.send_header("Last-Modified", "Thu, 15 Jan 2026 12:00:00 GMT")
        self.send_header("Content-Length", str(len(content)))
        with suppress(ConnectionError):  # a process was told to stop meanwhile
            self.end_headers()
            self.wfile.write(content)

    do_POST = do_PUT = do_GET = do_DELETE = answer  # noqa: N815 - names of the library

    def log_message(self, *_arguments):
        """Say nothing."""


@contextmanager
def record_aws(dynamodb):
    """Listen on a free port until the block ends."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    recorded = RecordedAws(server.server_port, dynamodb)
    server.RequestHandlerClass = type("Bound", (Handler,), {"recorded": recorded})
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield recorded
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
