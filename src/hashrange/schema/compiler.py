"""Compiles a Patterns class: reads its signatures, plans each, and checks the tables they touch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hashrange.core.errors import DeclarationError
from hashrange.schema import anatomy
from hashrange.schema.anatomy import Kind
from hashrange.schema.change import WritePlan
from hashrange.schema.check import check_table
from hashrange.schema.field import check_view
from hashrange.schema.fit import check_parameters
from hashrange.schema.plan import ReadPlan
from hashrange.schema.reading import plan_read
from hashrange.schema.shape import COMPILED
from hashrange.schema.signature import READS, read_signature
from hashrange.schema.table import Table
from hashrange.schema.writing import plan_write

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
            check_table(anatomy.table_of(kind))
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
    """Return the classes from which the items of a table and their lifecycles descend."""
    kinds = [kind for item in table.items for kind in anatomy.family(item)]
    states = [state for kind in kinds for states in anatomy.parts(kind).values() for state in states]
    return [anatomy.root(kind) for kind in (*kinds, *states)]
