"""The API against its own OpenAPI document: requests made up from it, good and bad, to a real server."""

import asyncio
import threading
from itertools import count

import pytest
import schemathesis
import uvicorn
from hypothesis import HealthCheck, Phase, settings

import hashrange
from hashrange import ManualClock
from hashrange_systems.checks.schema import Checks
from hashrange_systems.checks.web.api.api_app import make_checks_api
from hashrange_systems.shared.web.request_guard import RequestGuard
from systems.tests.checks.web.web_client import ADMIN_TOKEN, WebClient
from systems.tests.conftest import NOON
from tests.conftest import find_free_port

UNLIMITED = 10**9
NUMBERS = count()


def read_document():
    """The OpenAPI document."""
    with hashrange.open() as database:
        hashrange.create_tables(database, Checks)
        return make_checks_api(WebClient(database, ManualClock(NOON)).services).openapi()


DOCUMENT = read_document()
CONFIG = schemathesis.config.SchemathesisConfig.from_dict(
    {"generation": {"allow-extra-parameters": False, "deterministic": True}}  # extra ones are ignored, as usual
)
SCHEMA = schemathesis.openapi.from_dict(DOCUMENT, config=CONFIG)
EXCLUDED = [schemathesis.checks.positive_data_acceptance]  # what is valid by its form may be refused by its meaning


class Threaded(uvicorn.Server):
    """A server in a thread of its own."""

    def install_signal_handlers(self):
        """Leave signals alone."""


@pytest.fixture(scope="module")
def served():
    """A real server of the API, with a user who has a check, a channel and a key."""
    with hashrange.open() as database:
        hashrange.create_tables(database, Checks)
        client = WebClient(database, ManualClock(NOON))
        api = make_checks_api(client.services, burst=UNLIMITED, failures=UNLIMITED)
        app = RequestGuard(api, name="checks")
        port = find_free_port()
        server = Threaded(uvicorn.Config(app, port=port, lifespan="off", log_config=None))
        thread = threading.Thread(target=server.run)
        thread.start()
        while not server.started:
            asyncio.run(asyncio.sleep(0.01))
        yield client, f"http://127.0.0.1:{port}"
        server.should_exit = True
        thread.join(100)


@pytest.fixture
def user(served):
    """A new user for each operation, with something to work on."""
    client, url = served
    new = client.sign_up(f"user{next(NUMBERS)}", "BUSINESS")
    (checkid,) = client.add(new.user.userid)
    client.run(new.user.userid, checkid, "uud")
    return url, new, checkid


@SCHEMA.parametrize()
@settings(
    max_examples=12,
    deadline=None,
    database=None,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
def test_every_answer_is_as_the_document_says(case, user):
    url, new, checkid = user
    token = ADMIN_TOKEN if case.path.startswith("/admin") else new.key
    known = {"checkid": checkid, "userid": new.user.userid, "channel_id": new.channel.channel_id, "month": "2026-01"}
    if case.path_parameters and len(str(case.path_parameters)) % 2:
        case.path_parameters |= {name: known[name] for name in case.path_parameters if name in known}
    case.call_and_validate(base_url=url, headers={"Authorization": f"Bearer {token}"}, excluded_checks=EXCLUDED)
