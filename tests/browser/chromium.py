"""The browser that tests drive: the Chromium that `make clients` unpacks beside this file, or else an installed one."""

import os
import shutil
from pathlib import Path

import pytest

from tests.conftest import require

UNPACKED = Path(__file__).parent / "node_modules" / ".chromium"
PROGRAMS = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


def find_chromium() -> str | None:
    """The path of the program, if there is one."""
    if (UNPACKED / "chromium").exists():
        return str(UNPACKED / "chromium")
    return next(filter(None, map(shutil.which, PROGRAMS)), None)


def make_environment() -> dict[str, str]:
    """This process's environment, with the libraries that came with the unpacked Chromium."""
    libraries = [str(UNPACKED / "al2023" / "lib"), os.environ.get("LD_LIBRARY_PATH", "")]
    return dict(os.environ) | {"LD_LIBRARY_PATH": os.pathsep.join(filter(None, libraries))}


@pytest.fixture(scope="module")
def chromium():
    """A headless Chromium. It ends with the module, as it occupies the thread's event loop."""
    from playwright.sync_api import sync_playwright

    program = find_chromium()
    require(program, "Chromium")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=ARGUMENTS, env=make_environment())
        yield browser
        browser.close()
