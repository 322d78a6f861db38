"""`hashrange serve --faults`: faults are injected as configured, announced at the start, and never otherwise."""

import pytest

import hashrange
from hashrange.core.errors import ProvisionedThroughputExceededException
from tests.e2e.served import Served, run_serve

TABLE = {
    "TableName": "orders",
    "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
    "BillingMode": "PAY_PER_REQUEST",
}
PUT = {"TableName": "orders", "Item": {"id": {"S": "1"}}}


@pytest.fixture
def serve(tmp_path):
    running = []

    def start(*options, **more):
        running.append(Served(*options, errors=tmp_path / "errors", **more))
        return running[-1]

    yield start
    for served in running:
        served.kill()


@pytest.mark.parametrize("way", ["text", "file", "environment"])
def test_calls_go_wrong_as_told_and_the_server_says_so(serve, tmp_path, way):
    text = "throttle PutItem table=orders times=2"
    (tmp_path / "faults.txt").write_text(f"# for the test\n{text}\n")
    options = {
        "text": ("--faults", text),
        "file": ("--faults", str(tmp_path / "faults.txt")),
        "environment": (),
    }
    served = serve(*options[way], environment={"HASHRANGE_FAULTS": text} if way == "environment" else None)
    with hashrange.connect(served.url, attempts=1) as remote:
        remote.call("CreateTable", TABLE)
        for _ in range(2):
            with pytest.raises(ProvisionedThroughputExceededException):
                remote.call("PutItem", PUT)
        remote.call("PutItem", PUT)
    assert served.stop() == 0
    logged = served.errors.read_text("utf-8")
    assert f"warning: faults are injected (--faults): {text}" in logged
    assert logged.count(f"Fault injected into PutItem: {text}") == 2


def test_without_the_option_nothing_goes_wrong_and_nothing_is_said(serve):
    served = serve()
    with hashrange.connect(served.url, attempts=1) as remote:
        remote.call("CreateTable", TABLE)
        for _ in range(20):
            remote.call("PutItem", PUT)
    assert served.stop() == 0
    assert "faults" not in served.errors.read_text("utf-8")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("throttle PutItm", "there is no operation PutItm; is it PutItem?"),
        ("fail after=perhaps", "'perhaps' cannot be the value of after"),
        (
            "weather.txt",
            "not a readable file (No such file or directory), and does not begin with any of throttle, fail, conflict",
        ),
        ("seed 7", "no fault in 'seed 7'"),
        (".", "not a readable file (Is a directory)"),
    ],
)
def test_what_makes_no_sense_ends_the_command(given, said):
    outcome = run_serve("--port", "0", "--faults", given)
    assert outcome.returncode == 2
    assert said in " ".join(outcome.stderr.replace("│", " ").split())
