"""Mounts the patterns of a class into other tables, so that one declaration serves several, each under its own name.

A mounted table has the items, keys and options of the declared one. Plans are compiled once, for the declared table; a
class that is mounted has copies of them which name the other table.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from hashrange.core.errors import DeclarationError
from hashrange.schema.compiler import Plan
from hashrange.schema.declare.model import COMPILED
from hashrange.schema.declare.table import Table
from hashrange.schema.write.write_plan import WritePlan


def mount_tables(location: str, inherited: Iterable[Table], names: Mapping[Table, str] | None) -> dict[Table, Table]:
    """Return the table that a class uses in place of each declared one whose patterns it inherits.

    `inherited` are the tables of all classes that it inherits from, `names` those to which it gives another name.
    """
    names = {} if names is None else names
    _check_names(location, names)
    found: dict[Table, Table] = {}
    for table in inherited:
        other = found.setdefault(table.declared, table)
        if other is not table and table.declared not in names:
            raise DeclarationError(
                "HR169",
                location,
                f"inherits patterns of the table {table.declared.name} as {other.name} and as {table.name}",
                'drop one of the classes, or choose the name: names={the_table: "..."}',
            )
    for table, name in names.items():
        if table not in found:
            used = ", ".join(sorted(each.name for each in found))
            raise DeclarationError(
                "HR168",
                location,
                f"gives a name to the table {table.name}, of which it inherits no pattern",
                f"name one of {used}" if used else "inherit from the Patterns class whose patterns use it",
            )
        found[table] = table.mount(name)
        COMPILED.add(found[table])
    return found


def _check_names(location: str, names: object) -> None:
    """Refuse what is no dict of tables and their names."""
    if not (isinstance(names, Mapping) and all(isinstance(table, Table) for table in names)):
        raise DeclarationError(
            "HR171", location, f"has names={names!r}", 'give the declared tables with their names: {the_table: "..."}'
        )


def mount_plan(plan: Plan, tables: Mapping[Table, Table]) -> Plan:
    """Return a plan for the table that is used in place of its own; the plan itself if that is the same."""
    table = tables.get(plan.table.declared, plan.table)
    if table is plan.table:
        return plan
    signature = replace(plan.signature, table=table)
    if isinstance(plan, WritePlan):
        return replace(plan, table=table, signature=signature)
    alternatives = (
        replace(one, table=table, signature=replace(one.signature, table=table)) for one in plan.alternatives
    )
    return replace(plan, table=table, signature=signature, alternatives=tuple(alternatives))


def check_names_differ(location: str, tables: Iterable[Table]) -> None:
    """Refuse a mounted table with the name of another table of the class: nothing would distinguish their items."""
    seen: dict[str, Table] = {}
    for table in tables:
        other = seen.setdefault(table.default_name, table)
        if other is not table and (other.is_mounted or table.is_mounted):
            raise DeclarationError(
                "HR170",
                location,
                f"has two tables named {table.default_name}: {other.declared.name} and {table.declared.name}",
                "give each a name of its own in names=",
            )
