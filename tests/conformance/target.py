"""The targets of the conformance tests: an engine in this process, or an endpoint.

Both give clients and take raw requests.
"""

import json
from urllib.parse import urlsplit

import botocore.session
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.config import Config
from botocore.httpsession import URLLib3Session

from hashrange.client.botocore_adapter import run_operation
from hashrange.client.database import open_database

# The service must see what a test sends: boto3 would refuse much of it, and retry what was refused.
CONFIG = Config(parameter_validation=False, retries={"total_max_attempts": 1})
PREFIXES = {"dynamodb": "DynamoDB_20120810", "dynamodbstreams": "DynamoDBStreams_20120810"}


class EmbeddedTarget:
    """A database in memory, in this process."""

    def __init__(self):
        self._database = open_database()

    def client(self, service):
        make = {"dynamodb": self._database.client, "dynamodbstreams": self._database.streams_client}[service]
        return make(config=CONFIG)

    def send(self, operation, body, service="dynamodb"):
        status, response = run_operation(self._database.engine, operation, as_bytes(body))
        return status, json.loads(response) if response else None

    def close(self):
        self._database.close()


class EndpointTarget:
    """Whatever speaks DynamoDB at a URL; AWS itself with the user's credentials, others with made-up ones."""

    def __init__(self, url):
        self._url = url
        self._session = botocore.session.Session()
        self._http = URLLib3Session()
        host = urlsplit(url).hostname or ""
        self._region = "eu-west-2"
        if host.endswith(".amazonaws.com"):
            self._region = host.split(".")[-3]
        else:
            self._session.set_credentials("hashrange", "hashrange")

    def client(self, service):
        return self._session.create_client(service, self._region, endpoint_url=self._url, config=CONFIG)

    def send(self, operation, body, service="dynamodb"):
        headers = {
            "Content-Type": "application/x-amz-json-1.0",
            "X-Amz-Target": f"{PREFIXES[service]}.{operation}",
        }
        request = AWSRequest("POST", self._url, headers=headers, data=as_bytes(body))
        SigV4Auth(self._session.get_credentials(), "dynamodb", self._region).add_auth(request)
        response = self._http.send(request.prepare())
        return response.status_code, json.loads(response.content) if response.content else None

    def close(self):
        self._http.close()


def as_bytes(body):
    return body if isinstance(body, bytes) else json.dumps(body).encode()
