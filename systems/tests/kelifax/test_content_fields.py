"""The list of a resource's fields is complete, and everything that names them besides agrees with it."""

import asyncio
from dataclasses import replace
from typing import get_type_hints

import pytest

from hashrange_systems.kelifax.model.content import (
    CONTENT_FIELDS,
    CONTENT_NAMES,
    FILTER_FIELDS,
    LISTED_FIELDS,
    Content,
    ContentField,
    Searched,
    read_content,
)
from hashrange_systems.kelifax.model.damage import RULES
from hashrange_systems.kelifax.model.draft import parse_content, parse_draft, parse_fields, split_fields
from hashrange_systems.kelifax.model.field_kind import choices
from hashrange_systems.kelifax.schema import Kelifax, ListedContent, Listing, Resource, StoredContent
from hashrange_systems.kelifax.web.api.api_models import EXAMPLE_FORM, FORM, ListedResourceModel, ResourceModel
from hashrange_systems.kelifax.web.submission_form import CONTENT_STEPS
from systems.tests.kelifax.entries import EXAMPLE
from systems.tests.kelifax.services import ANN, make_form


def make_whole_form():
    """A form with a value for every field: of one that `make_form` does not know the example of its entry."""
    form = make_form(logoImage="logo.png")
    known = {**form["resource"], **form["details"]}
    return split_fields({each.name: known.get(each.name, each.example) for each in CONTENT_FIELDS})


async def list_whole(kelifax):
    """Publish a resource with a value for every field; return its slug."""
    draft = parse_draft({"submitter": make_form()["submitter"], **make_whole_form()})
    slug = (await kelifax.submissions.accept(draft, confirmed=True)).slug
    await kelifax.moderation.approve(slug, ANN)
    return slug


def types_of(model):
    return get_type_hints(model, include_extras=True)


def test_what_is_declared_for_the_table_are_the_fields_with_the_types_of_their_kinds():
    assert types_of(StoredContent) == {each.attribute: each.kind.stored for each in CONTENT_FIELDS}
    assert types_of(ListedContent) == {each.attribute: each.kind.stored for each in LISTED_FIELDS}
    assert issubclass(Resource, StoredContent)
    assert issubclass(Listing, ListedContent)


def test_what_the_original_system_does_not_have_is_not_stored_while_it_is_empty():
    assert [each.name for each in CONTENT_FIELDS if each.name not in EXAMPLE and each.kind.stored != set[str]] == []


def test_every_filter_has_its_pattern():
    wanted = {f"with_{each.attribute}" for each in FILTER_FIELDS}
    assert wanted == {name for name in Kelifax.plans if name.startswith("with_")}


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ({"filter": True}, "Words: cards, feeds, filters and scores of searches need listed=True"),
        ({"card": 1}, "Words: cards, feeds"),
        ({"feed": True}, "Words: cards, feeds"),
        ({"search": Searched(whole=1.0)}, "Words: cards, feeds"),
        ({"search": Searched(in_text=True, related=1.0), "listed": True}, "Words: related= needs a score"),
    ],
)
def test_an_entry_that_lists_or_searches_cannot_obey_is_refused(facts, message):
    with pytest.raises(ValueError, match=message):
        ContentField(label="Words", kind=choices(("a", "b")), section="resource", **facts)


def test_every_field_has_a_place_in_a_form_and_in_the_api():
    assert [field.path for step in CONTENT_STEPS for field in step.fields] == [each.path for each in CONTENT_FIELDS]
    described = {name for section in ("resource", "details") for name in FORM["properties"][section]["properties"]}
    assert described == set(CONTENT_NAMES) == set(RULES) & set(CONTENT_NAMES)
    assert {field.alias for field in ResourceModel.model_fields.values()} >= set(CONTENT_NAMES)
    listed = {each.name for each in LISTED_FIELDS}
    assert {field.alias for field in ListedResourceModel.model_fields.values()} & set(CONTENT_NAMES) == listed


def test_the_example_of_the_api_is_a_form_that_is_taken():
    content = parse_draft(EXAMPLE_FORM).content
    assert [each.name for each in CONTENT_FIELDS if not each.value_of(content)] == ["logoImage"]


def test_the_form_of_these_tests_has_every_field():
    content = parse_content(make_whole_form())
    assert [each.name for each in CONTENT_FIELDS if not each.value_of(content)] == []


def test_content_without_a_value_is_stored_and_read_back_without_one():
    stored = {each.attribute: each.kind.dump(each.kind.empty) for each in CONTENT_FIELDS}
    assert read_content(StoredContent(**stored)) == Content()
    assert [each.name for each in CONTENT_FIELDS if each.kind.recover(None) != each.kind.empty] == []


def test_a_resource_keeps_every_field_from_the_form_to_the_public(kelifax):
    wanted = parse_content(make_whole_form()).to_fields()

    async def act():
        slug = await list_whole(kelifax)
        stored = await kelifax.db.published(slug)
        shown = await kelifax.directory.find(slug)
        assert read_content(stored).to_fields() == wanted
        assert shown.to_fields() == wanted
        assert set(ResourceModel(**shown.to_json()).model_dump(by_alias=True)) >= set(CONTENT_NAMES)

    asyncio.run(act())


def test_an_edit_changes_every_field_that_it_is_given(kelifax):
    other = make_form(
        "Pixel Kit Two", "https://two.example.com/", category="other", logoImage="two.png", tags=["two"],
        usagePurpose="Draws icons twice, in every size.", pricing=["paid"],
        keyFeatures=["Feature one, again", "Feature two, again", "Feature three, again"],
        useCases=["Use case one, again", "Use case two, again"],
        learningResources=[{"title": "Two", "url": "https://two.example.com/a", "type": "video"}],
    )  # fmt: skip
    empty = {each.name: each.kind.show(each.kind.empty) for each in CONTENT_FIELDS}
    wanted = parse_fields({**empty, **other["resource"], **other["details"]}).to_fields()
    before = parse_content(make_whole_form()).to_fields()
    assert [name for name in CONTENT_NAMES if wanted[name] == before[name]] == []

    async def act():
        slug = await list_whole(kelifax)
        await replace(kelifax.moderation, has_logo=None).edit(slug, wanted, ANN)  # no logo was uploaded
        assert read_content(await kelifax.db.published(slug)).to_fields() == wanted

    asyncio.run(act())
