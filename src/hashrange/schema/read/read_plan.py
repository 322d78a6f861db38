"""Read plans: values that build the requests of a pattern from its arguments, and explain them.

A plan has no connection and sends nothing: `read_compiler` makes it, the session runs it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from hashrange.core.values import Item as Raw
from hashrange.core.values import Value
from hashrange.core.wire import Wire
from hashrange.expr.nodes import Condition, paths_of
from hashrange.expr.path import top_level_attributes
from hashrange.schema.declare import hint as hints
from hashrange.schema.declare import introspection
from hashrange.schema.declare.introspection import Kind
from hashrange.schema.declare.table import Gsi, Table
from hashrange.schema.pattern.criterion import placeholders_in
from hashrange.schema.pattern.expression_text import Aliases, show, used_values, values_of
from hashrange.schema.pattern.lint import Lint
from hashrange.schema.pattern.signature import Signature
from hashrange.schema.pattern.value_source import Arguments, Placeholders, ValueSource

if TYPE_CHECKING:
    from hashrange.expr.condition import CompiledPredicate, Predicate


class Branch(Struct, frozen=True, dict=True):
    """One Query or Scan: the fixed part of its request, and the sources of its values."""

    key: Condition | None
    filter: Condition | None
    request: Wire
    values: Mapping[str, ValueSource]  # by placeholder
    constants: Mapping[str, Value]
    excluded: tuple[str, ValueSource] | None = None  # a sort key that an exclusive bound leaves out

    def build(self, arguments: Arguments) -> Wire:
        """Return the request of a call, without what the session adds."""
        values = {**values_of(self.values, arguments), **self.constants}
        return {**self.request, "ExpressionAttributeValues": values} if values else dict(self.request)

    @cached_property
    def filter_attributes(self) -> frozenset[str]:
        """The attributes that the filter names."""
        return frozenset() if self.filter is None else top_level_attributes(tuple(paths_of(self.filter)))

    @cached_property
    def without_filter(self) -> Branch:
        """The branch without filter and projection: for an index that lacks an attribute which they name."""
        aliases = Aliases()
        base = {name: value for name, value in self.request.items() if name in {"IndexName", "ScanIndexForward"}}
        request = _fixed_request(aliases, base, key=self.key)
        values = {name: self.values[name] for name in placeholders_in(self.key)}
        return Branch(self.key, None, request, values, aliases.constants, self.excluded)

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
    kinds: tuple[Kind, ...]
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

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of its parameters, in order."""
        return tuple(self.signature.parameters)

    @property
    def required(self) -> frozenset[str]:
        """The parameters that cannot be left out."""
        return frozenset(self.signature.parameters)

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

    @property
    def forward(self) -> bool:
        """Whether items come in ascending order."""
        return self.verb != "Latest"

    def key_of(self, arguments: Arguments) -> Raw:
        """Return the key of a Get."""
        found = {attr: value_source.value(arguments) for attr, value_source in self.key.items()}
        return {attr: value for attr, value in found.items() if value is not None}

    def accepts(self, raw: Raw, arguments: Arguments) -> bool:
        """Whether the item that a Get found meets the conditions of its parameters."""
        return self.check is None or self.check.bind(values_of(self.check_values, arguments))(raw)

    def explain(self) -> str:
        """Return the plan as text."""
        order = "" if self.forward else "  descending"
        lines = [f"{self.name:<18} {self.verb} {_kinds(self.kinds)}  <- {self.path.name or 'table'}{order}"]
        if self.key:
            lines.append(f"    key     {' AND '.join(f'{attr} = {source.text}' for attr, source in self.key.items())}")
        keys = [show(branch.key, branch.values) for branch in self.branches if branch.key is not None]
        lines += [f"    key     {text}" for text in keys]
        filters = dict.fromkeys(show(branch.filter, branch.values) for branch in self.branches if branch.filter)
        lines += [f"    filter  {text}" for text in filters]
        if self.check_tree is not None:
            lines.append(f"    check   {show(self.check_tree, self.check_values)}")
        lines.append(f"    project {_projection(self.path)}; needs {','.join(self.needs)}")
        return "\n".join([*lines, *(f"    lint    {lint.code} {lint.text}" for lint in self.lints)])


def _lint_read(plan: ReadPlan) -> Iterator[Lint]:
    """Yield the findings about one read: scans, filters, partition keys with few values."""
    label = plan.label
    if plan.verb == "Scan":
        yield Lint("HR401", label, "reads the whole table; give a partition key, unless that is meant")
    elif plan.verb != "Get":
        if plan.filtered:
            yield Lint("HR402", label, "is served by a filter: a page is filled by reading more than it returns")
        if few := _few_values(plan.path, introspection.whole_lifecycle(plan.kinds)[0]):
            yield Lint("HR403", label, f"reads a partition key with few values: {few}")


def _few_values(path: Gsi, kind: Kind) -> str:
    template, fields = introspection.keys(kind)[path.pk], introspection.all_attributes(kind)
    if any(piece.format.startswith("shard") for piece in template.pieces):
        return ""
    few = all(hints.literals(fields[name].hint) or fields[name].hint is bool for name in template.fields)
    return f"{path.pk} = {template.text!r}" if few else ""


def _kinds(kinds: Iterable[Kind]) -> str:
    return " | ".join(kind.__name__ for kind in kinds)


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
