"""What adoption found in a table: the classes, states, views and patterns of its declaration, before they are text."""

from __future__ import annotations

from msgspec import Struct, field

from hashrange.provision.live_table import LiveTable


class FoundType(Struct, frozen=True):
    """The type that the values of an attribute have."""

    name: str  # as a declaration names it: str, Millis, list[int]
    parameter: str = ""  # the type of a parameter; that of the field if empty
    markers: tuple[str, ...] = ()  # beside the type: Prefixed("COUNTRY#")
    comments: tuple[str, ...] = ()


class AdoptedField(Struct, kw_only=True):
    """A field of a class."""

    name: str
    stored: str
    found: FoundType
    optional: bool = False
    key_only: bool = False
    explicit: bool = False  # the naming rule does not give the attribute's name
    comments: list[str] = field(default_factory=list)


class AdoptedState(Struct, kw_only=True):
    """A state of a lifecycle: a view with a key template."""

    name: str
    template: str
    fields: list[AdoptedField]


class AdoptedLifecycle(Struct, kw_only=True):
    """The states that the prefixes of an index key show."""

    name: str
    view: str
    attr: str
    states: list[AdoptedState]
    shared: list[AdoptedField]


class AdoptedItem(Struct, kw_only=True):
    """A class of items."""

    name: str
    count: int
    keys: dict[str, str]  # the templates, by key attribute
    fields: list[AdoptedField]
    lifecycles: list[AdoptedLifecycle] = field(default_factory=list)
    comments: list[str] = field(default_factory=list)

    def find_field(self, name: str) -> AdoptedField | None:
        """Return a field of the item or of one of its states."""
        states = (state for lifecycle in self.lifecycles for state in lifecycle.states)
        of_states = (one for state in states for one in state.fields)
        return next((one for one in (*self.fields, *of_states) if one.name == name), None)


class AdoptedView(Struct, kw_only=True):
    """What a narrow index holds of an item."""

    name: str
    item: str
    fields: list[AdoptedField]


class AdoptedPattern(Struct, kw_only=True):
    """An access pattern: `def name(self, parameters) -> verb[models]`."""

    name: str
    parameters: list[tuple[str, str]]
    verb: str
    models: list[str]
    index: str = ""


class AdoptedSchema(Struct, kw_only=True):
    """The declaration of a table, with comments about what the sample does not prove."""

    live: LiveTable
    sampled: int
    camel: bool
    unset: bool
    former_ttl: bool
    items: list[AdoptedItem]
    views: list[AdoptedView] = field(default_factory=list)
    patterns: list[AdoptedPattern] = field(default_factory=list)
    comments: list[str] = field(default_factory=list)
