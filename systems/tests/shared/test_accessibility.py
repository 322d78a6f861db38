"""What `assert_accessible` finds, and what it accepts."""

import pytest

from systems.tests.browser import open_tab
from tests.browser.accessibility import assert_accessible
from tests.browser.chromium import chromium  # noqa: F401 a fixture

PAGE = """<!doctype html><html lang="en"><head><title>Ducks</title><style>
@media (prefers-color-scheme: dark) { body { background: #111; color: #eee } }
</style></head><body><main><h1>Ducks</h1>%s</main></body></html>"""
BARRIERS = [
    ('<img src="data:,">', "image-alt"),
    ("<input>", "label"),
    ('<div style="width: 500px">wide</div>', "390 px, light: the page is"),
    ('<p style="color: #333">Agnes</p>', "1280 px, dark: color-contrast"),
]


@pytest.fixture(scope="module")
def tab(request):
    with open_tab(request.getfixturevalue("chromium"), "http://127.0.0.1") as tab:
        yield tab


def test_a_page_without_barriers_is_accepted(tab):
    tab.set_content(PAGE % "<p>Agnes</p>")
    assert_accessible(tab)


@pytest.mark.parametrize(("content", "problem"), BARRIERS)
def test_a_barrier_is_found_at_the_width_and_in_the_colours_that_have_it(tab, content, problem):
    tab.set_content(PAGE % content)
    with pytest.raises(AssertionError, match=problem):
        assert_accessible(tab)
