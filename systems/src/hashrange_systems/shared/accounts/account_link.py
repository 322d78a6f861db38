"""Links in mails about accounts: their tokens are signed when the mail is sent, expire, and are stored nowhere.

Opening a link shows a page and changes nothing, as mail scanners open links; its button posts the token.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from urllib.parse import quote

from hashrange import Clock
from hashrange_systems.shared.accounts.logins import find_other_letters
from hashrange_systems.shared.accounts.owner_name import fold_login
from hashrange_systems.shared.channels.channel_type import ParsedTarget
from hashrange_systems.shared.channels.sender import Notification
from hashrange_systems.shared.email_address import validate_email
from hashrange_systems.shared.epoch import MINUTE_MS
from hashrange_systems.shared.errors import FieldError, InvalidInput, TokenInvalid
from hashrange_systems.shared.signed_token import TokenSigner

CLOCKS_DIFFER_MS = 10 * MINUTE_MS  # of processes, at most


@dataclass(frozen=True, slots=True)
class AccountLinks:
    """Makes the links of a system, and opens their tokens."""

    signer: TokenSigner
    clock: Clock
    base_url: str

    def make(self, purpose: str, path: str, words: Sequence[str], lasts_ms: int) -> str:
        """Return the address of a page with a new token of these words."""
        now = self.clock.millis()
        token = self.signer.sign(purpose, [str(now), *words], now + lasts_ms)
        return f"{self.base_url}{path}?token={quote(token)}"

    def open(self, purpose: str, token: str) -> list[str]:
        """Return the words of a token; raise TokenInvalid, also if a clock was ahead when it was signed."""
        now = self.clock.millis()
        signed_at, *words = self.signer.open(purpose, token, now)
        if int(signed_at) > now + CLOCKS_DIFFER_MS:
            raise TokenInvalid("This link is not valid yet: ask for a new one.")
        return words


def parse_login_address(text: object, field: str = "email") -> str:
    """Return the login of an e-mail address, to which its mails go, too; raise InvalidInput.

    An address that folds to other letters, such as straße.example to strasse.example, may be somebody else's mailbox.
    """
    address = validate_email(text, field)
    folded = fold_login(address)
    if find_other_letters(address) is not None:
        raise InvalidInput([FieldError(field, "has a letter such as ß that cannot be told from others: use another")])
    return folded


def make_target(login: str) -> ParsedTarget:
    """Return a login, which was parsed, as the target of a message."""
    return ParsedTarget.public(login)


def write_notice(topic: str, subject: str, lines: Sequence[str], link: str | None = None) -> Notification:
    """Return a mail about an account: lines of text, and a link."""
    button = f'<p><a href="{escape(link)}">{escape(subject)}</a></p>' if link else ""
    return Notification(
        severity="info",
        subject=subject,
        text="\n".join([*lines, *([link] if link else [])]),
        html="".join(f"<p>{escape(line)}</p>" for line in lines) + button,
        data={"type": topic} | ({"url": link} if link else {}),
    )
