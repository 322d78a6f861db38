"""Encoded keys sort as DynamoDB sorts, and no two keys have the same bytes."""

from binascii import a2b_base64
from decimal import Decimal
from zlib import crc32

from hypothesis import assume, given
from hypothesis import strategies as st

from hashrange.core import keys
from hashrange.core.keys import KeyAttribute, KeyEncoder
from hashrange.core.numbers import normalize
from hashrange.core.values import encode_binary

texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)
decimals = st.builds(
    lambda digits, power: normalize(f"{digits}e{power}"), st.integers(-(10**12), 10**12), st.integers(-100, 100)
)
contents = {"S": texts, "N": decimals, "B": st.binary(min_size=1, max_size=20).map(encode_binary)}
ORDER = {"S": str.encode, "N": Decimal, "B": a2b_base64}


@given(decimals, decimals)
def test_numbers_sort_numerically(left, right):
    assert (keys.encode_number(left) < keys.encode_number(right)) == (Decimal(left) < Decimal(right))


@given(decimals, decimals)
def test_no_encoded_number_is_a_prefix_of_another(left, right):
    assume(left != right)
    assert not keys.encode_number(left).startswith(keys.encode_number(right))


@given(st.data(), st.lists(st.sampled_from("SNB"), min_size=1, max_size=4))
def test_range_keys_of_several_attributes_sort_as_tuples(data, tags):
    key_encoder = KeyEncoder(
        (KeyAttribute("h", "S"),), tuple(KeyAttribute(f"r{at}", tag) for at, tag in enumerate(tags))
    )
    items = [
        {"h": {"S": "x"}} | {f"r{at}": {tag: data.draw(contents[tag])} for at, tag in enumerate(tags)} for _ in range(2)
    ]
    left, right = (tuple(ORDER[tag](item[f"r{at}"][tag]) for at, tag in enumerate(tags)) for item in items)
    encoded = [key_encoder.encode(item) for item in items]
    assert (encoded[0] < encoded[1]) == (left < right)
    assert (encoded[0] == encoded[1]) == (left == right)


@given(texts, texts, texts, texts)
def test_two_different_hash_and_range_pairs_never_share_bytes(h1, r1, h2, r2):
    key_encoder = KeyEncoder((KeyAttribute("h", "S"),), (KeyAttribute("r", "S"),))
    first = key_encoder.encode({"h": {"S": h1}, "r": {"S": r1}})
    second = key_encoder.encode({"h": {"S": h2}, "r": {"S": r2}})
    assert (first == second) == ((h1, r1) == (h2, r2))


@given(texts, texts)
def test_a_partition_is_exactly_the_keys_with_its_prefix(h1, h2):
    key_encoder = KeyEncoder((KeyAttribute("h", "S"),), (KeyAttribute("r", "S"),))
    key = key_encoder.encode({"h": {"S": h1}, "r": {"S": "z"}})
    assert key.startswith(key_encoder.partition([h2])) == (h1 == h2)


@given(st.binary(min_size=4, max_size=12), st.integers(1, 1_000_000))
def test_every_key_is_in_exactly_the_segment_whose_range_contains_it(key, total):
    segment = keys.segment_of(key, total)
    low, high = keys.segment_bounds(segment, total)
    assert low <= key
    assert high is None or key < high


@given(st.binary(max_size=6), st.binary(max_size=6))
def test_the_successor_of_a_prefix_is_above_all_that_start_with_it(prefix, tail):
    after = keys.successor(prefix)
    assert after is None or prefix + tail < after


def test_a_key_starts_with_the_checksum_of_its_hash_part():
    key_encoder = KeyEncoder((KeyAttribute("h", "S"),), ())
    assert key_encoder.encode({"h": {"S": "abc"}}) == crc32(b"abc").to_bytes(4, "big") + b"\x00\x03abc"


def test_an_item_without_a_proper_key_value_has_no_key():
    key_encoder = KeyEncoder((KeyAttribute("h", "S"),), (KeyAttribute("r", "N"),))
    assert key_encoder.encode({"h": {"S": "a"}}) is None
    assert key_encoder.encode({"h": {"S": ""}, "r": {"N": "1"}}) is None
    assert key_encoder.encode({"h": {"N": "1"}, "r": {"N": "1"}}) is None
    assert key_encoder.encode({"h": {"S": "a" * 2049}, "r": {"N": "1"}}) is None
