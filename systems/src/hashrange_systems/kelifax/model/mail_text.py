"""The mails of the directory: subject and text by topic. Links are made when a mail is sent, so that none is stored.

A mail that answers something a visitor sent contains a link that only its recipient has: opening it proves the address.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from markupsafe import escape

from hashrange_systems.shared.channels.sender import Notification
from hashrange_systems.shared.epoch import DAY_MS
from hashrange_systems.shared.text import clean

CONFIRM_WITHIN = timedelta(hours=48)  # of an address; then what waits for it is deleted


@dataclass(frozen=True, slots=True)
class Topic:
    """A kind of mail: the purpose of its token, how long that is valid, the page that it opens, and its texts."""

    subject: str
    text: str
    action: str  # what the link is called
    purpose: str | None = None  # None: the link has no token
    page: str = ""
    valid_ms: int = CONFIRM_WITHIN // timedelta(milliseconds=1)


YEAR_MS = 365 * DAY_MS

TOPICS: Mapping[str, Topic] = {
    "confirm-submission": Topic(
        "Confirm your submission of {name}",
        "You submitted {name} to {site}. It is reviewed once you confirm this address, within {hours} hours.\n"
        "If that was not you, ignore this mail: nothing is kept.",
        "Confirm the submission",
        "confirm",
        "/submit/confirm/{token}",
    ),
    "submission-received": Topic(
        "{name} waits for review",
        "Thank you for confirming. A moderator will look at {name}. The link shows where it stands.",
        "Show the status",
        "edit",
        "/status/{token}",
        YEAR_MS,
    ),
    "submission-approved": Topic(
        "{name} is listed", "{name} was approved and is now in the directory.", "Open the page", None, "/r/{slug}"
    ),
    "submission-rejected": Topic(
        "{name} was not accepted",
        "A moderator did not accept {name}, for this reason:\n\n{reason}\n\nYou can change it and submit it again.",
        "Change and submit again",
        "edit",
        "/status/{token}",
        YEAR_MS,
    ),
    "submission-unpublished": Topic(
        "{name} is no longer listed",
        "{name} was removed from the directory, for this reason:\n\n{reason}\n\nYou can change it and submit it again.",
        "Change and submit again",
        "edit",
        "/status/{token}",
        YEAR_MS,
    ),
    "confirm-review": Topic(
        "Confirm your review of {name}",
        "You reviewed {name}. A moderator reads the review once you confirm this address, within {hours} hours.",
        "Confirm the review",
        "review",
        "/review/confirm/{token}",
    ),
    "confirm-claim": Topic(
        "Confirm that {name} is yours",
        "You asked to edit the listing of {name} as its owner. Confirm this address within {hours} hours.",
        "Confirm the address",
        "claim",
        "/claim/confirm/{token}",
    ),
    "claim-granted": Topic(
        "You can edit {name}",
        "A moderator accepted that {name} is yours. Keep this link: it is how you edit the listing.",
        "Edit the listing",
        "owner",
        "/owner/{token}",
        YEAR_MS,
    ),
    "claim-refused": Topic(
        "The listing of {name}",
        "A moderator could not accept that {name} is yours.",
        "Open the page",
        None,
        "/r/{slug}",
    ),
    "confirm-digest": Topic(
        "Confirm the digest",
        "You asked for the digest of {site}. Confirm this address within {hours} hours; without it nothing is sent.",
        "Confirm the subscription",
        "digest",
        "/digest/confirm/{token}",
    ),
    "digest": Topic(
        "New in {site}", "{entries}", "Unsubscribe", "unsubscribe", "/digest/unsubscribe/{token}", 2 * YEAR_MS
    ),
}


def render_mail(topic: str, content: Mapping[str, Any], link: str, site: str) -> Notification:
    """Return a mail; the names in it are on one line."""
    kind = TOPICS[topic]
    words = {
        "name": clean(str(content.get("name", "")), 200),
        "reason": str(content.get("reason", "")),
        "entries": "\n\n".join(content.get("entries", ())),
        "site": site,
        "hours": CONFIRM_WITHIN // timedelta(hours=1),
    }
    subject, text = kind.subject.format_map(words), kind.text.format_map(words)
    paragraphs = "".join(f"<p>{escape(part)}</p>".replace("\n", "<br>") for part in text.split("\n\n"))
    html = f'{paragraphs}<p><a href="{escape(link)}">{escape(kind.action)}</a></p>'
    return Notification(
        severity="info",
        subject=subject,
        text=f"{text}\n\n{kind.action}: {link}\n",
        html=html,
        data={"topic": topic},
        unsubscribe_url=link if topic == "digest" else None,
    )
