"""Numbers: canonical form, limits, exact arithmetic, sizes."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hashrange.core import numbers
from hashrange.core.numbers import NumberError, NumberErrorCause, normalize

storable = st.builds(
    lambda sign, digits, power: f"{sign}{digits}e{power}",
    st.sampled_from(["", "-", "+"]),
    st.integers(0, 10**38 - 1),
    st.integers(-130, 87),
)

CANONICAL = {
    "+5": "5",
    "5.": "5",
    ".5": "0.5",
    "1.e5": "100000",
    "00042": "42",
    "-0": "0",
    "-0.00": "0",
    "0e125": "0",
    "0.0e126": "0",
    "1e3": "1000",
    "+1000.0": "1000",
    "1E-5": "0.00001",
    "-12.500": "-12.5",
}

REFUSED = {
    "": NumberErrorCause.SYNTAX,
    " 1": NumberErrorCause.SYNTAX,
    "1e": NumberErrorCause.SYNTAX,
    "0x10": NumberErrorCause.SYNTAX,
    "NaN": NumberErrorCause.SYNTAX,
    "Infinity": NumberErrorCause.SYNTAX,
    "1_000": NumberErrorCause.SYNTAX,
    "\u0661": NumberErrorCause.SYNTAX,
    "1e99999999999999999999": NumberErrorCause.SYNTAX,
    "1e126": NumberErrorCause.OVERFLOW,
    "-1e126": NumberErrorCause.OVERFLOW,
    "0e126": NumberErrorCause.OVERFLOW,
    "1e2147483647": NumberErrorCause.OVERFLOW,
    "1e-131": NumberErrorCause.UNDERFLOW,
    "0e-131": NumberErrorCause.UNDERFLOW,
    "1" * 39: NumberErrorCause.PRECISION,
    "1." + "1" * 38: NumberErrorCause.PRECISION,
}

SIZES = {
    "0": 1, "1": 2, "12": 2, "123": 3, "1234": 3, "1" * 38: 20, "0042": 2, "100": 2, "1010": 3, "0.0000001": 2,
    "1E125": 2, "1E-100": 2, "1.5": 3, "15": 2, "1.200": 3, "1.234": 4, "3.14159": 5, "123456": 4, "100.5": 4,
    "0.15": 2, "-42": 3, "-0": 1,
}  # fmt: skip


@pytest.mark.parametrize(("text", "canonical"), CANONICAL.items())
def test_a_number_has_one_canonical_form(text, canonical):
    assert normalize(text) == canonical


@pytest.mark.parametrize(("text", "cause"), REFUSED.items())
def test_an_invalid_number_is_refused_with_its_cause(text, cause):
    with pytest.raises(NumberError) as refusal:
        normalize(text)
    assert refusal.value.cause is cause


@pytest.mark.parametrize(("text", "size"), SIZES.items())
def test_the_size_of_a_number_counts_pairs_of_significant_digits(text, size):
    assert numbers.size(normalize(text)) == size


@given(storable)
def test_normalizing_keeps_the_value_and_is_idempotent(text):
    try:
        canonical = normalize(text)
    except NumberError:
        return
    assert Decimal(canonical) == Decimal(text)
    assert normalize(canonical) == canonical
    assert "e" not in canonical.lower()


@given(storable, storable)
def test_equal_numbers_have_equal_texts(left, right):
    try:
        texts = normalize(left), normalize(right)
    except NumberError:
        return
    assert (texts[0] == texts[1]) == (Decimal(left) == Decimal(right))


@given(st.integers(-(10**37), 10**37), st.integers(-(10**37), 10**37), st.integers(0, 20))
def test_arithmetic_is_exact(left, right, scale):
    a, b = Decimal(left).scaleb(-scale), Decimal(right).scaleb(-scale)
    texts = normalize(f"{a:f}"), normalize(f"{b:f}")
    assert Decimal(numbers.add(*texts)) == numbers.EXACT.add(a, b)
    assert Decimal(numbers.subtract(*texts)) == numbers.EXACT.subtract(a, b)


def test_a_sum_that_needs_more_than_38_digits_overflows():
    with pytest.raises(NumberError) as refusal:
        numbers.add(normalize("1e50"), "1")
    assert refusal.value.cause is NumberErrorCause.OVERFLOW
