"""The change hash: equal exactly when state, amount and currency are."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hashrange_systems.aura.model import change_hash, is_change

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


@pytest.mark.parametrize(
    ("known", "changed"),
    [
        (None, True),
        (change_hash("SOLD", 1, "EUR"), False),
        (change_hash("SOLD", 2, "EUR"), True),
        (hashlib.md5(b"SOLD1").hexdigest(), False),  # of another algorithm: says nothing
    ],
)
def test_a_change_is_seen_against_a_hash_of_our_own_only(known, changed):
    assert is_change(known, change_hash("SOLD", 1, "EUR")) is changed
