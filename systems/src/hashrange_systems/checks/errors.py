"""What only the checks system refuses; the other causes are in `shared.errors`.

ApplicationError
├── EmailTaken         409  the e-mail address belongs to another user
└── SlugTaken          409  the address of the status page belongs to another user
"""

from __future__ import annotations

from hashrange_systems.shared.errors import ApplicationError


class EmailTaken(ApplicationError):
    """The e-mail address belongs to another user."""

    status = 409

    def __init__(self) -> None:
        super().__init__("This e-mail address is already in use.")


class SlugTaken(ApplicationError):
    """The address of the status page belongs to another user."""

    status = 409

    def __init__(self, slug: str) -> None:
        super().__init__(f"The page address {slug!r} is already in use.")
