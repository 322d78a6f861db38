"""Filters: predicates that patterns declare, combined with `&`, `|` and `~`, and given to queries at run time.

A pattern that returns Filter is checked at import like a read; its values stand in the condition as literals.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from hashrange.core.errors import ValueInvalid
from hashrange.expr.nodes import And, Condition, Leaf, Literal, Not, Operand, Or, Placeholder, replace_leaves
from hashrange.schema.declare import introspection
from hashrange.schema.declare.model import Model, View
from hashrange.schema.pattern.criterion import Criterion, is_empty_range, ranges_in, split_ranges
from hashrange.schema.pattern.expression_text import show
from hashrange.schema.pattern.value_source import values_of

if TYPE_CHECKING:
    from hashrange.schema.declare.introspection import ModelClass
    from hashrange.schema.pattern.value_source import Arguments
    from hashrange.schema.read.read_plan import ReadPlan
    from hashrange.session.session import Session

S = TypeVar("S", bound=Model)
T_contra = TypeVar("T_contra", bound=Model, contravariant=True)


class Filter(Generic[T_contra]):
    """A condition on the items of a class, with its values: `query.filter(db.thick(250) & ~db.lent())`."""

    verb: ClassVar[str] = "Filter"

    def __init__(self, _session: Session, plan: ReadPlan, arguments: Arguments) -> None:
        if not plan.branches:
            raise ValueInvalid(f"{plan.label}: a list without values accepts nothing: give at least one")
        self.label, self.models = plan.label, plan.models
        self.condition = _bind(plan, arguments)

    def __and__(self: Filter[S], other: Filter[S]) -> Filter[S]:
        both = {**dict.fromkeys(self.models), **dict.fromkeys(other.models)}
        return _make(f"({self.label} & {other.label})", tuple(both), And((self.condition, other.condition)))

    def __or__(self: Filter[S], other: Filter[S]) -> Filter[S]:
        both = {**dict.fromkeys(self.models), **dict.fromkeys(other.models)}
        return _make(f"({self.label} | {other.label})", tuple(both), Or((self.condition, other.condition)))

    def __invert__(self) -> Filter[T_contra]:
        return _make(f"~{self.label}", self.models, Not(self.condition))

    def __str__(self) -> str:
        return show(self.condition, {})

    def check(self, plan: ReadPlan) -> None:
        """Raise for a query of another class, or of an index by which this cannot be tested."""
        if not all(issubclass(model, accepted) for model in plan.models for accepted in self.models):
            accepted = " and ".join(model.__name__ for model in self.models)
            view = next((model for model in plan.models if issubclass(model, View)), None)
            if view is not None and issubclass(introspection.item_of(view), self.models):
                raise ValueInvalid(
                    f"{self.label} is a filter of {accepted}, and {plan.label} returns the view {view.__name__} of it: "
                    f"declare one as Filter[{view.__name__}]"
                )
            raise ValueInvalid(f"{self.label} is a filter of {accepted}, and {plan.label} finds other items too")
        path, attributes = plan.path, Criterion(self.condition).attributes
        held = {*path.attributes, *path.keys, *plan.table.keys}
        lacking = [] if path.projects_all else [name for name in attributes if name not in held]
        if lacking:
            raise ValueInvalid(f"{self.label} tests {lacking[0]}, which {path.name} does not project: project it")
        keys = [name for name in attributes if name in path.keys and plan.verb != "Scan"]
        if keys:
            raise ValueInvalid(
                f"{self.label} tests {keys[0]}, a key of {path.name or 'the table'}, which cannot be filtered by: "
                f"take it as a parameter of {plan.label}"
            )


def _make(label: str, models: tuple[ModelClass, ...], condition: Condition) -> Filter[Any]:
    made: Filter[Any] = object.__new__(Filter)
    made.label, made.models, made.condition = label, models, condition
    return made


def _bind(plan: ReadPlan, arguments: Arguments) -> Condition:
    """Return the condition of a plan with the values of a call."""
    [branch] = plan.branches
    assert branch.filter is not None
    values = values_of(branch.values, arguments)

    def bind(leaf: Leaf) -> Operand:
        if not isinstance(leaf, Placeholder):
            return leaf
        if leaf.name not in values:
            raise ValueInvalid(f"{plan.label}: a value that it compares with is None")
        return Literal(values[leaf.name])

    is_empty = any(is_empty_range(low, high, arguments) for low, high in ranges_in(branch.filter, branch.values))
    bound: Condition = replace_leaves(split_ranges(branch.filter) if is_empty else branch.filter, bind)
    return bound
