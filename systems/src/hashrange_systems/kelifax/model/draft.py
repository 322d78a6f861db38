"""What somebody submits: the form of the original system (`submitter`, `resource`, `details`), checked field by field.

`parse_draft` reports every wrong field at once, with its path in the form: `details.keyFeatures[2]`. Only the fields of
the form are accepted: nobody sets a status or a counter with it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hashrange_systems.kelifax.model.content import CONTENT_FIELDS, Content, ContentField
from hashrange_systems.kelifax.model.field_rule import Checker, warn_of_phone
from hashrange_systems.shared.errors import InvalidInput

CONTENT_SECTIONS: Mapping[str, frozenset[str]] = {
    section: frozenset(each.name for each in CONTENT_FIELDS if each.section == section)
    for section in dict.fromkeys(each.section for each in CONTENT_FIELDS)
}
SECTIONS: Mapping[str, frozenset[str]] = {
    "submitter": frozenset({"firstName", "lastName", "companyEmail", "company", "phoneNumber"}),
    **CONTENT_SECTIONS,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Submitter:
    """Who submits; personal data, for moderators only."""

    first_name: str
    last_name: str
    email: str
    domain: str
    company: str | None = None
    phone: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A valid submission, with what a moderator should look at."""

    submitter: Submitter
    content: Content
    warnings: tuple[str, ...] = ()

    def to_form(self) -> dict[str, Any]:
        """Return the form that this draft was parsed from."""
        who = self.submitter
        return {
            "submitter": {
                "firstName": who.first_name,
                "lastName": who.last_name,
                "companyEmail": who.email,
                "company": who.company,
                "phoneNumber": who.phone,
            },
            **split_fields(self.content.to_fields()),
        }


def parse_draft(form: object) -> Draft:
    """Return the draft of a form; raise InvalidInput with all errors."""
    check = Checker()
    sections = check.read_sections(form, SECTIONS)
    submitter = _parse_submitter(check, sections["submitter"])
    content = Content(**_parse_values(check, sections))
    if check.errors:
        raise InvalidInput(check.errors)
    assert submitter is not None
    return Draft(submitter=submitter, content=content, warnings=(*check.warnings, *_warn(content)))


def find_warnings(content: Content, phone: str | None) -> tuple[str, ...]:
    """Return what moderators should look at before they list a stored resource."""
    found = (warn_of_phone(phone) if phone else None, *_warn(content))
    return tuple(warning for warning in found if warning)


def _warn(content: Content) -> list[str]:
    warnings = (each.kind.warn(each.value_of(content)) for each in CONTENT_FIELDS)
    return [warning for warning in warnings if warning]


def parse_content(form: object) -> Content:
    """Return the content of a form without its submitter: of a resubmission, or of an owner's edit."""
    return Content(**_parse_form(form, CONTENT_FIELDS))


def _parse_form(form: object, chosen: Sequence[ContentField]) -> dict[str, Any]:
    """Return the values of these fields of a form, by attribute; raise InvalidInput with all errors."""
    check = Checker()
    values = _parse_values(check, check.read_sections(form, CONTENT_SECTIONS), chosen)
    if check.errors:
        raise InvalidInput(check.errors)
    return values


def _parse_values(
    check: Checker, sections: Mapping[str, Mapping[str, Any]], chosen: Sequence[ContentField] = CONTENT_FIELDS
) -> dict[str, Any]:
    values = {}
    for each in chosen:
        check.section = each.section
        values[each.attribute] = each.kind.parse(check, sections[each.section], each.name)
    return values


def parse_fields(fields: Mapping[str, Any]) -> Content:
    """Return the content of flat fields, as `Content.to_fields` makes them; raise InvalidInput with all errors."""
    return parse_content(split_fields(fields))


def split_fields(fields: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return flat fields in the sections of the form; an unknown one is put where it is refused."""
    details = {name: value for name, value in fields.items() if name in CONTENT_SECTIONS["details"]}
    return {"resource": {name: value for name, value in fields.items() if name not in details}, "details": details}


def _parse_submitter(check: Checker, given: Mapping[str, Any]) -> Submitter | None:
    check.section = "submitter"
    first, last = check.name(given, "firstName"), check.name(given, "lastName")
    address = check.email(given, "companyEmail")
    company = check.optional_text(given, "company", 100)
    phone = check.phone(given, "phoneNumber")
    if address is None:
        return None
    return Submitter(
        first_name=first, last_name=last, email=address.text, domain=address.domain, company=company, phone=phone
    )


def apply_changes(current: Content, fields: Mapping[str, Any]) -> Content:
    """Return content with some fields changed; only what differs must obey the rules, which the original had not."""
    changed = find_changes(current.to_fields(), fields)
    chosen = [each for each in CONTENT_FIELDS if each.name in changed]
    return replace(current, **_parse_form(split_fields(changed), chosen))


def find_changes(base: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of `wanted` that differ from `base`."""
    return {name: value for name, value in wanted.items() if base.get(name) != value}
