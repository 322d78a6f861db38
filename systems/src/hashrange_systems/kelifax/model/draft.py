"""What somebody submits: the form of the original system (`submitter`, `resource`, `details`), checked field by field.

`parse_draft` reports every wrong field at once, with its path in the form: `details.keyFeatures[2]`. Only the fields of
the form are accepted: nobody sets a status or a counter with it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hashrange_systems.kelifax.model.field_rule import Checker, warn_of_phone
from hashrange_systems.kelifax.model.search_text import make_search_text
from hashrange_systems.kelifax.model.web_address import warn_of_host
from hashrange_systems.shared.errors import InvalidInput

CATEGORIES = ("development", "design", "productivity", "learning", "ai", "analytics", "other")
PRICING = ("free", "open source", "freemium", "paid")
LESSON_TYPES = ("documentation", "tutorial", "video", "course")

SECTIONS = {
    "submitter": frozenset({"firstName", "lastName", "companyEmail", "company", "phoneNumber"}),
    "resource": frozenset({
        "resourceName", "resourceUrl", "usagePurpose", "category", "logoImage", "tags", "pricing",
    }),
    "details": frozenset({"keyFeatures", "useCases", "learningResources"}),
}  # fmt: skip


CONTENT_NAMES = {
    "resourceName": "name",
    "resourceUrl": "url",
    "usagePurpose": "purpose",
    "category": "category",
    "logoImage": "logo",
    "tags": "tags",
    "pricing": "pricing",
    "keyFeatures": "features",
    "useCases": "use_cases",
    "learningResources": "lessons",
}  # fields of `Content` by the names of the form
VALID_FIELDS: Mapping[str, Any] = {
    "resourceName": "name",
    "resourceUrl": "https://example.com/",
    "usagePurpose": "a purpose that is valid",
    "category": "other",
    "keyFeatures": ["feature one", "feature two", "feature three"],
    "useCases": ["use case number one", "use case number two"],
}  # means fields that do not change


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
class Content:
    """What a resource says about itself; everything here is public once it is approved."""

    name: str
    url: str
    purpose: str
    category: str
    logo: str | None = None
    tags: tuple[str, ...] = ()
    pricing: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    use_cases: tuple[str, ...] = ()
    lessons: tuple[Mapping[str, str], ...] = ()

    @property
    def search_text(self) -> str:
        """The text that searches look into."""
        return make_search_text(self.name, self.tags, self.category, self.features)

    def to_fields(self) -> dict[str, Any]:
        """Return the content under the names of the stored attributes, with JSON types."""
        return {
            "resourceName": self.name,
            "resourceUrl": self.url,
            "usagePurpose": self.purpose,
            "category": self.category,
            "logoImage": self.logo,
            "tags": list(self.tags),
            "pricing": sorted(self.pricing),
            "keyFeatures": list(self.features),
            "useCases": list(self.use_cases),
            "learningResources": [dict(lesson) for lesson in self.lessons],
        }

    def to_update(self, changed: Collection[str] | None = None) -> dict[str, Any]:
        """Return the content as parameters of the patterns that write it; with `changed` only of these fields."""
        update = {
            "resourceName": ("resource_name", self.name),
            "resourceUrl": ("resource_url", self.url),
            "usagePurpose": ("usage_purpose", self.purpose),
            "category": ("category", self.category),
            "logoImage": ("logo_image", self.logo),
            "tags": ("tags", list(self.tags)),
            "pricing": ("pricing", set(self.pricing)),
            "keyFeatures": ("key_features", list(self.features)),
            "useCases": ("use_cases", list(self.use_cases)),
            "learningResources": ("learning_resources", [dict(lesson) for lesson in self.lessons]),
        }
        chosen = dict(pair for name, pair in update.items() if changed is None or name in changed)
        return chosen | {"search_text": self.search_text}


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A valid submission, with what a moderator should look at."""

    submitter: Submitter
    content: Content
    warnings: tuple[str, ...] = ()

    def to_form(self) -> dict[str, Any]:
        """Return the form that this draft was parsed from."""
        who, fields = self.submitter, self.content.to_fields()
        return {
            "submitter": {
                "firstName": who.first_name,
                "lastName": who.last_name,
                "companyEmail": who.email,
                "company": who.company,
                "phoneNumber": who.phone,
            },
            **split_fields(fields),
        }


def parse_draft(form: object) -> Draft:
    """Return the draft of a form; raise InvalidInput with all errors."""
    check = Checker()
    sections = check.read_sections(form, SECTIONS)
    submitter = _parse_submitter(check, sections["submitter"])
    content = _parse_content(check, sections["resource"], sections["details"])
    if check.errors:
        raise InvalidInput(check.errors)
    assert submitter is not None
    warning = warn_of_host(content.url)
    return Draft(submitter=submitter, content=content, warnings=(*check.warnings, *([warning] if warning else [])))


def find_warnings(url: str, phone: str | None) -> tuple[str, ...]:
    """Return what moderators should look at before they list a stored resource."""
    found = (warn_of_phone(phone) if phone else None, warn_of_host(url))
    return tuple(warning for warning in found if warning)


def parse_content(form: object) -> Content:
    """Return the content of a form without its submitter: of a resubmission, or of an owner's edit."""
    check = Checker()
    sections = check.read_sections(form, {name: SECTIONS[name] for name in ("resource", "details")})
    content = _parse_content(check, sections["resource"], sections["details"])
    if check.errors:
        raise InvalidInput(check.errors)
    return content


def parse_fields(fields: Mapping[str, Any]) -> Content:
    """Return the content of flat fields, as `Content.to_fields` makes them; raise InvalidInput with all errors."""
    return parse_content(split_fields(fields))


def split_fields(fields: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return flat fields in the sections of the form; an unknown one is put where it is refused."""
    details = {name: value for name, value in fields.items() if name in SECTIONS["details"]}
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


def _parse_content(check: Checker, resource: Mapping[str, Any], details: Mapping[str, Any]) -> Content:
    check.section = "resource"
    name = check.text(resource, "resourceName", range(3, 101))
    url = check.url(resource, "resourceUrl")
    purpose = check.text(resource, "usagePurpose", range(20, 501), lines=True)
    category = check.choice(resource, "category", CATEGORIES)
    logo = check.file_name(resource, "logoImage")
    tags = check.texts(resource, "tags", range(11), range(1, 31), without=",|")
    pricing = check.choices(resource, "pricing", PRICING)
    check.section = "details"
    features = check.texts(details, "keyFeatures", range(3, 11), range(10, 201), without="|")
    use_cases = check.texts(details, "useCases", range(2, 9), range(15, 301), without="|")
    lessons = check.lessons(details, "learningResources", LESSON_TYPES)
    return Content(
        name=name,
        url=url,
        purpose=purpose,
        category=category,
        logo=logo,
        tags=tags,
        pricing=pricing,
        features=features,
        use_cases=use_cases,
        lessons=lessons,
    )


def apply_changes(current: Content, fields: Mapping[str, Any]) -> Content:
    """Return content with some fields changed; only what differs must obey the rules, which the original had not."""
    changed = find_changes(current.to_fields(), fields)
    valid = parse_fields({**VALID_FIELDS, **changed})
    return replace(current, **{CONTENT_NAMES[name]: getattr(valid, CONTENT_NAMES[name]) for name in changed})


def find_changes(base: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of `wanted` that differ from `base`."""
    return {name: value for name, value in wanted.items() if base.get(name) != value}


def normalise_tags(tags: Sequence[str]) -> list[str]:
    """Return tags as pages and links spell them: lower case, one space between words."""
    return list(dict.fromkeys(" ".join(tag.lower().split()) for tag in tags if tag.strip()))
