"""Reads AWS's configuration through botocore: profiles, SSO, roles, web identity, containers, instances, endpoints."""

from __future__ import annotations

from functools import cached_property
from threading import Lock
from typing import Any

import botocore.session
from botocore.exceptions import BotoCoreError, ClientError

from hashrange.client.errors import CredentialsMissing, EndpointUnknown
from hashrange.client.signer import Credentials

NO_KEY = "none"
INSTANCE_METADATA = "iam-role"  # botocore's name of the provider


class AwsConfig:
    """The configuration of a profile."""

    def __init__(self, profile: str | None) -> None:
        self._session: Any = botocore.session.Session(profile=profile)
        try:
            self._session.get_scoped_config()
        except BotoCoreError as error:
            raise CredentialsMissing(f"{error}. `aws configure list-profiles` lists them.") from error

    @cached_property
    def region(self) -> str | None:
        """The region of the profile."""
        region: str | None = self._session.get_config_variable("region")
        return region

    @cached_property
    def bundle(self) -> str | None:
        """The file of certificates to trust, if one is configured."""
        bundle: str | None = self._session.get_config_variable("ca_bundle")
        return bundle

    def require_region(self) -> str:
        """Return the region of the profile; raise EndpointUnknown if it has none."""
        if not self.region:
            raise EndpointUnknown(
                "There is no region: set AWS_REGION, give the profile one, or name it: region= in Python, "
                "--target aws:PROFILE/REGION or aws:/REGION with a command."
            )
        return self.region

    def find_endpoint(self, service: str, region: str) -> str:
        """Return the address of a service in a region, as configured: FIPS, dual stack, a custom URL."""
        try:  # given keys, botocore does not look for any
            client = self._session.create_client(
                service, region_name=region, aws_access_key_id=NO_KEY, aws_secret_access_key=NO_KEY
            )
        except (BotoCoreError, ValueError) as error:
            raise EndpointUnknown(f"There is no endpoint of {service} in {region}: {error}") from error
        url: str = client.meta.endpoint_url
        client.close()
        return url

    def find_keys(self, otherwise: Credentials | None, *, metadata: bool) -> CredentialsChain:
        """Return botocore's chain; with `metadata` it includes the instance metadata, which can take seconds."""
        if not metadata:
            self._session.get_component("credential_provider").remove(INSTANCE_METADATA)
        return CredentialsChain(self._session, otherwise)


class CredentialsChain:
    """Credentials from botocore's chain, refreshed before they expire."""

    def __init__(self, session: Any, otherwise: Credentials | None) -> None:
        self._session = session
        self._otherwise = otherwise  # used when the chain finds none
        self._credentials: Any = None
        self._lock = Lock()

    def peek(self) -> Credentials | None:
        """Return the credentials if they are loaded and fresh."""
        found = self._credentials
        if found is None or (hasattr(found, "refresh_needed") and found.refresh_needed()):
            return None
        return _freeze(found)

    def fetch(self) -> Credentials:
        """Load or refresh the credentials."""
        try:
            with self._lock:
                self._credentials = self._credentials or self._session.get_credentials()
            if self._credentials is not None:
                return _freeze(self._credentials)
        except (BotoCoreError, ClientError) as error:
            raise CredentialsMissing(f"AWS credentials cannot be loaded: {error}") from error
        if self._otherwise is None:
            raise CredentialsMissing(
                "There are no AWS credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, log in with "
                "`aws sso login`, or name a profile: profile= in Python, --target aws:PROFILE with a command."
            )
        return self._otherwise


def _freeze(credentials: Any) -> Credentials:
    frozen = credentials.get_frozen_credentials()
    return Credentials(frozen.access_key, frozen.secret_key, frozen.token)
