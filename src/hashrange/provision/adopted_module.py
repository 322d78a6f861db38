"""Writes an adopted schema as the text of a Python module. Guesses that need a look become comments."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from hashrange.provision.adopted_name import pascal, unique
from hashrange.provision.adopted_schema import (
    AdoptedField,
    AdoptedItem,
    AdoptedLifecycle,
    AdoptedPattern,
    AdoptedSchema,
    AdoptedView,
)
from hashrange.provision.adopted_type import quote
from hashrange.provision.live_table import LiveIndex, LiveTable

MODULES = {
    "datetime": ("date", "datetime"),
    "decimal": ("Decimal",),
    "typing": ("Annotated", "Any", "Literal", "Protocol"),
    "pydantic": ("Field",),
    "hashrange": (
        "KEYS_ONLY", "Commas", "Get", "Gsi", "IsoMicros", "IsoMillis", "Item", "JsonPipes", "Key", "Lsi", "Millis",
        "Patterns", "Pipes", "Prefixed", "Provisioned", "Query", "Seconds", "Stored", "Table", "Ttl", "View", "camel",
        "initially", "via",
    ),
}  # fmt: skip
WIDTH = 120
IMPORTED = frozenset(name for names in MODULES.values() for name in names)
STRINGS_AND_COMMENTS = re.compile(r'"""[\s\S]*?"""|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'|#[^\n]*')


def write_module(schema: AdoptedSchema) -> str:
    """Return the text of the module that declares a schema."""
    body = "\n".join(_write_body(schema))
    return f"{_write_heading(schema)}\n{_write_imports(body)}\n{body}"


def _write_heading(schema: AdoptedSchema) -> str:
    lines = [f'"""The table {schema.live.name}, as adopted from {schema.sampled} of its items."""', ""]
    lines += _write_comments(schema.comments)
    return "\n".join([*lines, ""] if schema.comments else lines)


def _write_comments(comments: Iterable[str], indent: str = "") -> list[str]:
    return [f"{indent}# {' '.join(comment.split())}" for comment in comments]


def _write_imports(body: str) -> str:
    code = STRINGS_AND_COMMENTS.sub("", body)
    words = set(re.findall(r"\w+", code))
    blocks: list[str] = []
    for group in (("datetime", "decimal", "typing"), ("pydantic",), ("hashrange",)):
        lines = [
            f"from {module} import {', '.join(names)}"
            for module in group
            if (names := [name for name in MODULES[module] if name in words])
        ]
        blocks += ["\n".join(lines)] if lines else []
    return "\n\n".join(blocks) + "\n"


def _write_body(schema: AdoptedSchema) -> Iterator[str]:
    yield from _write_table(schema)
    for item in schema.items:
        for lifecycle in item.lifecycles:
            yield from _write_lifecycle(lifecycle, item)
        yield from _write_item(item)
    for view in schema.views:
        yield from _write_view(view)
    yield from _write_patterns(schema)


# ── table ────────────────────────────────────────────────────────────────────────────────────────────────────────────
def _write_table(schema: AdoptedSchema) -> Iterator[str]:
    live = schema.live
    keys = ", ".join(quote(one["AttributeName"]) for one in live.key_schema)
    options = list(_table_options(schema))
    short = f"table = Table({', '.join([quote(live.name), keys, *options])})\n"
    if not live.indexes and len(short) <= WIDTH:
        yield short
        return
    yield f"table = Table(\n    {quote(live.name)}, {keys},"
    if options:
        yield f"    {', '.join(options)},"
    if live.indexes:
        yield "    indexes=["
        for index in live.indexes:
            yield f"        {_write_index(index)},"
        yield "    ],"
    yield ")\n"


def _table_options(schema: AdoptedSchema) -> Iterator[str]:
    live = schema.live
    if live.ttl:
        yield f"ttl={quote(live.ttl)}"
    if schema.former_ttl:
        yield 'former_ttl="milliseconds"'
    if schema.camel:
        yield "naming=camel"
    if schema.unset:
        yield 'unset=""'
    yield from _live_options(live)


def _live_options(live: LiveTable) -> Iterator[str]:
    if live.billing != "PAY_PER_REQUEST":
        yield f"billing=Provisioned(read={live.throughput[0]}, write={live.throughput[1]})"
    if live.recovery:
        yield "pitr=True"
    if live.encryption is not None:
        managed = not live.encryption or "alias/aws/dynamodb" in live.encryption
        yield f"encryption={quote('AWS_MANAGED' if managed else live.encryption)}"
    if not live.deletion_protection:
        yield "deletion_protection=False"
    if live.stream is not None:
        yield f"stream={quote(live.stream)}"
    if live.tags:
        tags = ", ".join(f"{quote(name)}: {quote(value)}" for name, value in sorted(live.tags.items()))
        yield f"tags={{{tags}}}"


def _write_index(index: LiveIndex) -> str:
    hashes = [one["AttributeName"] for one in index.key_schema if one["KeyType"] == "HASH"]
    ranges = [one["AttributeName"] for one in index.key_schema if one["KeyType"] == "RANGE"]
    arguments = [quote(index.name), _write_key(hashes)]
    if ranges or index.projection is not None:
        arguments.append(_write_key(ranges) if ranges else "None")
    if index.projection is not None:
        names = ", ".join(quote(name) for name in sorted(index.projection))
        arguments.append(f"[{names}]" if names else "KEYS_ONLY")
    name = "Lsi" if index.is_local else "Gsi"
    text = f"{name}({', '.join(arguments)})"
    if len(text) > WIDTH - 10:
        text = f"{name}(\n            {', '.join(arguments[:-1])},\n            {arguments[-1]},\n        )"
    return text


def _write_key(attrs: list[str]) -> str:
    return quote(attrs[0]) if len(attrs) == 1 else f"[{', '.join(map(quote, attrs))}]"


# ── classes ──────────────────────────────────────────────────────────────────────────────────────────────────────────
def _write_class(name: str, base: str, keywords: list[str], lines: list[str]) -> Iterator[str]:
    heading = f"class {name}({', '.join([base, *keywords])}):"
    if len(heading) > WIDTH:
        heading = f"class {name}(\n    {base},\n" + "".join(f"    {one},\n" for one in keywords) + "):"
    yield ""
    yield heading + ("" if lines else " ...")
    yield from lines
    yield ""


def _write_item(item: AdoptedItem) -> Iterator[str]:
    lines = _write_comments(item.comments, "    ")
    lines += [_write_field(field) for field in item.fields]
    for lifecycle in item.lifecycles:
        names = [state.name for state in lifecycle.states]
        first = next((state.name for state in lifecycle.states if not state.fields), None)
        lines.append(f"    {lifecycle.name}: {' | '.join(names)}" + (f" = initially({first})" if first else ""))
    if not item.fields and not item.lifecycles:
        lines.append("    pass")
    yield from _write_class(item.name, "Item", ["table=table", *_write_keys(item.keys)], lines)


def _write_keys(keys: dict[str, str]) -> list[str]:
    if all(attr.isidentifier() and attr not in {"table", "keys", "initial"} for attr in keys):
        return [f"{attr}={quote(template)}" for attr, template in keys.items()]
    return [f"keys={{{', '.join(f'{quote(attr)}: {quote(template)}' for attr, template in keys.items())}}}"]


def _write_lifecycle(lifecycle: AdoptedLifecycle, item: AdoptedItem) -> Iterator[str]:
    lines = [
        f'    """The states of {item.name} in {lifecycle.attr}, by their prefix."""',
        *([""] if lifecycle.shared else []),
    ]
    yield from _write_class(
        lifecycle.view, f"View[{quote(item.name)}]", [], [*lines, *map(_write_field, lifecycle.shared)]
    )
    for state in lifecycle.states:
        keywords = _write_keys({lifecycle.attr: state.template})
        yield from _write_class(state.name, lifecycle.view, keywords, [_write_field(field) for field in state.fields])


def _write_view(view: AdoptedView) -> Iterator[str]:
    lines = [_write_field(field, with_comments=False) for field in view.fields]
    yield from _write_class(view.name, f"View[{view.item}]", [], lines)


def _write_field(field: AdoptedField, *, with_comments: bool = True) -> str:
    written = _write_comments([*field.found.comments, *field.comments]) if with_comments else []
    hint = field.found.name
    markers = list(field.found.markers)
    if field.explicit:
        markers.append(f"Stored({quote(field.stored)})")
    default = ""
    if field.optional:
        if hint.startswith("set["):
            default = " = set()"
        elif hint.startswith(("Commas", "Pipes", "JsonPipes")):
            default = " = []"
        else:
            hint, default = f"{hint} | None", " = None"
    if markers:
        hint = f"Annotated[{hint}, {', '.join(markers)}]"
    if field.key_only:
        hint = f"Key[{hint}]"
    comment = f"  # {'; '.join(text[2:] for text in written)}" if written else ""
    return f"    {field.name}: {hint}{default}{comment}"


# ── patterns ─────────────────────────────────────────────────────────────────────────────────────────────────────────
def _write_patterns(schema: AdoptedSchema) -> Iterator[str]:
    taken = {item.name for item in schema.items} | {view.name for view in schema.views} | IMPORTED
    taken |= {state.name for item in schema.items for lifecycle in item.lifecycles for state in lifecycle.states}
    name = unique(f"{pascal(schema.live.name)}Patterns", taken)
    lines = [line for pattern in schema.patterns for line in _write_pattern(pattern)]
    yield from _write_class(name, "Patterns", ["Protocol"], lines)


def _write_pattern(pattern: AdoptedPattern) -> Iterator[str]:
    parameters = "".join(f", {name}: {hint}" for name, hint in pattern.parameters)
    if pattern.index:
        yield f"    @via({quote(pattern.index)})"
    start = f"    def {pattern.name}(self{parameters}) -> {pattern.verb}["
    models = " | ".join(pattern.models)
    yield f"{start}{models}]: ..." if len(start + models) < WIDTH - 6 else f"{start}\n        {models}\n    ]: ..."
