"""The text of alerts: subject, plain text, HTML and JSON for every topic. No I/O.

Texts from users and web pages are put on one line without control characters, and escaped in HTML.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

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
from hashrange_systems.checks.model.outcome_text import format_incident_duration, format_price
from hashrange_systems.shared.channels.sender import Notification, Severity
from hashrange_systems.shared.text import clean, format_duration, format_iso_time, format_time

MAX_NAME_LENGTH = 120
MAX_LINE_LENGTH = 500
COLOURS = {"failure": "#c0392b", "success": "#1e8449", "warning": "#b9770e", "info": "#2471a3"}

MessageParts = tuple[Severity, str, str]  # severity, subject, first sentence


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertContext:
    """The content of an alert; `topic` is None if a later version queued it. `link` is the URL of the check's page."""

    topic: Topic | None
    check_id: str
    name: str
    url: str
    at: int
    outcome: Outcome
    incident: Incident | None = None
    link: str | None = None


def read_alert_context(
    topic: str, check_id: str, content: Mapping[str, object], link: str | None = None
) -> AlertContext:
    """Read the content of a queued alert; missing parts are left out."""
    result = content.get("result")
    url = clean(read_text(content.get("url")) or "", MAX_LINE_LENGTH)
    return AlertContext(
        topic=read_choice(Topic, topic),
        check_id=check_id,
        name=clean(read_text(content.get("name")) or "", MAX_NAME_LENGTH) or url or check_id,
        url=url,
        at=read_whole(content.get("at")) or 0,
        outcome=read_outcome(result if isinstance(result, Mapping) else {}),
        incident=read_incident(content.get("incident")),
        link=link,
    )


def render_notification(alert: AlertContext) -> Notification:
    """Return the alert in all formats."""
    wording = WORDINGS[alert.topic] if alert.topic else message_for_unknown
    severity, subject, sentence = wording(alert)
    facts = list_facts(alert)
    started = alert.incident.started_at if alert.incident else None
    return Notification(
        severity=severity,
        subject=subject,
        text=write_text(sentence, facts),
        html=write_html(severity, sentence, facts),
        data=write_data(alert, subject, sentence),
        thread=None if started is None else f"{alert.check_id}.{started}",
    )


def render_verification(link: str) -> Notification:
    """Return the message with a verification link."""
    sentence = "Somebody asked for alerts about websites to be sent to this address."
    facts = [("To confirm", link), ("If it was not you", "do nothing: no alert is sent to an address not confirmed")]
    return Notification(
        severity="info",
        subject="Confirm this address for alerts",
        text=write_text(sentence, facts),
        html=write_html("info", sentence, facts),
        data={"topic": "VERIFICATION", "link": link, "text": sentence},
    )


# ── the words of each topic ──────────────────────────────────────────────────────────────────────────────────────────
def message_for_down(alert: AlertContext) -> MessageParts:
    """The message about an outage."""
    since = f" since {format_time(alert.incident.started_at)}" if alert.incident else ""
    return "failure", f"DOWN: {alert.name}", f"{alert.name} is down{since}."


def message_for_reminder(alert: AlertContext) -> MessageParts:
    """The reminder of an ongoing outage."""
    lasted = f" after {format_duration(alert.at - alert.incident.started_at)}" if alert.incident else ""
    return "failure", f"STILL DOWN: {alert.name}", f"{alert.name} is still down{lasted}."


def message_for_up(alert: AlertContext) -> MessageParts:
    """The message about the end of an outage."""
    lasted = f" after {lasting}" if (lasting := format_incident_duration(alert.incident)) else ""
    return "success", f"UP: {alert.name}", f"{alert.name} is up again{lasted}."


def message_for_warning(alert: AlertContext) -> MessageParts:
    """The message about a warning."""
    reason = f": {clean(alert.outcome.message, MAX_LINE_LENGTH).rstrip('.')}" if alert.outcome.message else ""
    return "warning", f"WARNING: {alert.name}", f"{alert.name} is up, with a warning{reason}."


def message_for_restored(alert: AlertContext) -> MessageParts:
    """The message about the end of a warning."""
    return "success", f"OK: {alert.name}", f"{alert.name} is up, and the warning is over."


def message_for_flapping(alert: AlertContext) -> MessageParts:
    """The message that a check flaps."""
    sentence = f"{alert.name} goes up and down too often to report each time. The next message comes when it is steady."
    return "warning", f"FLAPPING: {alert.name}", sentence


def message_for_steady(alert: AlertContext) -> MessageParts:
    """The message that a check no longer flaps."""
    if alert.incident and alert.incident.ended_at is None:
        return "failure", f"STEADY, DOWN: {alert.name}", f"{alert.name} no longer flaps: it is down."
    return "success", f"STEADY: {alert.name}", f"{alert.name} no longer flaps: it is up."


def message_for_available(alert: AlertContext) -> MessageParts:
    """The message that something is available."""
    price = f" for {price}" if (price := format_price(alert.outcome)) else ""
    return "success", f"AVAILABLE: {alert.name}", f"{alert.name} is available{price}."


def message_for_gone(alert: AlertContext) -> MessageParts:
    """The message that something is no longer available."""
    price = f": the price is now {price}" if (price := format_price(alert.outcome)) else ""
    return "info", f"GONE: {alert.name}", f"{alert.name} is no longer available{price}."


def message_for_stopped(alert: AlertContext) -> MessageParts:
    """The message that a check was disabled."""
    reason = f": {clean(alert.outcome.message, MAX_LINE_LENGTH).rstrip('.')}" if alert.outcome.message else ""
    sentence = f"{alert.name} is no longer checked{reason}. Edit or resume it to go on."
    return "failure", f"STOPPED: {alert.name}", sentence


def message_for_unknown(alert: AlertContext) -> MessageParts:
    """The message for an unknown topic."""
    return "info", f"NEWS: {alert.name}", f"There is news of {alert.name}."


WORDINGS: Mapping[Topic, Callable[[AlertContext], MessageParts]] = {
    Topic.DOWN: message_for_down,
    Topic.REMINDER: message_for_reminder,
    Topic.UP: message_for_up,
    Topic.WARNING: message_for_warning,
    Topic.RESTORED: message_for_restored,
    Topic.FLAPPING: message_for_flapping,
    Topic.STEADY: message_for_steady,
    Topic.AVAILABLE: message_for_available,
    Topic.GONE: message_for_gone,
    Topic.STOPPED: message_for_stopped,
}


# ── forms ────────────────────────────────────────────────────────────────────────────────────────────────────────────
def list_facts(alert: AlertContext) -> list[tuple[str, str]]:
    """Return the details as labels and values."""
    outcome, incident = alert.outcome, alert.incident
    facts = {
        "Address": alert.url,
        "Found": clean(outcome.message, MAX_LINE_LENGTH),
        "HTTP status": "" if outcome.http_status is None else str(outcome.http_status),
        "Response time": "" if outcome.response_time is None else f"{outcome.response_time} ms",
        "Price": format_price(outcome),
        "Offer": clean(outcome.link or "", MAX_LINE_LENGTH),
        "Down since": format_time(incident.started_at) if incident else "",
        "Up since": format_time(incident.ended_at) if incident and incident.ended_at is not None else "",
        "Lasted": format_incident_duration(incident),
        "Reason": clean(incident.evidence, MAX_LINE_LENGTH) if incident else "",
        "Checked": format_time(alert.at) if alert.at else "",
        "Details": alert.link or "",
    }
    if facts["Reason"].endswith(facts["Found"]):
        del facts["Found"]
    return [(label, value) for label, value in facts.items() if value]


def write_text(sentence: str, facts: list[tuple[str, str]]) -> str:
    """Return the plain text."""
    return "\n".join([sentence, "", *(f"{label}: {value}" for label, value in facts), ""])


def write_html(severity: Severity, sentence: str, facts: list[tuple[str, str]]) -> str:
    """Return the HTML, which needs no images and no style sheet."""
    rows = "".join(
        f'<tr><th align="left" valign="top" style="padding:2px 12px 2px 0;color:#666">{escape(label)}</th>'
        f'<td style="padding:2px 0">{_link(value)}</td></tr>'
        for label, value in facts
    )
    return (
        '<!DOCTYPE html><html><head><meta charset="utf-8"></head><body style="font-family:sans-serif">'
        f'<p style="border-left:6px solid {COLOURS[severity]};padding:6px 12px;font-size:18px">{escape(sentence)}</p>'
        f"<table>{rows}</table></body></html>"
    )


def _link(value: str) -> str:
    text = escape(value)
    return f'<a href="{text}">{text}</a>' if value.startswith(("http://", "https://")) else text


def write_data(alert: AlertContext, subject: str, sentence: str) -> dict[str, Any]:
    """Return the JSON of the message."""
    incident = alert.incident
    ended_at = incident.ended_at if incident else None
    incident_members = incident and drop_absent(
        {
            "startedAt": format_iso_time(incident.started_at),
            "endedAt": None if ended_at is None else format_iso_time(ended_at),
            "cause": incident.cause.value if incident.cause else None,
            "evidence": incident.evidence or None,
        }
    )
    return drop_absent(
        {
            "topic": alert.topic.value if alert.topic else "UNKNOWN",
            "subject": subject,
            "text": sentence,
            "at": format_iso_time(alert.at),
            "check": drop_absent(
                {
                    "id": alert.check_id,
                    "name": alert.name,
                    "url": alert.url or None,
                    "link": alert.link,
                }
            ),
            "result": write_outcome(alert.outcome),
            "incident": incident_members,
        }
    )
