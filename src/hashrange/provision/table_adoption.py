"""Writes the declaration of a table that exists: reads its description and a sample of its items.

`find_schema` is pure: from what was read to the schema. `adopt` reads, and tries the text on the sample before it
returns it: patterns that cannot work are left out, and items that the declaration does not read are named.
"""

from __future__ import annotations

import itertools
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from types import ModuleType

from hashrange.client.transport import Transport
from hashrange.core.errors import DeclarationError, HashrangeError, PlanError
from hashrange.core.values import Item as Raw
from hashrange.provision.adopted_item import ItemFinder, TableFacts
from hashrange.provision.adopted_key import VALUE, Forms, find_equal, group_by_form, split_keys
from hashrange.provision.adopted_module import IMPORTED, write_module
from hashrange.provision.adopted_name import is_camel, is_technical, name_field, name_item
from hashrange.provision.adopted_pattern import PatternWriter
from hashrange.provision.adopted_schema import AdoptedField, AdoptedItem, AdoptedSchema, FoundType
from hashrange.provision.adopted_type import is_millis_ttl, is_time
from hashrange.provision.item_repair import roots_of
from hashrange.provision.live_table import LiveTable, read_live_table
from hashrange.provision.table_scan import scan_segment
from hashrange.schema.declare.attribute_value import plain
from hashrange.schema.declare.table import Table, camel
from hashrange.schema.items.loader import load

SAMPLE = 2000  # items
SEGMENTS = 8
MAX_NAMED = 20  # unreadable items
KEY_TYPES = {"S": "str", "N": "int", "B": "bytes"}


def adopt(database: Transport, name: str, *, sample: int = SAMPLE) -> str:
    """Return the text of a Python module that declares a table that exists, by a sample of its items.

    What the sample does not prove becomes a comment. Nothing is changed.
    """
    if sample < 1:
        raise PlanError(f"sample is {sample}: give at least 1.")
    live = read_live_table(database, name)
    if live is None:
        raise PlanError(f"There is no table {name}. Check the name and the target; names are case-sensitive.")
    items = sample_items(database, name, sample)
    schema = find_schema(live, items)
    if len(items) == sample:
        schema.comments.append(f"Only {sample} items were read: others may have further attributes and forms.")
    return _write_working_module(schema, items)


def sample_items(database: Transport, name: str, count: int) -> list[Raw]:
    """Return items of a table: about as many of each of its segments."""
    items: list[Raw] = []
    for segment in range(SEGMENTS):
        wanted = -(-(count - len(items)) // (SEGMENTS - segment))
        pages = scan_segment(database, name, segment, SEGMENTS, None)
        items += itertools.islice((item for page in pages for item in page.items), wanted)
    return items


# ── the schema ───────────────────────────────────────────────────────────────────────────────────────────────────────
def find_schema(live: LiveTable, items: Sequence[Raw]) -> AdoptedSchema:
    """Return the declaration that fits a table and these items."""
    attrs = dict.fromkeys(attr for item in items for attr in item)
    named = {*attrs, *live.key_types}
    facts = TableFacts(live=live, camel=is_camel(named), unset=_find_unset(items, list(attrs)))
    ttl_values = [item[live.ttl] for item in items if live.ttl and live.ttl in item]
    schema = AdoptedSchema(
        live=live,
        sampled=len(items),
        camel=facts.camel,
        unset=facts.unset,
        former_ttl=is_millis_ttl(ttl_values),
        items=[],
    )
    if schema.former_ttl:
        schema.comments.append(
            f"{live.ttl} has milliseconds, and DynamoDB expires by seconds: such items never expire."
        )
    groups, guarded = _separate(group_by_form(facts.keys, items), facts, schema)
    parts = _name_parts(groups, facts)
    taken = {*IMPORTED}
    for forms, group in groups.items():
        schema.items.append(ItemFinder(facts, (forms, group), parts, taken).find(guarded[forms]))
    if not items:
        schema.items.append(_declare_empty(facts))
        schema.comments.append("The table has no items: declare their key templates and fields yourself.")
    _declare_unseen(facts, schema)
    PatternWriter(facts, schema).add_all()
    return schema


def _find_unset(items: Sequence[Raw], attrs: list[str]) -> bool:
    """Return whether "" is stored for "no value": in several attributes that are seldom absent, or among times."""
    empty = {attr: sum(1 for item in items if item.get(attr) == {"S": ""}) for attr in attrs}
    often = [attr for attr, count in empty.items() if count and count >= sum(1 for item in items if attr not in item)]
    texts = {attr: {item.get(attr, {}).get("S", "") for item in items} - {""} for attr in attrs if empty[attr]}
    return len(often) > 1 or any(found and all(map(is_time, found)) for found in texts.values())


def _separate(
    groups: dict[Forms, list[Raw]], facts: TableFacts, schema: AdoptedSchema
) -> tuple[dict[Forms, list[Raw]], dict[Forms, set[str]]]:
    """Return the groups that keys distinguish, and the keys that need a pattern for that. Others are merged."""
    kept: dict[Forms, list[Raw]] = {}
    guarded: dict[Forms, set[str]] = defaultdict(set)
    for forms, group in groups.items():
        clash = next((other for other in kept if not _are_apart(forms, other, groups, facts, guarded)), None)
        if clash is None:
            kept[forms] = group
        elif all(other in (VALUE, form) for form, other in zip(forms, clash, strict=True)):
            kept[clash] = [*kept[clash], *group]
        else:
            example = ", ".join(f"{attr}={plain(group[0][attr])!r}" for attr in facts.keys)
            schema.comments.append(f"No class for {len(group)} items whose keys are like others', such as {example}")
    return kept, guarded


def _are_apart(
    one: Forms, other: Forms, groups: dict[Forms, list[Raw]], facts: TableFacts, guarded: dict[Forms, set[str]]
) -> bool:
    if any(first.excludes(second) for first, second in zip(one, other, strict=True)):
        return True
    for forms, against in ((one, other), (other, one)):
        for attr, form, second in zip(facts.keys, forms, against, strict=True):
            texts = [item[attr].get("S", "#") for item in groups[forms]]
            if form == VALUE and second.prefix.endswith("#") and not any("#" in text for text in texts):
                guarded[forms].add(attr)
                return True
    return False


def _name_parts(groups: dict[Forms, list[Raw]], facts: TableFacts) -> dict[tuple[str, str], str]:
    """Return the attribute that a part of a key has in most items, by the key and the text before the part.

    A part is one field in all classes: stored where the attribute exists, only in the key elsewhere.
    """
    votes: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for forms, items in groups.items():
        attrs = {attr for item in items for attr in item} - {attr for attr in facts.key_names if is_technical(attr)}
        sources = {attr: [item.get(attr) for item in items] for attr in attrs}
        for key, form in zip(facts.keys, forms, strict=True):
            first = split_keys(form, [item[key].get("S", "") for item in items], sources).variables[:1]
            for variable in first:
                equal = find_equal(variable.texts, sources)
                votes[key, variable.literal].update(dict.fromkeys(equal, len(items)))
    return {
        part: max(counts, key=lambda attr: (counts[attr], -len(attr), attr)) for part, counts in votes.items() if counts
    }


def _declare_empty(facts: TableFacts) -> AdoptedItem:
    fields = [_unseen_field(attr, facts, optional=False) for attr in facts.keys]
    return AdoptedItem(name=name_item([""], facts.live.name), count=0, keys={}, fields=fields)


def _declare_unseen(facts: TableFacts, schema: AdoptedSchema) -> None:
    """Declare what the table names and no item of the sample has: keys of indexes, projections, the TTL."""
    live = facts.live
    projected = [attr for index in live.indexes for attr in sorted(index.projection or ())]
    wanted = dict.fromkeys([*facts.index_keys, *projected, *filter(None, [live.ttl])])
    seen = {field.stored for item in schema.items for field in _all_fields(item)}
    seen |= {attr for item in schema.items for attr in item.keys} | {*facts.keys}
    seen |= {lifecycle.attr for item in schema.items for lifecycle in item.lifecycles}
    for attr in wanted:
        if attr not in seen:
            schema.items[0].fields.append(_unseen_field(attr, facts, optional=True))


def _all_fields(item: AdoptedItem) -> Iterator[AdoptedField]:
    yield from item.fields
    for lifecycle in item.lifecycles:
        for state in lifecycle.states:
            yield from state.fields


def _unseen_field(attr: str, facts: TableFacts, *, optional: bool) -> AdoptedField:
    name = name_field(attr)
    found = FoundType(KEY_TYPES.get(facts.live.key_types.get(attr, "S"), "str"))
    return AdoptedField(
        name=name,
        stored=attr,
        found=FoundType("Ttl", "datetime") if attr == facts.live.ttl else found,
        optional=optional,
        explicit=(camel(name) if facts.camel else name) != attr,
        comments=["no item of the sample has it"],
    )


# ── the check ────────────────────────────────────────────────────────────────────────────────────────────────────────
def _write_working_module(schema: AdoptedSchema, items: Sequence[Raw]) -> str:
    """Return the text of a schema that works: without patterns that cannot, and with the items that it cannot read."""
    while True:
        text = write_module(schema)
        try:
            table = _run(text)
        except DeclarationError as error:
            name = error.location.rpartition(".")[2]
            broken = next((one for one in schema.patterns if one.name == name), None)
            if broken is None:
                raise PlanError(
                    f"No declaration was found for the table {schema.live.name}: {error}. "
                    "Declare it as in docs/howto/use-an-existing-table.md."
                ) from error
            schema.patterns.remove(broken)
            schema.comments.append(f"the pattern {name} is left out: {error.problem}; {error.remedy}")
            continue
        break
    unreadable = list(_find_unreadable(table, items))
    if not unreadable:
        return text
    schema.comments.append(
        f"{len(unreadable)} item{'s' if len(unreadable) > 1 else ''} cannot be read as declared here:"
    )
    schema.comments += [f"- {one}" for one in unreadable[:MAX_NAMED]]
    return write_module(schema)


def _run(text: str) -> Table:
    """Run the text of a module, and return its table."""
    name = "hashrange_adopted"
    module = sys.modules[name] = ModuleType(name)
    try:
        exec(compile(text, f"<{name}>", "exec"), module.__dict__)  # noqa: S102 - the text was written here
    finally:
        del sys.modules[name]
    table: Table = module.__dict__["table"]
    return table


def _find_unreadable(table: Table, items: Sequence[Raw]) -> Iterator[str]:
    models = roots_of(table)
    for item in items:
        try:
            found = load(models, item)
        except HashrangeError as error:
            yield str(error)
            continue
        if found is None:
            yield ", ".join(f"{attr}={plain(item[attr])!r}" for attr in table.keys) + ": has the key of no class"
