"""The how-to pages about testing: every example in them is a test that passes."""

import re
from pathlib import Path

import pytest

HOWTO = Path(__file__).parents[3] / "docs" / "howto"
PAGES = ("test-with-pytest.md", "test-your-retries.md", "replace-moto.md")


@pytest.mark.parametrize("page", PAGES)
def test_the_examples_of_a_page_pass(pytester, page):
    examples = re.findall(r"^```python\n(.*?)^```", (HOWTO / page).read_text("utf-8"), re.DOTALL | re.MULTILINE)
    assert examples
    for number, example in enumerate(examples):
        pytester.path.joinpath(f"test_example_{number}.py").write_text(example, "utf-8")
    outcome = pytester.runpytest_inprocess("-p", "no:cacheprovider", "--import-mode=importlib")
    passed = outcome.parseoutcomes()
    assert set(passed) == {"passed"}
    assert passed["passed"] >= len(examples)
