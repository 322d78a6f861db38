"""What is wrong with an expression, in DynamoDB's words; whoever knows the parameter's name puts it in front."""

from __future__ import annotations

from hashrange.core.errors import RequestInvalid


class ExpressionError(ValueError):
    """An expression that DynamoDB refuses; `text` lacks the `Invalid ...Expression: ` in front."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text

    def service_error(self, parameter: str) -> RequestInvalid:
        """Return the refusal as worded for a request's parameter, such as FilterExpression."""
        return RequestInvalid(f"Invalid {parameter}: {self.text}")
