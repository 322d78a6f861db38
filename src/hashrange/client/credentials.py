"""Finds the endpoint, region and credentials: from arguments, environment or AWS's files (`client.aws_config`)."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from hashrange.client.optional_import import import_optional
from hashrange.client.signer import Credentials

if TYPE_CHECKING:
    from hashrange.client.aws_config import AwsConfig

LOCAL_KEYS = Credentials("local", "local")  # local servers take any
LOCAL_REGION = "eu-west-2"
CONFIGURED_BY = (
    "AWS_PROFILE",
    "AWS_DEFAULT_PROFILE",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
)
FILES = {"AWS_SHARED_CREDENTIALS_FILE": "~/.aws/credentials", "AWS_CONFIG_FILE": "~/.aws/config"}


class CredentialsSource(Protocol):
    """Where the keys for the next request come from."""

    def peek(self) -> Credentials | None:
        """Return the keys when they are at hand."""
        ...

    def fetch(self) -> Credentials:
        """Return the keys, however long it takes; raise CredentialsMissing when there are none."""
        ...


class FixedCredentials:
    """Keys that stay the same."""

    def __init__(self, keys: Credentials) -> None:
        self._keys = keys

    def peek(self) -> Credentials | None:
        """Return them."""
        return self._keys

    def fetch(self) -> Credentials:
        """Return them."""
        return self._keys


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """Where the two services are, and who calls them."""

    url: str
    find_streams: Callable[[], str]  # asked when the first stream is read
    region: str
    source: CredentialsSource
    bundle: str | None = None  # a file of certificates to trust


def find_account(url: str | None, region: str | None, profile: str | None, keys: Credentials | None) -> Account:
    """Settle what was not given; without an endpoint it is AWS, which needs the aws extra."""
    region = region or os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    keys = keys or read_environment(profile)
    if url is None:
        return _find_aws(_load(profile), region, keys)
    streams = os.environ.get("AWS_ENDPOINT_URL_DYNAMODB_STREAMS") if url == find_endpoint_url() else None
    source: CredentialsSource = FixedCredentials(keys or LOCAL_KEYS)
    distant = url.startswith("https:")  # on an instance of AWS's perhaps, whose keys need no configuration
    if keys is None and (profile or distant or is_configured()):
        try:
            configuration = _load(profile)
        except ImportError:
            if profile:
                raise
        else:
            source = configuration.find_keys(LOCAL_KEYS, metadata=distant)
            region = region or configuration.region
    return Account(url=url, find_streams=lambda: streams or url, region=region or LOCAL_REGION, source=source)


def _find_aws(configuration: AwsConfig, region: str | None, keys: Credentials | None) -> Account:
    region = region or configuration.require_region()
    return Account(
        url=configuration.find_endpoint("dynamodb", region),
        find_streams=lambda: configuration.find_endpoint("dynamodbstreams", region),
        region=region,
        source=FixedCredentials(keys) if keys else configuration.find_keys(None, metadata=True),
        bundle=configuration.bundle,
    )


def find_endpoint_url() -> str | None:
    """Return the endpoint that the environment names."""
    if os.environ.get("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "").lower() == "true":
        return None
    return os.environ.get("AWS_ENDPOINT_URL_DYNAMODB") or os.environ.get("AWS_ENDPOINT_URL")


def read_environment(profile: str | None) -> Credentials | None:
    """Return the keys in the environment; who asks for a profile does not want them."""
    access, secret = os.environ.get("AWS_ACCESS_KEY_ID"), os.environ.get("AWS_SECRET_ACCESS_KEY")
    if profile or not access or not secret:
        return None
    return Credentials(access, secret, os.environ.get("AWS_SESSION_TOKEN") or None)


def is_configured() -> bool:
    """Tell whether there is anything that botocore could find keys in; loading it takes a tenth of a second."""
    files = (Path(os.environ.get(name) or usual).expanduser() for name, usual in FILES.items())
    return any(os.environ.get(name) for name in CONFIGURED_BY) or any(file.exists() for file in files)


def _load(profile: str | None) -> AwsConfig:
    configuration: AwsConfig = import_optional("hashrange.client.aws_config", extra="aws").AwsConfig(profile)
    return configuration
