"""`hashrange serve` in a process of its own, and what every server process of the tests needs."""

import os
import re
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

COMMAND = (sys.executable, "-m", "hashrange.cli", "serve")
CLEAN = {name: value for name, value in os.environ.items() if not name.startswith(("HASHRANGE_", "AWS_"))}


@contextmanager
def heeding_hangup():
    """Let a process that is started meanwhile end at SIGHUP, although the tests may run under `nohup`."""
    is_ignored = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    if is_ignored:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
    try:
        yield
    finally:
        if is_ignored:
            signal.signal(signal.SIGHUP, signal.SIG_IGN)


class ServerProcess:
    """A process that prints where it listens, and serves until it is stopped; `errors` is the file of its log."""

    process: subprocess.Popen[str]
    errors: Path

    def read_welcome(self):
        """Return what it printed when it started."""
        shown = ""
        for line in self.process.stdout:
            shown += line
            if "stop it" in line:
                return shown
        self.kill()
        raise AssertionError(f"it did not start: {shown}\n{self.errors.read_text('utf-8')}")

    def stop(self, sign=signal.SIGTERM):
        """Send a signal; return the exit code."""
        if self.process.poll() is None:
            self.process.send_signal(sign)
        try:
            return self.process.wait(200)
        finally:
            self.process.stdout.close()

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


class Served(ServerProcess):
    """The process, what it printed when it started, and where it listens."""

    def __init__(self, *options, errors: Path, environment=None, files=None, ignores_hangup=False, shared=True):
        self.errors = errors
        limits = [f"ulimit -n {files}"] if files else ["trap '' HUP"] if ignores_hangup else []
        limited = ("sh", "-c", f'{limits[0]}; exec "$0" "$@"') if limits else ()
        with errors.open("wb") as stream, heeding_hangup():
            self.process = subprocess.Popen(
                [*limited, *COMMAND, "--port", "0", *(["--shared"] if shared else []), *options],
                stdout=subprocess.PIPE,
                stderr=stream,
                text=True,
                env={**CLEAN, **(environment or {})},
            )
        self.shown = self.read_welcome()
        self.url = re.search(r"endpoint +(http://\S+)", self.shown)[1]
        self.port = int(self.url.rpartition(":")[2])


def run_serve(*options, environment=None):
    """Run `hashrange serve` that is not expected to start."""
    return subprocess.run(
        [*COMMAND, *options],
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
        env={**CLEAN, "COLUMNS": "200", **(environment or {})},
    )
