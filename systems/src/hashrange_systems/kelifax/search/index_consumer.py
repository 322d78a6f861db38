"""Keeps the search index of this process up to date: builds it from the public list, then follows the stream.

Directory: `state.json` (version, folder, consumer) names the index that is complete; `uncommitted` is there while
changes have a checkpoint but no commit. An index that is missing, damaged, of another version, behind the stream or not
committed is built again, beside the old one, which is used until the new one is complete.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import shutil
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import orjson

from hashrange import Consumer, ItemChange, StreamTrimmed
from hashrange_systems.kelifax.schema import Kelifax, checkpoints
from hashrange_systems.kelifax.search.document_reader import IndexedResource, find_document, read_all
from hashrange_systems.kelifax.search.query import SearchDocument
from hashrange_systems.kelifax.search.text_index import VERSION, IndexDamaged, TextIndex

log = logging.getLogger(__name__)

CHUNK = 500  # documents that are added in one call of a thread
MEND_EVERY_MS = 3_600_000  # so that a query that breaks every index, if there is one, does not keep building them


@dataclass(slots=True)
class IndexConsumer:
    """Builds the index and follows the stream; `index` is None until the first one is complete."""

    db: Kelifax
    directory: Path | None = None  # of the index; None: in memory
    index: TextIndex | None = None
    followed_at: int = 0  # when the stream was last read to its end, in milliseconds
    builds: int = 0
    started_at: int = 0  # of the first attempt, in milliseconds
    is_damaged: bool = False  # a search failed, and it was not built again yet
    skipped: set[str] = field(default_factory=set)  # slugs of resources that could not be indexed
    _consumer: Consumer | None = None
    _mended_at: int | None = None  # when it was last built again because a search failed
    _changed: dict[str, SearchDocument | None] = field(default_factory=dict)

    async def work(self, every: float = 0.5) -> None:
        """Keep the index up to date until cancelled."""
        while True:
            await self.catch_up()
            await asyncio.sleep(every)

    async def catch_up(self) -> None:
        """Apply the changes since the last call; build the index first if there is none that can be used."""
        self.started_at = self.started_at or self.db.session.clock.millis()
        if self.index is None or self._consumer is None:
            await self._open_or_build()
        elif self.is_damaged:
            await self._mend()
        try:
            await self._follow()
        except StreamTrimmed:
            log.warning("the search index missed changes of the last day, and is built again")
            await self.build()
        except IndexDamaged as error:
            log.warning("the search index cannot be written, and is built again: %s", error)
            await self.build()

    async def _mend(self) -> None:
        """Build an index again that failed a search, at most once an hour."""
        now = self.db.session.clock.millis()
        if self._mended_at is None or not 0 <= now - self._mended_at < MEND_EVERY_MS:
            self._mended_at = now
            await self.build()

    async def build(self) -> None:
        """Build the index from the public list, and follow the stream from now on."""
        name = f"search-{secrets.token_hex(8)}"
        consumer = self._make_consumer(name)
        self._changed.clear()
        self.skipped.clear()
        await consumer  # to the end of the stream; its changes are applied again, as an index may lag behind them
        folder = self.directory / name if self.directory else None
        index = await asyncio.to_thread(TextIndex, folder)
        await self._fill(index)
        await self._replace(index, consumer, name)
        self.builds += 1
        self.is_damaged = False
        log.info("the search index is built", extra={"fields": {"documents": index.size}})

    async def close(self) -> None:
        """Release the index; one in memory leaves no checkpoints behind."""
        if self._consumer is not None and self.directory is None:
            with suppress(Exception):  # the database may be gone already
                await self._consumer.forget()
        if self.index is not None:
            await asyncio.to_thread(self.index.close)
            self.index = None

    # ── opening ──────────────────────────────────────────────────────────────────────────────────────────────────────
    async def _open_or_build(self) -> None:
        opened = await asyncio.to_thread(self._open)
        if opened is None:
            await self.build()
        else:
            self.index, name = opened
            self._consumer = self._make_consumer(name)

    def _open(self) -> tuple[TextIndex, str] | None:
        """Return the index that the state names, and its consumer; None if it cannot be used."""
        if self.directory is None or self._uncommitted.exists() or not self._state.exists():
            return None
        try:
            state = orjson.loads(self._state.read_bytes())
            folder = self.directory / str(state["consumer"])
            if state["version"] != VERSION or not (folder / "meta.json").exists():
                return None
            return TextIndex(folder), str(state["consumer"])
        except Exception as error:  # noqa: BLE001 - whatever is wrong with it, it is built again
            log.warning("the search index cannot be opened, and is built again: %s", error)
            return None

    async def _fill(self, index: TextIndex) -> None:
        chunk: list[SearchDocument] = []
        async for document in read_all(self.db):
            if document.slug not in self._changed:  # else the stream has it, and it is applied below
                chunk.append(document)
            if len(chunk) == CHUNK:
                await asyncio.to_thread(self._put_all, index, chunk)
                chunk = []
        await asyncio.to_thread(self._put_all, index, chunk)
        await asyncio.to_thread(self._apply, index, self._changed)
        self._changed = {}

    async def _replace(self, index: TextIndex, consumer: Consumer, name: str) -> None:
        """Use a new index, and remove the old ones with their checkpoints."""
        old, old_consumer = self.index, self._consumer
        self.index, self._consumer = index, consumer
        if old is not None:
            with suppress(Exception):  # its files may be gone or damaged, which is why there is a new one
                await asyncio.to_thread(old.close)
        if old_consumer is not None:
            await old_consumer.forget()
        if self.directory is not None:
            await asyncio.to_thread(self._write_state, self.directory, name)

    def _write_state(self, directory: Path, name: str) -> None:
        new = self._state.with_suffix(".new")
        new.write_bytes(orjson.dumps({"version": VERSION, "consumer": name}))
        new.replace(self._state)
        self._uncommitted.unlink(missing_ok=True)
        for folder in directory.glob("search-*"):
            if folder.name != name:
                shutil.rmtree(folder, ignore_errors=True)

    # ── following ────────────────────────────────────────────────────────────────────────────────────────────────────
    def _make_consumer(self, name: str) -> Consumer:
        consumer = self.db.consumer(name, checkpoints, attempts=1)
        consumer.on(IndexedResource)(self._note)
        return consumer

    def _note(self, change: ItemChange[IndexedResource]) -> None:
        """Note a change; the checkpoint follows at once, the commit a moment later."""
        resource = change.after or change.before
        assert resource is not None
        if self.directory is not None and not self._changed and self.index is not None:
            self.directory.mkdir(parents=True, exist_ok=True)  # it may be gone with the index, which is found out next
            self._uncommitted.touch()
        self._changed[resource.resource_slug] = find_document(change.after)

    async def _follow(self) -> None:
        assert self.index is not None
        assert self._consumer is not None
        await self._consumer
        if self._changed:
            try:
                await asyncio.to_thread(self._apply, self.index, self._changed)
            except Exception as error:  # whatever is wrong with its files, it is built again
                raise IndexDamaged(str(error)) from error
            self._changed = {}
            if self.directory is not None:
                self._uncommitted.unlink(missing_ok=True)
        self.followed_at = self.db.session.clock.millis()

    # ── writing, in a thread ─────────────────────────────────────────────────────────────────────────────────────────
    def _put_all(self, index: TextIndex, documents: list[SearchDocument]) -> None:
        for document in documents:
            self._put(index, document)

    def _apply(self, index: TextIndex, changed: dict[str, SearchDocument | None]) -> None:
        """Put or remove each changed document, and commit."""
        for slug, document in changed.items():
            if document is None:
                index.remove(slug)
                self.skipped.discard(slug)
            else:
                self._put(index, document)
        index.commit()

    def _put(self, index: TextIndex, document: SearchDocument) -> None:
        """Put a document; one that the index refuses is left out, and stops no other."""
        try:
            index.put(document)
        except (ArithmeticError, TypeError, ValueError) as error:
            self.skipped.add(document.slug)
            log.warning("a resource is not indexed: %s", error, extra={"fields": {"slug": document.slug[:200]}})
        else:
            self.skipped.discard(document.slug)

    @property
    def _state(self) -> Path:
        assert self.directory is not None
        return self.directory / "state.json"

    @property
    def _uncommitted(self) -> Path:
        assert self.directory is not None
        return self.directory / "uncommitted"
