"""The keyring with a master key in AWS KMS: values are sealed with data keys, which KMS generates and decrypts.

The encrypted data key is stored in the sealed text as the name of its key. Calls to KMS block, and are made only for
data keys that are not cached.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Any

from hashrange.client.keyring import KMS, Sealed, make_cipher, open_with, parse, seal_with
from hashrange.client.optional_import import import_optional
from hashrange.core.clock import Clock, SystemClock
from hashrange.core.errors import KeyRefused, SealError, Tampered, TransportError, UnknownKey

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

ENCRYPTION_CONTEXT = {"application": "hashrange"}
MAX_WRAPPED_LENGTH = 6144  # the limit of Decrypt
CAUSES: dict[str, type[SealError]] = {
    "IncorrectKeyException": UnknownKey,
    "InvalidCiphertextException": Tampered,
    "NotFoundException": UnknownKey,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CachePolicy:
    """How long a data key is kept in memory, how many values it seals, and how many data keys are kept at once."""

    minutes: float = 5
    uses: int = 10_000
    size: int = 1000


@dataclass(slots=True)
class _DataKey:
    wrapped: bytes
    cipher: AESGCM = field(repr=False)
    until: int
    uses: int = 0


class KmsKeys:
    """A key of AWS KMS: `KmsKeys("alias/fields", region="eu-west-2")`; values of `older` keys still open.

    Whoever seals needs kms:GenerateDataKey, whoever opens kms:Decrypt, for the same `encryption_context`. It may be
    used from any thread. Without a client it makes one as botocore is configured, when it is first needed.
    """

    def __init__(
        self,
        key_id: str,
        *,
        older: Sequence[str] = (),
        region: str | None = None,
        client: Any = None,
        encryption_context: Mapping[str, str] | None = None,
        cache: CachePolicy | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._key_ids = (key_id, *older)
        self._region = region
        self._client = client
        self._encryption_context = {**ENCRYPTION_CONTEXT, **(encryption_context or {})}
        self._cache = cache or CachePolicy()
        self._clock = clock or SystemClock()
        self._current: _DataKey | None = None
        self._remembered: OrderedDict[bytes, _DataKey] = OrderedDict()
        self._sealing = Lock()
        self._remembering = Lock()
        self._connecting = Lock()

    def seal(self, plain: bytes, context: bytes) -> str:
        """Seal with a data key of the master key."""
        data_key = self._take_data_key()
        return seal_with(data_key.cipher, KMS, data_key.wrapped, plain, context)

    def unseal(self, sealed: str, context: bytes) -> bytes:
        """Open with the data key it was sealed with, or raise SealError."""
        parts = parse(sealed)
        return open_with(self._find(parts), parts, context)

    def _take_data_key(self) -> _DataKey:
        with self._sealing:  # also during the call to KMS: waiting threads share its response
            data_key = self._current
            if data_key is None or data_key.uses >= self._cache.uses or data_key.until <= self._clock.millis():
                data_key = self._current = self._generate()
            data_key.uses += 1
            return data_key

    def _generate(self) -> _DataKey:
        key_id, client = self._key_ids[0], self._connect()
        with _translate(f"GenerateDataKey with {key_id}"):
            response = client.generate_data_key(
                KeyId=key_id, KeySpec="AES_256", EncryptionContext=self._encryption_context
            )
        return self._remember(response["CiphertextBlob"], response["Plaintext"])

    def _find(self, sealed: Sealed) -> AESGCM:
        if sealed.keyring_type != KMS:
            raise UnknownKey("The value was sealed by another type of keyring, not with a key of AWS KMS.")
        if len(sealed.name) > MAX_WRAPPED_LENGTH:
            raise Tampered("The value is damaged: what should be its data key is too long for one.")
        data_key = self._recall(sealed.name) or self._remember(sealed.name, self._unwrap(sealed.name))
        return data_key.cipher

    def _unwrap(self, wrapped: bytes) -> bytes:
        cause: UnknownKey | None = None
        for key_id in self._key_ids:
            try:
                return self._decrypt(key_id, wrapped)
            except UnknownKey as refusal:
                cause = refusal
        raise UnknownKey(f"The value was sealed with another KMS key than {', '.join(self._key_ids)}.") from cause

    def _decrypt(self, key_id: str, wrapped: bytes) -> bytes:
        # The key is named although KMS can read it from the blob: data keys of other KMS keys must be refused.
        client = self._connect()
        with _translate(f"Decrypt with {key_id}"):
            response = client.decrypt(KeyId=key_id, CiphertextBlob=wrapped, EncryptionContext=self._encryption_context)
        plain: bytes = response["Plaintext"]
        return plain

    def _remember(self, wrapped: bytes, key: bytes) -> _DataKey:
        until = self._clock.millis() + int(self._cache.minutes * 60_000)
        data_key = _DataKey(wrapped, make_cipher(key), until)
        with self._remembering:
            self._remembered[wrapped] = data_key
            self._remembered.move_to_end(wrapped)
            if len(self._remembered) > self._cache.size:
                self._remembered.popitem(last=False)
        return data_key

    def _recall(self, wrapped: bytes) -> _DataKey | None:
        with self._remembering:
            data_key = self._remembered.get(wrapped)
            if data_key is None or data_key.until <= self._clock.millis():
                return None
            self._remembered.move_to_end(wrapped)
            return data_key

    def _connect(self) -> Any:
        with self._connecting:
            if self._client is None:
                self._client = _make_client(self._region)
            return self._client

    def __repr__(self) -> str:
        return f"KmsKeys({', '.join(map(repr, self._key_ids))})"


def _make_client(region: str | None) -> Any:
    return import_optional("botocore.session", extra="aws").get_session().create_client("kms", region_name=region)


@contextmanager
def _translate(attempt: str) -> Iterator[None]:
    """Translate botocore's errors by cause."""
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        yield
    except ClientError as refusal:
        raise _name_cause(attempt, refusal.response["Error"]) from refusal
    except BotoCoreError as failure:
        raise TransportError(f"AWS KMS did not respond to {attempt}: {failure}") from failure


def _name_cause(attempt: str, error: Mapping[str, str]) -> SealError:
    code = error.get("Code", "")
    cause = CAUSES.get(code, KeyRefused)
    if cause is Tampered:
        return Tampered("The value is damaged, or was sealed with another encryption context.")
    return cause(f"AWS KMS refuses {attempt}: {code} {error.get('Message', '')}".rstrip())
