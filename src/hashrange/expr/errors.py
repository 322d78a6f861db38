"""The error of an invalid expression, with DynamoDB's text; the caller adds the name of the parameter."""

from __future__ import annotations

from hashrange.core.errors import RequestInvalid


class ExpressionError(ValueError):
    """An expression that DynamoDB refuses; `text` is without the prefix `Invalid ...Expression: `."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text

    def service_error(self, parameter: str) -> RequestInvalid:
        """Return the service error for a parameter of the request, such as FilterExpression."""
        return RequestInvalid(f"Invalid {parameter}: {self.text}")
