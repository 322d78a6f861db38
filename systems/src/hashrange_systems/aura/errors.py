"""What only aura refuses; the other causes are in `shared.errors`.

ApplicationError
├── ShopTaken        409  the domain is registered already
├── ShopDamaged      409  the stored shop cannot be read
├── CrawlRunning     409  another worker crawls or scrapes the shop
├── OperatorOnly     403  what only operators may do
└── FetchRefused     422  a page that cannot be fetched: the text has the reason
"""

from __future__ import annotations

from hashrange_systems.shared.errors import ApplicationError


class ShopTaken(ApplicationError):
    """The domain is registered already."""

    status = 409

    def __init__(self, domain: str) -> None:
        super().__init__(f"{domain} is registered already.")
        self.domain = domain


class ShopDamaged(ApplicationError):
    """The stored shop cannot be read."""

    status = 409


class CrawlRunning(ApplicationError):
    """Another worker is at it."""

    status = 409

    def __init__(self, domain: str, what: str, owner: str | None) -> None:
        by = f" by {owner}" if owner else ""
        super().__init__(f"{domain} is being {what}{by}: wait until it has ended, or until its lease has.")


class OperatorOnly(ApplicationError):
    """What only operators may do."""

    status = 403

    def __init__(self) -> None:
        super().__init__("Only an operator may remove a shop: hashrange aura member operator EMAIL makes one.")


class FetchRefused(ApplicationError):
    """A page that cannot be fetched."""

    status = 422
