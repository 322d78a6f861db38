"""moto's DynamoDB behind HTTP, in the environment where moto is installed; prints its address.

moto's own server needs Flask. This one gives each request to the function by which moto answers botocore.
"""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from botocore.awsrequest import AWSPreparedRequest
from moto import mock_aws
from moto.core.models import botocore_stubber

HOSTS = {
    "DynamoDB_20120810": "https://dynamodb.eu-west-2.amazonaws.com/",
    "DynamoDBStreams_20120810": "https://streams.dynamodb.eu-west-2.amazonaws.com/",
}
ONE_AT_A_TIME = threading.Lock()  # moto is not made for threads


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        service, _, operation = self.headers["X-Amz-Target"].partition(".")
        url = HOSTS[service]
        headers = {**dict(self.headers.items()), "Host": url.split("/")[2]}
        request = AWSPreparedRequest("POST", url, headers, body, stream_output=False)
        with ONE_AT_A_TIME:
            response = botocore_stubber(event_name=f"before-send.dynamodb.{operation}", request=request)
        answer = response.content
        self.send_response(response.status_code)
        self.send_header("Content-Type", "application/x-amz-json-1.0")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_arguments):
        """Print nothing."""


if __name__ == "__main__":
    with mock_aws():
        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        print(f"http://127.0.0.1:{server.server_address[1]}", flush=True)  # noqa: T201 - the test reads it
        server.serve_forever()
