"""Reads whose parameters may be left out, or are lists: the plan of a call depends on what the call gives.

Each combination of the optional parameters that may be part of a key is compiled at import, together with all optional
filters; this chooses its index. A filter that a call leaves out is dropped and never changes the index, so that such
plans are compiled when they are first needed, and always can be.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import combinations
from typing import Any

from msgspec.structs import replace

from hashrange.core.errors import DeclarationError, ValueInvalid
from hashrange.core.limits import MAX_IN_OPERANDS
from hashrange.schema.declare import introspection
from hashrange.schema.pattern import criterion
from hashrange.schema.pattern.signature import Signature
from hashrange.schema.pattern.value_source import Arguments
from hashrange.schema.read.key_range import RANGES
from hashrange.schema.read.read_compiler import plan_read
from hashrange.schema.read.read_plan import ReadPlan

MAX_OPTIONAL_KEYS = 4  # 16 plans
MAX_CALL_PLANS = 256


def plan_pattern(signature: Signature) -> ReadPlan:
    """Return the plan of a pattern that reads, with a plan for each combination of its optional key parameters."""
    optional = signature.optional
    if not optional:
        return plan_read(signature)
    keys = [name for name in optional if _may_be_in_key(signature, name)]
    if len(keys) > MAX_OPTIONAL_KEYS:
        raise DeclarationError(
            "HR219",
            signature.label,
            f"{len(keys)} parameters that may be left out are parts of keys: {', '.join(keys)}",
            f"at most {MAX_OPTIONAL_KEYS} may be: write two patterns",
        )
    filters = [name for name in optional if name not in keys]
    without, *others = (_plan_given(signature, keys, given, filters) for given in _subsets(keys))
    return replace(without, signature=signature, alternatives=tuple(others))


def _subsets(names: list[str]) -> Iterator[tuple[str, ...]]:
    for size in range(len(names) + 1):
        yield from combinations(names, size)


def _plan_given(signature: Signature, keys: list[str], given: tuple[str, ...], filters: list[str]) -> ReadPlan:
    """Return the plan of the calls that give these optional key parameters; a refusal says which calls."""
    try:
        plan = plan_read(signature.when_given({*given, *filters}))
    except DeclarationError as error:
        left_out = [name for name in keys if name not in given]
        calls = f"{error.location}, when {' and '.join(left_out)} {'is' if len(left_out) == 1 else 'are'} left out"
        raise DeclarationError(
            error.code, calls if left_out else error.location, error.problem, error.remedy
        ) from error
    return replace(plan, given=given)


def _may_be_in_key(signature: Signature, name: str) -> bool:
    """Return whether an optional parameter may be part of a key condition."""
    if signature.parameters[name].operator not in {"=", *RANGES} or name in criterion.parameters_in(signature.wheres):
        return False
    table = introspection.table_of(signature.models[0])
    models = [one for model in signature.models for one in introspection.with_variants(introspection.root(model))]
    return any(
        name in key.fields or table.naming(name) == attr
        for model in models
        for attr, key in introspection.keys(model).items()
    )


# ── calls ────────────────────────────────────────────────────────────────────────────────────────────────────────────
def plan_call(plan: ReadPlan, arguments: dict[str, Any]) -> ReadPlan:
    """Return the plan of a call. None means that a parameter is left out; lists become tuples without repeats."""
    for name in plan.signature.optional:
        if name in arguments and arguments[name] is None:
            del arguments[name]
    for name in plan.signature.lists:
        if name in arguments:
            arguments[name] = _read_list(plan, name, arguments[name])
    given = frozenset(name for name in plan.signature.optional if name in arguments)
    sizes = tuple(len(arguments[name]) if name in arguments else 0 for name in plan.signature.lists)
    known = plan.calls.get((given, sizes))
    if known is None:
        if len(plan.calls) >= MAX_CALL_PLANS:
            plan.calls.clear()
        known = plan.calls[given, sizes] = _compile_call(plan, given, arguments)
    return known


def _read_list(plan: ReadPlan, name: str, given: Collection[Any] | None) -> tuple[Any, ...]:
    if given is None or (not isinstance(given, str | bytes) and None in given):
        raise ValueInvalid(f"{plan.label}: {name} is None or contains None, which no stored value equals")
    if isinstance(given, str | bytes) or len(given) > MAX_IN_OPERANDS:
        shown = repr(given) if isinstance(given, str | bytes) else f"{len(given)} values"
        raise ValueInvalid(f"{plan.label}: {name} is {shown}: give a list of at most {MAX_IN_OPERANDS} values")
    return tuple(sorted(set(given), key=repr))  # a cursor of another process has the same order


def _compile_call(plan: ReadPlan, given: frozenset[str], arguments: Arguments) -> ReadPlan:
    keys = {name for one in plan.alternatives for name in one.given}
    chosen = next(one for one in (plan, *plan.alternatives) if set(one.given) == keys & given)
    signature = plan.signature.when_given(given)
    sized = {
        name: replace(found, count=len(arguments[name])) if found.is_list else found
        for name, found in signature.parameters.items()
    }
    compiled = plan_read(replace(signature, parameters=sized, via=chosen.path.name))
    nothing = any(found.is_list and not found.count for found in sized.values())
    return replace(compiled, given=tuple(sorted(given)), branches=() if nothing else compiled.branches)
