"""A type of check is one file: the registry, the API, the form and the runs find it there."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from hashrange_systems.checks import types
from hashrange_systems.checks.registry import CHECK_TYPES, name_attributes

DOCS = Path(__file__).parents[3] / "docs" / "systems" / "checks.md"
FOLDER = Path(types.__file__).parent
TESTS = Path(__file__).parent / "types"
NEW_TYPE = '''
"""COUNTDOWN: up until a day."""

from hashrange_systems.checks.model.attributes import Attributes
from hashrange_systems.checks.model.outcome import Outcome, Status
from hashrange_systems.checks.service.check_type import CheckType
from hashrange_systems.shared.web.form import Field, Group


class Countdown(Attributes):
    """Up until a day."""

    check_type = "COUNTDOWN"

    days: int


async def count_down(tools, url, attributes):
    return Outcome(status=Status.UP if attributes.days else Status.DOWN, message=f"{attributes.days} days left")


CHECK_TYPE = CheckType(
    attributes=Countdown,
    title="Countdown",
    summary="Is it time?",
    form=(Group("Day", (Field(path="attributes.days", label="Days", input_type="number"),)),),
    probe=count_down,
    validate_target=lambda value, own_origins: "countdown:",
    make_name=lambda url, attributes: f"Countdown of {attributes['days']}",
)
'''
USE_IT = """
import sys
from hashrange import ManualClock, open as open_database, create_tables
from hashrange_systems.checks import types
types.__path__.append(sys.argv[1])  # as if the file were in the folder

from hashrange_systems.checks.schema import Checks
from hashrange_systems.checks.service.prober import Prober
from hashrange_systems.checks.service.runs import Runs
from hashrange_systems.shared.fetching.fetcher import Fetcher
from systems.tests.checks.run_scenario import make_worker
from systems.tests.checks.services import do
from systems.tests.checks.web.web_client import WebClient, find_token, read_text

clock = ManualClock(1_768_478_400)
database = open_database(clock=clock)
create_tables(database, Checks)
client = WebClient(database, clock)
ann = client.sign_up("ann", "PRO")
api, browser = client.client(ann.key), client.browser(ann.key)
assert "COUNTDOWN" in {each["checkType"] for each in api.get("/check-types").json()["items"]}
assert api.post("/checks", json={"checkType": "COUNTDOWN", "attributes": {"days": "x"}}).status_code == 422
form = browser.get("/new?type=COUNTDOWN")
assert "Is it time?" in form.text and 'name="attributes.days"' in form.text
sent = {"form_token": find_token(browser), "type": "COUNTDOWN", "attributes.days": "3", "delayMs": "300000"}
added = browser.post("/new", data=sent | {"to": "all", "rules.resolved": "on", "rules.warnings": "on"})
assert added.status_code == 303, read_text(added)
runs = Runs(client.db, clock, Prober(Fetcher(), clock))
worker = make_worker(client.db, clock)
worker._runs = runs
do(worker.run_due())
page = read_text(browser.get("/"))
assert "Countdown of 3" in page and "Up" in page
print("ok")
"""


def test_a_new_type_is_one_file(tmp_path):
    (tmp_path / "countdown.py").write_text(NEW_TYPE)
    command = [sys.executable, "-c", USE_IT, str(tmp_path)]
    used = subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[3])
    assert (used.stdout.strip(), used.returncode) == ("ok", 0), used.stderr[-2000:]


@pytest.mark.parametrize("path", sorted(FOLDER.glob("[a-z]*.py")), ids=lambda path: path.stem)
def test_every_type_has_its_test(path):
    if path.stem in {"web_page", "ebay_price"}:  # tried in test_probe.py
        return
    assert (TESTS / f"test_{path.stem}.py").exists()


def test_every_type_either_probes_or_observes_and_explains_itself():
    for name, each in CHECK_TYPES.items():
        assert each.name == name
        assert (each.probe is None) != (each.observe is None)
        assert each.title
        assert each.summary.endswith(("?", "."))


@pytest.mark.parametrize("check_type", CHECK_TYPES)
def test_the_page_explains_every_type_and_its_attributes(check_type):
    section = DOCS.read_text("utf-8").partition("### Types of checks\n")[2].partition("\n### ")[0]
    rows = [line.split(" | ")[0] for line in section.splitlines() if line.startswith("| `")]
    explained = {word for row in rows for word in re.findall(r"`(\w+)`", row)}
    assert sorted({check_type, *name_attributes(check_type)} - explained) == []
