"""Numbers: canonical text, limits, exact arithmetic, sizes."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hashrange.core import numbers
from hashrange.core.numbers import Fault, NotStorable, normalize

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
    "": Fault.SYNTAX,
    " 1": Fault.SYNTAX,
    "1e": Fault.SYNTAX,
    "0x10": Fault.SYNTAX,
    "NaN": Fault.SYNTAX,
    "Infinity": Fault.SYNTAX,
    "1_000": Fault.SYNTAX,
    "\u0661": Fault.SYNTAX,
    "1e99999999999999999999": Fault.SYNTAX,
    "1e126": Fault.OVERFLOW,
    "-1e126": Fault.OVERFLOW,
    "0e126": Fault.OVERFLOW,
    "1e2147483647": Fault.OVERFLOW,
    "1e-131": Fault.UNDERFLOW,
    "0e-131": Fault.UNDERFLOW,
    "1" * 39: Fault.PRECISION,
    "1." + "1" * 38: Fault.PRECISION,
}

SIZES = {
    "0": 1, "1": 2, "12": 2, "123": 3, "1234": 3, "1" * 38: 20, "0042": 2, "100": 2, "1010": 3, "0.0000001": 2,
    "1E125": 2, "1E-100": 2, "1.5": 3, "15": 2, "1.200": 3, "1.234": 4, "3.14159": 5, "123456": 4, "100.5": 4,
    "0.15": 2, "-42": 3, "-0": 1,
}  # fmt: skip


@pytest.mark.parametrize(("text", "canonical"), CANONICAL.items())
def test_a_number_has_one_canonical_text(text, canonical):
    assert normalize(text) == canonical


@pytest.mark.parametrize(("text", "fault"), REFUSED.items())
def test_a_text_that_is_no_storable_number_is_refused_for_its_fault(text, fault):
    with pytest.raises(NotStorable) as refusal:
        normalize(text)
    assert refusal.value.fault is fault


@pytest.mark.parametrize(("text", "size"), SIZES.items())
def test_a_number_counts_for_its_pairs_of_significant_digits(text, size):
    assert numbers.size(normalize(text)) == size


@given(storable)
def test_normalizing_keeps_the_value_and_is_idempotent(text):
    try:
        canonical = normalize(text)
    except NotStorable:
        return
    assert Decimal(canonical) == Decimal(text)
    assert normalize(canonical) == canonical
    assert "e" not in canonical.lower()


@given(storable, storable)
def test_equal_numbers_have_equal_texts(left, right):
    try:
        texts = normalize(left), normalize(right)
    except NotStorable:
        return
    assert (texts[0] == texts[1]) == (Decimal(left) == Decimal(right))


@given(st.integers(-(10**37), 10**37), st.integers(-(10**37), 10**37), st.integers(0, 20))
def test_arithmetic_is_exact(left, right, scale):
    a, b = Decimal(left).scaleb(-scale), Decimal(right).scaleb(-scale)
    texts = normalize(f"{a:f}"), normalize(f"{b:f}")
    assert Decimal(numbers.add(*texts)) == numbers.EXACT.add(a, b)
    assert Decimal(numbers.subtract(*texts)) == numbers.EXACT.subtract(a, b)


def test_a_sum_that_needs_more_than_38_digits_overflows():
    with pytest.raises(NotStorable) as refusal:
        numbers.add(normalize("1e50"), "1")
    assert refusal.value.fault is Fault.OVERFLOW
