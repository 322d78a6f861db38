"""Writes an access pattern for each key and index of an adopted table: a Get per class, a Query per partition."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from hashrange.provision.adopted_item import TableFacts, keys_of
from hashrange.provision.adopted_name import name_field, pascal, plural, snake, unique
from hashrange.provision.adopted_schema import AdoptedField, AdoptedItem, AdoptedPattern, AdoptedSchema, AdoptedView
from hashrange.provision.live_table import LiveIndex
from hashrange.session.patterns import reserved_names

FIELD = re.compile(r"\{(\w+)(?::[\w.+]+)?\}")


class PatternWriter:
    """Adds the views and the patterns to an adopted schema."""

    def __init__(self, facts: TableFacts, schema: AdoptedSchema) -> None:
        self.facts = facts
        self.schema = schema

    def add_all(self) -> None:
        """Add a pattern for each key and for each index."""
        for item in self.schema.items:
            self._add("Get", snake(item.name), self._parameters(item, self.facts.keys), [item.name])
        if len(self.facts.keys) > 1:
            self._add_partitions()
        for index in self.facts.live.indexes:
            self._add_index(index)

    def _add(self, verb: str, name: str, parameters: list[tuple[str, str]], models: list[str], index: str = "") -> None:
        taken = {pattern.name for pattern in self.schema.patterns}
        if name in reserved_names():
            name = f"{verb}_{name}".lower()
        self.schema.patterns.append(
            AdoptedPattern(
                name=unique(name_field(name), taken), parameters=parameters, verb=verb, models=models, index=index
            )
        )

    def _add_partitions(self) -> None:
        groups: dict[str, list[AdoptedItem]] = defaultdict(list)
        for item in self.schema.items:
            groups[self._template(item, self.facts.keys[0])].append(item)
        for items in groups.values():
            parameters = self._parameters(items[0], self.facts.keys[:1])
            names = [item.name for item in items]
            if len(items) > 1:
                self._add("Query", f"all_of_{parameters[0][0] if parameters else snake(names[0])}", parameters, names)
            for item in items:
                if self._parameters(item, self.facts.keys[1:]):
                    self._add("Query", plural(snake(item.name)), parameters, [item.name])

    def _template(self, item: AdoptedItem, attr: str) -> str:
        """Return the template of a key attribute; nothing if the class is not in the index."""
        found = next((field for field in item.fields if field.stored == attr), None)
        return item.keys.get(attr) or (f"{{{found.name}}}" if found is not None else "")

    def _parameters(self, item: AdoptedItem, attrs: list[str]) -> list[tuple[str, str]]:
        names = dict.fromkeys(name for attr in attrs for name in FIELD.findall(self._template(item, attr)))
        fields = [(name, item.find_field(name)) for name in names]
        return [(name, field.found.parameter or field.found.name) for name, field in fields if field is not None]

    # ── indexes ──────────────────────────────────────────────────────────────────────────────────────────────────────
    def _add_index(self, index: LiveIndex) -> None:
        partition = keys_of(index.key_schema, "HASH")
        groups: dict[tuple[str, ...], list[AdoptedItem]] = defaultdict(list)
        for item in self.schema.items:
            if self._is_in(item, index):
                groups[tuple(self._template(item, attr) for attr in partition)].append(item)
        if not groups:
            self.schema.comments.append(f"no item of the sample is in the index {index.name}")
        for items in groups.values():
            parameters = self._parameters(items[0], partition)
            models = [self._model_in(item, index) for item in items]
            name = f"by_{snake(index.name).removeprefix('by_').removesuffix('_index')}"
            self._add("Query", name, parameters, [each for one in models for each in one], index.name)
            for each in (each for one in models if len(one) > 1 for each in one):
                self._add("Query", snake(each), parameters, [each], index.name)

    def _is_in(self, item: AdoptedItem, index: LiveIndex) -> bool:
        states = {lifecycle.attr for lifecycle in item.lifecycles}
        return all(
            one["AttributeName"] in states or self._template(item, one["AttributeName"]) for one in index.key_schema
        )

    def _model_in(self, item: AdoptedItem, index: LiveIndex) -> list[str]:
        """Return what an index returns of a class: its states, a view, or the class itself."""
        for lifecycle in item.lifecycles:
            if lifecycle.attr in keys_of(index.key_schema, "RANGE"):
                return [state.name for state in lifecycle.states]
        if index.projection is None:
            return [item.name]
        view = AdoptedView(name=self._name_view(item, index), item=item.name, fields=list(self._projected(item, index)))
        self.schema.views.append(view)
        return [view.name]

    def _name_view(self, item: AdoptedItem, index: LiveIndex) -> str:
        taken = {one.name for one in self.schema.items} | {one.name for one in self.schema.views}
        return unique(pascal(f"{item.name} {snake(index.name).removesuffix('_index')}"), taken, by="")

    def _projected(self, item: AdoptedItem, index: LiveIndex) -> Iterator[AdoptedField]:
        keys = [*self.facts.keys, *(one["AttributeName"] for one in index.key_schema)]
        stored = {*keys, *(index.projection or ())}
        readable = {
            name for attr in keys for name in re.findall(r"\{(\w+)(?::[+\d.]+[df])?\}", self._template(item, attr))
        }
        for field in item.fields:
            if field.stored in stored or field.name in readable:
                yield field
