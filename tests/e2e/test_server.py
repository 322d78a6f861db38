"""`hashrange serve` as its users start, use and stop it."""

import json
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from hashrange import __version__
from hashrange.engine.engine import open_engine
from hashrange.operations import OPERATIONS
from tests.e2e.served import CLEAN, COMMAND, Served, run_serve
from tests.unit.server.wire import TABLE, Client, build, put, wait_until_refused

KEY_ID, SECRET = "AKIDEXAMPLE", "a secret/with+signs"


@pytest.fixture
def serve(tmp_path):
    """`serve("--data", directory)` starts a server; the test's end stops it."""
    started = []

    def start(*options, **more):
        started.append(Served(*options, errors=tmp_path / f"errors{len(started)}", **more))
        return started[-1]

    yield start
    for served in started:
        served.kill()


def connect_boto3(served, key_id="any", secret="any", token=None, region="eu-west-2"):
    return boto3.client(
        "dynamodb",
        endpoint_url=served.url,
        region_name=region,
        aws_access_key_id=key_id,
        aws_secret_access_key=secret,
        aws_session_token=token,
        config=Config(retries={"total_max_attempts": 1}),
    )


# -- starting


def test_it_says_where_it_is_and_what_to_try(serve):
    served = serve()
    assert __version__ in served.shown
    assert "in memory" in served.shown
    assert f"aws dynamodb list-tables --endpoint-url {served.url}" in served.shown
    with urllib.request.urlopen(served.url) as response:
        assert response.read() == b"healthy: dynamodb.eu-west-2.amazonaws.com "
    assert served.errors.read_text("utf-8") == ""


def test_any_credentials_will_do(serve):
    client = connect_boto3(serve())
    client.create_table(**TABLE)
    client.put_item(TableName="things", Item={"pk": {"S": "a"}, "blob": {"B": b"\x00\xff"}})
    assert client.get_item(TableName="things", Key={"pk": {"S": "a"}})["Item"]["blob"] == {"B": b"\x00\xff"}


def test_data_is_there_again_after_a_restart(serve, tmp_path):
    directory = tmp_path / "data"
    served = serve("--data", str(directory))
    assert str(directory) in served.shown
    client = connect_boto3(served)
    client.create_table(**TABLE)
    client.put_item(TableName="things", Item={"pk": {"S": "a"}})
    assert served.stop() == 0
    again = connect_boto3(serve("--data", str(directory), "--fsync"))
    assert again.get_item(TableName="things", Key={"pk": {"S": "a"}})["Item"] == {"pk": {"S": "a"}}


def test_regions_and_access_keys_have_separate_databases_also_after_a_restart(serve, tmp_path):
    directory = str(tmp_path / "data")
    served = serve("--data", directory, shared=False)
    created = connect_boto3(served, region="us-east-1").create_table(**TABLE)
    assert created["TableDescription"]["TableArn"].startswith("arn:aws:dynamodb:us-east-1:")
    assert served.stop() == 0
    again = serve("--data", directory, shared=False)
    assert "one for each access key and region" in again.shown
    assert connect_boto3(again, region="us-east-1").list_tables()["TableNames"] == ["things"]
    assert connect_boto3(again, region="us-west-2").list_tables()["TableNames"] == []
    assert connect_boto3(again, "other", region="us-east-1").list_tables()["TableNames"] == []


def test_a_directory_that_was_made_with_one_database_is_served_as_before(serve, tmp_path):
    directory = tmp_path / "data"
    engine = open_engine(directory, OPERATIONS)
    engine.call("CreateTable", dict(TABLE))
    engine.close()
    served = serve("--data", str(directory), shared=False)
    assert "one for all" in served.shown
    for key_id, region in (("one", "eu-west-2"), ("two", "us-east-1")):
        assert connect_boto3(served, key_id, region=region).list_tables()["TableNames"] == ["things"]


def test_options_can_come_from_the_environment(serve, tmp_path):
    environment = {"HASHRANGE_DATA": str(tmp_path / "data"), "HASHRANGE_REGION": "us-west-1"}
    served = serve(environment=environment)
    assert str(tmp_path / "data") in served.shown
    with urllib.request.urlopen(served.url) as response:
        assert b"us-west-1" in response.read()


def test_a_port_that_is_taken_is_explained_and_leaves_no_directory(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        outcome = run_serve("--port", str(port), "--data", str(tmp_path / "data"))
    assert not (tmp_path / "data").exists()
    assert outcome.returncode == 2
    assert f"Port {port} on 127.0.0.1 is taken" in outcome.stderr
    assert "--port" in outcome.stderr
    assert outcome.stdout == ""


def test_an_address_of_another_machine_is_explained():
    outcome = run_serve("--host", "192.0.2.1", "--port", "0")
    assert outcome.returncode == 2
    assert "Cannot listen on 192.0.2.1:0" in outcome.stderr
    assert "Traceback" not in outcome.stderr


def test_a_directory_in_use_is_explained(serve, tmp_path):
    served = serve("--data", str(tmp_path / "data"))
    outcome = run_serve("--port", "0", "--shared", "--data", str(tmp_path / "data"))
    assert outcome.returncode == 2
    assert outcome.stderr.startswith("error: ")
    assert str(served.process.pid) in outcome.stderr


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("--memory", "--data", "x"), "choose one"),
        (("--fsync",), "--data DIR"),
        (("--access-key", "a"), "given together"),
        (("--access-key", "a", "--secret-key", "b", "--unsigned"), "choose one"),
        (("--credentials-file", "/nowhere/.env"), "cannot be read"),
        (("--port", "70000"), "65535"),
    ],
)
def test_options_that_make_no_sense_are_explained(options, text):
    outcome = run_serve(*options)
    assert outcome.returncode == 2
    assert text in outcome.stderr


def test_a_server_that_everybody_can_reach_prints_a_warning(serve, tmp_path):
    assert "warning: everybody who can reach" in serve("--host", "0.0.0.0").errors.read_text("utf-8")
    locked = serve("--host", "0.0.0.0", "--access-key", KEY_ID, "--secret-key", SECRET)
    assert locked.errors.read_text("utf-8") == ""


# -- who is let in


@pytest.mark.parametrize("way", ["options", "file"])
def test_with_credentials_only_their_signatures_pass(serve, tmp_path, way):
    options = ("--access-key", KEY_ID, "--secret-key", SECRET)
    if way == "file":
        file = tmp_path / ".env"
        file.write_text(
            f"# keys\nexport AWS_ACCESS_KEY_ID={KEY_ID}\nAWS_SECRET_ACCESS_KEY='{SECRET}'\nOTHER=x\n", "utf-8"
        )
        options = ("--credentials-file", str(file))
    served = serve(*options)
    assert f"requests signed by {KEY_ID}" in served.shown
    assert SECRET not in served.shown
    assert f"try it    AWS_ACCESS_KEY_ID={KEY_ID} AWS_SECRET_ACCESS_KEY=... AWS_DEFAULT_REGION=" in served.shown
    for token in (None, "a session"):
        assert connect_boto3(served, KEY_ID, SECRET, token).list_tables()["TableNames"] == []
    with pytest.raises(ClientError, match="InvalidSignatureException"):
        connect_boto3(served, KEY_ID, "wrong").list_tables()
    with pytest.raises(ClientError, match="UnrecognizedClientException"):
        connect_boto3(served, "AKIDOTHER", SECRET).list_tables()


def test_a_credentials_file_without_keys_is_explained(tmp_path):
    (tmp_path / ".env").write_text("AWS_ACCESS_KEY_ID=\n", "utf-8")
    outcome = run_serve("--credentials-file", str(tmp_path / ".env"))
    assert outcome.returncode == 2
    assert "AWS_SECRET_ACCESS_KEY" in outcome.stderr


def test_unsigned_requests_pass_when_asked_for(serve):
    client = Client(serve("--unsigned").port)
    assert client.ask(build("ListTables", {}, authorization=None)).json == {"TableNames": []}
    client.close()


# -- logs


def test_requests_are_logged_as_json_when_asked_for(serve):
    served = serve("--log-level", "debug", "--log-format", "json")
    connect_boto3(served).list_tables()
    served.stop()
    lines = [json.loads(line) for line in served.errors.read_text("utf-8").splitlines()]
    assert [(line["operation"], line["status"]) for line in lines if line["event"] == "request"] == [
        ("ListTables", 200)
    ]


# -- stopping


@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_it_cleanly(serve, sign):
    served = serve()
    client = Client(served.port)
    client.ask(build("ListTables", {}))
    assert served.stop(sign) == 0
    assert client.has_ended()
    assert served.errors.read_text("utf-8").endswith("info stopped\n")
    client.close()


@pytest.mark.parametrize("sent", [put("never")[:20], put("never")[:-5]], ids=["half a head", "half a body"])
def test_a_half_sent_request_does_not_delay_the_stop(serve, sent):
    delays = []
    while not delays or (min(delays) >= 4 and len(delays) < 5):  # one second; the server would wait for five
        usual, delayed = (time_stop(serve(), more) for more in (b"", sent))
        delays.append(delayed - usual)
    assert min(delays) < 4


def time_stop(served, sent):
    """Return how long a server takes to stop after a request and some more bytes."""
    client = Client(served.port)
    client.ask(build("ListTables", {}))
    client.send(sent)
    time.sleep(0.1)
    started = time.monotonic()
    assert served.stop() == 0
    took = time.monotonic() - started
    client.close()
    return took


def test_a_request_that_keeps_arriving_is_waited_for(serve):
    served = serve()
    connect_boto3(served).create_table(**TABLE)
    client, request = Client(served.port), put("late")
    client.send(request[:10])
    time.sleep(0.1)
    served.process.send_signal(signal.SIGTERM)
    for at in range(10, 20):
        time.sleep(0.2)  # two seconds in all, but never silent for one
        client.send(request[at : at + 1])
    client.send(request[20:])
    assert client.read().status == 200
    assert served.process.wait(60) == 0  # a second signal could meet a process that no longer handles it
    client.close()


@pytest.mark.parametrize(("files", "text"), [(256, "accepts 1 connection at a time"), (400, "accepts 80 connections")])
def test_a_low_limit_of_open_files_is_said_at_the_start(serve, files, text):
    served = serve(files=files)
    said = served.errors.read_text("utf-8")
    assert f"may open {files} files (ulimit -n)" in said
    assert text in said
    assert "Raise the limit to" in said


def test_nohup_keeps_it_running_at_sighup(tmp_path):
    served = Served("--memory", errors=tmp_path / "errors.log", ignores_hangup=True)
    served.process.send_signal(signal.SIGHUP)
    assert connect_boto3(served).list_tables()["TableNames"] == []
    assert served.stop() == 0


def test_a_second_signal_cuts_the_waiting_short(serve):
    served = serve()
    client = Client(served.port)
    client.ask(build("ListTables", {}))
    client.send(put("never")[:-5])
    served.process.send_signal(signal.SIGTERM)
    wait_until_refused(served.port)
    assert served.stop() == 0
    assert client.has_ended()
    client.close()


def test_a_stop_under_load_keeps_everything_that_was_acknowledged(serve, tmp_path):
    served = serve("--data", str(tmp_path / "data"))
    connect_boto3(served).create_table(**TABLE)
    acknowledged, started = [], threading.Barrier(9)

    def write(worker):
        client = Client(served.port)
        try:
            for number in range(1_000_000):
                if client.ask(put(f"{worker}-{number}")).status == 200:
                    acknowledged.append(f"{worker}-{number}")
                if number == 20:
                    started.wait(200)
        except (OSError, IndexError):  # the server hung up
            client.close()

    workers = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    for worker in workers:
        worker.start()
    started.wait(200)
    assert served.stop() == 0
    for worker in workers:
        worker.join(200)
    engine = open_engine(tmp_path / "data", OPERATIONS)
    stored = {
        key
        for key in acknowledged
        if engine.call("GetItem", {"TableName": "things", "Key": {"pk": {"S": key}}}) != b"{}"
    }
    engine.close()
    assert len(acknowledged) > 8 * 20
    assert stored == set(acknowledged)


# -- the command line itself


def test_the_version_is_told():
    outcome = subprocess.run(
        [sys.executable, "-m", "hashrange.cli", "--version"], capture_output=True, text=True, check=True, env=CLEAN
    )
    assert outcome.stdout == f"hashrange {__version__}\n"


def test_the_help_teaches_with_examples():
    outcome = run_serve("--help")
    assert outcome.returncode == 0
    for shown in ("hashrange serve --data ./data", "aws dynamodb list-tables", "--credentials-file", "HASHRANGE_PORT"):
        assert shown in outcome.stdout


def test_the_start_does_not_pay_for_what_it_does_not_need():
    code = "import sys, hashrange.cli; print([name for name in ('rich', 'asyncio', 'boto3') if name in sys.modules])"
    outcome = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=CLEAN)
    assert outcome.stdout == "[]\n"


@pytest.mark.parametrize("files", [10, 18])
def test_a_limit_of_files_that_is_too_low_is_one_sentence_and_exit_code_2(files):
    command = ["sh", "-c", f'ulimit -n {files}; exec "$0" "$@"', *COMMAND, "--port", "0"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False, env=CLEAN)
    assert done.returncode == 2
    assert f"may open {files} files at once" in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
