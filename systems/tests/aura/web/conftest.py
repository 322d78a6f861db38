"""The browser of the tests."""

from systems.tests.browser import page  # noqa: F401 a fixture
from tests.browser.chromium import chromium  # noqa: F401 a fixture
