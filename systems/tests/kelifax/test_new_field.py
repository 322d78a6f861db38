"""A new field of a resource is an entry of `Content` and a line in `schema`: everything else follows from them.

The test adds two fields to a copy of the package: one that lists show and are narrowed by, with its pattern, and a text
of the page alone. A program then uses the copy as visitors, moderators, programs and operators do.
"""

import csv
import io
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import hashrange_systems
from tests.conftest import ROOT

PACKAGE = Path(hashrange_systems.__file__).parent
PLATFORMS = """    platforms: tuple[str, ...] = entry(
        "Platforms", choices(("linux", "mac", "windows")), "resource",
        example=["linux"], listed=True, card=2, page="facts", filter=True, feed=True,
        search=Searched(in_text=True, whole=4.0), json_ld=as_property("operatingSystem"),
    )  # fmt: skip
"""
LICENCE = """    licence: str | None = entry(
        "Licence", added(text(range(2, 41), required=False)), "details",
        hint="{limits}.", example="MIT", search=Searched(in_text=True),
    )  # fmt: skip
"""
ADDED = {  # lines before lines of files
    "model/content.py": {
        "    logo_image: str | None = entry(\n": PLATFORMS,
        "    learning_resources: tuple[Mapping[str, str], ...] = entry(\n": LICENCE,
        "    choice,\n": "    added,\n",
    },
    "schema.py": {
        "    logo_image: str | None = None\n": "    platforms: set[str] = set()\n",
        "    use_cases: Pipes[str] = []\n": "    licence: set[str] = set()\n",
        "    # for operators\n": "    def with_platforms(self, platforms: Contains[str]) -> Filter[Listing]: ...\n",
    },
}


def copy_package(folder):
    """A copy of the systems with the new lines; each is put before a line that is there once."""
    copy = shutil.copytree(PACKAGE, folder / "hashrange_systems", ignore=shutil.ignore_patterns("__pycache__"))
    for name, lines in ADDED.items():
        file = copy / "kelifax" / name
        text = file.read_text("utf-8")
        for before, added in lines.items():
            assert text.count(before) == 1, before
            text = text.replace(before, added + before)
        file.write_text(text, "utf-8")


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    folder = tmp_path_factory.mktemp("copy")
    copy_package(folder)
    path = os.pathsep.join([str(folder), str(ROOT), str(ROOT / "src")])
    done = subprocess.run(
        [sys.executable, "-m", "systems.tests.kelifax.use_new_field"],
        check=False,
        cwd=folder,
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout)


def test_forms_ask_for_it_and_refuse_what_breaks_its_rule(seen):
    assert 'type="checkbox" name="resource.platforms" value="linux"> <span>Linux</span>' in seen["form"]
    assert 'name="details.licence"' in seen["form"]
    assert 'name="resource.platforms" value="linux" checked' in seen["suggest form"]
    assert 'name="details.licence" value="MIT licence"' in seen["suggest form"]
    assert "2 to 40 characters." in seen["suggest form"]
    errors = {each["field"]: each["message"] for each in seen["refused"]["faults"]}
    assert errors["resource.platforms"] == "must be some of linux, mac, windows"
    assert errors["details.licence"] == "must have 2 to 40 characters"


def test_it_is_stored_as_a_set_and_not_at_all_while_it_is_empty(seen):
    assert sorted(seen["stored"]["platforms"]["SS"]) == ["linux", "windows"]
    assert seen["stored"]["licence"] == {"SS": ["MIT licence"]}
    assert {"platforms", "licence"}.isdisjoint(seen["stored without"])


def test_pages_show_it_where_its_entry_says(seen):
    assert '<dt>Platforms</dt><dd class="break">Linux, Windows</dd>' in seen["page"]
    assert '<h2 id="licence">Licence</h2><p class="lines">MIT licence</p>' in seen["page"]
    assert '"operatingSystem":"linux, windows"' in seen["page"]
    assert "Linux Windows" in seen["list"]
    assert "MIT" not in seen["list"]
    assert all(word in seen["admin"] for word in ("Linux", "Windows", "MIT licence"))
    assert "Platforms" not in seen["page without"]
    assert "Licence" not in seen["page without"]


def test_the_api_and_the_exports_have_it(seen):
    assert (seen["api"]["platforms"], seen["api"]["licence"]) == (["linux", "windows"], "MIT licence")
    assert [(each["resourceSlug"], each["platforms"]) for each in seen["api list"]] == [
        ("pixel-kit", ["linux", "windows"])
    ]
    assert "licence" not in seen["api list"][0]
    form = seen["openapi"]["paths"]["/resources"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert form["properties"]["resource"]["properties"]["platforms"]["items"] == {"enum": ["linux", "mac", "windows"]}
    assert form["properties"]["details"]["properties"]["licence"]["maxLength"] == 40
    assert "licence" in seen["openapi"]["components"]["schemas"]["ResourceModel"]["properties"]
    rows = {row["resourceName"]: row for row in csv.DictReader(io.StringIO(seen["csv"]))}
    assert (rows["Pixel Kit"]["platforms"], rows["Pixel Kit"]["licence"]) == ("linux; windows", "MIT licence")
    assert (rows["Vector Loom"]["platforms"], rows["Vector Loom"]["licence"]) == ("", "")
    exported = {each["resourceSlug"]: (each["platforms"], each["licence"]) for each in seen["json"]}
    assert exported == {"pixel-kit": (["linux", "windows"], "MIT licence"), "vector-loom": ([], None)}
    assert "<category>linux</category>" in seen["feed"]


@pytest.mark.parametrize("by", ["scan", "index"])
def test_searches_find_it_and_are_narrowed_by_it(seen, by):
    assert seen[by] == {
        "q=windows": ["pixel-kit"],
        "q=mit": ["pixel-kit"],
        "platforms=linux": ["pixel-kit"],
        "q=amiga": [],
    }


def test_lists_are_narrowed_by_it(seen):
    assert "Platforms Any Linux Mac Windows" in seen["filtered"]
    assert "Nothing was found" in seen["filtered"]
    assert seen["facets"]["platforms"] == {"linux": 1, "windows": 1}
    errors = {each["field"]: each["message"] for each in seen["api refused"]["faults"]}
    assert errors == {"platforms": "must be one of linux, mac, windows"}


def test_a_suggestion_shows_its_difference_and_changes_it(seen):
    assert "Platforms linux windows mac" in seen["difference"]
    assert "Licence MIT licence" in seen["difference"]
    assert (seen["changed"]["platforms"], "licence" in seen["changed"]) == (["mac"], False)
    assert seen["then"]["platforms"] == {"SS": ["mac"]}
    assert "licence" not in seen["then"]
