"""Without the extras `pdf` and `apprise` the system works, and says what to install."""

import subprocess
import sys

import pytest

from tests.e2e.served import CLEAN

BLOCKED = "import sys\nfor name in ('fpdf', 'apprise'):\n    sys.modules[name] = None\n"


def run(program):
    """Run a program in a process in which neither fpdf2 nor Apprise is installed."""
    return subprocess.run(
        [sys.executable, "-c", BLOCKED + program], capture_output=True, text=True, timeout=300, check=False, env=CLEAN
    )


def test_the_system_starts_without_the_extras():
    outcome = run("from hashrange_systems.checks.system import SYSTEM; print(SYSTEM.name)")
    assert outcome.stdout == "checks\n", outcome.stderr


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (
            "from hashrange_systems.checks.web.reports import write_report_pdf\nwrite_report_pdf(None)",
            "A report as PDF needs a library that is not installed: pip install 'hashrange-systems[pdf]'",
        ),
        (
            "from hashrange_systems.shared.channels.apprise_sender import Apprise\nApprise().open('slack://a/b/c')",
            "DeliveryRefused: Apprise is not installed: pip install 'hashrange-systems[apprise]'",
        ),
    ],
    ids=["pdf", "apprise"],
)
def test_a_missing_extra_is_named(program, message):
    assert run(program).stderr.strip().endswith(message)
