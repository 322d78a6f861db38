"""Projections: which parts of an item they select."""

import pytest

from hashrange.expr.parameters import GET
from tests.unit.expr.request_reader import read, refusal_of

ITEM = {
    "pk": {"S": "1"},
    "a": {"M": {"b": {"L": [{"N": "2"}, {"N": "4"}, {"M": {"x": {"S": "hi"}, "y": {"S": "yo"}}}]}, "c": {"N": "5"}}},
    "l": {"L": [{"M": {"p": {"N": "0"}, "q": {"N": "1"}}}, {"S": "one"}, {"S": "two"}]},
    "s": {"S": "hello"},
}


def project(text, names=None):
    members = {"ProjectionExpression": text}
    if names:
        members["ExpressionAttributeNames"] = names
    return read(GET, **members).projection


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("s", {"s": {"S": "hello"}}),
        ("s, pk, gone", {"s": {"S": "hello"}, "pk": {"S": "1"}}),
        ("a.c", {"a": {"M": {"c": {"N": "5"}}}}),
        ("a.b[0]", {"a": {"M": {"b": {"L": [{"N": "2"}]}}}}),
        ("a.b[2].y, s", {"a": {"M": {"b": {"L": [{"M": {"y": {"S": "yo"}}}]}}}, "s": {"S": "hello"}}),
        ("a.b[1], a.b[0]", {"a": {"M": {"b": {"L": [{"N": "2"}, {"N": "4"}]}}}}),
        ("l[2], l[0]", {"l": {"L": [{"M": {"p": {"N": "0"}, "q": {"N": "1"}}}, {"S": "two"}]}}),
        ("l[0].q, l[0].p", {"l": {"L": [{"M": {"p": {"N": "0"}, "q": {"N": "1"}}}]}}),
        ("l[2], l[0].q", {"l": {"L": [{"M": {"q": {"N": "1"}}}, {"S": "two"}]}}),
        ("a.x, a.b[0], x, a.b[3].x", {"a": {"M": {"b": {"L": [{"N": "2"}]}}}}),
    ],
)
def test_a_projection_keeps_what_its_paths_select(text, kept):
    assert project(text)(ITEM) == kept


@pytest.mark.parametrize(
    "text", ["x", "a.x", "a.x.y", "a.b[3]", "a.b[3].x", "a.b.x", "a[0]", "a.b[0].x", "a.b[0][0]", "s.x", "s[0]"]
)
def test_a_path_that_finds_nothing_keeps_nothing(text):
    assert project(text)(ITEM) == {}


def test_an_empty_map_or_list_at_the_end_of_a_path_is_kept():
    assert project("a, b.c")({"a": {"M": {}}, "b": {"M": {"c": {"L": []}}}}) == {
        "a": {"M": {}},
        "b": {"M": {"c": {"L": []}}},
    }


def test_the_item_stays_as_it_is():
    before = repr(ITEM)
    project("a.b[0], l[1]")(ITEM)
    assert repr(ITEM) == before


def test_a_reference_is_one_name_whatever_it_contains():
    assert project("#a", {"#a": "a.c"})(ITEM | {"a.c": {"N": "7"}}) == {"a.c": {"N": "7"}}
    assert project("#a.#b", {"#a": "a", "#b": "c"})(ITEM) == {"a": {"M": {"c": {"N": "5"}}}}


def test_a_projection_lists_the_attributes_that_it_reads():
    projection = project("a.b[0], s, l[1]")
    assert projection.attributes == {"a", "s", "l"}
    assert projection.document_attributes == ("a", "l")
    assert projection.paths == (("a", "b", 0), ("s",), ("l", 1))


@pytest.mark.parametrize(
    ("text", "how", "one", "two"),
    [
        ("a, a", "overlap", "[a]", "[a]"),
        ("a, a.b", "overlap", "[a]", "[a, b]"),
        ("x, a.b, a", "overlap", "[a, b]", "[a]"),
        ("a[0], a", "overlap", "[a, [0]]", "[a]"),
        ("#p, #p.#q", "overlap", "[a]", "[a, b]"),
        ("a.b, a[1]", "conflict", "[a, b]", "[a, [1]]"),
        ("a[1], a.b", "conflict", "[a, [1]]", "[a, b]"),
        ("a.b[1], a.b.c", "conflict", "[a, b, [1]]", "[a, b, c]"),
        ("a.b, a[1], c, c", "overlap", "[c]", "[c]"),
    ],
)
def test_paths_may_not_overlap_or_conflict(text, how, one, two):
    members = {"ProjectionExpression": text}
    if "#" in text:
        members["ExpressionAttributeNames"] = {"#p": "a", "#q": "b"}
    assert refusal_of(GET, **members) == (
        f"Invalid ProjectionExpression: Two document paths {how} with each other; "
        f"must remove or rewrite one of these paths; path one: {one}, path two: {two}"
    )


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "The expression can not be empty;"),
        ("a, status", "Attribute name is a reserved keyword; reserved keyword: status"),
        ("a, #x", "An expression attribute name used in the document path is not defined; attribute name: #x"),
        ("#x, status", "Attribute name is a reserved keyword; reserved keyword: status"),
        ("a, a, #x", "An expression attribute name used in the document path is not defined; attribute name: #x"),
        ("a" + ".a" * 32, "The document path has too many nesting levels; nesting levels: 33"),
        ("a" * 4097, "Expression size has exceeded the maximum allowed size;"),
    ],
)
def test_a_projection_is_refused(text, problem):
    assert refusal_of(GET, ProjectionExpression=text) == f"Invalid ProjectionExpression: {problem}"


def test_a_projection_may_have_2000_paths():
    names = {f"#{number}": f"n{number}" for number in range(800)}
    assert project(",".join(names), names)({"n7": {"N": "7"}, "x": {"N": "1"}}) == {"n7": {"N": "7"}}
