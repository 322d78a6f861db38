"""What the checks service refuses, and how the web says it.

ChecksError
├── InputRefused       422  what was given breaks rules; it names all of them (model.refusal)
├── NotThere           404  nothing of that name is the user's: what is another's is not there either
├── EmailTaken         409  the e-mail address is another user's
├── SlugTaken          409  the status page's address is another user's
├── Changed            409  somebody else changed it meanwhile
├── NotPossibleNow     409  it is in a state that does not allow it
├── LimitReached       403  the tier, or the service, allows no more of them
├── Suspended          403  the user may not do anything until reinstated
├── KeyUnknown         401  no API key, or one that is not valid
├── TokenRefused       400  a verification link that is damaged or has expired
└── TooSoon            429  it was asked for a moment ago

The text of each is for the user. Nothing in it is secret or another user's.
"""

from __future__ import annotations

from typing import ClassVar

from hashrange import HashrangeError


class ChecksError(HashrangeError):
    """The root of what the checks service refuses; its text is for the user."""

    status: ClassVar[int] = 400


class NotThere(ChecksError):
    """Nothing of that name belongs to the user."""

    status = 404

    def __init__(self, what: str) -> None:
        super().__init__(f"There is no such {what}.")


class EmailTaken(ChecksError):
    """The e-mail address is another user's."""

    status = 409

    def __init__(self) -> None:
        super().__init__("This e-mail address is already in use.")


class SlugTaken(ChecksError):
    """The address of the status page is another user's."""

    status = 409

    def __init__(self, slug: str) -> None:
        super().__init__(f"The page address {slug!r} is already in use.")


class Changed(ChecksError):
    """Somebody else changed it since it was read."""

    status = 409

    def __init__(self, what: str) -> None:
        super().__init__(f"The {what} was changed meanwhile: look at it again, then try again.")


class NotPossibleNow(ChecksError):
    """What is asked for does not go with the state it is in."""

    status = 409


class LimitReached(ChecksError):
    """There may be no more of them."""

    status = 403


class Suspended(ChecksError):
    """The user is suspended."""

    status = 403

    def __init__(self) -> None:
        super().__init__("This account is suspended.")


class KeyUnknown(ChecksError):
    """The API key is not valid."""

    status = 401

    def __init__(self) -> None:
        super().__init__("The API key is missing or not valid.")


class TokenRefused(ChecksError):
    """The verification token was changed, is not ours, or has expired."""


class TooSoon(ChecksError):
    """It was asked for a moment ago."""

    status = 429
