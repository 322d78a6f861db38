"""A field of a resource is named in several places: this says which of them lacks a new one."""

import asyncio
from dataclasses import fields, replace
from pathlib import Path
from typing import get_args

from hashrange_systems.kelifax.model.content_diff import LABELS
from hashrange_systems.kelifax.model.draft import CATEGORIES, CONTENT_NAMES, SECTIONS, Content, parse_content
from hashrange_systems.kelifax.model.public_entry import PUBLIC_ATTRIBUTES
from hashrange_systems.kelifax.schema import Category
from hashrange_systems.kelifax.service.resource_content import read_content
from hashrange_systems.kelifax.web.api.api_models import show_whole
from hashrange_systems.kelifax.web.resource_page import read_fields
from hashrange_systems.kelifax.web.submission_form import CONTENT_STEPS
from systems.tests.access_cost import read_rows
from systems.tests.kelifax.services import ANN, make_form

DOCS = Path(__file__).parents[3] / "docs" / "systems" / "kelifax.md"
NAMES = set(CONTENT_NAMES)


def make_whole_form():
    """A form with a value for every field."""
    form = make_form(logoImage="logo.png")
    return {"resource": form["resource"], "details": form["details"]}


def test_every_list_of_fields_has_all_of_them():
    assert SECTIONS["resource"] | SECTIONS["details"] == NAMES
    assert set(CONTENT_NAMES.values()) == {field.name for field in fields(Content)}
    assert {field.path.partition(".")[2] for step in CONTENT_STEPS for field in step.fields} == NAMES
    assert set(LABELS) == NAMES
    assert set(PUBLIC_ATTRIBUTES) >= NAMES
    assert get_args(Category) == CATEGORIES


def test_the_page_explains_every_field():
    explained = " ".join(row.partition("|")[2].partition("|")[0] for row in read_rows(DOCS, "Submit"))
    assert [name for name in NAMES if f"`{name}`" not in explained] == []


def test_the_form_of_these_tests_has_every_field():
    content = parse_content(make_whole_form())
    assert [field.name for field in fields(Content) if not getattr(content, field.name)] == []


def test_a_resource_keeps_every_field_from_the_form_to_the_public(kelifax):
    wanted = parse_content(make_whole_form()).to_fields()

    async def act():
        slug = await kelifax.list_resource(logoImage="logo.png")
        stored = await kelifax.db.published(slug)
        shown = await kelifax.directory.find(slug)
        assert read_content(stored).to_fields() == wanted
        assert read_fields(shown) == wanted
        assert set(show_whole(shown).model_dump(by_alias=True)) >= NAMES

    asyncio.run(act())


def test_an_edit_changes_every_field_that_it_is_given(kelifax):
    other = make_form(
        "Pixel Kit Two", "https://two.example.com/", category="other", logoImage="two.png", tags=["two"],
        usagePurpose="Draws icons twice, in every size.", pricing=["paid"],
        keyFeatures=["Feature one, again", "Feature two, again", "Feature three, again"],
        useCases=["Use case one, again", "Use case two, again"],
        learningResources=[{"title": "Two", "url": "https://two.example.com/a", "type": "video"}],
    )  # fmt: skip
    wanted = parse_content({"resource": other["resource"], "details": other["details"]}).to_fields()
    before = parse_content(make_whole_form()).to_fields()
    assert [name for name in NAMES if wanted[name] == before[name]] == []

    async def act():
        slug = await kelifax.list_resource(logoImage="logo.png")
        await replace(kelifax.moderation, has_logo=None).edit(slug, wanted, ANN)  # no logo was uploaded
        assert read_content(await kelifax.db.published(slug)).to_fields() == wanted

    asyncio.run(act())
