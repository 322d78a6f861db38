"""Resource policies: their documents checked and made canonical, their revisions kept. They are never evaluated.

A table's definition holds one Policy under TABLE for the table itself, and one per stream under its label.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson
from msgspec.structs import replace

from hashrange.core.errors import PolicyNotFoundException, ResourceNotFoundException, ValidationException
from hashrange.core.values import INVALID_PARAMETER
from hashrange.core.wire import Wire
from hashrange.engine.arn import PARTITION, parse_resource
from hashrange.engine.definition import Policy

if TYPE_CHECKING:
    from hashrange.engine.catalog import CatalogContext
    from hashrange.engine.table import Table


TABLE = ""
MAX_POLICY_BYTES = 20_480
NONE_EXPECTED = "NO_POLICY"
DEFAULT_VERSION = "2008-10-17"
NOT_FOUND = "Resource-based policy not found for the provided ResourceArn: "
MEMBERS = ("Sid", "Effect", "Principal", "NotPrincipal", "Action", "NotAction", "Resource", "NotResource", "Condition")
LISTS = ("Action", "NotAction", "Resource", "NotResource")
EFFECTS = {"allow": "Allow", "deny": "Deny"}
UNBOUNDED = (
    "Resource-based policy grants unbounded access in one or more elements. "
    "Please revise the policy to ensure least-privilege form of access"
)
FOREIGN = "This action is only supported by accounts that match the resource owner’s account."  # noqa: RUF001 - theirs
ACCOUNT = re.compile(r"\d{12}")


# -- documents ---------------------------------------------------------------------------------------------------------


def check_document(text: str) -> str:
    """Return a policy in canonical form (without a default version), or raise for what is none."""
    if len(text.encode()) > MAX_POLICY_BYTES:
        raise ValidationException(f"{INVALID_PARAMETER}Maximum policy size of {MAX_POLICY_BYTES} bytes exceeded")
    document = _parse(text)
    statements = document.get("Statement")
    if isinstance(statements, dict):
        statements = [statements]
    if not isinstance(statements, list) or not all(isinstance(statement, dict) for statement in statements):
        raise _misplaced(text, text)
    if not statements:
        raise _invalid("Could not parse the policy: Statement is empty!")
    kept = [_canonicalise_statement(statement, text) for statement in statements]
    names = [statement["Sid"] for statement in kept if "Sid" in statement]
    if len(set(names)) < len(names):
        raise _invalid("The Statement Ids in the policy are not unique")
    head = {member: document[member] for member in ("Version", "Id") if member in document}
    return orjson.dumps({**head, "Statement": kept}).decode()


def _parse(text: str) -> Wire:
    try:
        document = orjson.loads(text)
    except orjson.JSONDecodeError:
        raise _invalid("This policy contains invalid Json") from None
    if document is None:
        raise _invalid("This text appears not to be a policy")
    if not isinstance(document, dict):
        raise _invalid("This policy contains invalid Json")
    return document


def _canonicalise_statement(statement: Wire, text: str) -> Wire:
    for member in ("Effect", "Principal", "Action", "Resource"):
        if member not in statement and f"Not{member}" not in statement:
            raise _invalid(f"Missing required field {member}")
    kept = {member: statement[member] for member in MEMBERS if member in statement}
    kept["Effect"] = EFFECTS.get(str(kept["Effect"]).lower())
    if kept["Effect"] is None:
        raise _misplaced(text, statement["Effect"])
    for member in LISTS:
        if member in kept:
            kept[member] = _unlist(kept[member])
    for member in ("Principal", "NotPrincipal"):
        if member in kept:
            kept[member] = _canonicalise_principal(kept[member], text)
    if kept["Effect"] == "Allow" and kept.get("Principal") in ("*", {"AWS": "*"}) and "Condition" not in kept:
        raise ValidationException(UNBOUNDED)
    return kept


def _canonicalise_principal(principal: Any, text: str) -> Any:
    if principal == "*":
        return principal
    if not isinstance(principal, dict):
        raise _misplaced(text, principal)
    return {
        principal_type: _unlist(_name_principals(principal_type, names)) for principal_type, names in principal.items()
    }


def _name_principals(principal_type: str, names: Any) -> list[str]:
    given = names if isinstance(names, list) else [names]
    roots = [
        f"arn:aws:iam::{name}:root" if principal_type == "AWS" and ACCOUNT.fullmatch(str(name)) else name
        for name in given
    ]
    return list(dict.fromkeys(map(str, roots)))


def _unlist(value: Any) -> Any:
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def _invalid(reason: str) -> ValidationException:
    return ValidationException(f"{INVALID_PARAMETER}Invalid policy document: {reason}")


def _misplaced(text: str, part: Any) -> ValidationException:
    """Return the error for a well-formed part in the wrong position: it names the position where the part ends."""
    shown = part if part is text else orjson.dumps(part).decode()
    end = max(text.find(shown), 0) + len(shown)
    before = text[:end]
    return _invalid(f"Syntax error at position ({before.count(chr(10)) + 1},{end - before.rfind(chr(10))})")


def format_document(document: str) -> str:
    """Return a policy as it is read back: with a version in any case."""
    kept = orjson.loads(document)
    return document if "Version" in kept else orjson.dumps({"Version": DEFAULT_VERSION, **kept}).decode()


# -- whose policy ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PolicyTarget:
    """What a policy is attached to: a table, or one of its streams."""

    table: Table
    label: str  # of the stream, or TABLE

    def __str__(self) -> str:
        return f"table {self.table.name}" if self.label == TABLE else f"stream {self.label}"

    @property
    def policy(self) -> Policy | None:
        """Return the policy's entry in the table's definition; it stays when the policy is deleted."""
        return self.table.definition.policies.get(self.label)


def find_policy_target(engine: CatalogContext, arn: str) -> PolicyTarget:
    """Return what an ARN names, or raise for what cannot have a policy here."""
    resource, settings = parse_resource(arn), engine.settings
    if resource.account != settings.account:
        raise ValidationException(FOREIGN)
    if resource.home != (PARTITION, settings.region):
        raise ValidationException(f"{INVALID_PARAMETER}Invalid resource Arn: {arn}")
    table = engine.catalog.locate(resource.table)
    labels = {stream.label for stream in table.definition.streams}
    if resource.stream is not None and resource.stream not in labels:
        raise ResourceNotFoundException(
            f"Requested resource not found: Stream: {resource.stream} not found for Table: {table.name}"
        )
    return PolicyTarget(table, resource.stream or TABLE)


def save_policy(engine: CatalogContext, target: PolicyTarget, policy: Policy) -> None:
    """Store the changed policy of a table or stream."""
    definition = target.table.definition
    changed = replace(definition, policies={**definition.policies, target.label: policy})
    engine.catalog.save(target.table, changed)


# -- revisions ---------------------------------------------------------------------------------------------------------


def start_revision(document: str, now: int) -> Policy:
    """Return a table's first policy."""
    return Policy(document, str(now))


def put_policy(current: Policy | None, document: str | None, now: int) -> Policy:
    """Return the policy after a change (None deletes); an equivalent document keeps its revision."""
    if current is None:
        return Policy(document, str(now))
    if current.document == document:
        return current
    return Policy(document, str(max(now, int(current.revision) + 1)))


def check_revision(target: PolicyTarget, expected: str | None) -> None:
    """Raise when a change expects another revision than there is."""
    current = target.policy
    if expected is None:
        return
    if expected == NONE_EXPECTED:
        if current is not None and current.document is not None:
            raise PolicyNotFoundException(
                f"{NOT_FOUND}Requested policy update expecting none to be present for {target}, "
                f"but a policy exists with revision id {current.revision}."
            )
    elif current is None:
        raise PolicyNotFoundException(
            f"{NOT_FOUND}Requested update for policy with revision id {expected}, "
            f"but {target} has no associated policy."
        )
    elif current.revision != expected:
        raise PolicyNotFoundException(
            f"{NOT_FOUND}Requested update for policy with revision id {expected}, but the policy associated to target "
            f"{target} has revision id {current.revision}."
        )
