"""The submission form as data: its steps and fields, and how posted fields become the form of the original system.

The steps are for people. What is valid is decided by the model, for the whole form at once; each step shows its part.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from hashrange_systems.kelifax.model.content import CONTENT_FIELDS, ContentField
from hashrange_systems.kelifax.model.field_kind import Control
from hashrange_systems.shared.errors import FieldError


@dataclass(frozen=True, slots=True, kw_only=True)
class FormField:
    """A field: the path of its value in the form, and what the visitor reads."""

    path: str
    label: str
    control: Control | Literal["email", "tel"] = "text"
    help: str = ""
    longest: int = 0
    most: int = 0  # rows of a list
    first: int = 1  # rows that are shown at once
    required: bool = True
    autocomplete: str = "off"
    options: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """The id of the element."""
        return self.path.replace(".", "-")


@dataclass(frozen=True, slots=True)
class Step:
    """A page of the form; `section` is the part of the form that it asks for."""

    title: str
    section: str
    fields: tuple[FormField, ...]


def make_field(entry: ContentField) -> FormField:
    """Return the field of a form for one of a resource."""
    kind = entry.kind
    return FormField(
        path=entry.path,
        label=entry.label,
        control=kind.control,
        help=entry.help,
        longest=kind.length[-1],
        most=kind.amount[-1],
        first=max(1, kind.amount[0]),
        required=kind.required,
        options=kind.options,
    )


def make_step(title: str, section: str) -> Step:
    """Return the page of the form for a section of the fields of a resource."""
    return Step(title, section, tuple(make_field(each) for each in CONTENT_FIELDS if each.section == section))


SUBMITTER = Step(
    "You",
    "submitter",
    (
        FormField(path="submitter.firstName", label="First name", longest=50, autocomplete="given-name"),
        FormField(path="submitter.lastName", label="Last name", longest=50, autocomplete="family-name"),
        FormField(
            path="submitter.companyEmail",
            label="E-mail address",
            control="email",
            autocomplete="email",
            help="We send a link to confirm it, and what the moderators decide.",
        ),
        FormField(path="submitter.company", label="Company", longest=100, required=False, autocomplete="organization"),
        FormField(path="submitter.phoneNumber", label="Telephone", control="tel", required=False, autocomplete="tel"),
    ),
)
CONTENT_STEPS = (make_step("The resource", "resource"), make_step("Details", "details"))  # also of other edits
STEPS = (*CONTENT_STEPS, SUBMITTER)


class PostedFields(Protocol):
    """Posted fields: the text of one, or of all of a name."""

    def text(self, name: str) -> str:
        """Return the value of a field."""

    def texts(self, name: str) -> list[str]:
        """Return the values of all fields of a name."""


def read_form(sent: PostedFields, steps: Sequence[Step] = STEPS) -> dict[str, dict[str, Any]]:
    """Return the form of the original system; fields that nobody filled in are left out of lists."""
    form: dict[str, dict[str, Any]] = {}
    for step in steps:
        values = {field.path.partition(".")[2]: read_field(sent, field) for field in step.fields}
        form[step.section] = values
    return form


def read_field(sent: PostedFields, field: FormField) -> Any:
    """Return the value of a field in the form of the original system."""
    match field.control:
        case "tags":
            return [tag for part in sent.text(field.path).split(",") if (tag := part.strip())]
        case "ticks":
            return sent.texts(field.path)
        case "lines":
            return [line for each in sent.texts(field.path) if (line := each.strip())]
        case "lessons":
            return read_lessons(sent, field.path)
        case "file":
            return sent.text(field.path) or None
        case _:
            return sent.text(field.path).strip() or None


def read_lessons(sent: PostedFields, path: str) -> list[dict[str, str]]:
    """Return the lessons of which anything was filled in."""
    columns = [sent.texts(f"{path}.{name}") for name in ("title", "url", "type")]
    rows = zip(*columns, strict=False)
    return [
        {"title": title.strip(), "url": url.strip(), "type": kind}
        for title, url, kind in rows
        if title.strip() or url.strip()
    ]


def fill_values(form: Mapping[str, Any], steps: Sequence[Step] = STEPS) -> dict[str, Any]:
    """Return the values of the form by the paths of their fields."""
    return {
        field.path: form.get(step.section, {}).get(field.path.partition(".")[2])
        for step in steps
        for field in step.fields
    }


def find_step(path: str, steps: Sequence[Step] = STEPS) -> int:
    """Return the step that shows the error of a path."""
    return next((at for at, step in enumerate(steps) if path.startswith(step.section)), 0)


def errors_until(errors: Iterable[FieldError], step: int, steps: Sequence[Step] = STEPS) -> list[FieldError]:
    """Return the errors of the steps up to this one: the later ones are not filled in yet."""
    return [error for error in errors if find_step(error.field, steps) <= step]


def name_field(path: str, steps: Sequence[Step] = STEPS) -> str:
    """Return how the visitor knows the field of an error: `Key features, entry 3`."""
    for step in steps:
        for field in step.fields:
            if path == field.path:
                return field.label
            if path.startswith((f"{field.path}[", f"{field.path}.")):
                return field.label + describe_part(path.removeprefix(field.path))
    return path


def describe_part(part: str) -> str:
    """Return the row and the column of an error in a list."""
    row, _, column = part.partition("]")
    number = row.removeprefix("[")
    entry = f", entry {int(number) + 1}" if number.isdecimal() and len(number) < 4 else ""
    return entry + (f", {column.removeprefix('.')}" if column else "")


def group_errors(errors: Iterable[FieldError], steps: Sequence[Step] = STEPS) -> dict[str, list[str]]:
    """Return the sentences of the errors by the path of the field that shows them."""
    shown: dict[str, list[str]] = {}
    for error in errors:
        field = next((field for step in steps for field in step.fields if error.field.startswith(field.path)), None)
        path = field.path if field else ""
        shown.setdefault(path, []).append(f"{name_field(error.field, steps)} {error.message}.")
    return shown
