"""DynamoDB numbers as canonical strings: 38 significant digits, 1E-130 to 9.99E+125, exact.

Canonical means plain decimal without exponent, `+` sign or superfluous zeros, so equal numbers are equal strings.
"""

from __future__ import annotations

import re
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from enum import Enum
from functools import lru_cache

NUMBER = re.compile(r"([+-]?)(?:(\d+)(?:\.(\d*))?|\.(\d+))(?:[eE]([+-]?\d+))?", re.ASCII)
is_canonical = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]*[1-9])?").fullmatch
MAX_DIGITS = 38
MAX_EXPONENT = 125
MIN_EXPONENT = -130
# The sizes of short canonical numbers, cached by `size` because prices and counts repeat.
KNOWN_SIZES: dict[str, int] = {}
SHORT = 8
MAX_KNOWN = 8192
# Wide enough for any sum of two stored numbers to be exact: 125 + 130 + 2 digits.
EXACT = Context(prec=300, Emax=MAX_EMAX, Emin=MIN_EMIN)


class NumberErrorCause(Enum):
    """Why a string is not a number that DynamoDB stores, with the text of the error."""

    SYNTAX = "The parameter cannot be converted to a numeric value: {text}"
    OVERFLOW = "Number overflow. Attempting to store a number with magnitude larger than supported range"
    UNDERFLOW = "Number underflow. Attempting to store a number with magnitude smaller than supported range"
    PRECISION = "Attempting to store more than 38 significant digits in a Number"


class NumberError(ValueError):
    """A string that is not a number DynamoDB stores; `cause` is the reason."""

    def __init__(self, cause: NumberErrorCause, text: str) -> None:
        super().__init__(cause.value.format(text=text))
        self.cause = cause
        self.text = text


def normalize(text: str) -> str:
    """Return a number in canonical form, or raise NumberError."""
    if len(text) <= MAX_DIGITS:  # the common cases: whole numbers, and others that are canonical already
        if text.isdigit() and text.isascii() and text[0] != "0":
            return text
        if is_canonical(text) and text != "-0":
            return text
        return normalize_short(text)
    return _normalize(text)


def _normalize(text: str) -> str:
    match = NUMBER.fullmatch(text)
    if match is None:
        raise NumberError(NumberErrorCause.SYNTAX, text)
    sign, whole, fraction, bare_fraction, exponent = match.groups()
    whole, fraction = whole or "", fraction or bare_fraction or ""
    power = int(exponent or "0") if len(exponent or "") < 25 else 10**25
    if not -(2**63) <= power < 2**63:
        raise NumberError(NumberErrorCause.SYNTAX, text)
    digits = (whole + fraction).lstrip("0")
    if not digits:
        return _check_zero(text, power, fraction)
    power -= len(fraction)
    trimmed = digits.rstrip("0")
    power += len(digits) - len(trimmed)
    return _check_range(text, sign, trimmed, power)


# Cached, because prices repeat, and many are written with a zero at the end.
normalize_short = lru_cache(maxsize=MAX_KNOWN)(_normalize)


def _check_zero(text: str, power: int, fraction: str) -> str:
    # The service checks the exponent that a zero is written with, unless the zero has a fraction.
    if fraction:
        return "0"
    if power > MAX_EXPONENT:
        raise NumberError(NumberErrorCause.OVERFLOW, text)
    if power < MIN_EXPONENT:
        raise NumberError(NumberErrorCause.UNDERFLOW, text)
    return "0"


def _check_range(text: str, sign: str, digits: str, power: int) -> str:
    magnitude = power + len(digits) - 1
    if magnitude > MAX_EXPONENT:
        raise NumberError(NumberErrorCause.OVERFLOW, text)
    if magnitude < MIN_EXPONENT:
        raise NumberError(NumberErrorCause.UNDERFLOW, text)
    if len(digits) > MAX_DIGITS:
        raise NumberError(NumberErrorCause.PRECISION, text)
    return _write("-" if sign == "-" else "", digits, power)


def _write(sign: str, digits: str, power: int) -> str:
    if power >= 0:
        return sign + digits + "0" * power
    if -power < len(digits):
        return f"{sign}{digits[:power]}.{digits[power:]}"
    return f"{sign}0.{'0' * (-power - len(digits))}{digits}"


def add(left: str, right: str) -> str:
    """Return the exact sum of two canonical numbers, or raise NumberError (a result of too many digits overflows)."""
    return _store_result(EXACT.add(Decimal(left), Decimal(right)))


def subtract(left: str, right: str) -> str:
    """Return the exact difference of two canonical numbers, or raise NumberError."""
    return _store_result(EXACT.subtract(Decimal(left), Decimal(right)))


def _store_result(result: Decimal) -> str:
    try:
        return normalize(format(result, "f"))
    except NumberError as error:
        if error.cause is NumberErrorCause.PRECISION:
            raise NumberError(NumberErrorCause.OVERFLOW, error.text) from None
        raise


def size(text: str) -> int:
    """Return the size of a canonical number in bytes."""
    counted = 1 + (len(text.rstrip("0")) + 1) // 2 if text.isdigit() else _measure(text)
    if len(text) <= SHORT:
        if len(KNOWN_SIZES) >= MAX_KNOWN:
            KNOWN_SIZES.clear()
        KNOWN_SIZES[text] = counted
    return counted


def _measure(text: str) -> int:
    negative = text[0] == "-"
    whole, _, fraction = (text[1:] if negative else text).partition(".")
    if fraction:
        return 1 + negative + _count_pairs(whole.lstrip("0")) + _count_pairs(_significant(whole, fraction))
    return 1 + negative + _count_pairs(whole.rstrip("0"))


def _significant(whole: str, fraction: str) -> str:
    return fraction if whole != "0" else fraction.lstrip("0")


def _count_pairs(digits: str) -> int:
    return (len(digits) + 1) // 2
