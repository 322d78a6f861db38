"""Why a system refuses a request, and how the web reports it. A system adds its own subclasses.

ApplicationError
├── InvalidInput       422  the input breaks rules; `errors` has every field and rule
├── ResourceMissing    404  the user has no such thing; what belongs to others is missing too
├── EditConflict       409  another process changed it in the meantime
├── StateConflict      409  its state does not allow the action
├── LimitReached       403  the tier or the service allows no more of them
├── AccountSuspended   403  a suspended user may not do anything
├── ApiKeyInvalid      401  the API key is missing or not valid
├── KeyReadsOnly       403  the API key may only read
├── TokenInvalid       400  a signed token that is damaged, foreign or expired
├── TooSoon            429  the same was requested a moment ago
├── TooManyRequests    429  more requests than the rate limit allows
├── FeatureMissing     501  an optional library is not installed
├── SignInRequired     401  the page is for signed-in users
├── SignInRefused      401  the name or the password is wrong, or the account is locked
├── CodeInvalid        401  the code of the second factor is wrong, expired or already used
├── LoginTaken         409  another account signs in with this address or name
├── SignUpClosed       403  nobody can sign up, or only with addresses of some domains
├── RoleMissing        403  the member of a team may not do this there
└── FormRejected       403  the form does not come from a page of this session

The text of each is for the user: it contains no secret and nothing of another user.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from hashrange import HashrangeError
from hashrange_systems.shared.text import format_duration


class ApplicationError(HashrangeError):
    """A request that the system refuses; the text is for the user."""

    status: ClassVar[int] = 400

    @property
    def headers(self) -> Mapping[str, str]:
        """The HTTP headers of the response."""
        return {}


@dataclass(frozen=True, slots=True)
class FieldError:
    """One invalid field: its name as the user knows it, and the rule that it breaks."""

    field: str
    message: str

    def __str__(self) -> str:
        return f"{self.field} {self.message}"


class InvalidInput(ApplicationError):
    """The input breaks rules; `errors` has every field and rule."""

    status = 422

    def __init__(self, errors: Sequence[FieldError]) -> None:
        super().__init__("; ".join(str(error) for error in errors))
        self.errors = tuple(errors)


class ResourceMissing(ApplicationError):
    """The user has no such thing."""

    status = 404

    def __init__(self, what: str) -> None:
        super().__init__(f"There is no such {what}.")


class EditConflict(ApplicationError):
    """It was changed since it was read."""

    status = 409

    def __init__(self, what: str) -> None:
        super().__init__(f"The {what} was changed meanwhile: look at it again, then try again.")


class StateConflict(ApplicationError):
    """Its state does not allow the action."""

    status = 409


class LimitReached(ApplicationError):
    """There may be no more of them."""

    status = 403


class AccountSuspended(ApplicationError):
    """The user is suspended."""

    status = 403

    def __init__(self) -> None:
        super().__init__("This account is suspended.")


class ApiKeyInvalid(ApplicationError):
    """The API key is missing or not valid."""

    status = 401

    def __init__(self) -> None:
        super().__init__("The API key is missing or not valid.")

    @property
    def headers(self) -> Mapping[str, str]:
        """The scheme to authenticate with."""
        return {"WWW-Authenticate": "Bearer"}


class TokenInvalid(ApplicationError):
    """A signed token that is damaged, foreign or expired."""


class TooSoon(ApplicationError):
    """The same was requested a moment ago."""

    status = 429
    WAIT_S: ClassVar[int] = 60

    @property
    def headers(self) -> Mapping[str, str]:
        """When to try again."""
        return {"Retry-After": str(self.WAIT_S)}


class TooManyRequests(ApplicationError):
    """More requests than the rate limit allows; `wait_s` is the time to wait in seconds."""

    status = 429

    def __init__(self, wait_s: int) -> None:
        super().__init__(f"Too many requests: wait {format_duration(wait_s * 1000)}.")
        self.wait_s = wait_s

    @property
    def headers(self) -> Mapping[str, str]:
        """When to try again."""
        return {"Retry-After": str(self.wait_s)}


class FeatureMissing(ApplicationError):
    """The feature needs an optional library that is not installed; `extra` has it."""

    status = 501

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(f"{feature} needs a library that is not installed: pip install 'hashrange-systems[{extra}]'")


class SignInRequired(ApplicationError):
    """The page is for signed-in users."""

    status = 401

    def __init__(self) -> None:
        super().__init__("Sign in first.")


class FormRejected(ApplicationError):
    """The form does not come from a page of this session."""

    status = 403

    def __init__(self) -> None:
        super().__init__("This form is out of date: go back, reload the page, and send it again.")


class SignInRefused(ApplicationError):
    """The name or the password is wrong, or the account is locked; the text does not say which name exists."""

    status = 401

    def __init__(self, wait_s: int = 0) -> None:
        locked = f" Too many attempts: wait {wait_s} s." if wait_s else ""
        super().__init__(f"The name or the password is wrong.{locked}")
        self.wait_s = wait_s

    @property
    def headers(self) -> Mapping[str, str]:
        """When to try again."""
        return {"Retry-After": str(self.wait_s)} if self.wait_s else {}


class CodeInvalid(ApplicationError):
    """The code is wrong, expired or already used."""

    status = 401

    def __init__(self) -> None:
        super().__init__("This code is not valid: wait for the next one, or use a recovery code.")


class LoginTaken(ApplicationError):
    """Another account signs in with this address or name."""

    status = 409

    def __init__(self) -> None:
        super().__init__("This address or name is already in use.")


class KeyReadsOnly(ApplicationError):
    """The API key may only read."""

    status = 403

    def __init__(self) -> None:
        super().__init__("This API key may only read: use one that may write.")


class SignUpClosed(ApplicationError):
    """Nobody can sign up, or only with addresses of some domains."""

    status = 403

    def __init__(self, domains: Collection[str] = ()) -> None:
        listed = ", ".join(sorted(domains))
        super().__init__(f"Sign up with an address of {listed}." if listed else "Nobody can sign up here.")


class RoleMissing(ApplicationError):
    """The member of a team may not do this there."""

    status = 403

    def __init__(self, needed: str) -> None:
        super().__init__(f"In this team you need the role {needed} for this: ask an owner of the team.")
