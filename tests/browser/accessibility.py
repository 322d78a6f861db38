"""Barriers that axe-core finds in a page, at the width of a desktop and of a telephone, in light and dark colours."""

from functools import cache
from pathlib import Path

from tests.conftest import require

AXE = Path(__file__).parent / "node_modules" / "axe-core" / "axe.min.js"
WIDTHS = (1280, 390)
SCHEMES = ("light", "dark")
HEIGHT = 800


def assert_accessible(page, *, widths=WIDTHS, schemes=SCHEMES):
    """Fail if the page has a barrier, or is wider than its window; leaves the first width and scheme."""
    looks = [(width, scheme) for width in widths for scheme in schemes]
    found = [problem for width, scheme in looks for problem in find_problems(page, width, scheme)]
    show(page, *looks[0])
    assert not found, f"{page.url}\n" + "\n".join(found)


def find_problems(page, width, scheme):
    """What is wrong with the page at this width, in these colours."""
    show(page, width, scheme)
    where = f"{width} px, {scheme}"
    needed = page.evaluate("document.documentElement.scrollWidth")
    wide = [f"{where}: the page is {needed} px wide"] if needed > width else []
    return wide + [f"{where}: {barrier}" for barrier in find_barriers(page)]


def show(page, width, scheme):
    """Give the page this width and these colours, at once: what moves has colours of its own for a moment."""
    page.set_viewport_size({"width": width, "height": HEIGHT})
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")


def find_barriers(page):
    """Each rule of axe-core that the page breaks, with the elements; no policy of the page stops the evaluation."""
    page.evaluate(read_axe())
    violations = page.evaluate("axe.run(document).then(result => result.violations)")
    return [
        f"{violation['id']} ({violation['help']}): {node['html'][:200]} {node['failureSummary']}"
        for violation in violations
        for node in violation["nodes"]
    ]


@cache
def read_axe():
    """The program of axe-core, which `make clients` installs."""
    require(AXE.exists(), "axe-core")
    return AXE.read_text("utf-8")
