"""The change hash: equal exactly when state, amount and currency are."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hashrange_systems.aura.model.change import change_hash, is_change

STATES = st.sampled_from(["AVAILABLE", "SOLD", "LISTED", "RESERVED", "REMOVED", "UNKNOWN"])
AMOUNTS = st.none() | st.integers(0, 10**12)
CURRENCIES = st.none() | st.text("ABCDEFGHIJKLMNOPQRSTUVWXYZ", min_size=3, max_size=3)
PRODUCTS = st.tuples(STATES, AMOUNTS, CURRENCIES)


def test_the_hash_is_taken_over_one_canonical_text():
    expected = hashlib.sha256(b"v1|AVAILABLE|125000|EUR").hexdigest()
    assert change_hash("AVAILABLE", 125000, "EUR") == expected


@given(PRODUCTS, PRODUCTS)
def test_trap_hashes_are_equal_exactly_when_state_amount_and_currency_are(one, other):
    assert (change_hash(*one) == change_hash(*other)) == (one == other)


def test_trap_a_price_in_another_currency_is_another_price():
    assert change_hash("AVAILABLE", 100, "EUR") != change_hash("AVAILABLE", 100, "GBP")


OURS, OTHER = change_hash("SOLD", 1, "EUR"), change_hash("SOLD", 2, "EUR")


@pytest.mark.parametrize(
    ("known_hash", "known_state", "changed"),
    [
        (None, None, True),
        (OURS, "SOLD", False),
        (OTHER, "SOLD", True),
        (OTHER, None, False),  # SHA-256 of the page text, as the original wrote it: says nothing
        (hashlib.md5(b"SOLD1").hexdigest(), None, False),
        (hashlib.md5(b"SOLD1").hexdigest(), "SOLD", True),
    ],
)
def test_a_change_is_seen_only_against_a_state_that_was_recorded_here(known_hash, known_state, changed):
    assert is_change(known_hash, known_state, OURS) is changed
