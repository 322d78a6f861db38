"""The form of a sealed value, and what it is bound to."""

import sys

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from hashrange.client import base64url
from hashrange.client.keyring import PREFIX, context_of, is_sealed, make_cipher, parse
from hashrange.client.local_keys import LocalKeys
from hashrange.core.errors import Tampered

# Few letters, and those that a joiner might use, so that parts which run into each other are found.
words = st.text(alphabet="ab#:,|\0N", max_size=4)
numbers = st.integers(-99, 99).map(str)
values = st.one_of(
    st.builds(lambda text: {"S": text}, words),
    st.builds(lambda text: {"B": text}, words),
    st.builds(lambda text: {"N": text}, numbers),
)
places = st.tuples(words, st.dictionaries(words, values, min_size=1, max_size=2), words)


@given(places, places)
def test_two_places_have_the_same_context_only_if_they_are_the_same(one, other):
    assert (context_of(*one) == context_of(*other)) == (one == other)


@given(places, st.data())
def test_a_name_that_takes_over_a_neighbours_letters_is_another_place(place, data):
    table, key, attribute = place
    cut = data.draw(st.integers(0, len(table)))
    assume(cut < len(table))
    assert context_of(table[:cut], key, table[cut:] + attribute) != context_of(*place)


def test_the_order_of_the_key_and_the_spelling_of_a_number_do_not_matter():
    one = context_of("t", {"pk": {"S": "a"}, "sk": {"N": "1.0"}}, "token")
    assert one == context_of("t", {"sk": {"N": "1"}, "pk": {"S": "a"}}, "token")
    assert one != context_of("t", {"sk": {"S": "1"}, "pk": {"S": "a"}}, "token")


def test_plain_text_of_an_older_system_is_not_taken_for_sealed():
    assert not any(map(is_sealed, ("", "ya29.a0AfB", "hr", "hr1", "hr0:x", "xhr1:", "hrs: 9-17", "http://hr1:80")))
    assert is_sealed(LocalKeys.generate().seal(b"x", b""))


def test_what_a_newer_version_sealed_is_never_taken_for_plain_text():
    assert is_sealed("hr2:AAAA")
    assert is_sealed("hr12:AAAA")
    with pytest.raises(Tampered, match="newer hashrange"):
        parse("hr2:AAAA")


@given(st.binary(max_size=60).map(base64url.encode) | st.text(max_size=30))
def test_any_text_is_taken_apart_or_refused(text):
    try:
        sealed = parse(PREFIX + text)
    except Tampered:
        return
    assert PREFIX + base64url.encode(sealed.header + sealed.nonce + sealed.ciphertext) == PREFIX + text


@given(st.binary())
def test_base64url_reads_back_what_it_wrote(data):
    assert base64url.decode(base64url.encode(data)) == data


@pytest.mark.parametrize("text", ["QQ==", "QR", "Q", "Q Q", "QQ\n", "+/", "ä", "Q=", "\ud800"])
def test_base64url_refuses_other_spellings(text):
    assert base64url.decode("QQ") == b"A"
    assert base64url.decode(text) is None


def test_without_cryptography_the_error_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.ciphers.aead", None)
    with pytest.raises(ImportError, match=r"pip install 'hashrange\[encryption\]'"):
        make_cipher(bytes(32))
