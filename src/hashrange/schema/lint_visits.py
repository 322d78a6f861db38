"""A lint rule about leases: transitions that accept an object from an earlier visit of a state.

A state is a lease if another transition ends it by a comparison with one of its own fields: after `lease_until`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from hashrange.expr.nodes import Comparison, paths_of, walk
from hashrange.schema.declare import introspection
from hashrange.schema.declare.introspection import ModelClass
from hashrange.schema.declare.marker import Counted
from hashrange.schema.pattern.lint import Lint
from hashrange.schema.write.write_plan import WritePlan

State: TypeAlias = frozenset[tuple[str, str]]

PAST = {"<", "<="}  # what is on the left is over
ORDERINGS = {*PAST, ">", ">="}


def find_stale_visits(writes: list[WritePlan]) -> Iterator[Lint]:
    """Find transitions from a state to which an item can return, that compare nothing which differs then."""
    moves = {(_state_of(start), _state_of(plan.target)) for plan in writes for start in plan.start_models}
    leases = {_state_of(state) for plan in writes for state in plan.start_models if _ends_lease(plan, state)}
    for plan in writes if leases else ():
        for state in plan.start_models:
            missing = _fields_of_visit(state) - _compared(plan, state)
            is_lease = _state_of(state) in leases and _returns(_state_of(state), moves)
            if is_lease and missing and not _ends_lease(plan, state) and not _tells_visit(plan, state):
                yield Lint(
                    "HR413",
                    plan.label,
                    f"takes a {state.__name__}, to which an item can return, and does not compare "
                    f"{', '.join(sorted(missing))}: an object from before passes; take a subclass that adds a field, "
                    "or give the item a Version",
                )


def _tells_visit(plan: WritePlan, state: ModelClass) -> bool:
    """Return whether a write compares a field of the visit that is no time: two visits may begin in one second."""
    fields = introspection.stored_fields(state)
    return any(fields[name].codec.step is None for name in _fields_of_visit(state) & _compared(plan, state))


def _state_of(model: ModelClass) -> State:
    """Return what tells a state; a class that only adds fields to a state is the same state."""
    fixed = {(name, repr(value)) for name, value in introspection.fixed_values(model).items()}
    return frozenset(fixed | {(attr, key.text) for attr, key in introspection.state_keys(model).items()})


def _fields_of_visit(state: ModelClass) -> frozenset[str]:
    """Return the fields that only some states have: they belong to a visit of this one."""
    if not _state_of(state):
        return frozenset()
    item = introspection.root(introspection.item_of(state))
    always = {*introspection.stored_fields(item), *introspection.stored_fields(introspection.root(state))}
    found = introspection.stored_fields(state)
    return frozenset(
        name for name, field in found.items() if name not in always and field.required and not field.is_fixed
    )


def _ends_lease(plan: WritePlan, state: ModelClass) -> bool:
    """Return whether a write leaves a state after a time of the visit: its condition is `lease_until < {now}`."""
    if plan.condition is None or _state_of(plan.target) == _state_of(state):
        return False
    ranges = [node for node in walk(plan.condition) if isinstance(node, Comparison) and node.operator in ORDERINGS]
    attrs = {
        str(path.elements[0])
        for node in ranges
        for path in paths_of(node.left if node.operator in PAST else node.right)
    }
    fields = introspection.all_fields(state)
    return any(fields[name].stored in attrs for name in _fields_of_visit(state))


def _returns(state: State, moves: set[tuple[State, State]]) -> bool:
    """Return whether transitions lead out of a state and back to it."""
    seen: set[State] = set()
    ahead = {target for start, target in moves if start == state != target}
    while ahead:
        seen |= ahead
        ahead = {target for start, target in moves if start in ahead} - seen
    return state in seen


def _compared(plan: WritePlan, state: ModelClass) -> frozenset[str]:
    """Return the fields that the conditions of a write compare, all those of the visit if it compares a version."""
    trees = [plan.condition, *(pin.condition for pin in plan.pinned)]
    attrs = {str(path.elements[0]) for tree in trees if tree is not None for path in paths_of(tree)}
    fields = introspection.all_fields(state)
    if any(field.marker(Counted) and field.stored in attrs for field in fields.values()):
        return _fields_of_visit(state)
    inside = {name for attr, key in introspection.state_keys(state).items() if attr in attrs for name in key.fields}
    return frozenset(inside | {name for name, field in fields.items() if field.stored in attrs})
