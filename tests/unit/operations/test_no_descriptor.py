"""An operation that is used for the first time when no file descriptor is left says so, and works afterwards."""

import json
import subprocess
import sys

PROGRAM = """
import json, os, resource, time
import hashrange
from hashrange.server.runner import serve_in_background

def attempt(database, name):
    try:
        return sorted(database.call(name, {"TableName": "absent", "BackupName": "copy"}))
    except Exception as error:
        return f"{type(error).__name__}: {error}"

limit = resource.getrlimit(resource.RLIMIT_NOFILE)
with hashrange.open() as db, serve_in_background(db.engine) as server, hashrange.connect(server.url) as remote:
    remote.call("ListTables", {})
    resource.setrlimit(resource.RLIMIT_NOFILE, (128, limit[1]))
    held, refused = [], 0
    while refused < 10:  # other threads give back what they had open
        try:
            held.append(os.open(os.devnull, os.O_RDONLY))
        except OSError:
            refused += 1
            time.sleep(0.01)
    seen = [attempt(db, "CreateBackup"), attempt(remote, "RestoreTableToPointInTime")]
    for each in held:
        os.close(each)
    print(json.dumps([*seen, attempt(db, "CreateBackup")]))
"""


def test_an_operation_that_cannot_be_imported_without_descriptors_says_so():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, timeout=60)
    embedded, wire, afterwards = json.loads(done.stdout)
    assert embedded.startswith("TooManyFiles: The process has no file descriptor left for the code of CreateBackup.")
    assert "no file descriptor left for the code of RestoreTableToPointInTime" in wire or "ValidationException" in wire
    assert afterwards.startswith("TableNotFoundException")
    assert "Traceback" not in done.stderr
