"""Checks a whole table when patterns are declared on it: keys, recognisable models, TTL, secrets."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import combinations

from hashrange.core.article import with_article
from hashrange.core.errors import DeclarationError
from hashrange.schema.declare import introspection
from hashrange.schema.declare.class_cache import cached_by_class
from hashrange.schema.declare.field_check import check_fields
from hashrange.schema.declare.field_kind import KINDS, kind_of
from hashrange.schema.declare.introspection import ModelClass, ModelField
from hashrange.schema.declare.key_codec import key_codecs
from hashrange.schema.declare.key_format import PLAIN, find_format, list_formats
from hashrange.schema.declare.key_overlap import are_apart, have_no_common_prefix
from hashrange.schema.declare.key_template import Template
from hashrange.schema.declare.marker import Epoch
from hashrange.schema.declare.model import Item
from hashrange.schema.declare.table import Gsi, Table

SAMPLES = ("a", "A", "0", "a-b", "a.b/c", "https://a.b/c", "a#b", "2026-01-01", "x" * 40)


@cached_by_class
def check_table(table: Table) -> None:
    """Refuse a table whose items cannot be stored, ordered or distinguished as declared."""
    for item in introspection.items_of(table):
        _check_identity(item, table)
        _check_templates(item)
        check_fields(item)
        for field in introspection.all_fields(item).values():
            _check_ttl(item, field, table)
            _check_secret(item, field)
        for name, models in introspection.lifecycles(item).items():
            _check_states_are_distinct(item, name, models)
            _check_states(introspection.root(models[0]))
    _check_names(table)
    for attr in sorted(table.key_names):
        key_type(table, attr)
    roots = list(dict.fromkeys(introspection.root(item) for item in introspection.items_of(table)))
    for top in roots:
        _check_states(top)
    for one, other in combinations(roots, 2):
        _check_disjoint(one, other, table)


def _check_identity(item: type[Item], table: Table) -> None:
    ours, fields = introspection.keys(item), introspection.all_fields(item)
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
    for model in introspection.item_and_states(item):
        for attr, template in introspection.keys(model).items():
            if (attr, template) not in seen:
                seen.add((attr, template))
                _check_template(model, attr, template)


def _check_template(model: ModelClass, attr: str, template: Template) -> None:
    fields, location = introspection.all_fields(model), f"{model.__name__}.{attr}"
    _check_text(location, template)
    for before, after in zip(template.parts, template.parts[1:], strict=False):
        if after.field and not after.literal and not before.format.ends_itself:
            raise DeclarationError(
                "HR132",
                location,
                f"{template.text!r} does not say where {before.field} ends",
                f"put a delimiter after {{{before.field}}}",
            )
    for at, part in enumerate(template.parts):
        if not part.field or template.alone:
            continue
        tag = fields[part.field].codec.tag
        if tag == "N" and part.format is PLAIN and not _may_be_unpadded(model, attr, fields[part.field]):
            raise DeclarationError(
                "HR133",
                location,
                f"{template.text!r} sorts {part.field} as text",
                f"give it a format: {_suggest_format(fields[part.field])}",
            )
        if part.format.types and not _has_type(fields[part.field], part.format.types):
            allowed = " or ".join(found.__name__ for found in part.format.types)
            raise DeclarationError(
                "HR127",
                location,
                f"{template.text!r} gives {part.field} the format {part.format.name}, which is for {allowed}",
                f"use one of {', '.join(_formats_for(fields[part.field])) or 'the fields without a format'}",
            )
        if tag not in {"S", "N"}:
            raise DeclarationError(
                "HR134",
                location,
                f"{part.field} is {tag or 'of no fixed type'} and cannot be part of a key",
                "use text, a number or a time",
            )
        if part.format.name == "fit" and at != len(template.fields) - 1:
            raise DeclarationError(
                "HR135", location, f"{{{part.field}:fit}} is followed by more", "only the last field can be fitted"
            )


def _may_be_unpadded(model: ModelClass, attr: str, field: ModelField) -> bool:
    """Return whether a field is an integer, which has one text, in a key that nothing sorts by."""
    sorts = {name for path in introspection.table_of(model).paths for name in path.sort}
    return field.codec is KINDS[int].codec and attr not in sorts


def _suggest_format(field: ModelField) -> str:
    """Return the formats in which a number may stand in a key."""
    if field.codec.step is not None:
        return f"{{{field.name}:date}}, or store it as a datetime"
    return " or ".join(f"{{{field.name}:{form}}}" for form in _formats_for(field)) or "there is none for its type"


def _formats_for(field: ModelField) -> list[str]:
    """Return examples of the formats that a field may have."""
    names = list_formats().split(", ")
    formats = [found for name in names if (found := find_format(name)) is not None and found.types]
    return [found.name for found in formats if _has_type(field, found.types)]


def _has_type(field: ModelField, types: tuple[type, ...]) -> bool:
    kind = kind_of(field.hint)
    return kind is not None and kind.type in types


def _check_text(location: str, template: Template) -> None:
    _check_no_object(location, template)
    stray = next((c for part in template.parts for c in "{}" if c in part.literal), "")
    if any(part.field and part.literal.endswith("$") for part in template.parts):
        stray = "$"
    if stray:
        raise DeclarationError(
            "HR124",
            location,
            f"{template.text!r} has a {stray!r} that is not part of a field",
            "write {field} or {field:format}",
        )
    twice = next((name for name in template.fields if template.fields.count(name) > 1), "")
    if twice:
        raise DeclarationError(
            "HR126",
            location,
            f"{template.text!r} contains {twice} twice",
            f"put {{{twice}}} once: then it can be parsed",
        )


def _check_no_object(location: str, template: Template) -> None:
    """Refuse the text of an object, which an f-string has put there: f"ORDER#{id}" has the built-in function id."""
    found = re.search(r"<(built-in |function |class |bound method |module |.* object at 0x)", template.text)
    if found:
        raise DeclarationError(
            "HR166",
            location,
            f"{template.text!r} contains a Python object",
            'write the template without f before the quotes: "ORDER#{id}"',
        )


def _check_ttl(item: type[Item], field: ModelField, table: Table) -> None:
    epoch = field.marker(Epoch)
    if field.stored == table.ttl and not (epoch and epoch.ttl):
        raise DeclarationError(
            "HR136",
            f"{item.__name__}.{field.name}",
            f"is the TTL of {table.name}, which counts seconds",
            "declare it as Ttl",
        )
    if epoch and epoch.ttl and field.stored != table.ttl:
        raise DeclarationError(
            "HR149",
            f"{item.__name__}.{field.name}",
            f"is a Ttl, and {table.name} expires items by {table.ttl or 'nothing'}",
            f"declare Table(..., ttl={field.stored!r}), or the field as Seconds",
        )


def _check_secret(item: type[Item], field: ModelField) -> None:
    if not field.sealed:
        return
    if field.codec.tag != "S":
        raise DeclarationError(
            "HR137", f"{item.__name__}.{field.name}", "is Secret but not text", "declare it as Secret[str]"
        )
    for attr, template in introspection.keys(item).items():
        if field.name in template.fields:
            raise DeclarationError(
                "HR138",
                f"{item.__name__}.{field.name}",
                f"is Secret and part of the key {attr}",
                "keys cannot be encrypted",
            )


def _check_states_are_distinct(item: type[Item], name: str, models: list[ModelClass]) -> None:
    """Refuse a state that no key and no fixed field distinguishes from the others."""
    for model in models if len(models) > 1 else ():
        if not introspection.state_keys(model) and not introspection.fixed_values(model, own=True):
            raise DeclarationError(
                "HR144",
                f"{item.__name__}.{name}",
                f"{model.__name__} has neither a key template nor a fixed field that distinguishes it",
                'derive the states from one View; give each a key, such as gsi1_sk="DONE#{done_at}", or a Literal',
            )


def _check_names(table: Table) -> None:
    """Refuse a TTL, an index key or a projection of attributes that no item has."""
    stored = {
        found.stored
        for item in introspection.items_of(table)
        for found in introspection.all_fields(item).values()
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
        _check_index_keys(table, index, stored)
        unknown = [name for name in index.attributes if name not in stored | table.key_names]
        if unknown:
            raise DeclarationError(
                "HR150",
                f"index {index.name}",
                f"projects {unknown[0]}, which no item has",
                f"use the names as stored: {', '.join(sorted(stored))}",
            )


def _check_index_keys(table: Table, index: Gsi, stored: set[str]) -> None:
    """Refuse an index key that no item has and that is spelt nearly like an attribute: no item would be in the index.

    Any other may belong to items that are not declared; `lint()` reports it.
    """
    for attr in index.keys:
        if any(key_types(table, attr)):
            continue
        from difflib import get_close_matches  # not needed by declarations that are accepted

        meant = get_close_matches(attr, sorted(stored - table.key_names), n=1, cutoff=0.75)
        if meant:
            raise DeclarationError(
                "HR165",
                f"index {index.name}",
                f"has the key {attr}, which no item has",
                f'write {meant[0]}, or give an item the key: {attr}="..."',
            )


def _check_states(top: ModelClass) -> None:
    """Refuse states of a lifecycle, or variants of an item, whose keys do not distinguish them."""
    states = [model for model in introspection.subclasses_of(top) if introspection.state_keys(model)]
    for one, other in combinations(states, 2):
        if issubclass(one, other) or issubclass(other, one):
            continue  # an addition to a state
        shared = set(introspection.state_keys(one)) & set(introspection.state_keys(other))
        distinct = any(
            have_no_common_prefix(introspection.keys(one)[attr], introspection.keys(other)[attr]) for attr in shared
        )
        if shared and not distinct:
            attr = min(shared)
            raise _clash(one, other, introspection.keys(one)[attr], introspection.keys(other)[attr], "HR140")
    for model in states:
        _check_state_has_key(model)


def _check_state_has_key(model: ModelClass) -> None:
    """Refuse a state that only its key identifies, where the key may be absent."""
    fields = introspection.all_fields(model)
    for attr, template in introspection.state_keys(model).items():
        absent = [
            name for name in template.fields if introspection.stored_fields(model).get(name, fields[name]).optional
        ]
        if absent:
            raise DeclarationError(
                "HR163",
                f"{model.__name__}.{attr}",
                f"alone identifies {with_article(model.__name__)}, and is absent where {absent[0]} is None",
                f'drop the None from {absent[0]}, leave it out of the key, or give the state a field: Literal["..."]',
            )


def _check_disjoint(one: ModelClass, other: ModelClass, table: Table) -> None:
    if are_apart(one, other, table.keys):
        return
    for attr in table.keys:
        first, second = introspection.keys(one)[attr], introspection.keys(other)[attr]
        if _is_excluded(one, attr, second) or _is_excluded(other, attr, first):
            return
    attr = table.keys[-1]
    raise _clash(one, other, introspection.keys(one)[attr], introspection.keys(other)[attr], "HR141")


def _is_excluded(model: ModelClass, attr: str, other: Template) -> bool:
    """Return whether the pattern of a plain field excludes every key of the other template."""
    key_codec = key_codecs(model)[attr]
    pattern = introspection.pattern_of(model, key_codec.alone.name) if key_codec.alone is not None else None
    if pattern is None or not other.prefix:
        return False
    return not any(re.search(pattern, other.prefix + sample) for sample in ("", *SAMPLES))


def _clash(one: ModelClass, other: ModelClass, first: Template, second: Template, code: str) -> DeclarationError:
    return DeclarationError(
        code,
        f"{one.__name__} and {other.__name__}",
        f"cannot be distinguished by their keys {first.text!r} and {second.text!r}",
        "give each a prefix of its own, or a plain field a pattern: Annotated[str, Field(pattern=...)]",
    )


def key_type(table: Table, attr: str) -> str:
    """Return the DynamoDB type of a key attribute; refuse one that items of a table store differently."""
    found = dict(key_types(table, attr))
    if len(set(found.values())) > 1:
        types = ", ".join(f"{tag} in {name}" for name, tag in found.items())
        raise DeclarationError("HR142", f"{table.name}.{attr}", f"is a key of several types: {types}", "agree on one")
    tag = next(iter(found.values()), "S")
    if tag not in {"S", "N", "B"}:
        raise DeclarationError(
            "HR143", f"{table.name}.{attr}", f"is a key of type {tag or 'unknown'}", "a key is text, a number or bytes"
        )
    return tag


def key_types(table: Table, attr: str) -> Iterator[tuple[str, str]]:
    """Yield the classes that have a key attribute, each with the type that it stores."""
    for item in introspection.items_of(table):
        states = [state for models in introspection.lifecycles(item).values() for state in models]
        for model in (*introspection.with_variants(item), *states):
            template = introspection.keys(model).get(attr)
            if template is not None:
                alone = introspection.all_fields(model)[template.alone] if template.alone else None
                yield model.__name__, alone.codec.tag if alone is not None else "S"
