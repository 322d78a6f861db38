"""Read plans: values that build the requests of a pattern from its arguments, and explain them.

A plan has no connection and sends nothing: `read_compiler` makes it, the session runs it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from hashrange.core.values import Item as Raw
from hashrange.core.values import Value
from hashrange.core.wire import Wire
from hashrange.expr.nodes import And, Between, Comparison, Condition, FunctionCall, join_all, paths_of
from hashrange.expr.path import top_level_attributes
from hashrange.schema.declare import hint as hints
from hashrange.schema.declare import introspection
from hashrange.schema.declare.introspection import ModelClass
from hashrange.schema.declare.key_template import HIGHEST
from hashrange.schema.declare.table import Gsi, Table
from hashrange.schema.declare.variant_fields import distinguished_by_fields, required_fields
from hashrange.schema.pattern.criterion import placeholders_in
from hashrange.schema.pattern.expression_text import Aliases, show, used_values
from hashrange.schema.pattern.lint import Lint
from hashrange.schema.pattern.signature import Signature
from hashrange.schema.pattern.value_source import Arguments, KeyValue, Placeholders, ValueSource, values_of
from hashrange.schema.read.key_range import RangeCheck

if TYPE_CHECKING:
    from hashrange.expr.condition import CompiledPredicate, Predicate


class Branch(Struct, frozen=True, dict=True):
    """One Query or Scan: the fixed part of its request, and the sources of its values."""

    key: Condition | None
    filter: Condition | None
    request: Wire
    values: Mapping[str, ValueSource]  # by placeholder
    constants: Mapping[str, Value]
    models: tuple[ModelClass, ...]  # what its items are read as
    sort: Condition | None = None  # the part of the key condition about the sort key
    check: RangeCheck | None = None  # of what the condition on the sort key finds
    is_exact: bool = False  # no row of another declared class meets the key condition and the filter

    def build(self, arguments: Arguments) -> Wire:
        """Return the request of a call, without what the session adds."""
        values = {**values_of(self.values, arguments), **self.constants}
        return {**self.request, "ExpressionAttributeValues": values} if values else dict(self.request)

    def bounds(self, arguments: Arguments) -> tuple[Value | None, Value | None]:
        """Return the lowest and the highest sort key that it may find; None where there is no bound."""
        values = [self.values[name].value(arguments) for name in placeholders_in(self.sort)]
        match self.sort, values:
            case (Comparison(operator="="), [value]) | (FunctionCall(), [value]) if value is not None:
                return value, {tag: content + HIGHEST for tag, content in value.items() if tag == "S"} or None
            case Between(), [low, high]:
                return low, high
            case Comparison(operator=">" | ">="), [low]:
                return low, None
            case Comparison(operator="<" | "<="), [high]:
                return None, high
        return None, None

    @cached_property
    def ranges(self) -> tuple[tuple[ValueSource, ValueSource], ...]:
        """The ends of the ranges that every item must be in."""
        trees = [tree for tree in (self.key, self.filter) if tree is not None]
        parts = [part for tree in trees for part in (tree.operands if isinstance(tree, And) else (tree,))]
        names = [placeholders_in(part) for part in parts if isinstance(part, Between)]
        return tuple(
            (self.values[low], self.values[high]) for low, high in (found for found in names if len(found) > 1)
        )

    @cached_property
    def filter_attributes(self) -> frozenset[str]:
        """The attributes that the filter names."""
        return frozenset() if self.filter is None else top_level_attributes(tuple(paths_of(self.filter)))

    @cached_property
    def without_filter(self) -> Branch:
        """The branch without filter and projection: for an index that lacks an attribute which they name."""
        return self._with_filter(None)

    @cached_property
    def without_projection(self) -> Branch:
        """The branch without projection: for a request that counts."""
        return self._with_filter(self.filter)

    def with_filter(self, condition: Condition, projected: Iterable[str]) -> Branch:
        """Return a branch with one more filter."""
        filters = [condition] if self.filter is None else [self.filter, condition]
        return self._with_filter(join_all(filters), projected)

    def _with_filter(self, found: Condition | None, projected: Iterable[str] = ()) -> Branch:
        """Return a branch with another filter and projection."""
        aliases = Aliases()
        base = {name: value for name, value in self.request.items() if name in {"IndexName", "ScanIndexForward"}}
        request = _fixed_request(aliases, base, key=self.key, found=found, projected=projected)
        names = {*placeholders_in(self.key), *placeholders_in(found)}
        values = {name: value_source for name, value_source in self.values.items() if name in names}
        return replace(self, filter=found, request=request, values=values, constants=aliases.constants)

    @cached_property
    def compiled_filter(self) -> CompiledPredicate:
        """The filter, for a caller that evaluates it; there must be one."""
        from hashrange.expr.condition import compile_condition

        assert self.filter is not None
        return compile_condition(self.filter)

    def filter_by(self, arguments: Arguments) -> Predicate:
        """Return the filter with the values of a call, as a predicate over items."""
        return self.compiled_filter.bind(values_of(self.values, arguments))


class ReadPlan(Struct, frozen=True, dict=True):
    """A Get, Query, Latest or Scan."""

    label: str
    name: str
    verb: str
    models: tuple[ModelClass, ...]
    table: Table
    path: Gsi
    branches: tuple[Branch, ...]
    key: Mapping[str, ValueSource]  # of a Get
    check_values: Mapping[str, ValueSource]
    check_tree: Condition | None  # of a Get: the condition besides the key
    projected: tuple[str, ...]  # the attributes requested; empty for all
    needs: tuple[str, ...]
    filtered: bool  # more is read than is returned
    signature: Signature
    given: tuple[str, ...] = ()  # the optional parameters that its calls give
    alternatives: tuple[ReadPlan, ...] = ()  # the plans of calls that give optional parameters which are parts of keys

    @cached_property
    def calls(self) -> dict[tuple[frozenset[str], tuple[int, ...]], ReadPlan]:
        """The plans of calls so far: by the optional parameters that they gave, and the sizes of lists."""
        return {}

    @property
    def depends_on_call(self) -> bool:
        """Whether calls differ in more than their values."""
        return bool(self.signature.optional or self.signature.lists)

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of its parameters, in order."""
        return tuple(self.signature.parameters)

    @property
    def required(self) -> frozenset[str]:
        """The parameters that cannot be left out."""
        return frozenset(self.signature.parameters) - set(self.signature.optional)

    @property
    def has_checks(self) -> bool:
        """Whether values are checked before it reads."""
        return bool(self.checked)

    @property
    def checked(self) -> Mapping[str, Any]:
        """The types of the values that are checked before it reads."""
        return self.signature.checked

    @cached_property
    def check(self) -> CompiledPredicate | None:
        """The compiled condition of a Get besides its key, which is evaluated on the client."""
        from hashrange.expr.condition import compile_condition

        return None if self.check_tree is None else compile_condition(self.check_tree)

    @property
    def lints(self) -> tuple[Lint, ...]:
        """The findings about this pattern alone."""
        return tuple(_lint_read(self))

    def with_filter(self, condition: Condition) -> ReadPlan:
        """Return the plan with one more filter."""
        branches = tuple(branch.with_filter(condition, self.projected) for branch in self.branches)
        return replace(self, branches=branches, filtered=True)

    @property
    def finds_only_its_models(self) -> bool:
        """Whether no row of another declared class meets the key conditions and filters."""
        return all(branch.is_exact for branch in self.branches)

    @property
    def forward(self) -> bool:
        """Whether items come in ascending order."""
        return self.verb != "Latest"

    def key_of(self, arguments: Arguments) -> Raw:
        """Return the key of a Get."""
        found = {attr: value_source.value(arguments) for attr, value_source in self.key.items()}
        return {attr: value for attr, value in found.items() if value is not None}

    def accepts(self, raw: Raw, arguments: Arguments) -> bool:
        """Return whether the item that a Get found meets the conditions of its parameters."""
        return self.check is None or self.check.bind(values_of(self.check_values, arguments))(raw)

    def explain(self) -> str:
        """Return the plan as text."""
        order = "" if self.forward else "  descending"
        source = "" if self.verb == "Filter" else f"  <- {self.path.name or 'table'}{order}"
        lines = [f"{self.name:<18} {self.verb} {_format_models(self.models)}{source}"]
        if self.key:
            lines.append(f"    key     {' AND '.join(f'{attr} = {source.text}' for attr, source in self.key.items())}")
        keys = Counter(show(branch.key, branch.values) for branch in self.branches if branch.key is not None)
        lines += [f"    key     {text}{f'  in {count} requests' if count > 1 else ''}" for text, count in keys.items()]
        lines += [f"    check   {text}" for text in self._required_fields()]
        checks = dict.fromkeys(branch.check.text for branch in self.branches if branch.check is not None)
        lines += [f"    check   {text}" for text in checks]
        filters = dict.fromkeys(show(branch.filter, branch.values) for branch in self.branches if branch.filter)
        lines += [f"    filter  {text}" for text in filters]
        if self.check_tree is not None:
            lines.append(f"    check   {show(self.check_tree, self.check_values)}")
        lines += [f"    option  {text}" for text in self._options()]
        if self.verb != "Filter":
            lines.append(f"    project {_projection(self.path)}; needs {','.join(self.needs)}")
            lines.append(f"    cost    {self.cost}")
        return "\n".join([*lines, *(f"    lint    {lint.code} {lint.text}" for lint in self.lints)])

    @property
    def cost(self) -> str:
        """What it costs in read units, eventually consistent: a filter drops items after they were paid for."""
        what = {"Get": "of the item", "Scan": "of the whole table"}.get(self.verb, "that the key condition finds")
        several = f", in {len(self.branches)} requests at least" if len(self.branches) > 1 else ""
        return f"0.5 per 4 KB {what}{several}"

    def _required_fields(self) -> Iterator[str]:
        """Yield the fields that distinguish the items of a class from others with the same keys."""
        for model in self.models:
            above = [base for base in distinguished_by_fields(model) if base not in self.models]
            if fields := sorted(required_fields(model) - required_fields(above[-1]) if above else ()):
                yield f"{model.__name__} has {', '.join(fields)}"

    def _options(self) -> Iterator[str]:
        """Yield what the optional parameters change: filters that are dropped, and other key conditions."""
        keys = {name for plan in self.alternatives for name in plan.given}
        if dropped := [name for name in self.signature.optional if name not in keys]:
            yield f"{', '.join(dropped)}: no {'check' if self.verb == 'Get' else 'filter'} when left out"
        for plan in self.alternatives:
            found = dict.fromkeys(show(branch.key, branch.values) for branch in plan.branches if branch.key is not None)
            yield f"{' + '.join(plan.given)}: {plan.path.name or 'table'}, {' and '.join(found)}"


def _lint_read(plan: ReadPlan) -> Iterator[Lint]:
    """Yield the findings about one read: scans, filters, partition keys with few values."""
    label = plan.label
    if plan.verb == "Scan":
        yield Lint("HR401", label, "reads the whole table; give a partition key, unless that is meant")
    elif plan.verb not in {"Get", "Filter"}:
        if plan.filtered:
            yield Lint("HR402", label, "is served by a filter: a page is filled by reading more than it returns")
        if few := _few_values(plan.path, introspection.whole_lifecycle(plan.models)[0]):
            yield Lint("HR403", label, f"reads a partition key with few values: {few}")


def _few_values(path: Gsi, model: ModelClass) -> str:
    fields, templates = introspection.all_fields(model), [introspection.keys(model)[attr] for attr in path.partition]
    if any(part.format.shards for template in templates for part in template.parts):
        return ""
    names = [name for template in templates for name in template.fields]
    few = all(hints.literals(fields[name].hint) or fields[name].hint is bool for name in names)
    shown = [f"{attr} = {template.text!r}" for attr, template in zip(path.partition, templates, strict=True)]
    return ", ".join(shown) if few else ""


def _format_models(models: Iterable[ModelClass]) -> str:
    return " | ".join(model.__name__ for model in models)


def _projection(path: Gsi) -> str:
    return path.project if isinstance(path.project, str) else f"INCLUDE {','.join(path.project)}"


def make_branch(
    path: Gsi, placeholders: Placeholders, *, key: Condition | None, found: Condition | None, **more: Any
) -> Branch:
    """Return a branch with the fixed part of its request."""
    aliases = Aliases()
    base: Wire = {"IndexName": path.name} if path.name else {}
    if more.pop("descending", False):
        base["ScanIndexForward"] = False
    request = _fixed_request(aliases, base, key=key, found=found, projected=more.pop("projected", ()))
    return Branch(key, found, request, used_values(placeholders, (key, found)), aliases.constants, **more)


def scatter(branch: Branch, shards: int) -> list[Branch]:
    """Return the branches that read each shard; the branch itself if its key has none."""
    return [
        replace(
            branch,
            values={
                name: found.of_shard(number) if isinstance(found, KeyValue) else found
                for name, found in branch.values.items()
            },
        )
        for number in range(shards)
    ] or [branch]


def _fixed_request(
    aliases: Aliases,
    base: Wire,
    *,
    key: Condition | None,
    found: Condition | None = None,
    projected: Iterable[str] = (),
) -> Wire:
    """Return a request with its expressions and the names that they use."""
    request = dict(base)
    if key is not None:
        request["KeyConditionExpression"] = aliases.render(key)
    if found is not None:
        request["FilterExpression"] = aliases.render(found)
    if names := [aliases.name(stored) for stored in projected]:
        request["ProjectionExpression"] = ", ".join(names)
    if aliases.names:
        request["ExpressionAttributeNames"] = aliases.names
    return request
