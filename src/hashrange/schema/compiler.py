"""Compiles a Patterns class: reads each signature, checks the tables it uses, and makes its plan."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hashrange.core.errors import DeclarationError
from hashrange.schema.declare import introspection
from hashrange.schema.declare.field_check import check_view
from hashrange.schema.declare.introspection import Kind
from hashrange.schema.declare.shape import COMPILED
from hashrange.schema.declare.table import Table
from hashrange.schema.declare.table_check import check_table
from hashrange.schema.pattern.parameter_types import check_parameters
from hashrange.schema.pattern.signature import READS, read_signature
from hashrange.schema.read.read_compiler import plan_read
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
        signature = read_signature(cls.__name__, function, tenant, scope)
        for kind in signature.kinds:
            check_table(introspection.table_of(kind))
        for kind in (*signature.kinds, *(kind for found in signature.parameters.values() for kind in found.shapes)):
            check_view(kind)
        check_parameters(signature)
        plans[name] = plan_read(signature) if signature.verb in READS else plan_write(signature)
    for plan in plans.values():
        plan.table.plans.append(plan)
    for table in dict.fromkeys(plan.table for plan in plans.values()):
        COMPILED.update({table, *_roots(table)})
    return plans


def _roots(table: Table) -> list[Kind]:
    """Return the base classes of the items of a table and of their states."""
    kinds = [kind for item in introspection.items_of(table) for kind in introspection.with_variants(item)]
    states = [state for kind in kinds for states in introspection.lifecycles(kind).values() for state in states]
    return [introspection.root(kind) for kind in (*kinds, *states)]
