"""Finds the endpoint, region and credentials: from arguments, environment or AWS's files (`client.aws_config`)."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from hashrange.client.optional_import import import_optional
from hashrange.client.signer import Credentials
from hashrange.engine.arn import DEFAULT_REGION

if TYPE_CHECKING:
    from hashrange.client.aws_config import AwsConfig

LOCAL_KEYS = Credentials("local", "local")  # local servers take any
CONFIGURED_BY = (
    "AWS_PROFILE",
    "AWS_DEFAULT_PROFILE",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
)
FILES = {"AWS_SHARED_CREDENTIALS_FILE": "~/.aws/credentials", "AWS_CONFIG_FILE": "~/.aws/config"}


class CredentialsSource(Protocol):
    """Provides the credentials for the next request."""

    def peek(self) -> Credentials | None:
        """Return the credentials if that needs no waiting."""
        ...

    def fetch(self) -> Credentials:
        """Return the credentials, loading them if necessary; raise CredentialsMissing without any."""
        ...


class FixedCredentials:
    """Credentials that never change."""

    def __init__(self, keys: Credentials) -> None:
        self._keys = keys

    def peek(self) -> Credentials | None:
        """Return the credentials."""
        return self._keys

    def fetch(self) -> Credentials:
        """Return the credentials."""
        return self._keys


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """The endpoints of the two services, region and credentials."""

    url: str
    find_streams: Callable[[], str]  # called when the first stream is read
    region: str
    source: CredentialsSource
    bundle: str | None = None  # a file of certificates to trust


def find_account(url: str | None, region: str | None, profile: str | None, keys: Credentials | None) -> Account:
    """Complete what was given; without an endpoint it is AWS, which needs the aws extra."""
    region = region or os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    keys = keys or read_environment(profile)
    if url is None:
        return _find_aws(_load(profile), region, keys)
    streams = os.environ.get("AWS_ENDPOINT_URL_DYNAMODB_STREAMS") if url == find_endpoint_url() else None
    source: CredentialsSource = FixedCredentials(keys or LOCAL_KEYS)
    is_https = url.startswith("https:")  # perhaps on an EC2 instance, which has credentials without configuration
    if keys is None and (profile or is_https or is_configured()):
        try:
            configuration = _load(profile)
        except ImportError:
            if profile:
                raise
        else:
            source = configuration.find_keys(LOCAL_KEYS, metadata=is_https)
            region = region or configuration.region
    return Account(url=url, find_streams=lambda: streams or url, region=region or DEFAULT_REGION, source=source)


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
    """Return the endpoint in the environment."""
    if os.environ.get("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "").lower() == "true":
        return None
    return os.environ.get("AWS_ENDPOINT_URL_DYNAMODB") or os.environ.get("AWS_ENDPOINT_URL")


def read_environment(profile: str | None) -> Credentials | None:
    """Return the credentials in the environment, unless a profile is given."""
    access, secret = os.environ.get("AWS_ACCESS_KEY_ID"), os.environ.get("AWS_SECRET_ACCESS_KEY")
    if profile or not access or not secret:
        return None
    return Credentials(access, secret, os.environ.get("AWS_SESSION_TOKEN") or None)


def is_configured() -> bool:
    """Return whether botocore could find credentials somewhere; importing it takes a tenth of a second."""
    files = (Path(os.environ.get(name) or usual).expanduser() for name, usual in FILES.items())
    return any(os.environ.get(name) for name in CONFIGURED_BY) or any(file.exists() for file in files)


def _load(profile: str | None) -> AwsConfig:
    configuration: AwsConfig = import_optional("hashrange.client.aws_config", extra="aws").AwsConfig(profile)
    return configuration
