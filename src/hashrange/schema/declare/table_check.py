"""Checks a whole table when patterns are declared on it: keys, recognisable shapes, TTL, secrets."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import combinations

from hashrange.core.errors import DeclarationError
from hashrange.schema.declare import introspection
from hashrange.schema.declare.class_cache import cached_by_class
from hashrange.schema.declare.field_check import check_fields
from hashrange.schema.declare.field_kind import KINDS
from hashrange.schema.declare.introspection import Attribute, Kind
from hashrange.schema.declare.key_codec import key_codecs
from hashrange.schema.declare.key_template import Template
from hashrange.schema.declare.marker import Epoch
from hashrange.schema.declare.shape import Item
from hashrange.schema.declare.table import Table

SAMPLES = ("a", "A", "0", "a-b", "a.b/c", "https://a.b/c", "a#b", "2026-01-01", "x" * 40)


@cached_by_class
def check_table(table: Table) -> None:
    """Refuse a table whose items cannot be stored, ordered or distinguished as declared."""
    for item in introspection.items_of(table):
        _check_identity(item, table)
        _check_templates(item)
        check_fields(item)
        for attribute in introspection.all_attributes(item).values():
            _check_ttl(item, attribute, table)
            _check_secret(item, attribute)
        for name, kinds in introspection.lifecycles(item).items():
            _check_states_are_distinct(item, name, kinds)
            _check_states(introspection.root(kinds[0]))
    _check_names(table)
    for attr in sorted(table.key_names):
        key_type(table, attr)
    roots = list(dict.fromkeys(introspection.root(item) for item in introspection.items_of(table)))
    for top in roots:
        _check_states(top)
    for one, other in combinations(roots, 2):
        _check_disjoint(one, other, table)


def _check_identity(item: type[Item], table: Table) -> None:
    ours, fields = introspection.keys(item), introspection.all_attributes(item)
    for attr in table.keys:
        if attr not in ours:
            raise DeclarationError(
                "HR130",
                item.__name__,
                f"has no {attr}, a key of {table.name}",
                f'declare it: {attr}="..." or a field stored as {attr}',
            )
        for name in ours[attr].fields:
            if fields[name].optional:
                raise DeclarationError(
                    "HR131",
                    f"{item.__name__}.{name}",
                    f"is part of the primary key {attr} and may be None",
                    "drop the None",
                )


def _check_templates(item: type[Item]) -> None:
    """Check each template once: the classes of an item share most of them."""
    seen: set[tuple[str, Template]] = set()
    for kind in introspection.item_and_states(item):
        for attr, template in introspection.keys(kind).items():
            if (attr, template) not in seen:
                seen.add((attr, template))
                _check_template(kind, attr, template)


def _check_template(kind: Kind, attr: str, template: Template) -> None:
    fields, place = introspection.all_attributes(kind), f"{kind.__name__}.{attr}"
    _check_text(place, template)
    for before, after in zip(template.pieces, template.pieces[1:], strict=False):
        if after.field and not after.literal and (not before.format or before.format == "fit"):
            raise DeclarationError(
                "HR132",
                place,
                f"{template.text!r} does not say where {before.field} ends",
                f"put a delimiter after {{{before.field}}}",
            )
    for at, piece in enumerate(template.pieces):
        if not piece.field or template.alone:
            continue
        tag = fields[piece.field].codec.tag
        if tag == "N" and not piece.format:
            raise DeclarationError(
                "HR133",
                place,
                f"{template.text!r} would sort {piece.field} as text",
                f"{_way_to_pad(fields[piece.field])} a width: {{{piece.field}:012d}}",
            )
        if piece.format.startswith("0") and not _can_be_padded(fields[piece.field]):
            raise DeclarationError(
                "HR127",
                place,
                f"{template.text!r} gives {piece.field} a width, and it is no int",
                "only whole numbers are padded: keep it as an int, or as text without a width",
            )
        if tag not in {"S", "N"}:
            raise DeclarationError(
                "HR134",
                place,
                f"{piece.field} is {tag or 'of no fixed type'} and cannot stand in a key",
                "use text, a number or a time",
            )
        if piece.format == "fit" and at != len(template.fields) - 1:
            raise DeclarationError(
                "HR135", place, f"{{{piece.field}:fit}} is followed by more", "only the last field can be fitted"
            )


def _way_to_pad(attribute: Attribute) -> str:
    return "give it" if _can_be_padded(attribute) else "store it as an int, counted in its smallest unit, and give it"


def _can_be_padded(attribute: Attribute) -> bool:
    kind = KINDS.get(attribute.hint)
    return kind is not None and kind.can_be_padded


def _check_text(place: str, template: Template) -> None:
    stray = next((c for piece in template.pieces for c in "{}" if c in piece.literal), "")
    if any(piece.field and piece.literal.endswith("$") for piece in template.pieces):
        stray = "$"
    if stray:
        raise DeclarationError(
            "HR124",
            place,
            f"{template.text!r} has a {stray!r} that is no part of a field",
            "write {field} or {field:format}",
        )
    twice = next((name for name in template.fields if template.fields.count(name) > 1), "")
    if twice:
        raise DeclarationError(
            "HR126",
            place,
            f"{template.text!r} holds {twice} twice",
            f"put {{{twice}}} in once: it can be read back then",
        )


def _check_ttl(item: type[Item], attribute: Attribute, table: Table) -> None:
    epoch = attribute.marker(Epoch)
    if attribute.stored == table.ttl and not (epoch and epoch.ttl):
        raise DeclarationError(
            "HR136",
            f"{item.__name__}.{attribute.name}",
            f"is the TTL of {table.name}, which counts seconds",
            "declare it as Ttl",
        )
    if epoch and epoch.ttl and attribute.stored != table.ttl:
        raise DeclarationError(
            "HR149",
            f"{item.__name__}.{attribute.name}",
            f"is a Ttl, and {table.name} expires items by {table.ttl or 'nothing'}",
            f"declare Table(..., ttl={attribute.stored!r}), or the field as Seconds",
        )


def _check_secret(item: type[Item], attribute: Attribute) -> None:
    if not attribute.sealed:
        return
    if attribute.codec.tag != "S":
        raise DeclarationError(
            "HR137", f"{item.__name__}.{attribute.name}", "is Secret and no text", "declare it as Secret[str]"
        )
    for attr, template in introspection.keys(item).items():
        if attribute.name in template.fields:
            raise DeclarationError(
                "HR138",
                f"{item.__name__}.{attribute.name}",
                f"is Secret and part of the key {attr}",
                "keys cannot be encrypted",
            )


def _check_states_are_distinct(item: type[Item], name: str, kinds: list[Kind]) -> None:
    """Refuse a state that no key and no fixed field distinguishes from the others."""
    for kind in kinds if len(kinds) > 1 else ():
        if not introspection.state_keys(kind) and not introspection.fixed_values(kind, own=True):
            raise DeclarationError(
                "HR144",
                f"{item.__name__}.{name}",
                f"{kind.__name__} has neither a key template nor a fixed field that tells it from other states",
                'derive the states from one View; give each a key, such as gsi1_sk="DONE#{done_at}", or a Literal',
            )


def _check_names(table: Table) -> None:
    """Refuse a TTL or a projection of attributes that no item has."""
    stored = {
        found.stored
        for item in introspection.items_of(table)
        for found in introspection.all_attributes(item).values()
        if not found.key_only
    }
    if table.ttl is not None and table.ttl not in stored:
        raise DeclarationError(
            "HR148",
            f"table {table.name}",
            f"expires items by {table.ttl}, which no item has",
            f"name the attribute of a Ttl field: {', '.join(sorted(stored))}",
        )
    for index in table.indexes:
        unknown = [name for name in index.attributes if name not in stored | table.key_names]
        if unknown:
            raise DeclarationError(
                "HR150",
                f"index {index.name}",
                f"projects {unknown[0]}, which no item has",
                f"use the names as stored: {', '.join(sorted(stored))}",
            )


def _check_states(top: Kind) -> None:
    """Refuse states of a lifecycle, or variants of an item, whose keys do not distinguish them."""
    states = [kind for kind in introspection.subclasses_of(top) if introspection.state_keys(kind)]
    for one, other in combinations(states, 2):
        if issubclass(one, other) or issubclass(other, one):
            continue  # an addition to a state
        shared = set(introspection.state_keys(one)) & set(introspection.state_keys(other))
        distinct = any(_are_disjoint(introspection.keys(one)[attr], introspection.keys(other)[attr]) for attr in shared)
        if shared and not distinct:
            attr = min(shared)
            raise _clash(one, other, introspection.keys(one)[attr], introspection.keys(other)[attr], "HR140")


def _check_disjoint(one: Kind, other: Kind, table: Table) -> None:
    for attr in table.keys:
        first, second = introspection.keys(one)[attr], introspection.keys(other)[attr]
        if _are_disjoint(first, second) or _is_excluded(one, attr, second) or _is_excluded(other, attr, first):
            return
    attr = table.keys[-1]
    raise _clash(one, other, introspection.keys(one)[attr], introspection.keys(other)[attr], "HR141")


def _are_disjoint(one: Template, other: Template) -> bool:
    """Whether no key of one template has the prefix of the other, by which queries and conditions find its keys."""
    first, second = one.prefix, other.prefix
    if not one.fields and not other.fields:
        return first != second
    if not one.fields:
        return not first.startswith(second)
    if not other.fields:
        return not second.startswith(first)
    return not first.startswith(second) and not second.startswith(first)


def _is_excluded(kind: Kind, attr: str, other: Template) -> bool:
    """Whether the pattern of a plain field excludes every key of the other template."""
    key_codec = key_codecs(kind)[attr]
    pattern = introspection.pattern_of(kind, key_codec.alone.name) if key_codec.alone is not None else None
    if pattern is None or not other.prefix:
        return False
    return not any(re.search(pattern, other.prefix + sample) for sample in ("", *SAMPLES))


def _clash(one: Kind, other: Kind, first: Template, second: Template, code: str) -> DeclarationError:
    return DeclarationError(
        code,
        f"{one.__name__} and {other.__name__}",
        f"cannot be told apart by their keys {first.text!r} and {second.text!r}",
        "give each a prefix of its own, or a plain field a pattern: Annotated[str, Field(pattern=...)]",
    )


def key_type(table: Table, attr: str) -> str:
    """Return the DynamoDB type of a key attribute; refuse one that items of a table store differently."""
    found = dict(_types(table, attr))
    if len(set(found.values())) > 1:
        types = ", ".join(f"{tag} in {name}" for name, tag in found.items())
        raise DeclarationError("HR142", f"{table.name}.{attr}", f"is a key of several types: {types}", "agree on one")
    tag = next(iter(found.values()), "S")
    if tag not in {"S", "N", "B"}:
        raise DeclarationError(
            "HR143", f"{table.name}.{attr}", f"is a key of type {tag or 'unknown'}", "a key is text, a number or bytes"
        )
    return tag


def _types(table: Table, attr: str) -> Iterator[tuple[str, str]]:
    for item in introspection.items_of(table):
        states = [state for kinds in introspection.lifecycles(item).values() for state in kinds]
        for kind in (*introspection.with_variants(item), *states):
            template = introspection.keys(kind).get(attr)
            if template is not None:
                alone = introspection.all_attributes(kind)[template.alone] if template.alone else None
                yield kind.__name__, alone.codec.tag if alone is not None else "S"
