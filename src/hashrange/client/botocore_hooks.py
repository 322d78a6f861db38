"""What a patch replaces while it is active, so that every DynamoDB call of this process runs on its databases.

`_REPLACED` lists the methods of botocore, aiobotocore, moto and of `hashrange.connect()`. Those of a library that is
imported while a patch is active are replaced before its first client exists. Other services are not affected.
"""

from __future__ import annotations

import copy
import functools
import inspect
import os
import re
import sys
from collections.abc import Callable
from threading import RLock
from typing import Any
from urllib.parse import urlsplit

from botocore.configloader import load_config
from botocore.credentials import Credentials
from botocore.exceptions import BotoCoreError

from hashrange.client.boto3_clients import InProcessSession
from hashrange.client.botocore_adapter import (
    is_for_dynamodb,
    run_operation,
    send_to_engine,
    send_to_engine_async,
)
from hashrange.client.fake_credentials import FAKE_KEY, FakeCredentials
from hashrange.client.http.connection import HttpResponse
from hashrange.client.regional_databases import ActivePatch
from hashrange.client.remote import Remote
from hashrange.engine.arn import DEFAULT_ACCOUNT
from hashrange.engine.engine import Engine
from hashrange.engine.service_model import ServiceOperation

Method = Callable[..., Any]

SERVICES = {"dynamodb", "dynamodbstreams"}
SIGNING_NAME = "dynamodb"  # of both
REGION_HEADER = "X-Hashrange-Region"  # of an unsigned request, inside this process
ACCOUNT_ID = "AWS::Auth::AccountId"  # parameters of botocore's endpoint rules
ACCOUNT_ID_MODE = "AWS::Auth::AccountIdEndpointMode"
SIGNED_REGION = re.compile(r"Credential=\S+/\d{8}/([^/]+)/dynamodb/")
REGION_OF_HOST = re.compile(r"//[^/]*?(?:dynamodb|ddb)[^./]*\.([a-z0-9-]+)\.")


class BotocoreHooks:
    """The patches that are active, the innermost last, and what must be put back when none is left."""

    def __init__(self) -> None:
        self._active: list[ActivePatch] = []
        self._originals: dict[tuple[Any, str], Method] = {}
        self._credentials = FakeCredentials()
        self._lock = RLock()

    @property
    def innermost(self) -> ActivePatch | None:
        """The patch in use."""
        return self._active[-1] if self._active else None

    def install(self, patch: ActivePatch, *, fake_credentials: bool) -> None:
        """Send every DynamoDB call to the databases of this patch."""
        with self._lock:
            self._active.append(patch)
            self.patch_loaded_libraries()
            if fake_credentials:
                self._credentials.set()

    def remove(self, patch: ActivePatch) -> None:
        """End a patch; the last one that uses its databases closes them."""
        with self._lock:
            self._active.remove(patch)
            if not self._active:
                self._put_back()
            if all(other.databases is not patch.databases for other in self._active):
                patch.databases.close()

    def _put_back(self) -> None:
        for (owner, name), original in self._originals.items():
            setattr(owner, name, original)
        self._originals.clear()
        self._credentials.restore()

    def patch_loaded_libraries(self) -> None:
        """Replace the methods of the libraries that are imported by now."""
        with self._lock:
            for module, class_name, name, replace in _REPLACED:
                owner = getattr(sys.modules.get(module), class_name, None)
                if self._active and owner is not None and (owner, name) not in self._originals:
                    original = self._originals[owner, name] = getattr(owner, name)
                    setattr(owner, name, functools.wraps(original)(replace(original)))


hooks = BotocoreHooks()


def find_default_region(patch: ActivePatch) -> str:
    """Return the region of clients without one: the patch's, else what botocore finds, else hashrange's own."""
    configured = os.environ.get("AWS_DEFAULT_REGION") or _find_profile().get("region") or os.environ.get("AWS_REGION")
    return patch.region or configured or patch.databases.region


def _find_profile() -> dict[str, str]:
    name = os.environ.get("AWS_PROFILE") or os.environ.get("AWS_DEFAULT_PROFILE") or "default"
    try:
        profiles = load_config(os.environ.get("AWS_CONFIG_FILE", "~/.aws/config"))["profiles"]
    except BotoCoreError:
        return {}
    found: dict[str, str] = profiles.get(name, {})
    return found


# Creating clients


def _create_session(original: Method) -> Method:
    def __init__(session: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807 replaces that method
        original(session, *args, **kwargs)
        hooks.patch_loaded_libraries()  # a session of aiobotocore, or one that has moto's event handler

    return __init__


def _create_client(original: Method) -> Method:
    def create_client(*args: Any, **kwargs: Any) -> Any:
        call = _bind_client(args, kwargs)
        if call is None:
            return original(*args, **kwargs)
        client = original(*call.args, **call.kwargs)
        # Before any other library that would respond.
        service = client.meta.service_model.service_id.hyphenize()
        client.meta.events.register_first(f"before-send.{service}", _respond)
        return client

    return create_client


def _create_async_client(original: Method) -> Method:
    def create_client(*args: Any, **kwargs: Any) -> Any:
        hooks.patch_loaded_libraries()
        call = _bind_client(args, kwargs)
        return original(*args, **kwargs) if call is None else original(*call.args, **call.kwargs)

    return create_client


def _bind_client(args: tuple[Any, ...], kwargs: dict[str, Any]) -> inspect.BoundArguments | None:
    """Return the arguments of a DynamoDB client, with a region and credentials; None for other clients."""
    from botocore.session import Session

    call = inspect.signature(Session.create_client).bind(*args, **kwargs)
    given = call.arguments
    active = hooks.innermost
    if active is None or given["service_name"] not in SERVICES or isinstance(given["self"], InProcessSession):
        return None
    named = given.get("region_name") or getattr(given.get("config"), "region_name", None)
    if not named and not given["self"].instance_variables().get("region"):
        given["region_name"] = find_default_region(active)
    if not given.get("aws_access_key_id"):  # useless after the patch
        given.update(aws_access_key_id=FAKE_KEY, aws_secret_access_key=FAKE_KEY)
    return call


# Clients that were made before: their own credentials are neither loaded, refreshed nor used


def _construct_endpoint(original: Method) -> Method:
    def construct_endpoint(resolver: Any, operation_model: Any, *args: Any, **kwargs: Any) -> Any:
        if operation_model.service_model.service_name in SERVICES:
            resolver = copy.copy(resolver)
            given = resolver._builtins  # noqa: SLF001 whose account id would load the credentials
            account = DEFAULT_ACCOUNT if given.get(ACCOUNT_ID_MODE) == "required" else None
            resolver._builtins = {**given, ACCOUNT_ID: account}  # noqa: SLF001
        return original(resolver, operation_model, *args, **kwargs)

    return construct_endpoint


def _sign_with(make_credentials: Callable[[], Any]) -> Callable[[Method], Method]:
    def replace(original: Method) -> Method:
        def get_auth_instance(signer: Any, signing_name: str, *args: Any, **kwargs: Any) -> Any:
            if signing_name == SIGNING_NAME:
                kwargs["request_credentials"] = make_credentials()
            return original(signer, signing_name, *args, **kwargs)

        return get_auth_instance

    return replace


def _name_region(original: Method) -> Method:
    """Add the region of the client to a request, because an unsigned one need not contain it."""

    def sign(signer: Any, operation_name: str, request: Any, *args: Any, **kwargs: Any) -> Any:
        if signer.signing_name == SIGNING_NAME and signer.region_name:
            request.headers[REGION_HEADER] = signer.region_name
        return original(signer, operation_name, request, *args, **kwargs)

    return sign


def _make_credentials() -> Any:
    return Credentials(FAKE_KEY, FAKE_KEY)


def _make_async_credentials() -> Any:
    from aiobotocore.credentials import AioCredentials

    return AioCredentials(FAKE_KEY, FAKE_KEY)


# Sending requests


def _send(original: Method) -> Method:
    def send(session: Any, request: Any) -> Any:
        return _respond(request) or original(session, request)

    return send


def _send_async(original: Method) -> Method:
    async def send(session: Any, request: Any) -> Any:
        engine = _find_engine(request)
        return await (send_to_engine_async(engine, request) if engine else original(session, request))

    return send


def _send_remote(original: Method) -> Method:
    async def send(remote: Remote, backend: Any, operation: ServiceOperation, body: bytes) -> HttpResponse:
        active = hooks.innermost
        if active is None or is_loopback(remote.endpoint):  # a server on this machine, such as a test's own
            response: HttpResponse = await original(remote, backend, operation, body)
            return response
        engine = active.databases.find(remote.region).engine
        status, payload = await backend.run(lambda: run_operation(engine, operation.name, body))
        return HttpResponse(status, {}, payload)

    return send


def is_loopback(url: str) -> bool:
    """Return whether a URL names this machine."""
    host = urlsplit(url).hostname or ""
    return host in {"localhost", "::1"} or host.startswith("127.")


def _respond(request: Any, **_event: Any) -> Any:
    engine = _find_engine(request)
    return send_to_engine(engine, request) if engine else None


def _find_engine(request: Any) -> Engine | None:
    """Return the engine that runs a request: the one of its region in the innermost patch."""
    active = hooks.innermost
    if active is None or not is_for_dynamodb(request):
        return None
    return active.databases.find(_find_region(request) or find_default_region(active)).engine


def _find_region(request: Any) -> str | None:
    signature: str | bytes = request.headers.get("Authorization", "")
    text = signature.decode() if isinstance(signature, bytes) else signature
    named: str | bytes | None = request.headers.get(REGION_HEADER)
    found = SIGNED_REGION.search(text) or REGION_OF_HOST.search(request.url)
    return found[1] if found else named.decode() if isinstance(named, bytes) else named


def _ignore_dynamodb(original: Method) -> Method:
    """Keep moto's event handler, which runs beside ours, from DynamoDB's requests."""

    def __call__(stubber: Any, event_name: str, request: Any, **kwargs: Any) -> Any:  # noqa: N807 as above
        return None if is_for_dynamodb(request) else original(stubber, event_name, request, **kwargs)

    return __call__


# module, class, method, and the function that makes its replacement from the original
_REPLACED: tuple[tuple[str, str, str, Callable[[Method], Method]], ...] = (
    ("botocore.session", "Session", "__init__", _create_session),
    ("botocore.session", "Session", "create_client", _create_client),
    ("botocore.regions", "EndpointRulesetResolver", "construct_endpoint", _construct_endpoint),
    ("botocore.signers", "RequestSigner", "sign", _name_region),
    ("botocore.signers", "RequestSigner", "get_auth_instance", _sign_with(_make_credentials)),
    ("botocore.httpsession", "URLLib3Session", "send", _send),
    ("aiobotocore.session", "AioSession", "create_client", _create_async_client),
    ("aiobotocore.regions", "AioEndpointRulesetResolver", "construct_endpoint", _construct_endpoint),
    ("aiobotocore.signers", "AioRequestSigner", "sign", _name_region),
    ("aiobotocore.signers", "AioRequestSigner", "get_auth_instance", _sign_with(_make_async_credentials)),
    ("aiobotocore.httpsession", "AIOHTTPSession", "send", _send_async),
    ("aiobotocore.httpxsession", "HttpxSession", "send", _send_async),
    ("hashrange.client.remote", "Remote", "_send", _send_remote),
    ("moto.core.botocore_stubber", "BotocoreStubber", "__call__", _ignore_dynamodb),
)
