"""A new operation is one file: server, clients, faults and documentation read everything else from it."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import hashrange

PACKAGE = Path(hashrange.__file__).parent
NEW_FILE = '''"""ExportTableToPointInTime: answers with the idempotency token it was given."""

import orjson

from hashrange.engine.operation import operation


@operation(writes="items")
def export_table_to_point_in_time(engine, request):
    """Return the token."""
    return orjson.dumps({"ExportDescription": {"ClientToken": request["ClientToken"]}})
'''
PROGRAM = """
import json
import hashrange
from hashrange.cli.docs import describe_operations
from hashrange.server.runner import serve_in_background

NAME, REQUEST = "ExportTableToPointInTime", {"TableArn": "arn:t", "S3Bucket": "bucket"}
seen = {}
with hashrange.open() as db:
    seen["method"] = db.export_table_to_point_in_time(**REQUEST, ClientToken="mine")
    seen["listed"] = "export_table_to_point_in_time" in dir(db)
    with serve_in_background(db.engine) as server, hashrange.connect(server.url) as remote:
        seen["remote"] = remote.call(NAME, REQUEST)
        try:
            remote.call(NAME, {"TableArn": "arn:t"})
        except hashrange.ServiceError as refusal:
            seen["validation"] = str(refusal)
        seen["metrics"] = server.metrics.meters[NAME].statuses
faults = hashrange.Faults()
faults.conflict(NAME)
with hashrange.open(faults=faults) as db:
    try:
        db.call(NAME, {**REQUEST, "ClientToken": "mine"})
    except hashrange.ServiceError as injected:
        seen["injected"] = type(injected).__name__
seen["documented"] = [line for line in describe_operations() if NAME in line]
print(json.dumps(seen))
"""


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    """What a program sees of a hashrange with one more file."""
    folder = tmp_path_factory.mktemp("with_a_new_operation")
    shutil.copytree(PACKAGE, folder / "hashrange", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "hashrange" / "operations" / "export_table_to_point_in_time.py").write_text(NEW_FILE)
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, cwd=folder, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def test_it_is_a_method_of_a_database_in_process(seen):
    assert seen["method"] == {"ExportDescription": {"ClientToken": "mine"}}
    assert seen["listed"]


def test_it_is_served_counted_and_validated_over_http(seen):
    assert "S3Bucket" in seen["validation"] or "s3Bucket" in seen["validation"]
    assert seen["metrics"] == {"200": 1, "400": 1}


def test_the_remote_client_sends_its_idempotency_token(seen):
    assert len(seen["remote"]["ExportDescription"]["ClientToken"]) == 36


def test_faults_happen_to_it_as_its_facts_say(seen):
    assert seen["injected"] == "TransactionConflictException"


def test_it_is_documented(seen):
    assert "## ExportTableToPointInTime" in seen["documented"]
