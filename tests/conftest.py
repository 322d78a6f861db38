"""Where the tests run: `--target` chooses, and a real server is started once for all that need one."""

import gc
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# A loaded machine is slow to draw examples and to run them: that is no failure.
settings.register_profile("hashrange", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("hashrange")

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parents[1]
LOCAL_TARGETS = ("embedded", "server")
STARTED_WITHIN = 120.0  # seconds; it takes a fraction of one, but a loaded machine may be slow


def pytest_addoption(parser):
    parser.addoption(
        "--target",
        action="append",
        help="where conformance tests run: embedded, server, or the URL of an endpoint (default: embedded and server)",
    )


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection():
    """Collect no garbage while tests are found, as all of it stays: that took a quarter of the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


def pytest_terminal_summary(terminalreporter):
    """In CI, list the files whose tests took the longest, so that one that becomes slow is noticed."""
    if not os.environ.get("CI"):
        return
    seconds = Counter()
    for reports in terminalreporter.stats.values():
        for report in reports:
            if isinstance(report, pytest.TestReport):
                seconds[report.nodeid.partition("::")[0]] += report.duration
    terminalreporter.section("slowest files")
    for path, took in seconds.most_common(10):
        terminalreporter.line(f"{took:7.1f} s  {path}")


def require(installed, name):
    """Skip the test if a program that `make clients` installs is missing; in CI, fail it."""
    if installed:
        return
    message = f"{name} is not installed: run make clients"
    if os.environ.get("CI"):
        pytest.fail(message)
    pytest.skip(message)


@pytest.fixture(scope="session")
def server_url(tmp_path_factory):
    """The address of a `hashrange serve --memory` that lives as long as the test session."""
    port = find_free_port()
    log = tmp_path_factory.mktemp("server") / "log"
    with log.open("wb") as output:
        process = start_server("--memory", "--port", str(port), output=output)
        url = f"http://127.0.0.1:{port}"
        try:
            wait_until_healthy(url, process, log)
            yield url
        finally:
            stop(process)


def start_server(*arguments, output):
    command = [sys.executable, "-m", "hashrange.cli", "serve", "--shared", *arguments]
    return subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=output, stderr=output)


def find_free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_until_healthy(url, process, log):
    deadline = time.monotonic() + STARTED_WITHIN
    while time.monotonic() < deadline:
        if process.poll() is not None:
            break
        try:
            with urllib.request.urlopen(url, timeout=5) as response:
                assert response.status == 200
                return
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            time.sleep(0.02)
    pytest.fail(f"hashrange serve did not start (exit code {process.poll()}):\n{log.read_text('utf-8')}")


def stop(process):
    process.terminate()
    try:
        process.wait(60)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
