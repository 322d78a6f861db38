"""Renders the templates of the pages, with the words and links that all of them need."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args
from urllib.parse import quote
from zlib import crc32

from starlette.requests import Request
from starlette.responses import HTMLResponse

from hashrange import __version__
from hashrange_systems.kelifax.logos.logos import NAME as LOGO_NAME
from hashrange_systems.kelifax.model.content import CONTENT_FIELDS, FILTER_FIELDS, Place
from hashrange_systems.kelifax.model.slug import encode_slug
from hashrange_systems.kelifax.model.web_address import find_host, show_host
from hashrange_systems.shared.web.templating import find_mount_path, hash_static_files, make_environment

STATIC = Path(__file__).with_name("static")
WORD_NAMES = {"ai": "AI"}
PLACED = {  # the fields of resources by where templates show them
    **{place: [each for each in CONTENT_FIELDS if each.page == place] for place in get_args(Place)},
    "card": [each for each in CONTENT_FIELDS if each.card],
    "filter": FILTER_FIELDS,
}
HUES = 6
FLASH_MESSAGES = {  # shown after a redirect; the URL contains the name, never the text
    "voted": "Thank you, your vote is counted.",
    "unvoted": "Your vote is taken back.",
    "kept": "It is among your favourites.",
    "dropped": "It is no longer among your favourites.",
    "reported": "Thank you. The link is checked soon.",
    "suggested": "Thank you. A moderator looks at your suggestion.",
    "review-sent": "Almost done: open the link in the mail that we sent you. Then a moderator reads your review.",
    "claim-sent": "Open the link in the mail that we sent you. Then a moderator decides.",
    "digest-sent": "Open the link in the mail that we sent you to confirm the digest.",
    "collected": "The collection is changed.",
    "collection-deleted": "The collection is deleted.",
    "saved": "Saved.",
    "approved": "Approved: it is listed now. You can undo this for ten minutes.",
    "rejected": "Rejected. You can undo this for ten minutes; then the submitter gets a mail.",
    "unpublished": "It is no longer listed. You can undo this for ten minutes.",
    "undone": "The decision is taken back.",
    "held": "It is yours to review for ten minutes.",
    "released": "Others can review it now.",
    "voided": "All its votes are void.",
    "featured": "The feature is planned.",
    "unfeatured": "It is no longer featured.",
    "deleted": "It is deleted with everything that belongs to it.",
    "accepted": "The suggestion is applied.",
    "declined": "The suggestion is declined.",
    "review-published": "The review is published.",
    "review-hidden": "The review is hidden.",
    "claim-granted": "The owner gets a link to edit the listing.",
    "claim-refused": "The claim is refused.",
    "report-closed": "The report is closed.",
    "link-alive": "The link works.",
    "link-dead": "The link does not work at this moment.",
    "account-added": "The account is added.",
    "account-changed": "The account is changed, and its sessions are ended.",
    "account-removed": "The account is removed.",
    "signed-out": "You are signed out.",
}


@dataclass(frozen=True, slots=True)
class DemoAccount:
    """The account that the pages of the demo name."""

    name: str
    password: str


class PageRenderer:
    """Renders pages; `globals` are what the application adds to every page."""

    def __init__(self, base_url: str, **more: Any) -> None:
        self.base_url = base_url
        self.secure = base_url.startswith("https://")
        self._environment = make_environment(__package__)
        self._environment.globals |= {
            "base_url": base_url,
            "version": __version__,
            "marks": hash_static_files(STATIC),
            "placed": PLACED,
            **more,
        }
        self._environment.filters |= {
            "word_name": name_word,
            "segment": quote_segment,
            "slug_segment": encode_slug,
            "hue": find_hue,
            "initial": find_initial,
            "safe_link": find_safe_link,
            "host": find_host_name,
            "punycode": find_punycode,
            "combine": lambda first, second: {**first, **second},
            "is_logo": lambda name: bool(LOGO_NAME.fullmatch(name)),
        }

    def render_text(self, request: Request, template: str, **context: Any) -> str:
        """Return a template as text."""
        shown = {"root": find_mount_path(request), "form_token": "", "note": None, "warnings": (), "proof": None}
        shown["note"] = FLASH_MESSAGES.get(request.query_params.get("note", ""))
        return self._environment.get_template(template).render({**shown, **context})

    def render(self, request: Request, template: str, status: int = 200, **context: Any) -> HTMLResponse:
        """Return a page."""
        return HTMLResponse(self.render_text(request, template, **context), status)

    def render_error(self, request: Request, status: int, title: str, text: str) -> HTMLResponse:
        """Return an error page."""
        return self.render(request, "error.html", status, title=title, text=text)


def name_word(word: str) -> str:
    """Return a category or another word of a choice as the pages write it."""
    return WORD_NAMES.get(word, word[:1].upper() + word[1:])


def quote_segment(text: str) -> str:
    """Return a text as one segment of a path."""
    return quote(text, safe="")


def find_hue(slug: str) -> int:
    """Return the colour of a resource without a logo."""
    return crc32(slug.encode("utf-8", "replace")) % HUES


def find_initial(name: str) -> str:
    """Return the letter that stands for a resource without a logo."""
    return next((sign.upper() for sign in name if sign.isalnum()), "?")


def find_safe_link(address: str) -> str:
    """Return an address that a link may open; an original table may have others, such as `javascript:`."""
    return address if address.lower().startswith(("http://", "https://")) else "about:blank"


def find_host_name(address: str) -> str:
    """Return the host of an address, for people; one with deceptive letters as the domain name system writes it."""
    return show_host(address) or "the site"


def find_punycode(address: str) -> str:
    """Return the host of an address in punycode, if that differs from what the address shows; else nothing."""
    host = find_host(address)
    return host if "xn--" in host and host not in address.lower() else ""
