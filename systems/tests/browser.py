"""What the browser tests of the systems share: a system as `hashrange up` hosts it, and a tab in a real Chromium.

A `conftest.py` imports the fixtures `chromium` (of tests.browser.chromium) and `page`; a test module defines the
fixture `site`, the address of its pages. `expect` waits for what a click leads to; a text that is read at once may
be that of the page before.
"""

import os
import re
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest
from playwright.sync_api import expect

from tests.conftest import ROOT, find_free_port, stop

STARTED_WITHIN = 240.0
TIMEOUT_MS = 120_000
REFUSALS = re.compile(r"status of 4(09|22)")  # which a page shows, and a browser notes

expect.set_options(timeout=TIMEOUT_MS)


@contextmanager
def host_demo(system, folder, *arguments, environment=None):
    """Host a system with its demo data, as `hashrange up --demo` does, until the block ends; yields its address."""
    port, log = find_free_port(), folder / "log"
    command = [sys.executable, "-m", "hashrange.cli", "up", "--demo", "--only", system, "--web-port", str(port)]
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*command, *(arguments or ("--memory", "--port", "0"))],
            cwd=ROOT,
            env=os.environ | (environment or {}),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
        try:
            wait_for_demo(process, log)
            yield f"http://127.0.0.1:{port}/{system}"
        finally:
            stop(process)


def wait_for_demo(process, log):
    """Wait until the log says that the demo data is written."""
    deadline = time.monotonic() + STARTED_WITHIN
    while time.monotonic() < deadline and process.poll() is None:
        if "demo data is there" in log.read_text("utf-8"):
            return
        time.sleep(0.1)
    pytest.fail(f"hashrange up did not start:\n{log.read_text('utf-8')}")


@contextmanager
def open_tab(chromium, base_url, *, refusals=REFUSALS, **options):
    """A tab of a new browser, in which anything that the browser complains about is a failure, except refusals."""
    context = chromium.new_context(base_url=f"{base_url}/", locale="en-GB", **options)
    context.set_default_timeout(TIMEOUT_MS)
    tab = context.new_page()
    complaints = []
    tab.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    tab.on("pageerror", lambda error: complaints.append(str(error)))
    try:
        yield tab
    finally:
        context.close()
    unexpected = [complaint for complaint in complaints if not refusals.search(complaint)]
    assert not unexpected, unexpected


@pytest.fixture
def page(chromium, site):
    """A tab of a new browser, at the address of the fixture `site`."""
    with open_tab(chromium, site) as tab:
        yield tab
