"""Field encryption: the keyring protocol, the format of sealed values, and the context they are bound to.

The text is `hr1:`, then in base64url: type of keyring (1 byte) | length of the key's name (2) | name | nonce (12) |
AES-256-GCM ciphertext and tag (16). Keeping the keys is left to `client.local_keys` and `client.kms_keys`.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from hashrange.client import base64url
from hashrange.client.optional_import import import_optional
from hashrange.core import numbers
from hashrange.core.errors import Tampered

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

PREFIX = "hr1:"
LOCAL, KMS = b"L", b"K"  # types of keyring
KEY_SIZE = 32
NONCE_SIZE = 12
TAG_SIZE = 16
MAX_NAME_LENGTH = 0xFFFF
ANY_VERSION = re.compile(r"hr[1-9][0-9]*:")


class Keyring(Protocol):
    """Seals and opens the values of secret fields."""

    def seal(self, plain: bytes, context: bytes) -> str:
        """Return the text to store; it opens in the same context only."""
        ...

    def unseal(self, sealed: str, context: bytes) -> bytes:
        """Return what was sealed, or raise SealError."""
        ...


def is_sealed(text: str) -> bool:
    """Return whether a stored text is marked as sealed; plain text of an older system is not."""
    return ANY_VERSION.match(text) is not None


def context_of(table: str, key: dict[str, dict[str, str]], attribute: str) -> bytes:
    """Return the context of a value: the same bytes for equal keys, different ones for different attributes."""
    parts = [table, attribute]
    for name, value in sorted(key.items()):
        ((tag, content),) = value.items()
        parts += (name, tag, numbers.normalize(content) if tag == "N" else content)
    return _delimit(part.encode() for part in parts)


def _delimit(parts: Iterable[bytes]) -> bytes:
    return b"".join(len(part).to_bytes(4) + part for part in parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sealed:
    """The parts of a sealed value."""

    keyring_type: bytes
    name: bytes
    nonce: bytes
    ciphertext: bytes

    @property
    def header(self) -> bytes:
        """The part that names the key; it is authenticated too."""
        return self.keyring_type + len(self.name).to_bytes(2) + self.name


def parse(text: str) -> Sealed:
    """Parse a sealed value; raise Tampered if it is malformed."""
    data = base64url.decode(text.removeprefix(PREFIX)) if text.startswith(PREFIX) else None
    if data is None:
        raise Tampered("The value is damaged, or was sealed by a newer hashrange.")
    keyring_type, name_size, rest = data[:1], int.from_bytes(data[1:3]), data[3:]
    if keyring_type not in {LOCAL, KMS} or not name_size or len(rest) < name_size + NONCE_SIZE + TAG_SIZE:
        raise Tampered("The value is damaged: its parts are not those of a sealed value.")
    name, nonce, ciphertext = rest[:name_size], rest[name_size:][:NONCE_SIZE], rest[name_size + NONCE_SIZE :]
    return Sealed(keyring_type=keyring_type, name=name, nonce=nonce, ciphertext=ciphertext)


def make_cipher(key: bytes) -> AESGCM:
    """Return the cipher of a key; needs the encryption extra."""
    cipher: AESGCM = import_optional("cryptography.hazmat.primitives.ciphers.aead").AESGCM(key)
    return cipher


def seal_with(cipher: AESGCM, keyring_type: bytes, name: bytes, plain: bytes, context: bytes) -> str:
    """Seal with the key of that name, under a nonce that is used once."""
    assert 0 < len(name) <= MAX_NAME_LENGTH
    nonce = secrets.token_bytes(NONCE_SIZE)
    header = Sealed(keyring_type=keyring_type, name=name, nonce=nonce, ciphertext=b"").header
    return PREFIX + base64url.encode(header + nonce + cipher.encrypt(nonce, plain, header + context))


def open_with(cipher: AESGCM, sealed: Sealed, context: bytes) -> bytes:
    """Open with the key it was sealed with, or raise Tampered."""
    from cryptography.exceptions import InvalidTag

    try:
        return cipher.decrypt(sealed.nonce, sealed.ciphertext, sealed.header + context)
    except InvalidTag:
        pass
    raise Tampered("The value does not open: it was changed, or belongs to another item, attribute or table.")
