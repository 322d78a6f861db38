"""Finds the class of a group of items: key templates, the states that index keys show, and fields."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from hashrange.core.values import Item as Raw
from hashrange.core.values import Value
from hashrange.provision.adopted_key import (
    VALUE,
    WORD,
    Forms,
    KeyParts,
    KeyStart,
    Variable,
    are_integers,
    find_prefixes,
    find_sources,
    form_of,
    padding_of,
    split_keys,
)
from hashrange.provision.adopted_name import common_words, is_technical, name_field, name_item, pascal, snake, unique
from hashrange.provision.adopted_schema import AdoptedField, AdoptedItem, AdoptedLifecycle, AdoptedState, FoundType
from hashrange.provision.adopted_type import MIN_NORMAL, find_type, is_time_name
from hashrange.provision.live_table import LiveIndex, LiveTable
from hashrange.schema.declare.table import camel

NO_HASH = "^[^#]*$"  # matches a plain key, not those with a prefix
FEW = 5  # items, of which little can be concluded
TIMES_AND_DATES = frozenset({"datetime", "IsoMillis", "IsoMicros", "date"})


class TableFacts(Struct, frozen=True):
    """The facts about a table that hold for all groups of its items."""

    live: LiveTable
    camel: bool
    unset: bool

    @property
    def keys(self) -> list[str]:
        """The primary key attributes."""
        return [one["AttributeName"] for one in self.live.key_schema]

    def is_unsorted(self, attr: str) -> bool:
        """Return whether a key attribute is in no sort key, so that integers in it need no padding."""
        schemas = [self.live.key_schema, *(index.key_schema for index in self.live.indexes)]
        return not any(attr in keys_of(schema, "RANGE") for schema in schemas)

    @property
    def key_names(self) -> frozenset[str]:
        """The key attributes of the table and of its indexes."""
        return frozenset(self.live.key_types)

    @property
    def index_keys(self) -> dict[str, LiveIndex]:
        """The key attributes of indexes that are no primary keys, with the first index that has each."""
        found: dict[str, LiveIndex] = {}
        for index in self.live.indexes:
            for one in index.key_schema:
                if one["AttributeName"] not in self.keys:
                    found.setdefault(one["AttributeName"], index)
        return found


def keys_of(schema: Sequence[Mapping[str, str]], key_type: str) -> list[str]:
    """Return the attributes of a key schema of a key type: HASH or RANGE."""
    return [one["AttributeName"] for one in schema if one["KeyType"] == key_type]


class ItemFinder:
    """Finds the class of items with keys of one form."""

    def __init__(
        self,
        facts: TableFacts,
        group: tuple[Forms, list[Raw]],
        named: Mapping[tuple[str, str], str],
        taken: set[str],
    ) -> None:
        forms, self.raws = group
        self.facts = facts
        self.forms = dict(zip(facts.keys, forms, strict=True))
        self.named = named  # the fields of other classes, by key attribute and the fixed text before them
        self.taken = taken  # the names of classes
        name = self._claim(name_item([form.prefix for form in forms], facts.live.name))
        self.item = AdoptedItem(name=name, count=len(self.raws), keys={}, fields=[])
        attrs = dict.fromkeys(attr for raw in self.raws for attr in raw)
        self.names: dict[str, str] = {}
        for attr in attrs:
            self.names[attr] = name_field(attr, self.names.values())
        self.texts: dict[str, list[Value | None]] = {}  # of fields that are in keys only
        self.in_keys: set[str] = set()  # attributes that stand in templates
        self.state_attrs: set[str] = set()

    def find(self, guarded: set[str]) -> AdoptedItem:
        """Return the class; keys in `guarded` need a pattern, because other classes have a prefix there."""
        for attr in self.facts.keys:
            self._find_primary(attr, attr in guarded)
        for attr, index in self.facts.index_keys.items():
            if any(attr in raw for raw in self.raws):
                self._find_index_key(attr, index)
        templated = self.item.keys.keys() | {one.attr for one in self.item.lifecycles}
        for attr in sorted(self.names.keys() - templated - self.state_attrs, key=list(self.names).index):
            self.item.fields.append(self._make_field(attr, guarded=attr in guarded))
        for lifecycle in self.item.lifecycles:
            lifecycle.shared = list(self._key_fields())
        if len(self.raws) < FEW:
            self.item.comments.append(f"found in {len(self.raws)} of the sampled items only")
        return self.item

    def _claim(self, name: str) -> str:
        """Return a name for a class, which no other class gets."""
        found = unique(name, self.taken, by="")
        self.taken.add(found)
        return found

    def _key_fields(self) -> Iterator[AdoptedField]:
        """Yield the fields that can be read back from the primary key."""
        templates = "".join(self.item.keys.get(attr) or f"{{{self.names[attr]}}}" for attr in self.facts.keys)
        for field in self.item.fields:
            if f"{{{field.name}}}" in templates:
                yield field

    # ── values ───────────────────────────────────────────────────────────────────────────────────────────────────────
    def values(self, attr: str, raws: Sequence[Raw] | None = None) -> list[Value | None]:
        """Return the value of an attribute in each item; None where it is absent, NULL, or stored as unset."""
        found = [raw.get(attr) for raw in (self.raws if raws is None else raws)]
        empty = {"S": ""} if self.facts.unset else None
        return [None if value is None or "NULL" in value or value == empty else value for value in found]

    def _sources(self, raws: Sequence[Raw], first: frozenset[str] = frozenset()) -> dict[str, list[Value | None]]:
        """Return the values of the fields that may stand in a key, by attribute; those in `first` before others."""
        keys = {attr for attr in (*self.facts.keys, *self.facts.index_keys) if is_technical(attr)}
        attrs = sorted(
            self.names.keys() - keys - self.item.keys.keys(), key=lambda attr: (attr not in first, len(attr), attr)
        )
        return {attr: self.values(attr, raws) for attr in attrs if attr != self.facts.live.ttl}

    # ── primary keys ─────────────────────────────────────────────────────────────────────────────────────────────────
    def _find_primary(self, attr: str, guarded: bool) -> None:
        if self.facts.live.key_types[attr] != "S":
            return  # a number or bytes: the field itself
        texts, sources = [raw[attr]["S"] for raw in self.raws], self._sources(self.raws)
        parts = split_keys(self.forms[attr], texts, sources)
        is_value = parts.is_value
        if is_value and not is_technical(attr):
            return
        template = ""
        by_length = {text.count("#"): text for text in texts}
        unpadded = self.facts.is_unsorted(attr) and not parts.is_value
        if len(by_length) > 1 and not find_sources(parts.variables[0].texts, sources, unpadded=unpadded):
            shown = ", ".join(repr(by_length[length]) for length in sorted(by_length)[:3])
            self.item.comments.append(f"{attr} has several forms, perhaps of several classes: {shown}")
        for number, variable in enumerate(parts.variables):
            template += variable.literal + self._find_part(
                attr, variable, number, guarded=guarded and is_value, unpadded=unpadded
            )
        self.item.keys[attr] = template + parts.tail

    def _find_part(self, attr: str, variable: Variable, number: int, *, guarded: bool, unpadded: bool) -> str:
        sources = self._sources(self.raws)
        wanted = self.named.get((attr, variable.literal)) if not number else None
        if wanted is not None:  # the same field in all classes
            sources = {wanted: sources[wanted]} if wanted in sources else {}
        found = find_sources(variable.texts, sources, unpadded=unpadded)
        if found and not guarded:
            source, form = found[0]
            self._comment_others(
                attr, source, find_sources(variable.texts, self._sources(self.raws), unpadded=unpadded)
            )
            self.in_keys.add(source)
            return _placeholder(self.names[source], form)
        return self._add_key_field(attr, variable, number, guarded=guarded, unpadded=unpadded)

    def _comment_others(self, attr: str, source: str, fitting: Sequence[tuple[str, str]]) -> None:
        """Name the other fields that fit in every sampled item: the key may be made of one of them."""
        for other in [name for name, _ in fitting if name != source]:
            comment = f"{attr}: {self.names.get(other, other)} fits as well as {self.names.get(source, source)}"
            if comment not in self.item.comments:
                self.item.comments.append(comment)

    def _add_key_field(self, attr: str, variable: Variable, number: int, *, guarded: bool, unpadded: bool) -> str:
        """Add a field that is stored in a key only, and return its placeholder in the template."""
        values = [{"S": text} for text in variable.texts]
        found = find_type(attr, values, in_key=True)
        padding = padding_of(variable.texts) if any(text[0] == "0" for text in variable.texts) else None
        if guarded:
            found = FoundType("str", markers=(f'Field(pattern="{NO_HASH}")',))
        elif len(set(variable.texts)) > 1 and (padding is not None or (unpadded and are_integers(variable.texts))):
            found = FoundType("int")
        elif found.name not in TIMES_AND_DATES or found.comments:
            found, padding = FoundType("str"), None
        base = self.named.get((attr, variable.literal)) if not number else None
        name = name_field(base) if base else self._name_part(variable, found)
        name = unique(name, {*self.names.values(), *self.texts})
        self.texts[name] = [{"N": str(int(text))} for text in variable.texts] if found.name == "int" else list(values)
        self.item.fields.append(AdoptedField(name=name, stored="", found=found, key_only=True))
        return _placeholder(name, padding or "" if found.name == "int" else "")

    def _name_part(self, variable: Variable, found: FoundType) -> str:
        word = variable.literal.strip("#").rpartition("#")[2]
        if found.name in TIMES_AND_DATES:
            return "day" if found.name == "date" else "at"
        return name_field(word) if word else "id" if not variable.literal else "part"

    # ── index keys ───────────────────────────────────────────────────────────────────────────────────────────────────
    def _find_index_key(self, attr: str, index: LiveIndex) -> None:
        values = self.values(attr)
        texts = [value.get("S") if value is not None else None for value in values]
        present = [raw for raw, text in zip(self.raws, texts, strict=True) if text is not None]
        if self.facts.live.key_types[attr] != "S" or not present:
            return
        given = [raw[attr]["S"] for raw in present]
        prefixes = find_prefixes(given)
        forms = [form_of(raw[attr], prefixes) for raw in present]
        usual = [form for form in dict.fromkeys(forms) if form != VALUE]
        odd = forms.count(VALUE)
        if attr in keys_of(index.key_schema, "RANGE") and len(usual) > 1 and (not odd or _is_rare(odd, len(forms))):
            states: dict[KeyStart, list[Raw]] = {
                form: [] for form in sorted(usual, key=lambda form: (form.varies, form.prefix))
            }
            for form, raw in zip(forms, present, strict=True):
                states.get(form, []).append(raw)
            self._find_lifecycle(attr, index, states)
        elif is_technical(attr):
            template = self._copy_primary(given, present) or self._make_template(attr, present, forms, index)
            if template:
                self.item.keys[attr] = template

    def _copy_primary(self, given: list[str], present: list[Raw]) -> str:
        """Return the template of the primary key that an index key repeats."""
        for key in self.facts.keys:
            if len(present) == len(self.raws) and given == [raw[key].get("S") for raw in present]:
                return self.item.keys.get(key) or _placeholder(self.names[key], "")
        return ""

    def _make_template(self, attr: str, present: list[Raw], forms: list[KeyStart], index: LiveIndex) -> str:
        """Return the template that gives an index key in every item; nothing if there is none."""
        given = [raw[attr]["S"] for raw in present]
        form = forms[0] if len(set(forms)) == 1 else VALUE
        whole = KeyParts((Variable("", tuple(given)),), "")
        similar = [name for name in self.names if attr in keys_of(index.key_schema, "HASH") and _is_in(name, index)]
        first = frozenset(sorted(similar, key=len)[-1:])
        parts = split_keys(form, given, self._sources(present))
        unpadded = self.facts.is_unsorted(attr)
        filled = self._fill_template(whole, present, first, unpadded=unpadded) or self._fill_template(
            parts, present, unpadded=unpadded
        )
        if filled is None:
            is_constant = len(present) == len(self.raws) > 1 and set(given) == {given[0]} and WORD.fullmatch(given[0])
            return given[0] if is_constant else ""
        template, used, fitting = filled
        absent = [raw for raw in self.raws if attr not in raw]
        if any(all(value is not None for one in used for value in self.values(one, [raw])) for raw in absent):
            return ""  # the item has all fields of the template, and is not in the index
        self.in_keys.update(used)
        for source, same in fitting.items():
            self._comment_others(attr, source, same)
        return template

    def _fill_template(
        self, parts: KeyParts, raws: list[Raw], first: frozenset[str] = frozenset(), *, unpadded: bool = False
    ) -> tuple[str, list[str], dict[str, list[tuple[str, str]]]] | None:
        """Return a template with a field for every part, their attributes, and what else fits in place of each.

        None if a part is in no attribute.
        """
        template, used, others = "", list[str](), dict[str, list[tuple[str, str]]]()
        sources = self._sources(raws, first)
        in_keys = self.texts if len(raws) == len(self.raws) else {}
        unpadded = unpadded and not parts.is_value
        for variable in parts.variables:
            found = (find_sources(variable.texts, fields, unpadded=unpadded) for fields in (sources, in_keys))
            fitting = next(filter(None, found), [])
            if not fitting or f"{{{fitting[0][0]}" in template:
                return None
            source, form = fitting[0]
            others[source] = fitting
            if source in sources:
                used.append(source)
            template += variable.literal + _placeholder(self.names.get(source, source), form)
        return template + parts.tail, used, others

    # ── lifecycles ───────────────────────────────────────────────────────────────────────────────────────────────────
    def _find_lifecycle(self, attr: str, index: LiveIndex, states: dict[KeyStart, list[Raw]]) -> None:
        """Add the states that the prefixes of an index key show; none if a part of a key is in no attribute."""
        projected = index.projection if index.projection is not None else frozenset()
        made: dict[KeyStart, tuple[str, list[str]]] = {}
        for form, raws in states.items():
            parts = split_keys(form, [raw[attr]["S"] for raw in raws], self._sources(raws))
            filled = self._fill_template(parts, raws, projected)
            if filled is None or any(not form.excludes(other) for other in states if other != form):
                self.item.comments.append(f"{attr} has prefixes, perhaps of states: {', '.join(sorted(_show(states)))}")
                return
            template, used, others = filled
            made[form] = template, used
            for source, fitting in others.items():
                self._comment_others(attr, source, fitting)
        attrs = list(dict.fromkeys(used for _, all_used in made.values() for used in all_used))
        if {*attrs} & self.in_keys or any(attr not in raw for raw in self.raws):
            self.item.comments.append(f"{attr} has prefixes, perhaps of states: {', '.join(sorted(_show(states)))}")
            return
        name = self._name_lifecycle(attr, attrs)
        view = self._claim(pascal(name))
        self.state_attrs.update(attrs)
        self.item.lifecycles.append(
            AdoptedLifecycle(
                name=name,
                view=view,
                attr=attr,
                states=[
                    AdoptedState(
                        name=self._claim(pascal(f"{form.prefix} {view}")),
                        template=template,
                        fields=list(self._state_fields(attrs, used, states[form])),
                    )
                    for form, (template, used) in made.items()
                ],
                shared=[],
            )
        )

    def _state_fields(self, attrs: list[str], used: list[str], raws: list[Raw]) -> Iterator[AdoptedField]:
        for attr in attrs:
            if any(self.values(attr, raws)):
                field = self._make_field(attr)
                field.optional = attr not in used
                yield field

    def _name_lifecycle(self, attr: str, attrs: list[str]) -> str:
        start = common_words([self.names[one] for one in attrs])
        base = start or f"{name_field(attr).removesuffix('_sk').removesuffix('_key')}_state"
        return unique(base, {*self.names.values(), *self.texts, *(one.name for one in self.item.lifecycles)})

    # ── fields ───────────────────────────────────────────────────────────────────────────────────────────────────────
    def _make_field(self, attr: str, *, guarded: bool = False) -> AdoptedField:
        values = self.values(attr)
        present = [value for value in values if value is not None]
        name = self.names[attr]
        is_key = attr in self.in_keys or attr in self.facts.keys or attr in self.facts.index_keys
        found = find_type(attr, present, in_key=is_key) if present else self._guess_type(attr)
        if attr == self.facts.live.ttl:
            found = FoundType("Ttl", "datetime")
        elif guarded:
            found = FoundType("str", markers=(f'Field(pattern="{NO_HASH}")',))
        field = AdoptedField(
            name=name,
            stored=attr,
            found=found,
            optional=len(present) < len(values),
            explicit=(camel(name) if self.facts.camel else name) != attr,
        )
        empty = sum(1 for value in present if value == {"S": ""})
        if empty:
            field.comments.append(f'"" in {empty} of {len(values)}')
        return field

    def _guess_type(self, attr: str) -> FoundType:
        """Return the type of an attribute that has no value in any item."""
        is_text = any("S" in raw.get(attr, {}) for raw in self.raws)
        perhaps = ", perhaps a time" if is_time_name(attr) else ""
        return FoundType("str" if is_text else "Any", comments=(f"without a value in the sample{perhaps}",))


def _placeholder(name: str, form: str) -> str:
    return f"{{{name}:{form}}}" if form else f"{{{name}}}"


def _is_in(attr: str, index: LiveIndex) -> bool:
    return snake(attr) in snake(index.name)


def _show(states: Mapping[KeyStart, object]) -> Iterator[str]:
    return (form.prefix for form in states)


def _is_rare(odd: int, total: int) -> bool:
    return total >= MIN_NORMAL and odd * 100 <= total
