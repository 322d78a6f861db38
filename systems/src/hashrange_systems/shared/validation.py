"""What is wrong with a field, as short rules that follow its name: texts for the errors of pydantic, and choices."""

from __future__ import annotations

from typing import TypeVar

from hashrange_systems.shared.errors import FieldError, InvalidInput

Choice = TypeVar("Choice", bound=str)

MESSAGES = {
    "missing": "is required",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_parsing_size": "must be a whole number of reasonable size",
    "int_from_float": "must be a whole number",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "string_type": "must be text",
    "string_unicode": "must be valid Unicode",
    "dict_type": "must be a map of names to texts",
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le}",
    "string_too_short": "must not be empty",
    "string_too_long": "must be at most {max_length} characters",
    "literal_error": "must be one of {expected}",
    "value_error": "{error}",
}


def parse_choice(field: str, text: str, choices: tuple[Choice, ...]) -> Choice:
    """Return one of some choices; raise InvalidInput."""
    for choice in choices:
        if choice == text:
            return choice
    raise InvalidInput([FieldError(field, f"must be one of {', '.join(choices)}")])
