"""Equality with a default, in the condition of a write: it holds too where the item is stored without the field.

Such an item was written before the field was declared, and is read with the default. Only a call whose value is the
default has the longer condition.
"""

from __future__ import annotations

from hashrange.core.values import Value
from hashrange.expr.nodes import Clause, Comparison, Condition, DocumentPath, Membership, Placeholder, replace_clauses
from hashrange.schema.declare import introspection
from hashrange.schema.declare.introspection import ModelField
from hashrange.schema.pattern.bound_source import ComparedWithDefault
from hashrange.schema.pattern.criterion import Criterion
from hashrange.schema.pattern.value_source import Placeholders
from hashrange.schema.write.write_intent import WriteIntent


def accept_absent_defaults(intent: WriteIntent, found: Criterion, placeholders: Placeholders) -> Criterion:
    """Return a condition whose equalities know the defaults of the fields that they compare."""
    if intent.verb == "Upsert":  # it would create the item that it wants to find
        return found

    def extend(clause: Clause) -> Condition:
        match clause:
            case Comparison("=", DocumentPath() as path, Placeholder() as given):
                return Comparison("=", path, with_default(path, given))
            case Comparison("=", Placeholder() as given, DocumentPath() as path):
                return Comparison("=", path, with_default(path, given))
            case Membership(DocumentPath() as path, options):
                each = [with_default(path, given) if isinstance(given, Placeholder) else given for given in options]
                return Membership(path, tuple(each))
            case _:
                return clause

    def with_default(path: DocumentPath, given: Placeholder) -> Placeholder:
        default = _default_at(intent, path)
        if default is None:
            return given
        return Placeholder(placeholders.add(ComparedWithDefault(placeholders.by_name[given.name], default)))

    return Criterion(replace_clauses(found.condition, extend))


def _default_at(intent: WriteIntent, path: DocumentPath) -> Value | None:
    """Return the constant default of the field at a path; None if it has none, or may be None."""
    name = introspection.names_by_attribute(intent.target).get(str(path.elements[0]))
    field = intent.fields.get(name) if name is not None and len(path.elements) == 1 else None
    return None if field is None or field.optional or field.key_only else _default_of(intent, field)


def _default_of(intent: WriteIntent, field: ModelField) -> Value | None:
    item = introspection.root(introspection.item_of(intent.target))
    models = (item, intent.target)  # an item without the field that tells a variant is read as the item
    infos = [model.__pydantic_fields__[field.name] for model in models if field.name in model.__pydantic_fields__]
    if not infos or infos[0].is_required() or infos[0].default_factory is not None or infos[0].default is None:
        return None
    return None if field.name in item.__special__ else field.codec.encode(infos[0].default)
