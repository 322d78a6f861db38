"""Ordinary AWS clients, started as their users start them, against a real `hashrange serve`.

`make clients` installs those that need a place of their own. Where one is missing the test is skipped, but never in
CI, where a missing client is a failure.
"""

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
HERE = Path(__file__).parent


@pytest.fixture
def environment(server_url, tmp_path):
    """What a user sets to use a local endpoint, on a machine where AWS was never configured."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "AWS_ACCESS_KEY_ID": "local",
        "AWS_SECRET_ACCESS_KEY": "local",
        "AWS_REGION": "eu-west-2",
        "AWS_DEFAULT_REGION": "eu-west-2",
        "AWS_ENDPOINT_URL": server_url,
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_PAGER": "",
        "NODE_NO_WARNINGS": "1",
    }


@pytest.fixture
def run(environment):
    """Run a program to its end and return what it printed; its failure is the test's."""

    def start(*command, **more):
        outcome = subprocess.run(
            command, cwd=ROOT, env=environment | more, capture_output=True, text=True, timeout=500, check=False
        )
        assert outcome.returncode == 0, f"{command}\n{outcome.stdout}\n{outcome.stderr}"
        return outcome.stdout

    return start
