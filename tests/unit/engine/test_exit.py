"""Programs that end without closing their database: the directory opens again, with everything that was written."""

import shutil
import subprocess
import sys
import threading

import pytest

import hashrange
from hashrange.engine.data_directory import LOG_FILE
from hashrange.engine.directory_copy import copy_directory
from tests.unit.engine.local import Local

ITEMS = 40
PROGRAM = """
import gc, os, signal, sys, threading
import hashrange

os.chdir(sys.argv[1])
TABLE = dict(
    TableName="tab",
    KeySchema=[dict(AttributeName="pk", KeyType="HASH")],
    AttributeDefinitions=[dict(AttributeName="pk", AttributeType="S")],
    BillingMode="PAY_PER_REQUEST",
)
opened = []

def fill(directory):
    database = hashrange.open(directory)
    database.create_table(**TABLE)
    for number in range({items}):
        database.put_item(TableName="tab", Item=dict(pk=dict(S=str(number))))
    opened.append(database)
    return database

{ending}
"""
FILL = 'fill("data")'
ENDINGS = {
    "the last line": FILL,
    "a local variable": "def main():\n    fill('data')\n    opened.clear()\nmain()",
    "an exception": f"{FILL}\nraise ValueError",
    "sys.exit": f"{FILL}\nsys.exit(3)",
    "os._exit": f"{FILL}\nos._exit(3)",
    "a kill": f"{FILL}\nos.kill(os.getpid(), signal.SIGKILL)",
    "an interrupt": f"{FILL}\nos.kill(os.getpid(), signal.SIGINT)",
    "garbage collection": "fill('data')\nopened.clear()\ngc.collect()",
    "a reference cycle": "database = fill('data')\ndatabase.engine.own = database",
    "a thread": "threading.Thread(target=fill, args=('data',)).start()",
    "a daemon thread that goes on": (
        "database = fill('data')\n"
        "def go_on():\n"
        "    while True: database.put_item(TableName='tab', Item=dict(pk=dict(S='0')))\n"
        "threading.Thread(target=go_on, daemon=True).start()"
    ),
    "a thread inside the engine": "fill('data').engine.begin()",
    "a reader left open": "reader = fill('data').engine.store.reader()\nreader.execute('BEGIN; SELECT * FROM catalog')",
    "several databases": "fill('other')\nfill('data')\nfill('third')",
    "a database in memory beside it": "fill(None)\nfill('data')",
}


def run(directory, ending):
    program = PROGRAM.format(items=ITEMS, ending=ending)
    subprocess.run([sys.executable, "-c", program, directory], capture_output=True, check=False, timeout=300)


@pytest.mark.parametrize("ending", ENDINGS.values(), ids=ENDINGS)
def test_a_directory_opens_again_after_a_program_that_did_not_close_it(tmp_path, ending, caplog):
    run(tmp_path, ending)
    for directory in tmp_path.iterdir():
        with hashrange.open(directory) as database:
            assert database.scan(TableName="tab", Select="COUNT")["Count"] == ITEMS
    assert not caplog.records


def test_a_program_that_ends_without_closing_leaves_no_log(tmp_path):
    run(tmp_path, FILL)
    assert not (tmp_path / "data" / LOG_FILE).exists()


def test_copying_a_directory_after_a_kill_leaves_its_log_where_it_is(tmp_path):
    run(tmp_path, ENDINGS["a kill"])
    shutil.copytree(tmp_path / "data", tmp_path / "left")
    copy_directory(tmp_path / "left", tmp_path / "copy")  # it must not move the log of its source
    for name in ("left", "copy"):
        local = Local(tmp_path / name)
        assert len(local.items()) == ITEMS
        local.close()


def test_closing_waits_for_no_other_thread_at_the_end(tmp_path):
    ended = threading.Event()

    def end():
        run(tmp_path, ENDINGS["a thread inside the engine"])
        ended.set()

    threading.Thread(target=end, daemon=True).start()
    assert ended.wait(120)
