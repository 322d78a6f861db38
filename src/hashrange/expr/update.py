"""Updates: compiled once per expression text, bound to a request's values, then applied to items.

Every right side reads the item before the update. Each action becomes an operation that returns the new value of its
path, or None to remove it; maps and lists on the path are copied, all else is shared with the old item. Indices are
positions before the update; elements set beyond the end of a list are appended in the order of their indices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

from hashrange.core.errors import ValidationException
from hashrange.core.values import MAX_ITEM_BYTES, Item, Value, measure, utf8_length
from hashrange.expr.functions import (
    Assignment,
    AssignmentFactory,
    Values,
    compile_assigned_operand,
    constant_getter,
    find_function,
)
from hashrange.expr.nodes import (
    Action,
    AddAction,
    Arithmetic,
    Assigned,
    DeleteAction,
    DocumentPath,
    Element,
    Elements,
    FunctionCall,
    Node,
    RemoveAction,
    SetAction,
    paths_of,
    walk,
)
from hashrange.expr.operators import EXPRESSION_ARITHMETIC, UpdateArithmetic, tag_of
from hashrange.expr.path import PathTree, document_attributes, make_getter, make_path_tree, top_level_attributes
from hashrange.expr.projection import Projection

AttributeOperation: TypeAlias = Callable[[Item], Value | None]
OperationFactory: TypeAlias = Callable[[Values], AttributeOperation]
Fetch: TypeAlias = Callable[[Values], Value]

UPDATE_TOO_LARGE = "Item size to update has exceeded the maximum allowed size"
WRONG_PATH = "The document path provided in the update expression is invalid for update"
# What the service charges a statement for, in bytes, besides what it writes.
STATEMENT_COST, WRITE_COST, REMOVAL_COST = 3, 19, 1
ARITHMETIC_COSTS = {"+": 34, "-": 37}


class ItemUpdate:
    """An update bound to its values: called with an item, it returns the new one."""

    __slots__ = ("_compiled", "_operations", "_values", "attributes", "document_attributes", "paths")

    def __init__(self, compiled: CompiledUpdate, operations: list[AttributeOperation], values: Values) -> None:
        self._compiled, self._operations, self._values = compiled, operations, values
        self.paths = compiled.paths
        self.attributes = compiled.attributes
        self.document_attributes = compiled.document_attributes

    def result_type(self, attribute: str) -> str | None:
        """Return the type that a top-level attribute will have; None if only the item shows it."""
        find = self._compiled.result_types.get(attribute)
        return None if find is None else find(self._values)

    @property
    def removes_only(self) -> bool:
        """Whether it only removes; such an update does not create an item."""
        return self._compiled.removes_only

    def __call__(self, item: Item, *, fresh: bool = False) -> Item:
        """Return the updated item; `fresh` means that the item does not exist yet and `item` is only its key."""
        compiled = self._compiled
        if compiled.names is not None:
            updated = item.copy()
            for name, operation in zip(compiled.names, self._operations, strict=True):
                value = operation(item)
                if value is not None:
                    updated[name] = value
                else:
                    updated.pop(name, None)
            return updated
        results = [operation(item) for operation in self._operations]
        return _rebuild_members(item, compiled.tree, results, compiled.removals if fresh else frozenset())

    def updated_attributes(self, item: Item) -> Item:
        """Return the updated attributes of an item, for UPDATED_OLD and UPDATED_NEW."""
        return self._compiled.updated_projection(item)

    def cost(self) -> int:
        """Return the bytes that the statement is charged for; they must not exceed the size limit of an item either."""
        charged = [measure(fetch(self._values)) for fetch in self._compiled.charged]
        return self._compiled.fixed_cost + sum(charged)


@dataclass(frozen=True, slots=True)
class CompiledUpdate:
    """An update without the values of its placeholders."""

    paths: tuple[Elements, ...]
    """The paths it changes, in the order written."""
    attributes: frozenset[str]
    """The top-level attributes it changes."""
    document_attributes: tuple[str, ...]
    """The top-level attributes that it reads or writes as documents."""
    removals: frozenset[int]
    """The positions of the actions that only remove."""
    tree: PathTree
    names: tuple[str, ...] | None
    """The attributes that it changes, if all of its paths are top-level."""
    factories: tuple[OperationFactory, ...]
    result_types: dict[str, Callable[[Values], str]]
    """The types of top-level attributes, as far as they do not depend on the item."""
    updated_projection: Projection
    fixed_cost: int
    charged: tuple[Fetch, ...]
    appends: int
    """How many calls of list_append it has; each makes a list that may be as long as an item allows."""

    @property
    def removes_only(self) -> bool:
        """Whether all actions only remove."""
        return len(self.removals) == len(self.paths)

    def bind(self, values: Values) -> ItemUpdate:
        """Return the update for a request's values."""
        operations = [make(values) for make in self.factories]
        if self.appends > 1:
            operations = _limit_growth(operations)
        return ItemUpdate(self, operations, values)


def compile_update(actions: tuple[Action, ...], arithmetic: UpdateArithmetic = EXPRESSION_ARITHMETIC) -> CompiledUpdate:
    """Return resolved (or hand-made) actions ready to be bound; raise ExpressionError if paths overlap or conflict."""
    targets = tuple(action.path for action in actions)
    flat = all(len(path.elements) == 1 for path in targets)
    read = [path for action in actions if isinstance(action, SetAction) for path in paths_of(action.value)]
    return CompiledUpdate(
        paths=tuple(path.elements for path in targets),
        attributes=top_level_attributes(targets),
        document_attributes=document_attributes([*targets, *read]),
        removals=frozenset(at for at, action in enumerate(actions) if isinstance(action, RemoveAction | DeleteAction)),
        tree=make_path_tree(targets),
        names=tuple(cast("str", path.elements[0]) for path in targets) if flat else None,
        factories=tuple(_compile_action(action, arithmetic) for action in actions),
        result_types=dict(_find_result_types(actions)),
        updated_projection=Projection(targets),
        fixed_cost=STATEMENT_COST + sum(map(_fixed_cost, actions)),
        charged=tuple(fetch for action in actions for fetch in _charged(action)),
        appends=sum(map(_is_append, actions)),
    )


def bind_update(actions: tuple[Action, ...], arithmetic: UpdateArithmetic = EXPRESSION_ARITHMETIC) -> ItemUpdate:
    """Return the update of actions that have literals instead of placeholders."""
    return compile_update(actions, arithmetic).bind({})


def _is_append(action: Action) -> bool:
    value = action.value if isinstance(action, SetAction) else None
    return isinstance(value, FunctionCall) and value.function == "list_append"


def _limit_growth(operations: list[AttributeOperation]) -> list[AttributeOperation]:
    """Return operations that refuse the update as soon as their lists together have too many elements for an item.

    An element counts at least one byte. A hundred calls of list_append took 0.9 seconds before the item was measured.
    """
    length = 0

    def limit(operation: AttributeOperation) -> AttributeOperation:
        def run(item: Item) -> Value | None:
            nonlocal length
            value = operation(item)
            length += 0 if value is None else len(value.get("L", ()))
            if length > 2 * MAX_ITEM_BYTES:  # of which the update may remove as much as an item had
                raise ValidationException(UPDATE_TOO_LARGE)
            return value

        return run

    return [limit(operation) for operation in operations]


def _rebuild_members(members: Item, tree: PathTree, results: list[Value | None], ignored: frozenset[int]) -> Item:
    rebuilt = members.copy()
    for element, below in tree.items():
        name = cast("str", element)
        value = _result(members.get(name), below, results, ignored)
        if value is not None:
            rebuilt[name] = value
        else:
            rebuilt.pop(name, None)
    return rebuilt


def _rebuild_elements(
    elements: list[Value], tree: PathTree, results: list[Value | None], ignored: frozenset[int]
) -> list[Value]:
    rebuilt: list[Value | None] = [*elements]
    for element, below in tree.items():
        index = cast("int", element)
        there = index < len(elements)
        value = _result(elements[index] if there else None, below, results, ignored)
        if there:
            rebuilt[index] = value
        else:
            rebuilt.append(value)  # the tree has indices in order
    return [value for value in rebuilt if value is not None]


def _result(
    value: Value | None, below: PathTree | int, results: list[Value | None], ignored: frozenset[int]
) -> Value | None:
    """Return the new value where a path ends, or on its way."""
    if isinstance(below, int):
        return results[below]
    tag = "L" if isinstance(next(iter(below)), int) else "M"
    content: Any = None if value is None else value.get(tag)
    if content is not None:
        rebuild: Any = _rebuild_members if tag == "M" else _rebuild_elements
        return {tag: rebuild(content, below, results, ignored)}
    if ignored.issuperset(_positions(below)):
        return value
    raise ValidationException(WRONG_PATH)


def _positions(tree: PathTree) -> Iterable[int]:
    for below in tree.values():
        if isinstance(below, int):
            yield below
        else:
            yield from _positions(below)


def _compile_action(action: Action, arithmetic: UpdateArithmetic) -> OperationFactory:
    match action:
        case SetAction():
            return _compile_assigned(action.value)
        case RemoveAction():
            return lambda _: lambda _: None
        case AddAction():
            return _compile_sum(action, arithmetic.add)
        case DeleteAction():
            return _compile_sum(action, arithmetic.remove)


def _find_result_types(actions: Iterable[Action]) -> Iterator[tuple[str, Callable[[Values], str]]]:
    """Yield the top-level attributes whose new types the actions alone decide."""
    for action in actions:
        if len(action.path.elements) > 1 or isinstance(action, RemoveAction):
            continue
        find = _find_type(action.value)
        if find is not None:
            yield str(action.path.elements[0]), find


def _find_type(value: Assigned) -> Callable[[Values], str] | None:
    if isinstance(value, Arithmetic):
        return lambda _: "N"
    if isinstance(value, FunctionCall) and value.function == "list_append":
        return lambda _: "L"
    fetch = constant_getter(value)
    return None if fetch is None else lambda values: tag_of(fetch(values))


def _compile_sum(
    action: AddAction | DeleteAction, combine: Callable[[Value | None, Value], Value | None]
) -> OperationFactory:
    get, fetch = make_getter(action.path.elements), constant_getter(action.value)
    assert fetch is not None

    def make(values: Values) -> AttributeOperation:
        operand = fetch(values)
        return lambda item: combine(get(item), operand)

    return make


# -- right sides of SET -----------------------------------------------------------------------------------------------


def _compile_assigned(value: Assigned) -> AssignmentFactory:
    """Return the factory of a right side; what it makes gives the value to assign for an item."""
    if not isinstance(value, Arithmetic):
        return compile_assigned_operand(value)
    make_left, make_right = _compile_assigned(value.left), _compile_assigned(value.right)
    combine = EXPRESSION_ARITHMETIC.plus if value.operator == "+" else EXPRESSION_ARITHMETIC.minus

    def make(values: Values) -> Assignment:
        get, other = make_left(values), make_right(values)
        return lambda item: combine(get(item), other(item))

    return make


# -- costs ------------------------------------------------------------------------------------------------------------


def _fixed_cost(action: Action) -> int:
    """Return the cost of an action without the values of the request."""
    first, *rest = action.path.elements
    target = _element_cost(first) + sum(4 + _element_cost(element) for element in rest)
    if isinstance(action, RemoveAction | DeleteAction):
        return REMOVAL_COST + target
    operands = sum(map(_node_cost, walk(action.value))) if isinstance(action, SetAction) else 0
    return WRITE_COST + target + operands


def _node_cost(node: Node) -> int:
    """Return the bytes that a node on a right side is charged for, without the values of the request."""
    match node:
        case DocumentPath():
            return 1 + sum(14 + _element_cost(element) for element in node.elements)
        case FunctionCall():
            return find_function(node.function).cost
        case Arithmetic():
            return ARITHMETIC_COSTS[node.operator]
        case _:
            return 0


def _element_cost(element: Element) -> int:
    """Return the bytes that an element of a path is charged for: those of its name, or its digits."""
    return utf8_length(str(element))


def _charged(action: Action) -> Iterable[Fetch]:
    """Yield getters of the values that an action is charged for, once for each use."""
    if isinstance(action, SetAction | AddAction):
        for node in walk(action.value):
            fetch = constant_getter(node)
            if fetch is not None:
                yield fetch
