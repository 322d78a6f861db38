"""What only the directory refuses; the other causes are in `shared.errors`.

ApplicationError
├── AlreadyListed      409  the name or the URL is listed, or reserved by another submission; `existing` names it
├── DecisionTaken      409  somebody else decided first; `verdict` and `actor` say what and who
├── HeldByAnother      409  another moderator reviews the resource
├── ProofRefused       400  a proof of work that is missing, wrong, expired or used
└── NotPermitted       403  the role of the admin does not allow the action
"""

from __future__ import annotations

from dataclasses import dataclass

from hashrange_systems.shared.errors import ApplicationError


@dataclass(frozen=True, slots=True)
class ExistingEntry:
    """A resource that is in the way of a submission; only of a published one the page may be linked."""

    slug: str
    name: str
    status: str  # published, waiting, rejected or reserved


class AlreadyListed(ApplicationError):
    """The resource is listed already; `suggestion` is a free slug for another resource of the same name."""

    status = 409

    def __init__(self, existing: ExistingEntry, cause: str, suggestion: str | None = None) -> None:
        super().__init__(f"This {cause} is taken by {existing.name} ({existing.status}).")
        self.existing, self.cause, self.suggestion = existing, cause, suggestion


class DecisionTaken(ApplicationError):
    """The state does not allow the decision any more."""

    status = 409

    def __init__(self, state: str, actor: str | None = None) -> None:
        super().__init__(f"It is {state} now{f', decided by {actor}' if actor else ''}: nothing was changed.")
        self.state, self.actor = state, actor


class HeldByAnother(ApplicationError):
    """Another moderator reviews the resource."""

    status = 409

    def __init__(self, moderator: str) -> None:
        super().__init__(f"{moderator} is reviewing this resource.")
        self.moderator = moderator


class ProofRefused(ApplicationError):
    """The proof of work is missing, wrong, expired or used."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"The proof of work {reason}: reload the page and send the form again.")


class NotPermitted(ApplicationError):
    """The role of the admin does not allow the action."""

    status = 403

    def __init__(self, action: str) -> None:
        super().__init__(f"Only an admin may {action}.")
