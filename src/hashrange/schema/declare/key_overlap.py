"""Compares the key templates of two models: whether a key can be one of both."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from hashrange.schema.declare.introspection import ModelClass
from hashrange.schema.declare.key_codec import KeyCodec, key_codecs
from hashrange.schema.declare.key_template import Template


class KeyPart(NamedTuple):
    """A fixed text in a key, whether a field follows, and the form of its texts if that says where they end."""

    literal: str
    has_field: bool = False
    form: str | int | None = None


def are_apart(one: ModelClass, other: ModelClass, attrs: Iterable[str]) -> bool:
    """Return whether no item is in an index as both models: one of them lacks a key of it, or their keys differ."""
    first, second = key_codecs(one), key_codecs(other)
    return any(
        attr not in first or attr not in second or have_no_common_key(first[attr], second[attr]) for attr in attrs
    )


def have_no_common_key(one: KeyCodec, other: KeyCodec) -> bool:
    """Return whether no key of one template has the form of the other, also after fields of equal width."""
    return _differ(_parts_of(one), _parts_of(other))


def have_no_common_prefix(one: Template, other: Template) -> bool:
    """Return whether no key of one template has the prefix of the other, by which conditions recognise a state."""
    return _differ(
        (KeyPart(one.prefix, bool(one.fields)),),
        (KeyPart(other.prefix, bool(other.fields)),),
    )


def _parts_of(key_codec: KeyCodec) -> tuple[KeyPart, ...]:
    fields = [KeyPart(step.literal, has_field=True, form=step.fixed_form) for step in key_codec.steps]
    return (*fields, KeyPart(key_codec.tail))


def _differ(one: tuple[KeyPart, ...], other: tuple[KeyPart, ...]) -> bool:
    first, second = one[0], other[0]
    if not first.has_field and not second.has_field:
        return first.literal != second.literal
    if not first.has_field:
        return not first.literal.startswith(second.literal)
    if not second.has_field:
        return not second.literal.startswith(first.literal)
    if first == second and first.form is not None:
        return _differ(one[1:], other[1:])
    return not first.literal.startswith(second.literal) and not second.literal.startswith(first.literal)
