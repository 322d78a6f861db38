"""Page cursors: they decode to what was encoded, and are valid for their own list only."""

import base64
import json

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from hashrange.client import base64url
from hashrange.core.errors import CursorInvalid
from hashrange.session.cursor import MAX_CURSOR_LENGTH, open_cursor, scope_of, seal_cursor

SECRET = b"a secret of enough bytes"
SCOPE = scope_of("crawl_due", {"shop_country": "DE"})
POSITION = {"pk": {"S": "SHOP#a.de"}, "sk": {"S": "META#"}, "n": {"N": "1"}}
CURSOR = seal_cursor(SECRET, SCOPE, POSITION)

texts = st.text(st.characters(codec="utf-8"), max_size=20)
positions = st.dictionaries(texts, st.dictionaries(st.sampled_from(["S", "N", "B"]), texts, min_size=1, max_size=1))
parameters = st.dictionaries(texts, texts | st.integers(-9, 9) | st.none() | st.booleans(), max_size=3)
scopes = st.builds(scope_of, texts, parameters)
secrets = st.binary(min_size=16, max_size=40)


@given(secrets, scopes | st.binary(), positions)
def test_a_cursor_gives_back_its_position(secret, scope, position):
    text = seal_cursor(secret, scope, position)
    assert open_cursor(secret, scope, text) == position
    assert set(text) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")


@given(scopes, scopes)
@example(scope_of("a", {}), scope_of("a", {"b": None}))
@example(scope_of("list", {"of": 1}), scope_of("list", {"of": "1"}))
def test_it_does_not_open_in_another_scope(one, other):
    assume(one != other)
    with pytest.raises(CursorInvalid):
        open_cursor(SECRET, other, seal_cursor(SECRET, one, POSITION))


names = st.text("ab{}:", max_size=4)  # those of patterns are Python's: never a NUL
lists = st.tuples(names, st.dictionaries(st.text("ab{}:\0", max_size=2), st.integers(0, 2) | st.booleans(), max_size=2))


@given(lists, lists)
def test_two_lists_have_the_same_scope_only_if_they_are_the_same(one, other):
    assert (scope_of(*one) == scope_of(*other)) == (as_json(*one) == as_json(*other))


def as_json(name, narrowed_by):
    """A list as JSON, where true is not 1 as it is in Python."""
    return json.dumps([name, narrowed_by], sort_keys=True)


def test_the_order_of_parameters_does_not_matter():
    assert scope_of("a", {"x": 1, "y": 2}) == scope_of("a", {"y": 2, "x": 1})


@given(st.data())
def test_a_flipped_bit_is_found(data):
    changed = bytearray(CURSOR.encode())
    changed[data.draw(st.integers(0, len(changed) - 1))] ^= 1 << data.draw(st.integers(0, 6))
    with pytest.raises(CursorInvalid):
        open_cursor(SECRET, SCOPE, changed.decode())


@given(st.text() | st.binary(max_size=200).map(base64url.encode) | st.binary().map(lambda tail: "AQ" + tail.hex()))
def test_no_text_breaks_it(text):
    with pytest.raises(CursorInvalid):
        open_cursor(SECRET, SCOPE, text)


@given(st.binary(max_size=200))
def test_no_body_is_believed_without_its_signature(body):
    genuine = base64url.decode(CURSOR)
    assume(body != genuine[29:])
    with pytest.raises(CursorInvalid, match="damaged"):
        open_cursor(SECRET, SCOPE, base64url.encode(genuine[:29] + body))


# -- what the user is told ---------------------------------------------------------------------------------------


def refusal_of(text, secret=SECRET, scope=SCOPE):
    with pytest.raises(CursorInvalid) as refusal:
        open_cursor(secret, scope, text)
    return str(refusal.value)


def test_a_cursor_of_another_list_says_so():
    assert "not from this list" in refusal_of(CURSOR, scope=scope_of("crawled", {"shop_country": "DE"}))


def test_a_cursor_with_other_parameters_says_so():
    assert "with other parameters" in refusal_of(CURSOR, scope=scope_of("crawl_due", {"shop_country": "FR"}))


def test_a_cursor_of_another_secret_says_so_whatever_the_list():
    assert "another secret" in refusal_of(CURSOR, secret=b"another secret of enough bytes")
    assert "another secret" in refusal_of(CURSOR, secret=b"another secret of enough bytes", scope=b"other")


def test_a_cursor_of_a_newer_version_says_so():
    assert "newer version" in refusal_of(base64url.encode(b"\2" + b"whatever comes then"))


@pytest.mark.parametrize(
    "text",
    ["", "A", "AQ", CURSOR[:-1], CURSOR[:20], CURSOR + "A", CURSOR + "=", CURSOR + "\n", CURSOR + " ", "AAAA", "ä"],
)
def test_a_damaged_cursor_says_so(text):
    assert "damaged" in refusal_of(text)


def test_a_text_that_is_too_long_is_not_even_decoded(monkeypatch):
    def refuse(_text):
        raise AssertionError("it was decoded")

    monkeypatch.setattr(base64url, "decode", refuse)
    assert f"longer than {MAX_CURSOR_LENGTH}" in refusal_of("A" * (MAX_CURSOR_LENGTH + 1))


def test_no_cursor_is_given_out_that_would_not_be_taken_back():
    longest = {"pk": {"S": "x" * 24_000}}
    assert open_cursor(SECRET, SCOPE, seal_cursor(SECRET, SCOPE, longest)) == longest
    with pytest.raises(CursorInvalid, match="too long for a cursor"):
        seal_cursor(SECRET, SCOPE, {"pk": {"S": "x" * 24_600}})


@pytest.mark.parametrize("secret", [b"", b"fifteen bytes.."])
def test_a_secret_that_can_be_guessed_is_refused(secret):
    with pytest.raises(ValueError, match="at least 16 bytes"):
        seal_cursor(secret, SCOPE, POSITION)
    with pytest.raises(ValueError, match="at least 16 bytes"):
        open_cursor(secret, SCOPE, CURSOR)


def test_the_form_of_version_one_stays():
    """Cursors live in bookmarks and clients across releases."""
    given_out = "ATu4bN4VTuerb9clFCadANnMWXdvdw_dJhrvMlN7InBrIjp7IlMiOiJhIn19"
    assert open_cursor(b"0123456789abcdef", scope_of("list", {"x": 1}), given_out) == {"pk": {"S": "a"}}
    assert base64.urlsafe_b64decode(given_out)[29:] == b'{"pk":{"S":"a"}}'
