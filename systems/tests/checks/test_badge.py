"""Badges: what they say, in a colour that fits, as an image that any page can embed."""

from fractions import Fraction
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hashrange_systems.checks.web.uptime_badge import draw_uptime_badge
from hashrange_systems.shared.charts.badge import COLOURS, GROUND, draw_badge, measure

SVG = "{http://www.w3.org/2000/svg}"


def read(text):
    picture = ET.fromstring(text)
    return picture, [part.text for part in picture.iter(f"{SVG}text")]


def colour_of(picture):
    return [rect.get("fill") for rect in picture.iter(f"{SVG}rect")][-1]


def test_a_badge_says_label_and_value_to_eyes_and_ears():
    picture, words = read(draw_badge("Shop", "Down", "down"))
    assert words == ["Shop", "Down"]
    assert (picture.get("aria-label"), picture.find(f"{SVG}title").text) == ("Shop: Down", "Shop: Down")
    assert colour_of(picture) == COLOURS["down"]
    assert picture.get("viewBox") == f"0 0 {picture.get('width')} 20"


@pytest.mark.parametrize(
    ("uptime", "words", "tone"),
    [
        (Fraction(1), "100%", "up"),
        (Fraction(99_999_999, 100_000_000), "99.99%", "up"),
        (Fraction(999, 1000), "99.90%", "up"),
        (Fraction(998, 1000), "99.80%", "degraded"),
        (Fraction(98, 100), "98.00%", "down"),
        (Fraction(0), "0.00%", "down"),
        (None, "no data", "idle"),
    ],
)
def test_an_uptime_badge_never_rounds_up(uptime, words, tone):
    picture, found = read(draw_uptime_badge(uptime, 90))
    assert found == ["uptime 90 d", words]
    assert colour_of(picture) == COLOURS[tone]


def test_an_unknown_tone_is_grey():
    assert colour_of(read(draw_badge("a", "b", "purple"))[0]) == COLOURS["idle"]


def luminance(colour):
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("colour", [GROUND, *COLOURS.values()])
def test_white_can_be_read_on_every_colour(colour):
    assert 1.05 / (luminance(colour) + 0.05) >= 4.5


@given(st.text(), st.text())
def test_any_words_make_a_well_formed_badge_as_wide_as_they_need(label, value):
    picture, _ = read(draw_badge(label, value, "up"))
    assert float(picture.get("width")) >= 24


def test_a_badge_cannot_carry_a_script_or_grow_without_end():
    text = draw_badge("<script>alert(1)</script>", "x" * 10_000, "up")
    assert "<script" not in text
    assert len(text) < 2000


def test_wide_and_narrow_letters_take_different_room():
    assert measure("iiii") < measure("aaaa") < measure("MMMM") < measure("書書書書")
    assert measure("e\u0301") == measure("e")
