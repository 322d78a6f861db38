"""`hashrange up` as its users start, use and stop it; what it hosts is in `sample_systems`, beside this file."""

import contextlib
import json
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

import hashrange
from hashrange import __version__
from tests.e2e.served import CLEAN, Served, ServerProcess

HERE = Path(__file__).parent
COMMAND = (sys.executable, "-m", "hashrange.cli")
SAMPLE = {**CLEAN, "PYTHONPATH": str(HERE), "COLUMNS": "200"}  # the *.dist-info here register only the sample systems
SOON = 200.0


class UpProcess(ServerProcess):
    """The process, what it printed when it started, and where things are."""

    def __init__(self, folder, *options, environment=None, files=None):
        self.folder = folder
        self.errors = folder / f"errors{len(list(folder.glob('errors*')))}"
        own_port = () if {"--endpoint", "--target", "--no-endpoint"} & set(options) else ("--port", "0")
        limited = ("sh", "-c", f'ulimit -n {files}; exec "$0" "$@"') if files else ()
        with self.errors.open("wb") as stream:
            self.process = subprocess.Popen(
                [*limited, *COMMAND, "up", *own_port, "--web-port", "0", *options],
                stdout=subprocess.PIPE,
                stderr=stream,
                text=True,
                cwd=folder,
                env={**SAMPLE, **(environment or {})},
            )
        self.shown = self.read_welcome()
        self.endpoint = re.search(r"endpoint +(http://\S+|none)", self.shown)[1]
        self.web = re.search(r"web +(http://\S+)", self.shown)[1]

    @property
    def logged(self):
        return self.errors.read_text("utf-8")

    def get(self, path, method="GET"):
        """The answer's body: JSON read, else text."""
        with urllib.request.urlopen(urllib.request.Request(self.web + path, method=method), timeout=SOON) as response:
            body = response.read()
            return json.loads(body) if response.headers["content-type"] == "application/json" else body.decode()


@pytest.fixture
def up(tmp_path):
    """`up("--memory")` starts it; the test's end stops it."""
    started = []

    def start(*options, **more):
        started.append(UpProcess(tmp_path, *options, **more))
        return started[-1]

    yield start
    for each in started:
        each.kill()


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    """One in memory, for all tests that only look."""
    upped = UpProcess(tmp_path_factory.mktemp("running"), "--memory")
    yield upped
    upped.kill()


def run_up(*options, environment=SAMPLE, command="up", cwd=None):
    """Run it when it is not expected to stay."""
    return subprocess.run(
        [*COMMAND, command, *options],
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
        env=environment,
        cwd=cwd,
    )


def wait_for(condition):
    deadline = time.monotonic() + SOON
    while not (found := condition()):
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.02)
    return found


def list_steps(endpoint):
    query = {"KeyConditionExpression": "pk = :p", "ExpressionAttributeValues": {":p": {"S": "SHOP#steps"}}}
    with hashrange.connect(endpoint) as remote:
        found = remote.call("Query", {"TableName": "products", **query})["Items"]
    return {item["sk"]["S"].removeprefix("PRODUCT#") for item in found}


# -- starting


def test_it_says_where_everything_is(running):
    assert running.shown.startswith(f"hashrange {__version__}: DynamoDB and 1 system\n\n")
    assert f"  stock     {running.web}/stock  Products & prices\n" in running.shown
    assert "  data      in memory" in running.shown
    assert "  created   tables products\n" in running.shown
    assert f"aws dynamodb list-tables --endpoint-url {running.endpoint}" in running.shown


def test_the_first_page_lists_the_systems_and_how_to_use_the_endpoint(running):
    page = running.get("/")
    assert 'href="stock/"' in page
    assert "Products &amp; prices" in page
    assert "Counts &lt;products&gt; in a shop." in page
    assert f"--endpoint-url {running.endpoint}" in page
    assert "unfinished" not in page
    assert not re.search(r"(src|href)=\"(?!stock/|health|data:|" + running.endpoint + ")", page)


def test_the_pages_of_a_system_know_what_they_run_on(up, tmp_path):
    upped = up("--data", "here")
    found = upped.get("/stock/")
    assert found["base_url"] == f"{upped.web}/stock"
    assert found["own_ports"] == sorted(int(url.rpartition(":")[2]) for url in (upped.endpoint, upped.web))
    assert found["directory"] == str(tmp_path / "here" / "stock")
    assert (tmp_path / "here" / "stock").is_dir()
    assert found["demo"] is False


def test_a_system_is_reached_without_the_slash_too(running):
    assert running.get("/stock")["base_url"] == f"{running.web}/stock"
    assert running.get("/stock")["directory"] == "None"


def test_a_page_that_is_not_there_leads_to_those_that_are(running):
    with pytest.raises(urllib.error.HTTPError) as refused:
        running.get("/<absent>")
    with refused.value as response:
        page = response.read().decode()
    assert response.status == 404
    assert 'href="/stock/"' in page
    assert "<absent>" not in page


def test_a_page_that_fails_is_logged_and_the_others_stay(running):
    with pytest.raises(urllib.error.HTTPError) as refused:
        running.get("/stock/broken")
    refused.value.close()
    assert refused.value.status == 500
    assert running.get("/stock/")["demo"] is False
    assert "RuntimeError: no such shop" in running.logged


@pytest.mark.parametrize("level", ["info", "debug", "warning"])
def test_the_log_lines_of_a_system_are_written_like_those_of_the_host_from_the_level_on(up, level):
    upped = up("--memory", "--log-level", level)
    assert wait_for(lambda: upped.get("/stock/")["steps"] > 0)
    lines = upped.logged
    assert bool(re.search(r"^\S+Z info counting shop=north$", lines, re.MULTILINE)) is (level != "warning"), lines
    assert ("debug a detail" in lines) is (level == "debug")
    assert lines.count("counting") <= 1, "each line once"


def test_demo_data_is_filled_in_once(up):
    upped = up("--demo")
    assert wait_for(lambda: "demo data is there system=stock" in upped.logged)
    assert upped.get("/stock/")["names"] == ["Agnes", "Bertie", "Clyde"]
    assert upped.get("/stock/")["demo"] is True
    assert upped.stop() == 0
    again = up("--demo")
    assert wait_for(lambda: "demo data is there" in again.logged)
    assert again.get("/stock/")["names"] == ["Agnes", "Bertie", "Clyde"]


def test_any_name_of_the_data_directory_works(up, tmp_path):
    data = "dir with ä # % ? [b] & 'quotes'"
    upped = up("--demo", "--data", data)
    assert f"  data      {tmp_path / data}\n" in upped.shown
    assert wait_for(lambda: "demo data is there" in upped.logged)
    assert upped.stop() == 0
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == [data]
    verified = run_up(data, command="verify", cwd=tmp_path)
    assert (verified.returncode, "No damage found." in verified.stdout) == (0, True), verified.stderr
    again = up("--data", data)
    assert again.get("/stock/")["names"] == ["Agnes", "Bertie", "Clyde"]


def test_only_the_systems_that_are_named_are_hosted(up):
    assert "1 system\n" in up("--memory", "--only", "stock").shown
    outcome = run_up("--memory", "--only", "stock,absent")
    assert outcome.returncode == 2
    assert outcome.stderr.startswith("error: There is no system absent. Installed systems: stock. ")


def test_without_systems_there_is_the_endpoint_all_the_same(up, tmp_path):
    shutil.copytree(HERE / "hashrange_systems-0.dist-info", tmp_path / "hashrange_systems-0.dist-info")
    upped = up("--memory", environment={"PYTHONPATH": str(tmp_path)})
    assert "0 systems" in upped.shown
    assert "  systems   none installed; --app MODULE hosts a schema of your own\n" in upped.shown
    assert upped.logged == ""
    assert "There are none here" in upped.get("/")
    with hashrange.connect(upped.endpoint) as remote:
        assert remote.call("ListTables", {}) == {"TableNames": []}


# -- the endpoint and the systems share one database


def test_the_endpoint_and_the_pages_see_the_same_data(running):
    running.get("/stock/add/Dora", "POST")
    with hashrange.connect(running.endpoint) as remote:
        key = {"pk": {"S": "SHOP#north"}, "sk": {"S": "PRODUCT#Dora"}}
        item = remote.call("GetItem", {"TableName": "products", "Key": key})["Item"]
        elsie = {**item, "sk": {"S": "PRODUCT#Elsie"}, "name": {"S": "Elsie"}}
        remote.call("PutItem", {"TableName": "products", "Item": elsie})
    assert running.get("/stock/")["names"] == ["Dora", "Elsie"]


def test_clients_pages_threads_and_workers_do_not_wait_for_each_other(running):

    def write(number):
        with hashrange.connect(running.endpoint) as remote:
            for count in range(100):
                key = {"pk": {"S": "SHOP#wire"}, "sk": {"S": f"PRODUCT#{number}.{count}"}}
                remote.call("PutItem", {"TableName": "products", "Item": key})
                remote.call("GetItem", {"TableName": "products", "Key": key})

    def look(path):
        for _ in range(40):
            running.get(path)

    work = [*((write, number) for number in range(4)), (look, "/stock/"), (look, "/stock/thread")]
    threads = [threading.Thread(target=task, args=[argument]) for task, argument in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    before = running.get("/stock/")["steps"]
    assert wait_for(lambda: running.get("/stock/")["steps"] > before)
    with hashrange.connect(running.endpoint) as remote:
        counted = remote.call("Scan", {"TableName": "products", "Select": "COUNT", "FilterExpression": "pk = :p",
                                       "ExpressionAttributeValues": {":p": {"S": "SHOP#wire"}}})  # fmt: skip
    assert counted["Count"] == 400


def test_half_sent_requests_to_the_pages_leave_room_for_the_endpoint_and_are_refused_beyond_a_limit(up):
    upped = up("--memory", files=400)
    assert "the pages accept 20 connections at a time" in upped.logged
    host, port = upped.web.removeprefix("http://").split(":")
    with contextlib.ExitStack() as stack:
        for _ in range(450):
            client = stack.enter_context(socket.create_connection((host, int(port)), timeout=SOON))
            with contextlib.suppress(ConnectionError):  # it is one of those that are cut off
                client.sendall(b"POST / HTTP/1.1\r\nX: ")
        with contextlib.suppress(ConnectionError):
            while client.recv(1000):
                pass
        assert find_status(upped.endpoint) == 200
        wait_for(lambda: find_status(upped.web + "/health") == 503)  # at first there are too many to respond to all
    wait_for(lambda: find_status(upped.web + "/health") == 200)


def find_status(url):
    """The status of the response, or None without one."""
    try:
        with urllib.request.urlopen(url, timeout=SOON) as response:
            return response.status
    except urllib.error.HTTPError as refused:
        refused.close()
        return refused.code
    except (urllib.error.URLError, ConnectionError):
        return None


def test_another_endpoint_can_be_used(up, tmp_path):
    served = Served("--memory", errors=tmp_path / "served")
    try:
        upped = up("--endpoint", served.url, "--demo")
        assert upped.endpoint == served.url
        assert wait_for(lambda: "demo data is there" in upped.logged)
        assert upped.get("/stock/")["names"] == ["Agnes", "Bertie", "Clyde"]
        assert upped.get("/stock/")["own_ports"] == [int(upped.web.rpartition(":")[2])]
        assert upped.stop() == 0
        assert {"last", "closed"} <= list_steps(served.url)
        assert "created" not in up("--endpoint", served.url).shown
    finally:
        served.kill()


def test_the_endpoint_can_require_keys_which_the_systems_do_not_need(up, tmp_path):
    (tmp_path / "keys.env").write_text("AWS_ACCESS_KEY_ID=operator\nAWS_SECRET_ACCESS_KEY=a-long-secret\n")
    upped = up("--credentials-file", "keys.env", "--demo")
    assert "requests signed by operator" in upped.shown
    assert "a-long-secret" not in upped.shown
    assert wait_for(lambda: "demo data is there" in upped.logged)
    assert upped.get("/stock/")["names"] == ["Agnes", "Bertie", "Clyde"]
    with (
        hashrange.connect(upped.endpoint, access_key="local", secret_key="local") as stranger,
        pytest.raises(hashrange.ServiceError, match=r"(?i)security token|signature|credential"),
    ):
        stranger.call("ListTables", {})
    keys = {"access_key": "operator", "secret_key": "a-long-secret"}
    with hashrange.connect(upped.endpoint, **keys) as operator:
        assert "products" in operator.call("ListTables", {})["TableNames"]


def test_without_an_endpoint_only_the_systems_use_the_data(up):
    upped = up("--no-endpoint", "--demo")
    assert upped.endpoint == "none"
    assert "aws dynamodb" not in upped.shown
    assert wait_for(lambda: "demo data is there" in upped.logged)
    found = upped.get("/stock/")
    assert (found["names"], found["own_ports"]) == (["Agnes", "Bertie", "Clyde"], [int(upped.web.rpartition(":")[2])])
    assert "there is no endpoint" in upped.get("/")
    assert upped.get("/health")["endpoint"] is None
    assert upped.stop() == 0
    again = up("--no-endpoint")
    assert again.get("/stock/")["names"] == ["Agnes", "Bertie", "Clyde"]


# -- stopping and coming back


@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGINT])
def test_it_stops_at_a_signal_and_comes_back_with_its_data(up, sign):
    upped = up("--demo")
    assert wait_for(lambda: upped.get("/stock/")["steps"] > 2)
    assert upped.stop(sign) == 0
    assert "Traceback" not in upped.logged
    again = up("--fsync")
    assert "created" not in again.shown
    assert again.get("/stock/")["names"] == ["Agnes", "Bertie", "Clyde"]
    assert {"last", "closed"} <= list_steps(again.endpoint)


def test_a_request_under_way_is_answered_before_it_stops(up, tmp_path):
    upped = up()
    responses = []
    thread = threading.Thread(target=lambda: responses.append(upped.get("/stock/slow")))
    thread.start()
    wait_for((tmp_path / "data" / "stock" / "asked").exists)
    assert upped.stop() == 0
    thread.join()
    assert responses == ["at last"]


def test_a_second_signal_cuts_the_waiting_short(up, tmp_path):
    upped = up(environment={"STOCK_STAYS": "1"})
    wait_for((tmp_path / "data" / "stock" / "work began").exists)
    upped.process.send_signal(signal.SIGTERM)
    wait_for((tmp_path / "data" / "stock" / "stays").exists)
    began = time.monotonic()
    assert upped.stop() == 0
    assert time.monotonic() - began < 50  # it would have taken 60 seconds


def test_what_was_acknowledged_survives_a_kill(up):
    upped = up()
    for number in range(20):
        upped.get(f"/stock/add/{number:02}", "POST")
    upped.process.kill()
    upped.process.wait()
    assert up().get("/stock/")["names"] == [f"{number:02}" for number in range(20)]


def test_work_that_fails_is_logged_and_begun_again(up):
    upped = up(environment={"STOCK_FAILS": "1"})
    wait_for(lambda: "the worker failed" in upped.logged)
    assert "error work failed system=stock" in upped.logged
    assert upped.get("/stock/")["names"] == []
    wait_for(lambda: upped.get("/stock/")["steps"] > 0)
    health = upped.get("/health")
    assert health["status"] == "ok"
    assert health["systems"] == {"stock": {"state": "working", "restarts": 1}}
    assert health["endpoint"] == upped.endpoint


# -- what cannot be


@pytest.mark.parametrize("option", ["--port", "--web-port"])
def test_a_port_that_is_taken_is_explained(option, tmp_path):
    other = {"--port": "--web-port", "--web-port": "--port"}[option]
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        outcome = run_up("--memory", option, str(port), other, "0")
    assert outcome.returncode == 2
    assert f"Port {port} on 127.0.0.1 is taken by " in outcome.stderr
    assert f"{option} 0 for any free one" in outcome.stderr
    assert "Traceback" not in outcome.stderr
    assert outcome.stdout == ""


@pytest.mark.parametrize("option", ["--port", "--web-port"])
def test_a_port_that_is_taken_leaves_no_data_directory(option, tmp_path):
    other = {"--port": "--web-port", "--web-port": "--port"}[option]
    with socket.create_server(("127.0.0.1", 0)) as taken:
        outcome = run_up(option, str(taken.getsockname()[1]), other, "0", cwd=tmp_path)
    assert outcome.returncode == 2
    assert list(tmp_path.iterdir()) == []


def test_a_directory_with_a_database_for_each_access_key_is_not_hosted_beside_them(tmp_path):
    own = tmp_path / "data" / "databases" / "local" / "eu-west-2"
    hashrange.open(own).close()
    outcome = run_up("--port", "0", "--web-port", "0", cwd=tmp_path)
    assert outcome.returncode == 2
    assert f"Give one of them: {own}." in outcome.stderr


def test_a_directory_in_use_is_explained(up, tmp_path):
    upped = up()
    outcome = run_up("--port", "0", "--web-port", "0", cwd=tmp_path)
    assert outcome.returncode == 2
    assert str(upped.process.pid) in outcome.stderr


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("--memory", "--data", "x"), "choose one"),
        (("--memory", "--fsync"), "choose one"),
        (("--all", "--only", "stock"), "choose one"),
        (("--port", "9000", "--web-port", "9000"), "both 9000"),
        (("--endpoint", "http://127.0.0.1:1", "--port", "9000"), "--port is for the DynamoDB of this process"),
        (("--endpoint", "aws", "--memory"), "--memory is for the DynamoDB of this process"),
        (("--endpoint", "http://127.0.0.1:1", "--fsync"), "--fsync is for the DynamoDB of this process"),
        (("--endpoint", "dynamodb"), "neither a URL"),
        (("--target", "./data"), "--data ./data"),
        (("--target", "./my data"), "--data './my data'"),
        (("--endpoint", "http://"), "is not an endpoint"),
        (("--endpoint", "http://127.0.0.1:1", "--web-port", "0"), "http://127.0.0.1:1"),
        (("--app", "nowhere.at.all"), "There is no module nowhere.at.all, neither in "),
        (("--only", "sample_systems.stock.schema"), "hosted with --app MODULE"),
        (("--web-port", "70000"), "65535"),
    ],
)
def test_what_makes_no_sense_is_explained(options, text, tmp_path):
    outcome = run_up(*options, cwd=tmp_path)
    assert outcome.returncode == 2
    assert text in outcome.stderr
    assert "Traceback" not in outcome.stderr
    assert outcome.stdout == ""


def test_a_library_that_is_missing_is_named_with_the_remedy(tmp_path):
    (tmp_path / "uvicorn.py").write_text("raise ModuleNotFoundError(\"No module named 'uvicorn'\", name='uvicorn')")
    outcome = run_up("--memory", environment={**SAMPLE, "PYTHONPATH": f"{tmp_path}:{HERE}"})
    assert outcome.returncode == 2
    assert outcome.stderr == "error: uvicorn is not installed: pip install 'hashrange[server]'\n"


def test_an_open_door_is_warned_about(up):
    assert "warning: everybody who can reach http://0.0.0.0" in up("--memory", "--host", "0.0.0.0").logged


# -- the systems' own commands


def test_the_commands_of_a_system_are_listed_without_importing_them():
    listed = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "hashrange.cli", "--help"],
        capture_output=True, text=True, timeout=500, check=False, env=SAMPLE,
    )  # fmt: skip
    assert listed.returncode == 0
    assert re.search(r"stock +Products: counted and listed\. ", listed.stdout)
    assert "unfinished" not in listed.stdout
    assert "sample_systems.stock.cli" not in listed.stderr
    assert "starlette" not in listed.stderr


def test_the_commands_of_a_system_run():
    assert run_up("count", "Ann", command="stock").stdout == "Ann has three products\n"
    shown = run_up("--help", command="stock").stdout
    assert "hashrange stock [OPTIONS] COMMAND" in shown
    assert "Count the products of somebody." in shown
    refused = run_up("cuont", command="stock")
    assert refused.returncode == 2
    assert "cuont" in refused.stderr
