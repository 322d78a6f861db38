"""What messages say, for every topic, as a person and as a program reads it."""

import html
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hashrange_systems.checks.model.alert import Topic
from hashrange_systems.checks.model.alert_message import (
    WORDINGS,
    read_alert_context,
    render_notification,
    render_verification,
)
from hashrange_systems.shared.text import clean, format_duration, format_iso_time, format_time
from systems.tests.checks.notifications import CONTENT

AT = 1_768_478_400_000
OVER = CONTENT["incident"] | {"endedAt": AT - 60_000}
SALE = {"status": "UP", "available": True, "price": 123_456, "currency": "USD", "link": "https://www.ebay.com/itm/1"}

GOLDEN = [
    ("DOWN", CONTENT, "failure", "DOWN: Shop", "Shop is down since 2026-01-15 11:58:00 UTC."),
    ("REMINDER", CONTENT, "failure", "STILL DOWN: Shop", "Shop is still down after 2 min."),
    ("UP", CONTENT | {"incident": OVER}, "success", "UP: Shop", "Shop is up again after 1 min."),
    (
        "WARNING",
        CONTENT | {"result": {"status": "DEGRADED", "message": "the certificate expires in 9 days."}},
        "warning",
        "WARNING: Shop",
        "Shop is up, with a warning: the certificate expires in 9 days.",
    ),
    ("RESTORED", CONTENT, "success", "OK: Shop", "Shop is up, and the warning is over."),
    (
        "FLAPPING",
        CONTENT,
        "warning",
        "FLAPPING: Shop",
        "Shop goes up and down too often to report each time. The next message comes when it is steady.",
    ),
    ("STEADY", CONTENT, "failure", "STEADY, DOWN: Shop", "Shop no longer flaps: it is down."),
    ("STEADY", CONTENT | {"incident": None}, "success", "STEADY: Shop", "Shop no longer flaps: it is up."),
    ("AVAILABLE", CONTENT | {"result": SALE}, "success", "AVAILABLE: Shop", "Shop is available for 1234.56 USD."),
    (
        "GONE",
        CONTENT | {"result": SALE | {"shippingKnown": False}},
        "info",
        "GONE: Shop",
        "Shop is no longer available: the price is now 1234.56 USD, shipping unknown.",
    ),
    (
        "STOPPED",
        CONTENT | {"result": {"status": "UNKNOWN", "message": "a.example is at a private address."}},
        "failure",
        "STOPPED: Shop",
        "Shop is no longer checked: a.example is at a private address. Edit or resume it to go on.",
    ),
    ("LATER", CONTENT, "info", "NEWS: Shop", "There is news of Shop."),
]


@pytest.mark.parametrize(("topic", "content", "severity", "subject", "sentence"), GOLDEN)
def test_each_topic_has_its_words(topic, content, severity, subject, sentence):
    notification = render_notification(read_alert_context(topic, "c1", content))
    assert (notification.severity, notification.subject, notification.text.splitlines()[0]) == (
        severity,
        subject,
        sentence,
    )
    assert html.escape(sentence) in notification.html


def test_every_topic_is_worded_and_tried_here():
    assert set(WORDINGS) == set(Topic)
    assert {Topic(topic) for topic, *_ in GOLDEN if topic != "LATER"} == set(Topic)


def test_a_message_tells_all_that_is_known_once():
    notification = render_notification(read_alert_context("DOWN", "c1", CONTENT, "http://127.0.0.1:8002/checks/c1"))
    assert notification.text == (
        "Shop is down since 2026-01-15 11:58:00 UTC.\n"
        "\n"
        "Address: https://shop.example/\n"
        "HTTP status: 503\n"
        "Response time: 88 ms\n"
        "Down since: 2026-01-15 11:58:00 UTC\n"
        "Reason: HTTP 503: answered 503\n"
        "Checked: 2026-01-15 12:00:00 UTC\n"
        "Details: http://127.0.0.1:8002/checks/c1\n"
    )
    assert '<a href="https://shop.example/">https://shop.example/</a>' in notification.html


def test_a_program_gets_the_message_as_data():
    notification = render_notification(read_alert_context("UP", "c1", CONTENT | {"incident": OVER}))
    assert json.loads(json.dumps(notification.data)) == {
        "topic": "UP",
        "subject": "UP: Shop",
        "text": "Shop is up again after 1 min.",
        "at": "2026-01-15T12:00:00.000Z",
        "check": {"id": "c1", "name": "Shop", "url": "https://shop.example/"},
        "result": CONTENT["result"],
        "incident": {
            "startedAt": "2026-01-15T11:58:00.000Z",
            "endedAt": "2026-01-15T11:59:00.000Z",
            "cause": "STATUS",
            "evidence": "HTTP 503: answered 503",
        },
    }


def test_messages_about_one_incident_belong_together():
    threads = {
        render_notification(read_alert_context(topic, "c1", CONTENT)).thread for topic in ("DOWN", "REMINDER", "UP")
    }
    assert threads == {"c1.1768478280000"}


def test_what_others_wrote_is_escaped_and_stays_on_one_line():
    nasty = {
        "name": "<script>alert(1)</script>\r\nBcc: all@example.com",
        "url": 'javascript:alert(1)"><b>',
        "result": {"status": "DOWN", "message": "<img src=x onerror=alert(1)>\x00\u202e"},
    }
    notification = render_notification(read_alert_context("DOWN", "c1", nasty))
    assert notification.subject == "DOWN: <script>alert(1)</script> Bcc: all@example.com"
    assert not {"<script", "<img", "<b>", "href"} & {
        part for part in ("<script", "<img", "<b>", "href") if part in notification.html
    }
    assert "\x00" not in notification.text
    assert "\u202e" not in notification.text


@given(
    st.dictionaries(
        st.sampled_from(["name", "url", "at", "result", "incident"]),
        st.one_of(
            st.none(),
            st.text(),
            st.integers(),
            st.booleans(),
            st.dictionaries(st.text(max_size=9), st.text(max_size=9)),
        ),
    )
)
def test_any_stored_content_becomes_a_message(content):
    for topic in Topic:
        notification = render_notification(read_alert_context(topic.value, "c1", content))
        assert notification.subject.strip()
        assert "\n" not in notification.subject


@given(st.text())
def test_cleaned_text_is_one_short_line_of_what_can_be_seen(text):
    cleaned = clean(text, 50)
    assert len(cleaned.encode()) <= 50
    assert cleaned == " ".join(cleaned.split())


@pytest.mark.parametrize(
    ("millis", "words"),
    [
        (0, "0 s"),
        (-5, "0 s"),
        (59_999, "59 s"),
        (60_000, "1 min"),
        (3_600_000, "1 h"),
        (3_660_000, "1 h 1 min"),
        (3_601_000, "1 h"),
        (90_061_000, "1 d 1 h"),
        (86_400_000, "1 d"),
    ],
)
def test_durations_are_told_in_their_two_greatest_units(millis, words):
    assert format_duration(millis) == words


def test_times_are_told_in_utc():
    assert (format_time(AT), format_iso_time(AT + 7)) == ("2026-01-15 12:00:00 UTC", "2026-01-15T12:00:00.007Z")


def test_a_verification_says_what_happens_when_it_is_ignored():
    notification = render_verification("http://127.0.0.1:8002/checks/verify?token=a&b")
    assert "http://127.0.0.1:8002/checks/verify?token=a&b" in notification.text
    assert 'href="http://127.0.0.1:8002/checks/verify?token=a&amp;b"' in notification.html
    assert "do nothing" in notification.text
