"""The search index: documents by their words, in tantivy, in a directory or in memory.

A query runs in two passes. The first finds each word as the scan does, anywhere in the text; whole words, beginnings of
words, and words of the name rank higher. Only if it does not fill the page, the second adds documents in which a word
is spelled a little differently: they rank below all others. Everything here blocks: call it in a thread.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any
from zlib import crc32

import orjson
import tantivy
from tantivy import Occur, Query

from hashrange_systems.kelifax.model.content import CONTENT_FIELDS, Content, ContentField
from hashrange_systems.kelifax.model.public_entry import ListedResource, limit_count
from hashrange_systems.kelifax.model.stored_list import normalise_tags
from hashrange_systems.kelifax.search.query import SearchDocument, SearchHit, SearchQuery, SearchResult
from hashrange_systems.kelifax.search.tokenizer import SHORT, fold, list_grams, list_suffixes, split_words

TEXT_FIELDS = [each for each in CONTENT_FIELDS if each.has_words]
KEY_FIELDS = [each for each in CONTENT_FIELDS if each.has_keys]
LISTS = [each.attribute for each in CONTENT_FIELDS if each.kind.empty == ()]
COUNTED = "category"  # how many hits have which
FACTS = [(each.attribute, each.listed, each.search, each.has_keys) for each in CONTENT_FIELDS]
LAYOUT = 3  # of what is stored for the same facts: `make_schema`, `make_fields`, the tokenizer
VERSION = f"{LAYOUT}-{crc32(repr(FACTS).encode()):08x}"  # an index of another version is built again
HEAP = 64_000_000
NAME_SIGNS = " 0123456789abcdefghijklmnopqrstuvwxyz"
NAME_LENGTH = 12  # as many of these signs as 64 bits hold


class IndexDamaged(Exception):
    """The files of the index cannot be read or written."""


@contextmanager
def detect_damage() -> Iterator[None]:
    """Raise IndexDamaged for what tantivy raises when its files are damaged: errors, and panics of its own kind."""
    try:
        yield
    except (OSError, ValueError) as error:
        raise IndexDamaged(str(error)) from error
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # which is no Exception, and has no module to import it from
            raise
        raise IndexDamaged(str(error)) from error


class TextIndex:
    """An index in a directory, or in memory without one; one process at a time may open a directory."""

    @detect_damage()
    def __init__(self, directory: Path | None = None) -> None:
        self._schema = make_schema()
        if directory is not None:
            directory.mkdir(parents=True, exist_ok=True)
        self._index = tantivy.Index(self._schema, str(directory) if directory else None)
        self._writer = self._index.writer(HEAP, 1)
        self._index.config_reader("manual")
        self._index.reload()

    # ── writing ──────────────────────────────────────────────────────────────────────────────────────────────────────
    def put(self, document: SearchDocument) -> None:
        """Add a document, or replace it; found after the next commit."""
        self._writer.delete_documents_by_term("slug", document.slug)
        self._writer.add_document(make_fields(document))

    def remove(self, slug: str) -> None:
        """Remove a document, if it is there; no longer found after the next commit."""
        self._writer.delete_documents_by_term("slug", slug)

    def clear(self) -> None:
        """Remove every document."""
        self._writer.delete_all_documents()

    @detect_damage()
    def commit(self) -> None:
        """Store what was put and removed, and let searches see it."""
        self._writer.commit()
        self._index.reload()

    @detect_damage()
    def close(self) -> None:
        """Release the directory."""
        self._writer.wait_merging_threads()

    @property
    def size(self) -> int:
        """The number of documents."""
        return int(self._index.searcher().num_docs)

    # ── reading ──────────────────────────────────────────────────────────────────────────────────────────────────────
    @detect_damage()
    def find(self, query: SearchQuery, *, facets: bool = False) -> SearchResult:
        """Return a page of the documents that have all words and pass all filters."""
        searcher = self._index.searcher()
        filters = [*self._filter(query)]
        found = _all([*(self._match(word) for word in query.words), *filters])
        hits, total = self._page(searcher, found, query, query.offset, query.limit)
        page = [SearchHit(document=document) for document in hits]
        if query.words and len(page) < query.limit:
            similar = _all([*(self._resemble(word) for word in query.words), *filters]).and_must_not_match(found)
            more, others = self._page(searcher, similar, query, max(0, query.offset - total), query.limit - len(page))
            page += [SearchHit(document=document, typo=True) for document in more]
            total += others
        counts = self._count_categories(searcher, found) if facets and total else ()
        return SearchResult(hits=tuple(page), total=total, facets=counts)

    @detect_damage()
    def find_related(self, entry: ListedResource, limit: int) -> tuple[SearchDocument, ...]:
        """Return the documents that share most with a resource: tags, words of the name, the category."""
        searcher = self._index.searcher()
        shared = [
            self._score(each.attribute, word, each.search.related)
            for each in CONTENT_FIELDS
            if each.search.related
            for word in (each.keys_of(entry) if each.has_keys else list_long_words(each, entry))
        ]
        query = Query.boolean_query(
            [*((Occur.Should, each) for each in shared), (Occur.MustNot, self._term("slug", entry.slug))]
        )
        found = searcher.search(query, limit, count=False).hits
        return tuple(read_document(searcher.doc(address)) for _score, address in found)

    def _page(
        self, searcher: tantivy.Searcher, found: Query, query: SearchQuery, offset: int, limit: int
    ) -> tuple[list[SearchDocument], int]:
        field = {"newest": "published", "popular": "views", "name": "name_order"}.get(query.sort)
        field = field or (None if query.words else "published")
        order = tantivy.Order.Asc if field == "name_order" else tantivy.Order.Desc
        answer = searcher.search(found, max(1, limit), offset=offset, order_by_field=field, order=order)
        hits = answer.hits if limit else []
        return [read_document(searcher.doc(address)) for _score, address in hits], int(answer.count or 0)  # type: ignore[attr-defined]

    def _match(self, word: str) -> Query:
        """Find a word as the scan does, anywhere in the text."""
        forms = {word: 1.0, fold(word): 0.9}
        ways = [way for form, weight in forms.items() for way in self._match_form(form, weight)]
        return Query.disjunction_max_query(ways, 0.1)

    def _match_form(self, word: str, weight: float) -> Iterable[Query]:
        is_long = len(word) > SHORT
        for each in TEXT_FIELDS:
            name, searched = each.attribute, each.search
            if searched.by_frequency:
                yield Query.boost_query(Query.term_query(self._schema, name, word, "freq"), searched.word * weight)
            else:
                yield self._score(name, word, searched.word * weight)
            if is_long:
                yield Query.const_score_query(self._begin(name, word), searched.begins * weight)
        for each in KEY_FIELDS:
            if each.search.whole:
                yield self._score(each.attribute, word, each.search.whole * weight)
        yield self._score("word", word, 3.0 * weight)
        if is_long:
            yield Query.const_score_query(self._begin("word", word), 2.0 * weight)
            yield Query.const_score_query(self._begin("suffix", word), weight)
        else:
            yield self._score("gram", word, weight)

    def _resemble(self, word: str) -> Query:
        """Find a word, or one that differs in a letter or two."""
        plain = fold(word)
        distance = count_typos(plain)
        if not distance:
            return self._match(word)
        texts = [("word", 1.0), *((each.attribute, each.search.similar) for each in TEXT_FIELDS if each.search.similar)]
        similar = [
            Query.const_score_query(Query.fuzzy_term_query(self._schema, field, plain, distance), score)
            for field, score in texts
        ]
        started = Query.fuzzy_term_query(self._schema, "word", plain, 1, True, True)
        return Query.disjunction_max_query([self._match(word), *similar, Query.const_score_query(started, 0.5)], 0.1)

    def _filter(self, query: SearchQuery) -> Iterable[Query]:
        given = [
            ("category", query.category),
            *query.choices.items(),
            *(("tags", tag) for tag in normalise_tags(query.tags)),
        ]
        return (self._score(field, value, 0.0) for field, value in given if value)

    def _term(self, field: str, value: str) -> Query:
        return Query.term_query(self._schema, field, value, "basic")

    def _score(self, field: str, value: str, score: float) -> Query:
        return Query.const_score_query(self._term(field, value), score)

    def _begin(self, field: str, word: str) -> Query:
        return Query.fuzzy_term_query(self._schema, field, word, 0, True, True)

    def _count_categories(self, searcher: tantivy.Searcher, found: Query) -> tuple[tuple[str, int], ...]:
        asked = {"categories": {"terms": {"field": COUNTED, "size": 50}}}
        buckets: Sequence[dict[str, Any]] = searcher.aggregate(found, asked)["categories"]["buckets"]
        return tuple((str(bucket["key"]), int(bucket["doc_count"])) for bucket in buckets)


def make_schema() -> tantivy.Schema:
    """Return the fields of the index; documents give their own words, so that no tokenizer has a say."""
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("slug", tokenizer_name="raw", index_option="basic")
    for field in ("word", "suffix", "gram"):
        builder.add_text_field(field, tokenizer_name="whitespace", index_option="basic")
    for each in TEXT_FIELDS:
        option = "freq" if each.search.by_frequency else "basic"
        builder.add_text_field(each.attribute, tokenizer_name="whitespace", index_option=option)
    for each in KEY_FIELDS:
        is_counted = each.attribute == COUNTED
        builder.add_text_field(each.attribute, tokenizer_name="raw", index_option="basic", fast=is_counted)
    for field in ("published", "views", "name_order"):
        builder.add_unsigned_field(field, fast=True)
    builder.add_bytes_field("document", stored=True)
    return builder.build()


def make_fields(document: SearchDocument) -> tantivy.Document:
    """Return a document as the index stores it."""
    text = document.search_text
    fields = tantivy.Document()
    fields.add_text("slug", document.slug)
    fields.add_text("word", " ".join(split_words(text)))
    fields.add_text("suffix", " ".join(list_suffixes(text)))
    fields.add_text("gram", " ".join(list_grams(text)))
    for each in TEXT_FIELDS:
        fields.add_text(each.attribute, " ".join(list_text_words(each, document)))
    for each in KEY_FIELDS:
        for key in each.keys_of(document):
            fields.add_text(each.attribute, key)
    fields.add_unsigned("published", find_published_order(document.published_at))
    fields.add_unsigned("views", limit_count(document.views))
    fields.add_unsigned("name_order", find_name_order(document.resource_name))
    fields.add_bytes("document", orjson.dumps(document))
    return fields


def read_document(fields: tantivy.Document) -> SearchDocument:
    """Return a stored document."""
    stored: dict[str, Any] = orjson.loads(bytes(fields.get_first("document") or b"{}"))
    stored["published_at"] = datetime.fromisoformat(stored["published_at"])
    stored |= {name: tuple(stored[name]) for name in LISTS}
    return SearchDocument(**stored)


def list_text_words(each: ContentField, entry: Content) -> set[str]:
    """Return the words of the texts of a field."""
    return split_words(" ".join(each.words_of(entry)))


def list_long_words(each: ContentField, entry: Content) -> list[str]:
    """Return the words of a field that say something."""
    return [word for word in list_text_words(each, entry) if len(word) > SHORT]


def find_published_order(at: datetime) -> int:
    """Return a number that sorts as the times of publication do; those before 1970 are all the same."""
    return max(0, int(at.timestamp() * 1000))


def find_name_order(name: str) -> int:
    """Return a number that sorts as the first letters and digits of a name do, without accents."""
    signs = [NAME_SIGNS.find(sign) for sign in fold(name.lower()) if sign in NAME_SIGNS][:NAME_LENGTH]
    order = 0
    for sign in [*signs, *[0] * (NAME_LENGTH - len(signs))]:
        order = order * len(NAME_SIGNS) + sign
    return order


def count_typos(word: str) -> int:
    """Return in how many letters a word may differ: none in a short one."""
    return 0 if len(word) < 4 else 1 if len(word) < 8 else 2


def _all(queries: Sequence[Query]) -> Query:
    """Return a query for the documents that all of these find."""
    if not queries:
        return Query.all_query()
    return Query.boolean_query([(Occur.Must, each) for each in queries])
