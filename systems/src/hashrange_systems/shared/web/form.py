"""HTML forms as data: the fields, the values that they show, and the errors of each field.

A field is named by the path that its errors have. Whether a value is valid is decided by the service.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from starlette.datastructures import FormData

from hashrange_systems.shared.errors import FieldError

InputType = Literal["text", "url", "number", "area", "select", "tick", "price", "time"]
Option = tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """An input field: its path, and the texts that the user sees."""

    path: str
    label: str
    input_type: InputType = "text"
    help: str = ""
    hint: str = ""
    options: tuple[Option, ...] = ()
    short: bool = False
    required: bool = False


@dataclass(frozen=True, slots=True)
class Group:
    """Fields that belong together; a folded group is rarely needed."""

    title: str
    fields: tuple[Field, ...]
    folded: bool = False


def keep_form_values(form: FormData) -> dict[str, str]:
    """Return the posted values, to show them again."""
    return {name: value for name, value in form.multi_items() if isinstance(value, str)}


def write_value(value: object) -> str:
    """Return a value as text for the form; a checkbox is `on` or empty."""
    if isinstance(value, bool):
        return "on" if value else ""
    if isinstance(value, Mapping):
        return "\n".join(f"{name}: {text}" for name, text in value.items())
    return "" if value is None else str(value)


def read_number(text: str) -> int | str:
    """Return a whole number; other text is returned as it is, for the service to refuse."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 16 else text


def group_field_errors(errors: Iterable[FieldError], paths: Iterable[str]) -> tuple[dict[str, str], list[FieldError]]:
    """Return the errors by the field that shows them, and the errors without a field."""
    known = list(paths)
    shown: dict[str, str] = {}
    rest: list[FieldError] = []
    for error in errors:
        path = next((path for path in known if error.field == path or error.field.startswith(f"{path}.")), None)
        if path is None:
            rest.append(error)
        else:
            shown.setdefault(path, error.message)
    return shown, rest
