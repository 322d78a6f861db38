"""Who may sign up: nobody, everybody with an e-mail address, or those with an address of some domains."""

from __future__ import annotations

from dataclasses import dataclass

from hashrange_systems.shared.channels.message_budget import fold_domain
from hashrange_systems.shared.email_address import explain_email


@dataclass(frozen=True, slots=True)
class SignUpPolicy:
    """Which addresses may sign up; without domains all, or none."""

    is_open: bool = False
    domains: frozenset[str] = frozenset()

    def allows(self, address: str) -> bool:
        """Return whether an address may sign up; the subdomains of a domain are other domains."""
        if not self.is_open or not self.domains:
            return self.is_open
        return fold_domain(address.rpartition("@")[2]) in self.domains


CLOSED, OPEN = SignUpPolicy(), SignUpPolicy(is_open=True)
WORDS = {"closed": CLOSED, "open": OPEN}


def parse_sign_up(text: str) -> SignUpPolicy:
    """Return the policy of `open`, `closed` or domains between commas; raise ValueError with the rule."""
    if (known := WORDS.get(text.strip().lower())) is not None:
        return known
    domains = [part.strip().lower() for part in text.split(",")]
    if any(explain_email(f"ann@{domain}") for domain in domains):
        raise ValueError(f"is {text!r}: it must be open, closed, or domains such as example.com, example.org")
    return SignUpPolicy(is_open=True, domains=frozenset(map(fold_domain, domains)))
