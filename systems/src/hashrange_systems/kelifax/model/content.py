"""The fields of a resource: each is one entry of `Content`, with everything that is true of it.

Forms, the API, pages, exports, feeds, search, suggestions and the documentation are derived from the entries. What
`schema` declares as the types of the attributes is compared with them by a test.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, get_args

from hashrange import camel
from hashrange_systems.kelifax.model.field_kind import (
    FieldKind,
    Look,
    choice,
    choices,
    lessons,
    lines,
    tags,
    text,
    uploaded_logo,
    web_address,
)
from hashrange_systems.kelifax.model.search_text import join_words

Category = Literal["development", "design", "productivity", "learning", "ai", "analytics", "other"]
CATEGORIES: tuple[str, ...] = get_args(Category)
PRICING = ("free", "open source", "freemium", "paid")
LESSON_TYPES = ("documentation", "tutorial", "video", "course")

Section = Literal["resource", "details"]  # of the form of the original system
Place = Literal["", "head", "pills", "facts", "lead", "section"]  # of the page of a resource


@dataclass(frozen=True, slots=True, kw_only=True)
class Searched:
    """How much a word of a query counts that is found in a field; 0 where it is not looked for."""

    in_text: bool = False  # in the stored search text, where the scan of the original system looks
    whole: float = 0  # a word of the value equals it
    word: float = 0  # it is a word of the text
    begins: float = 0  # a word of the text begins with it
    similar: float = 0  # a word of the text differs in a letter or two
    by_frequency: bool = False  # `word` counts more for words that few resources have
    related: float = 0  # two resources have it in common


@dataclass(frozen=True, slots=True, kw_only=True)
class ContentField:
    """A field of a resource."""

    attribute: str = ""  # of `Content`, and of the classes of `schema`
    label: str
    kind: FieldKind
    section: Section
    hint: str = ""  # below the box of the form; {limits} are those of the kind
    example: Any = None  # in a form
    listed: bool = False  # in the public lists, for which the indexes project it
    card: int = 0  # how many of its words are below the title of a card
    page: Place = "section"
    look: Look | None = None  # on pages, if not that of its kind
    search: Searched = Searched()
    filter: bool = False  # lists and searches are narrowed by one of its words; needs a pattern `with_...` in `schema`
    list_path: str = ""  # each of its words has a list of its own, at this path
    column: bool = True  # of the table that is exported
    feed: bool = False  # its words are categories of an item of a feed
    json_ld: Callable[[Any], Mapping[str, Any]] | None = None  # what search engines read of it

    def __post_init__(self) -> None:
        """Refuse what lists and the search index cannot do, because they do not have the field."""
        if (self.card or self.feed or self.has_words or self.has_keys) and not self.listed:
            raise ValueError(f"{self.label}: cards, feeds, filters and scores of searches need listed=True")
        if self.search.related and not (self.has_words or self.has_keys):
            raise ValueError(f"{self.label}: related= needs a score of a word or of the whole value, or a filter")

    @property
    def has_words(self) -> bool:
        """Whether the search index has the words of its texts by themselves."""
        return bool(self.search.word or self.search.begins or self.search.similar)

    @property
    def has_keys(self) -> bool:
        """Whether the search index has its texts as a whole."""
        return bool(self.filter or self.list_path or self.search.whole)

    @property
    def name(self) -> str:
        """The name in forms, the API, exports and the table: `resourceName`."""
        return camel(self.attribute)

    @property
    def path(self) -> str:
        """The place of the value in a form: `resource.resourceName`."""
        return f"{self.section}.{self.name}"

    @property
    def shown_as(self) -> Look:
        """How a page shows its value."""
        return self.look or self.kind.look

    def value_of(self, content: Content) -> Any:
        """Return its value."""
        return getattr(content, self.attribute)

    def words_of(self, content: Content) -> Sequence[str]:
        """Return the texts of its value."""
        return self.kind.words(self.value_of(content))

    def keys_of(self, content: Content) -> Sequence[str]:
        """Return the texts of its value as filters compare them."""
        return self.kind.keys(self.value_of(content))

    @property
    def help(self) -> str:
        """The hint with the limits."""
        limits = self.kind.limits
        return self.hint.format(limits=limits[:1].upper() + limits[1:])


def entry(label: str, kind: FieldKind, section: Section, **more: Any) -> Any:
    """Return the entry of a field, for `Content`."""
    return field(default=kind.empty, metadata={"entry": ContentField(label=label, kind=kind, section=section, **more)})


def as_property(name: str) -> Callable[[Any], Mapping[str, Any]]:
    """Return what writes a value as a property of schema.org; several words are one text."""
    return lambda value: {name: value if isinstance(value, str) else ", ".join(value)} if value else {}


def offer_for_nothing(pricing: Sequence[str]) -> Mapping[str, Any]:
    """Return the offer of schema.org for what costs nothing."""
    costs_nothing = "free" in pricing or "open source" in pricing
    return {"offers": {"@type": "Offer", "price": "0", "priceCurrency": "USD"}} if costs_nothing else {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """What a resource says about itself; all of it is public once it is approved. This is the list of its fields.

    A field that is added here also needs its line in `schema`: in `ListedContent` if it is `listed`, else in
    `StoredContent`. Its kind is one that the original system does not store: `choices`, or one that is `added`.
    """

    resource_name: str = entry(
        "Name", text(range(3, 101)), "resource",
        example="Amazing Dev Tool", listed=True, page="head", json_ld=as_property("name"),
        search=Searched(in_text=True, word=6.0, by_frequency=True, begins=4.5, similar=3.0, related=1.5),
    )  # fmt: skip
    resource_url: str = entry(
        "Address", web_address(), "resource", hint="Such as https://example.com",
        example="https://amazingdevtool.example", listed=True, page="head", json_ld=as_property("url"),
    )  # fmt: skip
    usage_purpose: str = entry(
        "Purpose", text(range(20, 501), lines=True), "resource",
        hint="{limits}. Say what one does with it, and for whom it is.",
        example="Generates the code that developers write again and again.",
        listed=True, page="lead", json_ld=as_property("description"), search=Searched(word=0.4, begins=0.2),
    )  # fmt: skip
    category: str = entry(
        "Category", choice(CATEGORIES), "resource",
        example="development", listed=True, card=1, page="facts", list_path="category", feed=True,
        json_ld=as_property("applicationCategory"), search=Searched(in_text=True, related=1.0),
    )  # fmt: skip
    tags: tuple[str, ...] = entry(
        "Tags", tags(10, 30), "resource", hint="{limits}, separated by commas: editor, open source",
        example=["productivity", "automation"], listed=True, page="lead", list_path="tag", feed=True,
        json_ld=as_property("keywords"), search=Searched(in_text=True, whole=5.0, related=3.0),
    )  # fmt: skip
    pricing: tuple[str, ...] = entry(
        "Pricing", choices(PRICING), "resource",
        example=["freemium"], listed=True, card=1, page="pills", filter=True, json_ld=offer_for_nothing,
    )  # fmt: skip
    logo_image: str | None = entry(
        "Logo", uploaded_logo(), "resource",
        hint="PNG, JPEG or WebP, at most 2 MB. It is shown once the resource is approved.",
        listed=True, page="head", column=False,
    )  # fmt: skip
    key_features: tuple[str, ...] = entry(
        "Key features", lines(range(3, 11), range(10, 201)), "details", hint="{limits}.",
        example=["Automated code generation", "Integrated debugging tools", "Real-time collaboration"],
        look="points", search=Searched(in_text=True),
    )  # fmt: skip
    use_cases: tuple[str, ...] = entry(
        "Use cases", lines(range(2, 9), range(15, 301)), "details", hint="{limits}.",
        example=["Rapid prototyping for startups", "Enterprise application development"],
    )  # fmt: skip
    learning_resources: tuple[Mapping[str, str], ...] = entry(
        "Where to learn it", lessons(LESSON_TYPES), "details", hint="{limits} pages, courses or videos.",
        example=[{"title": "Guide", "url": "https://docs.example", "type": "documentation"}], column=False,
    )  # fmt: skip

    def make_search_text(self, chosen: Sequence[ContentField] | None = None) -> str:
        """Return the text that the scan of the original system looks into, as it makes it; of all or some fields."""
        searched = (each for each in chosen or CONTENT_FIELDS if each.search.in_text)
        return join_words(each.words_of(self) for each in searched)

    def to_fields(self) -> dict[str, Any]:
        """Return the content under the names of the form, with JSON types."""
        return show_content(self, CONTENT_FIELDS)

    def to_stored(self, changed: Collection[str] | None = None) -> dict[str, Any]:
        """Return the attributes of a stored resource; with `changed` only of the fields with these names."""
        chosen = [each for each in CONTENT_FIELDS if changed is None or each.name in changed]
        return {each.attribute: each.kind.dump(each.value_of(self)) for each in chosen}


CONTENT_FIELDS: tuple[ContentField, ...] = tuple(
    replace(each.metadata["entry"], attribute=each.name) for each in fields(Content)
)
LISTED_FIELDS = tuple(each for each in CONTENT_FIELDS if each.listed)
FILTER_FIELDS = tuple(each for each in CONTENT_FIELDS if each.filter)
KINDS = {each.attribute: each.kind for each in CONTENT_FIELDS}
CONTENT_NAMES = tuple(each.name for each in CONTENT_FIELDS)


def read_content(resource: object) -> Content:
    """Return the content of a stored resource, also of one that the rules of the form would refuse."""
    return Content(**load_content(resource))


def load_content(source: object, chosen: Sequence[ContentField] = CONTENT_FIELDS) -> dict[str, Any]:
    """Return the values of these fields of a stored resource, by attribute."""
    return {each.attribute: each.kind.load(getattr(source, each.attribute)) for each in chosen}


def recover_content(stored: Callable[[ContentField], object], slug: str) -> dict[str, Any]:
    """Return as much of a stored resource as can be read, by attribute; it has a name and a category at least."""
    found = {each.attribute: each.kind.recover(stored(each)) for each in CONTENT_FIELDS}
    return found | {"resource_name": found["resource_name"] or slug, "category": found["category"] or "other"}


def has_choices(content: Content, choices: Mapping[str, str]) -> bool:
    """Return whether content has these words in these fields."""
    return all(word in KINDS[name].keys(getattr(content, name)) for name, word in choices.items())


def show_content(content: Content, chosen: Sequence[ContentField]) -> dict[str, Any]:
    """Return the values of these fields under the names of the form, with JSON types."""
    return {each.name: each.kind.show(each.value_of(content)) for each in chosen}
