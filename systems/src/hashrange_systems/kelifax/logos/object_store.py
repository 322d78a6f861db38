"""Where logos are kept: in memory, in a directory, or in a bucket of S3 or a compatible service, through obstore."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import obstore
from obstore.store import LocalStore, MemoryStore, ObjectStore, from_url

from hashrange_systems.shared.application.settings import InvalidSetting

FOLDER = "logos"


@dataclass(frozen=True, slots=True)
class LogoStore:
    """Stores contents by name."""

    store: ObjectStore

    async def put(self, name: str, content: bytes) -> None:
        """Store a content; the same name always has the same content."""
        await obstore.put_async(self.store, f"{FOLDER}/{name}", content)

    async def get(self, name: str) -> bytes | None:
        """Return a content; None if there is none of this name."""
        try:
            found = await obstore.get_async(self.store, f"{FOLDER}/{name}")
        except FileNotFoundError:
            return None
        return bytes(await found.bytes_async())

    async def delete(self, name: str) -> None:
        """Delete a content, if it is there."""
        try:
            await obstore.delete_async(self.store, f"{FOLDER}/{name}")
        except FileNotFoundError:
            return


def open_store(location: str | None, directory: Path | None) -> LogoStore:
    """Open the store at a URL (`s3://bucket/prefix`) or path; without one in the directory, or in memory."""
    if location and "://" in location:
        try:
            return LogoStore(from_url(location))
        except Exception as error:
            raise InvalidSetting(f"KELIFAX_LOGOS is {location!r}: it must be a path or s3://bucket/prefix.") from error
    folder = Path(location) if location else directory
    if folder is None:
        return LogoStore(MemoryStore())
    folder.mkdir(parents=True, exist_ok=True)
    return LogoStore(LocalStore(folder))
