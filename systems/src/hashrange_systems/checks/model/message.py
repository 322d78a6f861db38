"""What a message says: subject, plain text, HTML and JSON for every topic. Pure; delivery is the senders'.

What users and web pages wrote is brought to one line without control characters here, and escaped in HTML.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from html import escape
from typing import Any, Literal

from hashrange_systems.checks.model.alert import Topic
from hashrange_systems.checks.model.incident import Incident, read_incident
from hashrange_systems.checks.model.outcome import (
    Outcome,
    drop_absent,
    read_choice,
    read_outcome,
    read_text,
    read_whole,
    write_outcome,
)
from hashrange_systems.checks.model.phrase import (
    clean,
    write_duration,
    write_iso,
    write_lasting,
    write_moment,
    write_price,
)

LONGEST_NAME = 120
LONGEST_LINE = 500
COLOURS = {"failure": "#c0392b", "success": "#1e8449", "warning": "#b9770e", "info": "#2471a3"}

Mood = Literal["failure", "success", "warning", "info"]
Wording = tuple[Mood, str, str]  # mood, subject, first sentence


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """What a message is about; `topic` is None when a later version queued it. `link` leads to the check's page."""

    topic: Topic | None
    check_id: str
    name: str
    url: str
    at: int
    outcome: Outcome
    incident: Incident | None = None
    link: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Letter:
    """A message in all its forms; letters with the same `thread` belong together."""

    mood: Mood
    subject: str
    text: str
    html: str
    data: dict[str, Any]
    thread: str | None = None


def read_notice(topic: str, check_id: str, content: Mapping[str, object], link: str | None = None) -> Notice:
    """Read the content of a queued alert; what is missing is left out of the message."""
    result = content.get("result")
    url = clean(read_text(content.get("url")) or "", LONGEST_LINE)
    return Notice(
        topic=read_choice(Topic, topic),
        check_id=check_id,
        name=clean(read_text(content.get("name")) or "", LONGEST_NAME) or url or check_id,
        url=url,
        at=read_whole(content.get("at")) or 0,
        outcome=read_outcome(result if isinstance(result, Mapping) else {}),
        incident=read_incident(content.get("incident")),
        link=link,
    )


def write_letter(notice: Notice) -> Letter:
    """Return the message in all its forms."""
    wording = WORDINGS[notice.topic] if notice.topic else word_unknown
    mood, subject, sentence = wording(notice)
    facts = list_facts(notice)
    started = notice.incident.started_at if notice.incident else None
    return Letter(
        mood=mood,
        subject=subject,
        text=write_text(sentence, facts),
        html=write_html(mood, sentence, facts),
        data=write_data(notice, subject, sentence),
        thread=None if started is None else f"{notice.check_id}.{started}",
    )


def write_verification(link: str) -> Letter:
    """Return the message that asks whether an address is to get alerts."""
    sentence = "Somebody asked for alerts about websites to be sent to this address."
    facts = [("To confirm", link), ("If it was not you", "do nothing: no alert is sent to an address not confirmed")]
    return Letter(
        mood="info",
        subject="Confirm this address for alerts",
        text=write_text(sentence, facts),
        html=write_html("info", sentence, facts),
        data={"topic": "VERIFICATION", "link": link, "text": sentence},
    )


# ── the words of each topic ──────────────────────────────────────────────────────────────────────────────────────────
def word_down(notice: Notice) -> Wording:
    """Tell of an outage."""
    since = f" since {write_moment(notice.incident.started_at)}" if notice.incident else ""
    return "failure", f"DOWN: {notice.name}", f"{notice.name} is down{since}."


def word_reminder(notice: Notice) -> Wording:
    """Tell of an outage that goes on."""
    lasted = f" after {write_duration(notice.at - notice.incident.started_at)}" if notice.incident else ""
    return "failure", f"STILL DOWN: {notice.name}", f"{notice.name} is still down{lasted}."


def word_up(notice: Notice) -> Wording:
    """Tell of the end of an outage."""
    lasted = f" after {lasting}" if (lasting := write_lasting(notice.incident)) else ""
    return "success", f"UP: {notice.name}", f"{notice.name} is up again{lasted}."


def word_warning(notice: Notice) -> Wording:
    """Tell of something that will not do for long."""
    reason = f": {clean(notice.outcome.message, LONGEST_LINE).rstrip('.')}" if notice.outcome.message else ""
    return "warning", f"WARNING: {notice.name}", f"{notice.name} is up, with a warning{reason}."


def word_restored(notice: Notice) -> Wording:
    """Tell that a warning is over."""
    return "success", f"OK: {notice.name}", f"{notice.name} is up, and the warning is over."


def word_flapping(notice: Notice) -> Wording:
    """Tell that there is too much to tell."""
    sentence = f"{notice.name} goes up and down too often to tell each time. The next message comes when it is steady."
    return "warning", f"FLAPPING: {notice.name}", sentence


def word_steady(notice: Notice) -> Wording:
    """Tell how a flapping check settled."""
    if notice.incident and notice.incident.ended_at is None:
        return "failure", f"STEADY, DOWN: {notice.name}", f"{notice.name} no longer flaps: it is down."
    return "success", f"STEADY: {notice.name}", f"{notice.name} no longer flaps: it is up."


def word_available(notice: Notice) -> Wording:
    """Tell that something can be bought."""
    price = f" for {price}" if (price := write_price(notice.outcome)) else ""
    return "success", f"AVAILABLE: {notice.name}", f"{notice.name} is available{price}."


def word_gone(notice: Notice) -> Wording:
    """Tell that something can no longer be bought as wished."""
    price = f": the price is now {price}" if (price := write_price(notice.outcome)) else ""
    return "info", f"GONE: {notice.name}", f"{notice.name} is no longer available{price}."


def word_stopped(notice: Notice) -> Wording:
    """Tell that a check has disabled itself."""
    reason = f": {clean(notice.outcome.message, LONGEST_LINE).rstrip('.')}" if notice.outcome.message else ""
    sentence = f"{notice.name} is no longer checked{reason}. Edit or resume it to go on."
    return "failure", f"STOPPED: {notice.name}", sentence


def word_unknown(notice: Notice) -> Wording:
    """Tell that there is something to tell."""
    return "info", f"NEWS: {notice.name}", f"There is news of {notice.name}."


WORDINGS: Mapping[Topic, Callable[[Notice], Wording]] = {
    Topic.DOWN: word_down,
    Topic.REMINDER: word_reminder,
    Topic.UP: word_up,
    Topic.WARNING: word_warning,
    Topic.RESTORED: word_restored,
    Topic.FLAPPING: word_flapping,
    Topic.STEADY: word_steady,
    Topic.AVAILABLE: word_available,
    Topic.GONE: word_gone,
    Topic.STOPPED: word_stopped,
}


# ── forms ────────────────────────────────────────────────────────────────────────────────────────────────────────────
def list_facts(notice: Notice) -> list[tuple[str, str]]:
    """Return what is known, as labels and values."""
    outcome, incident = notice.outcome, notice.incident
    facts = {
        "Address": notice.url,
        "Found": clean(outcome.message, LONGEST_LINE),
        "HTTP status": "" if outcome.http_status is None else str(outcome.http_status),
        "Response time": "" if outcome.response_time is None else f"{outcome.response_time} ms",
        "Price": write_price(outcome),
        "Offer": clean(outcome.link or "", LONGEST_LINE),
        "Down since": write_moment(incident.started_at) if incident else "",
        "Up since": write_moment(incident.ended_at) if incident and incident.ended_at is not None else "",
        "Lasted": write_lasting(incident),
        "Reason": clean(incident.evidence, LONGEST_LINE) if incident else "",
        "Checked": write_moment(notice.at) if notice.at else "",
        "Details": notice.link or "",
    }
    if facts["Reason"].endswith(facts["Found"]):
        del facts["Found"]
    return [(label, value) for label, value in facts.items() if value]


def write_text(sentence: str, facts: list[tuple[str, str]]) -> str:
    """Return the plain text."""
    return "\n".join([sentence, "", *(f"{label}: {value}" for label, value in facts), ""])


def write_html(mood: Mood, sentence: str, facts: list[tuple[str, str]]) -> str:
    """Return the HTML, which needs no images and no style sheet."""
    rows = "".join(
        f'<tr><th align="left" valign="top" style="padding:2px 12px 2px 0;color:#666">{escape(label)}</th>'
        f'<td style="padding:2px 0">{_link(value)}</td></tr>'
        for label, value in facts
    )
    return (
        '<!DOCTYPE html><html><head><meta charset="utf-8"></head><body style="font-family:sans-serif">'
        f'<p style="border-left:6px solid {COLOURS[mood]};padding:6px 12px;font-size:18px">{escape(sentence)}</p>'
        f"<table>{rows}</table></body></html>"
    )


def _link(value: str) -> str:
    text = escape(value)
    return f'<a href="{text}">{text}</a>' if value.startswith(("http://", "https://")) else text


def write_data(notice: Notice, subject: str, sentence: str) -> dict[str, Any]:
    """Return the message for a program."""
    incident = notice.incident
    ended_at = incident.ended_at if incident else None
    told = incident and drop_absent(
        {
            "startedAt": write_iso(incident.started_at),
            "endedAt": None if ended_at is None else write_iso(ended_at),
            "cause": incident.cause.value if incident.cause else None,
            "evidence": incident.evidence or None,
        }
    )
    return drop_absent(
        {
            "topic": notice.topic.value if notice.topic else "UNKNOWN",
            "subject": subject,
            "text": sentence,
            "at": write_iso(notice.at),
            "check": drop_absent(
                {"id": notice.check_id, "name": notice.name, "url": notice.url or None, "link": notice.link}
            ),
            "result": write_outcome(notice.outcome),
            "incident": told,
        }
    )
