"""The index against the seed's scan: what the scan finds, the index finds; other spellings come after all of that."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hashrange_systems.kelifax.search.query import SearchDocument, SearchQuery
from hashrange_systems.kelifax.search.scan_search import matches
from hashrange_systems.kelifax.search.text_index import TextIndex
from hashrange_systems.kelifax.search.tokenizer import split_query

NOON = datetime(2026, 1, 15, 12, tzinfo=UTC)
ENTRIES = [
    ("figma", "Figma", "design", ("prototyping", "ui"), "Draw interfaces together in the browser."),
    ("vs-code", "Visual Studio Code", "development", ("editor", "open source"), "Edit code with extensions."),
    ("node-js", "Node.js", "development", ("javascript", "runtime"), "Run JavaScript on servers."),
    ("cafe-planner", "Café Planner", "productivity", ("calendar",), "Plan shifts of a small team."),
    ("automate", "Automate", "productivity", ("automation", "tool"), "Connect services without code."),
    ("toolbox", "Toolbox", "development", ("automation",), "A tool for everything in the shell."),
    ("c-plus-plus", "C++ Insights", "learning", ("c++",), "See what the compiler makes of it."),
]


def make_document(slug, name, category, tags, purpose, minute=0, **more):
    text = " ".join([name, category, *tags]).lower()
    return SearchDocument(
        slug=slug, resource_name=name, category=category, tags=tags, usage_purpose=purpose, search_text=text,
        published_at=NOON + timedelta(minutes=minute), **more,
    )  # fmt: skip


@pytest.fixture(scope="module")
def index():
    index = TextIndex()
    for minute, entry in enumerate(ENTRIES):
        index.put(make_document(*entry, minute=minute, views=100 - minute, pricing=("free",) if minute % 2 else ()))
    index.commit()
    return index


def find(index, text="", **more):
    return index.find(SearchQuery(text=text, **more))


@pytest.mark.parametrize(
    ("text", "slugs"),
    [
        ("figma", ["figma"]),
        ("AUTOMATION tool", ["toolbox", "automate"]),
        ("tomat", ["automate", "toolbox"]),  # inside of a word
        ("node js", ["node-js"]),
        ("c++", ["c-plus-plus"]),
        ("cafe", ["cafe-planner"]),
        ("visual ext", ["vs-code"]),  # a word of the purpose
        ("nothing of this", []),
        ("' OR 1=1 -- (", []),
        ("*", []),
    ],
)
def test_all_words_are_found_anywhere_in_the_text(index, text, slugs):
    found = find(index, text)
    assert sorted(found.slugs) == sorted(slugs)
    assert not any(hit.typo for hit in found.hits)


@pytest.mark.parametrize(
    ("text", "slug"),
    [
        ("fgima", "figma"),
        ("vizual", "vs-code"),
        ("protoyping", "figma"),
        ("javscript", "node-js"),
        ("plannr", "cafe-planner"),
    ],
)
def test_a_typo_is_forgiven_and_said(index, text, slug):
    found = find(index, text)
    assert found.slugs[0] == slug
    assert found.hits[0].typo


def test_a_word_of_the_name_ranks_above_a_tag_and_a_tag_above_a_part_of_a_word(index):
    assert find(index, "tool").slugs == ("automate", "toolbox") or find(index, "tool").slugs == ("toolbox", "automate")
    assert find(index, "automate").slugs[0] == "automate"
    assert find(index, "code").slugs[0] == "vs-code", "the name says it, the others only describe themselves so"


def test_filters_combine_with_words_and_with_each_other(index):
    assert find(index, category="development").total == 3
    assert find(index, "automation", category="development").slugs == ("toolbox",)
    assert find(index, tags=("automation", "TOOL")).slugs == ("automate",)
    assert find(index, category="development", choices={"pricing": "free"}).slugs == ("toolbox", "vs-code")


def test_hits_are_sorted_as_asked(index):
    slugs = [entry[0] for entry in ENTRIES]
    assert list(find(index, sort="newest").slugs) == slugs[::-1]
    assert list(find(index, sort="popular").slugs) == slugs
    assert find(index, sort="name").slugs[:3] == ("automate", "c-plus-plus", "cafe-planner")


def test_pages_follow_each_other_across_exact_hits_and_typos(index):
    whole = find(index, "tool").slugs
    pages = [find(index, "tool", offset=at, limit=1) for at in range(len(whole) + 1)]
    assert tuple(slug for page in pages for slug in page.slugs) == whole


def test_related_resources_share_tags_or_the_category(index):
    document = find(index, "automate").hits[0].document
    related = index.find_related(document, 3)
    assert related[0].slug == "toolbox"
    assert "automate" not in [each.slug for each in related]


def test_an_index_in_a_directory_is_there_after_it_was_closed(tmp_path):
    index = TextIndex(tmp_path)
    index.put(make_document(*ENTRIES[0]))
    index.commit()
    index.close()
    again = TextIndex(tmp_path)
    assert find(again, "figma").slugs == ("figma",)
    again.remove("figma")
    again.commit()
    assert find(again, "figma").slugs == ()
    again.close()


ALPHABET = st.sampled_from("abcåéß\u017f\u0130\u0131\u03c3\u03c2\u03a3+#.-_0漢 \u00a0\u2009\u202e'\"\\*?[]()")
TEXTS = st.lists(st.text(ALPHABET, max_size=25), min_size=1, max_size=12)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(texts=TEXTS, query=st.text(ALPHABET, max_size=12), part=st.data())
def test_the_index_finds_everything_that_the_scan_finds_and_typos_come_after_it(texts, query, part):
    """For any texts and words: the seed's hits are a subset, and nothing that is only similar ranks above one."""
    documents = [
        SearchDocument(slug=f"s{at}", resource_name="x", search_text=text.lower()) for at, text in enumerate(texts)
    ]
    index = TextIndex()
    for document in documents:
        index.put(document)
    index.commit()
    chosen = part.draw(st.sampled_from(texts))
    start = part.draw(st.integers(0, len(chosen)))
    for text in (query, chosen, chosen[start : start + 5]):
        asked = SearchQuery(text=text, limit=50)
        oracle = {document.slug for document in documents if matches(document, asked)}
        found = index.find(asked)
        assert oracle <= set(found.slugs)
        typos = [hit.typo for hit in found.hits]
        assert typos == sorted(typos), "other spellings are at the end"
        assert not oracle & {hit.document.slug for hit in found.hits if hit.typo}
        assert len(set(found.slugs)) == len(found.slugs) == found.total


@given(st.text(max_size=300))
def test_a_query_is_short_lower_case_words(text):
    words = split_query(text)
    assert len(words) <= 8
    assert all(word and not any(sign.isspace() for sign in word) for word in words)
