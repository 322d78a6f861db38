"""What must hold for a write to happen: the state that is left, the parameters that compare, that the item exists."""

from __future__ import annotations

from hashrange.expr.nodes import And, Comparison, Condition, Or, join_all, join_any, without_repeats
from hashrange.schema.declare import introspection
from hashrange.schema.declare.introspection import Kind
from hashrange.schema.declare.key_codec import key_codecs
from hashrange.schema.pattern import criterion
from hashrange.schema.pattern.criterion import Criterion
from hashrange.schema.pattern.value_source import (
    ArgumentField,
    ArgumentSource,
    FixedValue,
    KeyValue,
    LoadedValue,
    ValueSource,
)
from hashrange.schema.write.delta import Move


def require_states(move: Move) -> None:
    """Test that the item is in the state that was passed in: by the very key that was seen, so that a move fences."""
    for subject, kinds in {move.subject or "": move.sources, **move.beside}.items():
        trees = [tree for kind in kinds if (tree := _state_test(move, kind, subject)) is not None]
        if trees and len(trees) == len(kinds):  # a state that nothing tells could be any
            move.conditions.append(Criterion(join_any(without_repeats(trees))))
    if move.subject is None and move.verb in {"Delete", "Ensure"}:
        move.conditions += _shape_tests(move)


def _shape_tests(move: Move) -> list[Criterion]:
    """Return the tests that tell the state of an item that is known by its key alone."""
    tests = _fixed_tests(move, move.target)
    for attr, template in introspection.state_keys(move.target).items():
        prefix = FixedValue({"S": template.prefix})
        test = criterion.starts if template.fields else criterion.equal
        tests.append(test(attr, prefix, move.placeholders))
    return tests


def _fixed_tests(move: Move, kind: Kind) -> list[Criterion]:
    """Return the tests of the fields that have one value in a state, and of those that are never there."""
    fixed = introspection.fixed_values(kind)
    tests = [
        criterion.equal(move.fields[name].stored, FixedValue(move.fields[name].codec.encode(value)), move.placeholders)
        for name, value in fixed.items()
    ]
    absent = [found.stored for found in introspection.attributes(kind).values() if found.fixed is None]
    return tests + [criterion.never_there(stored) for stored in absent]


def _state_test(move: Move, kind: Kind, subject: str) -> Condition | None:
    tests = _fixed_tests(move, kind)
    for attr, template in introspection.state_keys(kind).items():
        key_codec = key_codecs(kind)[attr]
        sources: dict[str, ArgumentSource] = {name: ArgumentField(subject, name) for name in template.fields}
        rendered = KeyValue(key_codec, sources, len(key_codec.steps), key_codec.tail)
        value_source: ValueSource = LoadedValue(subject, attr, rendered) if template.fields else rendered
        tests.append(criterion.equal(attr, value_source, move.placeholders))
    return join_all([test.condition for test in tests])


def require_parameters(move: Move) -> None:
    """Add the tests of parameters that compare, and of `@where`."""
    for name, parameter in move.tests.items():
        move.conditions.append(criterion.compare(move.fields[name], parameter, move.placeholders))
    for expression in move.signature.wheres:
        move.conditions.append(criterion.read_where(move.signature, move.target, expression, move.placeholders))


def require_existence(move: Move) -> None:
    """See to it that an update finds its item: a phantom would be half an item."""
    implied = any(_implies_existence(found.condition) for found in move.conditions)
    if move.verb in {"Update", "Ensure"} and not implied:
        move.conditions.insert(0, criterion.exists(move.table.pk))


def _implies_existence(tree: Condition) -> bool:
    match tree:
        case Comparison():
            return tree.operator != "<>"
        case And():
            return any(map(_implies_existence, tree.operands))
        case Or():
            return all(map(_implies_existence, tree.operands))
        case _:
            return False
