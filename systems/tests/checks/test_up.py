"""The checks system as a newcomer meets it: `hashrange up --demo`, a check of a page, the page stopped, a restart."""

import json
import re
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import pytest

from systems.tests.checks.former_release import make_former_directory
from tests.e2e.served import CLEAN
from tests.e2e.test_up import COMMAND, SOON, UpProcess, wait_for

ENVIRONMENT = {"PYTHONPATH": "", "CHECKS_DEMO_PORT": "0"}
OPTIONS = ("--only", "checks")
DEMO_NAMES = ("Shop", "Orders API", "Blog", "Search", "Payments", "Old intranet", "Camera below $199")


class Hello(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"hello")

    def log_message(self, *_):
        pass


@contextmanager
def page(port=0):
    """A page on this machine, until the block ends; yields its address."""
    with ThreadingHTTPServer(("127.0.0.1", port), Hello) as server:
        thread = threading.Thread(target=server.serve_forever, args=[0.05])
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def up(tmp_path):
    """`up("--memory")` starts it; the test's end stops it."""
    started = []

    def start(*options, **environment):
        started.append(UpProcess(tmp_path, *OPTIONS, *options, environment=ENVIRONMENT | environment))
        if "--demo" in options:
            wait_for(lambda: "demo data is there" in started[-1].logged)
        return started[-1]

    yield start
    for each in started:
        each.kill()


def run_checks(*arguments, cwd, **environment):
    """Run a command of the system and return what came of it."""
    return subprocess.run(
        [*COMMAND, "checks", *arguments],
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
        cwd=cwd,
        env={**CLEAN, "COLUMNS": "200", **environment},
    )


def make_key(upped, user="demo@example.com"):
    outcome = run_checks("key", "add", user, "--endpoint", upped.endpoint, cwd=upped.folder)
    assert outcome.returncode == 0, outcome.stderr
    return outcome.stdout.strip()


def open_api(upped, key):
    headers = {"Authorization": f"Bearer {key}"}
    return httpx.Client(base_url=f"{upped.web}/checks/api", headers=headers, timeout=SOON)


def open_pages(upped):
    return httpx.Client(base_url=f"{upped.web}/checks", timeout=SOON, follow_redirects=True)


def ask(client, method, path, **more):
    response = client.request(method, path, **more)
    assert response.is_success, response.text
    return response.json() if response.content else None


def wait_for_run(api, checkid):
    """The check, once a worker has run it."""

    def look():
        response = api.get(f"/checks/{checkid}")
        if response.status_code == 429:  # a machine with much to do takes longer than the API may be asked
            return None
        assert response.is_success, response.text
        return response.json() if response.json()["lastResult"] else None

    return wait_for(look)


def add_check(api, url, name="My page", **attributes):
    draft = {"url": url, "name": name, "delayMs": 30_000, "attributes": {"retries": 0, **attributes}}
    return ask(api, "POST", "/checks", json=draft)["checkid"]


def run_now(api, checkid):
    """Run a check by hand; when a worker has it at this moment, right after."""
    wait_for(lambda: api.post(f"/checks/{checkid}/run").status_code == 200)


def test_a_newcomer_adds_a_check_stops_the_page_and_is_told(up):
    upped = up("--demo", "--memory")
    with open_pages(upped) as pages, open_api(upped, make_key(upped)) as api:
        overview = pages.get("/").text
        assert all(name in overview for name in DEMO_NAMES)
        assert "<svg" in pages.get("/check/demo-shop").text

        with page() as url:
            port = int(url.rstrip("/").rpartition(":")[2])
            checkid = add_check(api, url, keyword="hello")
            first = wait_for_run(api, checkid)["lastResult"]
        assert (first["status"], first["keywordFound"]) == ("UP", True)

        run_now(api, checkid)
        (incident,) = ask(api, "GET", f"/checks/{checkid}/incidents")["items"]
        assert (incident["cause"], incident["endedAt"]) == ("CONNECT", None)
        assert wait_for(lambda: "DOWN: My page" in pages.get("/messages").text)

        with page(port):
            run_now(api, checkid)
            run_now(api, checkid)
        (incident,) = ask(api, "GET", f"/checks/{checkid}/incidents")["items"]
        assert incident["endedAt"]
        assert wait_for(lambda: "UP: My page" in pages.get("/messages").text)
    assert upped.stop() == 0
    assert "Traceback" not in upped.logged


def test_the_demo_checks_are_run_for_real(up):
    upped = up("--demo", "--memory")
    with open_api(upped, make_key(upped)) as api:
        found = {}
        for checkid in ("demo-shop", "demo-blog", "demo-payments", "demo-camera"):
            run_now(api, checkid)
            found[checkid] = ask(api, "GET", f"/checks/{checkid}")["lastResult"]
    assert found["demo-shop"]["status"] == "UP"
    assert found["demo-blog"]["status"] == "DEGRADED"
    assert found["demo-blog"]["certificateDays"] == 9
    assert found["demo-payments"]["httpStatus"] == 503
    assert 10_000 < found["demo-camera"]["price"] < 30_000


def test_a_directory_of_the_release_before_has_all_of_its_history_when_it_is_served(up, tmp_path):
    directory = make_former_directory(tmp_path / "here")
    upped = up("--data", str(directory), CHECKS_WORKERS="0")
    assert "checks-history" in upped.shown
    with open_api(upped, make_key(upped, "ann@example.com")) as api:
        checks = ask(api, "GET", "/checks")["items"]
        results = {each["checkid"]: ask(api, "GET", f"/checks/{each['checkid']}/results")["items"] for each in checks}
        incidents = [ask(api, "GET", f"/checks/{each['checkid']}/incidents")["items"] for each in checks]
    assert sorted(map(len, results.values())) == [5, 10]
    assert sorted(map(len, incidents)) == [1, 2]
    assert upped.stop() == 0
    assert "Traceback" not in upped.logged


def test_everything_is_there_after_a_restart(up):
    upped = up("--demo", "--data", "here")
    key = make_key(upped)
    with page() as url, open_api(upped, key) as api:
        checkid = add_check(api, url, name="Kept")
        wait_for_run(api, checkid)
        before = {check["checkid"]: check for check in ask(api, "GET", "/checks")["items"]}
    assert upped.stop() == 0

    again = up("--data", "here")
    assert "created" not in again.shown
    with open_api(again, key) as api:
        after = {check["checkid"]: check for check in ask(api, "GET", "/checks")["items"]}
        assert after.keys() == before.keys()
        assert {name: check["url"] for name, check in after.items()} == {
            name: check["url"] for name, check in before.items()
        }
        assert ask(api, "GET", f"/checks/{checkid}/results")["items"]
    with open_pages(again) as pages:
        assert "Kept" not in pages.get("/").text  # without --demo nobody is signed in by themselves
    again.process.kill()
    again.process.wait()

    killed = up("--demo", "--data", "here")
    with open_api(killed, key) as api:
        assert {check["checkid"] for check in ask(api, "GET", "/checks")["items"]} == before.keys()
    with open_pages(killed) as pages:
        assert "Kept" in pages.get("/").text


def test_this_very_service_cannot_be_checked(up):
    upped = up("--demo", "--memory")
    with open_api(upped, make_key(upped)) as api:
        for url in (upped.web, upped.endpoint, upped.web.replace("127.0.0.1", "localhost")):
            response = api.post("/checks", json={"url": url})
            assert response.status_code == 422
            assert "a page of this service" in response.text
        other_name = upped.endpoint.replace("127.0.0.1", "127.0.0.2")
        checkid = add_check(api, other_name)
        assert wait_for_run(api, checkid)["lastResult"]["cause"] == "REFUSED"


def test_a_directory_in_use_is_explained_and_its_endpoint_can_be_used(up, tmp_path):
    upped = up("--data", "here")
    refused = run_checks("user", "list", "--data", "here", cwd=tmp_path)
    assert refused.returncode == 2
    assert "is in use by process" in refused.stderr
    assert "--target URL, the endpoint that it printed" in refused.stderr
    added = run_checks("user", "add", "ann@example.com", "--endpoint", upped.endpoint, "--json", cwd=tmp_path)
    key = json.loads(added.stdout)["key"]
    with open_api(upped, key) as api:
        assert ask(api, "GET", "/users/me")["email"] == "ann@example.com"


def start_worker(there, folder):
    """Start `hashrange checks worker` on a database."""
    return subprocess.Popen(
        [*COMMAND, "checks", "worker", *there],
        cwd=folder,
        env={**CLEAN, "CHECKS_ALLOW": "127.0.0.1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def test_after_the_last_worker_was_killed_monitoring_is_said_to_be_interrupted(up, tmp_path):
    upped = up("--memory", CHECKS_WORKERS="0", CHECKS_ALLOW="127.0.0.1")

    def read_state():
        return upped.get("/health")["systems"]["checks"]["monitoring"]

    with start_worker(("--target", upped.endpoint), tmp_path) as worker:
        try:
            wait_for(lambda: read_state() == "working")
        finally:
            worker.kill()
    wait_for(lambda: read_state() == "interrupted")
    assert upped.get("/health")["status"] == "degraded"


def test_a_worker_of_its_own_does_the_work_of_a_host_that_does_none(up, tmp_path):
    upped = up("--memory", CHECKS_WORKERS="0", CHECKS_ALLOW="127.0.0.1")
    health = upped.get("/health")
    assert (health["status"], health["systems"]["checks"]["monitoring"]) == ("degraded", "interrupted")
    there = ("--endpoint", upped.endpoint)
    added = run_checks("user", "add", "ann@example.com", "--tier", "PRO", "--json", *there, cwd=tmp_path)
    with page() as url, open_api(upped, json.loads(added.stdout)["key"]) as api:
        outcome = run_checks("add", url, "--user", "ann@example.com", "--every", "1m", "--json", *there, cwd=tmp_path)
        checkid = json.loads(outcome.stdout)["checkid"]
        worker = start_worker(there, tmp_path)
        try:
            assert wait_for_run(api, checkid)["lastResult"]["status"] == "UP"
            worker.send_signal(signal.SIGTERM)
            shown, _ = worker.communicate(timeout=SOON)
        finally:
            worker.kill()
            worker.wait()
            worker.stdout.close()
    assert worker.returncode == 0
    assert re.search(r"^working, 200 checks at a time[^\n]*\nstopped\n\Z", shown, re.MULTILINE), shown


@pytest.mark.parametrize(("name", "value"), [("CHECKS_WORKERS", "many"), ("CHECKS_ALLOW", "10.0.0.1/8")])
def test_a_setting_that_cannot_be_used_is_said_before_anything_starts(name, value, tmp_path):
    outcome = subprocess.run(
        [sys.executable, "-m", "hashrange.cli", "up", "--memory", "--port", "0", "--web-port", "0", "--only", "checks"],
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
        cwd=tmp_path,
        env={**CLEAN, name: value},
    )
    assert outcome.returncode == 2
    assert outcome.stderr.startswith(f"error: {name} ")
