"""Makes real botocore clients and boto3 resources that run on a database in this process.

Nothing is signed, and neither the network nor the user's AWS configuration is used: `client.botocore_adapter` replaces
the HTTP connection.
"""

from __future__ import annotations

import os
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING, Any

import boto3.session
import botocore.session
from botocore import UNSIGNED
from botocore.config import Config
from botocore.handlers import BUILTIN_HANDLERS

from hashrange.client.botocore_adapter import send_to_engine

if TYPE_CHECKING:
    from hashrange.client.database import Database

_CONFIG = Config(signature_version=UNSIGNED)
# AWS_PROFILE or a broken ~/.aws/config must not matter.
_NO_USER_CONFIGURATION = {
    "profile": (None, None, None, None),
    "config_file": (None, None, os.devnull, None),
    "credentials_file": (None, None, os.devnull, None),
}
_client_lock = Lock()  # botocore's sessions are not thread-safe


def make_client(service: str, database: Database, config: Config | None) -> Any:
    """Return a botocore client of that service which runs on the database."""
    with _client_lock:
        client = _session().client(service, region_name=database.region, config=_merge_config(config))
    _attach(client, database)
    return client


def make_resource(database: Database, config: Config | None) -> Any:
    """Return boto3's DynamoDB resource, running on the database."""
    with _client_lock:
        resource = _session().resource("dynamodb", region_name=database.region, config=_merge_config(config))
    _attach(resource.meta.client, database)
    return resource


class InProcessSession(botocore.session.Session):  # type: ignore[misc]  # botocore has no types
    """A session whose clients have their own database; `client.patch` does not redirect them."""


@cache
def _session() -> boto3.session.Session:
    """Return the one session behind all clients: it keeps the service models, which take 100 ms to load."""
    session = InProcessSession(session_vars=_NO_USER_CONFIGURATION)
    for event, handler, *_ in BUILTIN_HANDLERS:
        if type(handler).__module__.startswith("moto."):  # would run each request too, and its errors are raised
            session.unregister(event, handler)
    return boto3.session.Session(botocore_session=session)


def _merge_config(config: Config | None) -> Config:
    return _CONFIG.merge(config) if config else _CONFIG


def _attach(client: Any, database: Database) -> None:
    def send_prepared(request: Any, **_event: Any) -> Any:
        return send_to_engine(database.engine, request)

    client.meta.events.register_first("before-send", send_prepared)
