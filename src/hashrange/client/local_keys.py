"""The keyring with keys in a local file (`client.key_file`), or in memory for tests."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Self

from hashrange.client.key_file import KeySet, add_key, generate_key, make_key_file, read_key_file
from hashrange.client.keyring import LOCAL, Sealed, make_cipher, open_with, parse, seal_with
from hashrange.core.errors import UnknownKey

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM


@dataclass(frozen=True, slots=True)
class _LoadedKeys:
    """A snapshot of the keys, as ciphers, which do not expose them."""

    current: str = ""
    ciphers: dict[str, AESGCM] = field(default_factory=dict, repr=False)

    def with_keys(self, keys: KeySet) -> _LoadedKeys:
        return _LoadedKeys(keys.current, self.ciphers | {name: make_cipher(key) for name, key in keys.keys.items()})


class LocalKeys:
    """Keys in a file: `LocalKeys("keys.json")`. The first seal makes the file; opening never does.

    It may be used from any thread. Processes that share the file see each other's new keys.
    """

    def __init__(self, path: str | Path | None) -> None:
        self._path = Path(path) if path is not None else None
        self._loaded = _LoadedKeys()
        self._changing = Lock()
        self._reload()

    @classmethod
    def generate(cls) -> Self:
        """Return a keyring with one key, in memory only: what it seals cannot be opened later."""
        keys = cls(None)
        keys.rotate()
        return keys

    @property
    def current(self) -> str:
        """The id of the key that seals; empty while there is none."""
        return self._loaded.current

    @property
    def ids(self) -> list[str]:
        """The ids of all keys, oldest first."""
        return list(self._loaded.ciphers)

    def seal(self, plain: bytes, context: bytes) -> str:
        """Seal with the current key; the first time, make the key file."""
        loaded = self._loaded if self._loaded.current else self._begin()
        return seal_with(loaded.ciphers[loaded.current], LOCAL, loaded.current.encode(), plain, context)

    def unseal(self, sealed: str, context: bytes) -> bytes:
        """Open with the key it was sealed with, or raise UnknownKey or Tampered."""
        parts = parse(sealed)
        return open_with(self._find(parts), parts, context)

    def rotate(self) -> str:
        """Add a new current key and return its id; the older ones still open values."""
        with self._changing:
            self._loaded = self._loaded.with_keys(add_key(self._path) if self._path else generate_key())
            return self._loaded.current

    def _begin(self) -> _LoadedKeys:
        with self._changing:
            if not self._loaded.current:
                self._loaded = self._loaded.with_keys(make_key_file(self._path) if self._path else generate_key())
            return self._loaded

    def _reload(self) -> None:
        keys = read_key_file(self._path) if self._path else None
        if keys:
            with self._changing:
                self._loaded = self._loaded.with_keys(keys)

    def _find(self, sealed: Sealed) -> AESGCM:
        if sealed.keyring_type != LOCAL:
            raise UnknownKey("The value was sealed by another type of keyring, not with a local key.")
        name = sealed.name.decode("ascii", "backslashreplace")
        if name not in self._loaded.ciphers:
            self._reload()  # another process may have added it
        if name not in self._loaded.ciphers:
            known = ", ".join(self.ids) or "there is none"
            raise UnknownKey(f"The value was sealed with key {name}, which is not in {self._location()} ({known}).")
        return self._loaded.ciphers[name]

    def _location(self) -> str:
        return str(self._path) if self._path else "memory"

    def __repr__(self) -> str:
        return f"LocalKeys({self._location()!r}, current={self.current!r}, ids={self.ids})"
