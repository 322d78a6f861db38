"""The directory as a newcomer meets it: `hashrange up --demo`, commands beside it, a kill and a restart."""

import json
import subprocess

import httpx
import pytest

import hashrange
from systems.tests.kelifax.former_release import PASSWORDS, make_former_directory
from systems.tests.kelifax.services import make_form
from tests.e2e.served import CLEAN
from tests.e2e.test_up import COMMAND, SOON, UpProcess, wait_for


@pytest.fixture
def up(tmp_path):
    started = []

    def start():
        options = ("--only", "kelifax", "--demo", "--data", str(tmp_path / "data"))
        started.append(UpProcess(tmp_path, *options, environment={"PYTHONPATH": ""}))
        wait_for(lambda: "demo data is there" in started[-1].logged)
        return started[-1]

    yield start
    for each in started:
        each.kill()


def command(upped, *arguments, text=None):
    outcome = subprocess.run(
        [*COMMAND, "kelifax", *arguments, "--endpoint", upped.endpoint],
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
        cwd=upped.folder,
        env={**CLEAN, "COLUMNS": "200"},
        input=text,
    )
    assert outcome.returncode == 0, outcome.stderr
    return outcome.stdout


def search(upped, words):
    response = httpx.get(f"{upped.web}/kelifax/search", params={"q": words}, timeout=SOON)
    assert response.status_code == 200
    return response.text


def test_what_an_operator_approves_is_found_on_the_site_and_after_a_kill(up):
    first = up()
    assert "Sumi" in httpx.get(f"{first.web}/kelifax/", timeout=SOON).text
    command(first, "submit", "-", text=json.dumps(make_form("Quetzal Press", usagePurpose="Prints feathers on paper.")))
    assert "Quetzal" not in search(first, "quetzal")
    command(first, "approve", "quetzal-press")
    wait_for(lambda: "Prints feathers" in search(first, "quetzal"))
    first.kill()
    second = up()
    wait_for(lambda: "Prints feathers" in search(second, "quetzal"))
    assert httpx.get(f"{second.web}/kelifax/r/quetzal-press", timeout=SOON).status_code == 200
    assert second.stop() == 0


def test_a_directory_of_the_release_before_has_its_admins_and_mails_when_it_is_served(tmp_path):
    directory = tmp_path / "here"
    make_former_directory(directory)
    for start in (1, 2):
        upped = UpProcess(tmp_path, "--only", "kelifax", "--data", str(directory), environment={"PYTHONPATH": ""})
        try:
            for name, password in PASSWORDS.items():
                form = {"name": name, "password": password}
                answer = httpx.post(f"{upped.web}/kelifax/admin/sign-in", data=form, timeout=SOON)
                assert (answer.status_code, answer.headers["location"]) == (303, "/kelifax/admin"), (start, answer.text)
            assert upped.stop() == 0
            assert "Traceback" not in upped.logged
        finally:
            upped.kill()
    with hashrange.open(directory) as database:
        items = database.call("Scan", {"TableName": "kelifax-accounts"})["Items"]
        left = database.call("Scan", {"TableName": "kelifax-records"})["Items"]
    assert [item["delivery"]["S"] for item in items if "delivery" in item].count("SENT") == 1
    assert len([item for item in items if "delivery" in item]) == 5
    assert not [item for item in left if item["pk"]["S"] == "ADMIN" or item["sk"]["S"].startswith("MAIL#")]
