"""The key ranges that a WHERE clause selects: one per branch, or the whole table if a branch names no partition.

If every branch has an equality (or IN) on the partition key, the branches become key ranges like those of a Query; they
may not overlap. If a condition on the sort key is not a range, such as `<>`, the whole partition is read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise, product

from hashrange.core.errors import ValidationException
from hashrange.core.keys import (
    ENCODERS,
    HASH_TOO_LONG,
    MAX_PARTITION_KEY_BYTES,
    MAX_SORT_KEY_BYTES,
    RANGE_TOO_LONG,
    KeyAttribute,
    KeyEncoder,
    message_for_empty_key,
)
from hashrange.core.values import Item, Value
from hashrange.engine.read import key_range
from hashrange.expr.key_condition_expression import KeyClause
from hashrange.expr.nodes import (
    And,
    Between,
    Comparison,
    Condition,
    DocumentPath,
    FunctionCall,
    Literal,
    Membership,
    Not,
    Or,
    paths_of,
)
from hashrange.expr.operators import COMPARATORS, MIRRORED

MAX_READS = 50
RANGE_COMPARATORS = COMPARATORS - {"<>"}
WRONG_TYPE = "Key attribute's data type should match its data type in table's schema: Key "
OVERLAP = "Overlapping conditions with range keys are not supported in where clause"
TOO_MANY = "Too many decomposed read operations for a given query."


@dataclass(frozen=True, slots=True)
class WhereBranch:
    """One alternative of a WHERE clause: the conditions on key attributes, and all other conditions."""

    keys: tuple[KeyClause, ...] = ()
    filters: tuple[Condition, ...] = ()

    def joined(self, other: WhereBranch) -> WhereBranch:
        """Return the conjunction of both branches."""
        return WhereBranch(self.keys + other.keys, self.filters + other.filters)

    def values_of(self, attribute: KeyAttribute) -> list[Value]:
        """Return the distinct values that a key attribute must equal."""
        values: list[Value] = []
        for clause in self.keys:
            if clause.attribute == attribute.name and clause.operator == "=" and clause.operands[0] not in values:
                values.append(clause.operands[0])
        return values


@dataclass(frozen=True, slots=True)
class KeyRange:
    """A range of keys to read."""

    order: bytes  # the encoded partition key, by which ranges are sorted
    low: bytes
    high: bytes
    exact: bool  # every item in it satisfies the WHERE clause


class KeyRangePlanner:
    """Finds the key ranges of a WHERE clause for the key of a table or an index."""

    def __init__(self, key_encoder: KeyEncoder) -> None:
        self.key_encoder = key_encoder
        self.hash = key_encoder.hashes[0]
        self.sort = key_encoder.ranges[0] if key_encoder.ranges else None
        self._names = {attribute.name for attribute in key_encoder.attributes}

    def branches(self, where: Condition | None) -> list[WhereBranch] | None:
        """Return the branches of a WHERE clause; None unless each of them has an equality on the partition key."""
        return None if where is None or not self._names_partition(where) else self._split(where)

    def _names_partition(self, condition: Condition) -> bool:
        match condition:
            case And():
                return any(self._names_partition(part) for part in condition.operands)
            case Or():
                return all(self._names_partition(part) for part in condition.operands) and bool(condition.operands)
        clauses = self._clauses(condition)
        return bool(clauses) and all(c.operator == "=" and c.attribute == self.hash.name for c in clauses)

    def _split(self, condition: Condition) -> list[WhereBranch]:
        if isinstance(condition, And):
            return _combine(self._split(part) for part in condition.operands)
        if isinstance(condition, Or) and self._limits_keys(condition):
            return [branch for part in condition.operands for branch in self._split(part)]
        clauses = self._clauses(condition)
        return [WhereBranch(keys=(clause,)) for clause in clauses] or [WhereBranch(filters=(condition,))]

    def _limits_keys(self, condition: Condition) -> bool:
        if isinstance(condition, And | Or):
            return any(self._limits_keys(part) for part in condition.operands)
        return bool(self._clauses(condition))

    def _clauses(self, condition: Condition) -> list[KeyClause]:
        """Return the alternatives of a condition on a key attribute; empty if it is not one."""
        match condition:
            case Comparison(operator, DocumentPath((str(name),)), Literal(value)) if operator in RANGE_COMPARATORS:
                found = [KeyClause(name, operator, (value,))]
            case Comparison(operator, Literal(value), DocumentPath((str(name),))) if operator in RANGE_COMPARATORS:
                found = [KeyClause(name, MIRRORED[operator], (value,))]
            case Between(DocumentPath((str(name),)), Literal(low), Literal(high)):
                found = [KeyClause(name, "BETWEEN", (low, high))]
            case FunctionCall("begins_with", (DocumentPath((str(name),)), Literal(prefix))):
                found = [KeyClause(name, "begins_with", (prefix,))]
            case Membership(DocumentPath((str(name),)), options):
                values = [option.value for option in options if isinstance(option, Literal)]
                found = [KeyClause(name, "=", (value,)) for value in values] if len(values) == len(options) else []
            case _:
                found = []
        return [clause for clause in found if clause.attribute in self._names]

    # -- ranges ---------------------------------------------------------------------------------------------------

    def ranges(self, branches: Sequence[WhereBranch]) -> list[KeyRange]:
        """Return the ranges to read, in the order of the keys."""
        for branch in branches:
            self._check_types(branch)
        partitions = groupby(sorted(self._ranges_of(branches), key=lambda found: found[0].order), lambda f: f[0].order)
        found = [part for _, group in partitions for part in self._merge(list(group))]
        if len(branches) > MAX_READS:
            raise ValidationException(TOO_MANY)
        return found

    def _check_types(self, branch: WhereBranch) -> None:
        limits = [(self.hash, MAX_PARTITION_KEY_BYTES)] + ([(self.sort, MAX_SORT_KEY_BYTES)] if self.sort else [])
        for attribute, limit in limits:
            for clause in branch.keys:
                for operand in clause.operands if clause.attribute == attribute.name else ():
                    _check_operand(attribute, operand, limit)

    def _ranges_of(self, branches: Iterable[WhereBranch]) -> Iterator[tuple[KeyRange, bool]]:
        """Yield the range of each branch, and whether it has a condition on the sort key that is not a range."""
        for branch in branches:
            partitions = branch.values_of(self.hash)
            low, high = key_range(self.key_encoder, partitions[:1], ())
            for clause in branch.keys:
                if self.sort and clause.attribute == self.sort.name:
                    start, end = key_range(self.key_encoder, partitions[:1], (clause,))
                    low, high = max(low, start), min(high, end)
            if len(partitions) == 1 and low < high:
                order = ENCODERS[self.hash.tag](partitions[0][self.hash.tag])
                yield KeyRange(order, low, high, self._is_exact(branch)), self._excludes_keys(branch)

    def _is_exact(self, branch: WhereBranch) -> bool:
        """Return whether the range of a branch expresses all its conditions; any other condition stays a filter.

        On the partition key a range expresses only the equality.
        """
        on_partition = (clause for clause in branch.keys if clause.attribute == self.hash.name)
        return not branch.filters and all(clause.operator == "=" for clause in on_partition)

    def _excludes_keys(self, branch: WhereBranch) -> bool:
        return any(_is_negative(condition) and self._names_sort_key(condition) for condition in branch.filters)

    def _names_sort_key(self, condition: Condition) -> bool:
        return self.sort is not None and any(path.elements[0] == self.sort.name for path in paths_of(condition))

    def _merge(self, group: list[tuple[KeyRange, bool]]) -> list[KeyRange]:
        """Return the ranges to read in one partition; one range over all of them if a branch excludes keys."""
        plain = sorted((found for found, excludes in group if not excludes), key=lambda found: found.low)
        for before, after in pairwise(plain):
            if after.low < before.high:
                raise ValidationException(OVERLAP)
        if len(plain) == len(group):
            return plain
        low, high = min(found.low for found, _ in group), max(found.high for found, _ in group)
        return [KeyRange(group[0][0].order, low, high, exact=False)]

    # -- single items ---------------------------------------------------------------------------------------------

    def single_key(self, branches: Sequence[WhereBranch] | None) -> Item | None:
        """Return the key of the item if the WHERE clause is just its key; None otherwise."""
        if branches is None or len(branches) != 1 or branches[0].filters:
            return None
        if any(clause.operator != "=" for clause in branches[0].keys):
            return None
        values = {attribute.name: branches[0].values_of(attribute) for attribute in self.key_encoder.attributes}
        return {name: found[0] for name, found in values.items()} if all(len(v) == 1 for v in values.values()) else None


def _combine(parts: Iterable[list[WhereBranch]]) -> list[WhereBranch]:
    """Return all combinations of one branch from each part; refuse before there are far too many."""
    whole = [WhereBranch()]
    for part in parts:
        if len(whole) * len(part) > MAX_READS**2:
            raise ValidationException(TOO_MANY)
        whole = [one.joined(other) for one, other in product(whole, part)]
    return whole


def _check_operand(attribute: KeyAttribute, operand: Value, limit: int) -> None:
    if attribute.tag not in operand:
        raise ValidationException(WRONG_TYPE + attribute.name)
    content = operand[attribute.tag]
    if not content:
        raise ValidationException(message_for_empty_key(attribute))
    if len(ENCODERS[attribute.tag](content)) > limit:
        raise ValidationException(HASH_TOO_LONG if limit == MAX_PARTITION_KEY_BYTES else RANGE_TOO_LONG)


def _is_negative(condition: Condition) -> bool:
    return isinstance(condition, Not) or (isinstance(condition, Comparison) and condition.operator == "<>")


def split_equalities(where: Condition | None, names: Sequence[str]) -> tuple[list[tuple[str, Value]], list[Condition]]:
    """Return the equalities on some attributes in a WHERE clause, and its other conditions."""
    equal: list[tuple[str, Value]] = []
    rest: list[Condition] = []
    pending = [] if where is None else [where]
    while pending:
        condition = pending.pop(0)
        match condition:
            case And():
                pending = [*condition.operands, *pending]
            case Comparison("=", DocumentPath((str(name),)), Literal(value)) if name in names:
                equal.append((name, value))
            case Comparison("=", Literal(value), DocumentPath((str(name),))) if name in names:
                equal.append((name, value))
            case _:
                rest.append(condition)
    return equal, rest
