"""Compiles a Patterns class: reads its signatures, plans each, and checks the tables they touch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hashrange.core.errors import DeclarationError
from hashrange.schema import anatomy
from hashrange.schema.change import WritePlan
from hashrange.schema.check import check_table
from hashrange.schema.plan import ReadPlan
from hashrange.schema.reading import plan_read
from hashrange.schema.shape import COMPILED
from hashrange.schema.signature import READS, read_signature
from hashrange.schema.writing import plan_write

Plan = ReadPlan | WritePlan


def compile_patterns(cls: type, tenant: str | None, taken: frozenset[str], scope: Mapping[str, Any]) -> dict[str, Plan]:
    """Return the plan of each pattern that a class declares; refuse what cannot work."""
    anatomy.forget()
    plans: dict[str, Plan] = {}
    for name, function in dict(vars(cls)).items():
        if name.startswith("_") or not callable(function):
            continue
        if name in taken:
            raise DeclarationError(
                "HR200", f"{cls.__name__}.{name}", "is a method that every Patterns class has", "rename it"
            )
        signature = read_signature(cls.__name__, function, tenant, scope)
        for table in dict.fromkeys(anatomy.table_of(kind) for kind in signature.kinds):
            check_table(table)
        plans[name] = plan_read(signature) if signature.verb in READS else plan_write(signature)
    for table in dict.fromkeys(plan.table for plan in plans.values()):
        COMPILED.update(anatomy.root(item) for item in table.items)
    return plans
