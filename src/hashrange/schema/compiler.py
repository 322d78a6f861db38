"""Compiles a Patterns class: reads each signature, checks the tables it uses, and makes its plan."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hashrange.core.errors import DeclarationError
from hashrange.schema.declare import introspection
from hashrange.schema.declare.field_check import check_view
from hashrange.schema.declare.introspection import ModelClass
from hashrange.schema.declare.model import COMPILED
from hashrange.schema.declare.table import Table
from hashrange.schema.declare.table_check import check_table
from hashrange.schema.pattern.parameter_types import check_parameters
from hashrange.schema.pattern.signature import READS, is_declared_as_pattern, read_signature
from hashrange.schema.read.optional_parameters import plan_pattern
from hashrange.schema.read.read_plan import ReadPlan
from hashrange.schema.write.write_compiler import plan_write
from hashrange.schema.write.write_plan import WritePlan

Plan = ReadPlan | WritePlan


def compile_patterns(cls: type, tenant: str | None, taken: frozenset[str], scope: Mapping[str, Any]) -> dict[str, Plan]:
    """Return the plan of each pattern that a class declares; refuse what cannot work."""
    plans: dict[str, Plan] = {}
    for name, function in dict(vars(cls)).items():
        if name.startswith("_") or not callable(function):
            continue
        if name in taken:
            raise DeclarationError(
                "HR200", f"{cls.__name__}.{name}", "is a name that every Patterns class has", "rename it"
            )
        if isinstance(function, type):  # such as a model that patterns take
            continue
        signature = read_signature(cls.__name__, function, tenant, scope)
        for model in signature.models:
            check_table(introspection.table_of(model))
        for model in (*signature.models, *(model for found in signature.parameters.values() for model in found.models)):
            check_view(model)
            introspection.pin_item(model)
        check_parameters(signature)
        plans[name] = plan_pattern(signature) if signature.verb in READS else plan_write(signature)
    for plan in plans.values():
        plan.table.plans.extend((plan, *plan.alternatives) if isinstance(plan, ReadPlan) else (plan,))
    for table in dict.fromkeys(plan.table for plan in plans.values()):
        roots = _roots(table)
        for model in roots:
            introspection.pin_item(model)
        COMPILED.update({table, *roots})
    return plans


def check_inherited(cls: type, plans: Mapping[str, Plan]) -> None:
    """Refuse a pattern of a base class that compiles none: calling it would return None, and do nothing."""
    for base in cls.__mro__[1:]:
        for name, function in vars(base).items() if "plans" not in vars(base) else ():
            if callable(function) and name not in plans and is_declared_as_pattern(function):
                raise DeclarationError(
                    "HR265",
                    f"{cls.__name__}.{name}",
                    f"is inherited from {base.__name__}, which compiles no patterns: a call would do nothing",
                    f"write class {base.__name__}(Patterns, Protocol), or declare the pattern in {cls.__name__}",
                )


def _roots(table: Table) -> list[ModelClass]:
    """Return the base classes of the items of a table and of their states."""
    models = [model for item in introspection.items_of(table) for model in introspection.with_variants(item)]
    states = [state for model in models for states in introspection.lifecycles(model).values() for state in states]
    return [introspection.root(model) for model in (*models, *states)]
