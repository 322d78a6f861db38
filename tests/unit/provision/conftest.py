"""A database in process, and the same engine over HTTP."""

import pytest

import hashrange
from hashrange.server.runner import serve_in_background
from hashrange.server.settings import ServerSettings


@pytest.fixture(params=["embedded", "wire"])
def database(request):
    with hashrange.open() as opened:
        if request.param == "embedded":
            yield opened
            return
        with (
            serve_in_background(opened.engine, ServerSettings(port=0)) as server,
            hashrange.connect(server.url, access_key="local", secret_key="local", region="eu-west-2") as remote,
        ):
            yield remote
