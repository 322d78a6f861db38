"""Where a client connects to and as who: arguments, environment, profiles, AWS's chain."""

import asyncio
import http.server
import json
import os
import shlex
import sys
import threading
from datetime import UTC, datetime, timedelta

import pytest

from hashrange.client import optional_import
from hashrange.client.credentials import LOCAL_KEYS, find_account, find_endpoint_url
from hashrange.client.errors import CredentialsMissing, EndpointUnknown
from hashrange.client.remote import connect
from hashrange.client.signer import Credentials
from tests.unit.client.misbehaving_server import FINE, GREETING, misbehave

LOCAL = "http://127.0.0.1:8000"
MINE = Credentials("mine", "secret", "token")


@pytest.fixture(autouse=True)
def home(monkeypatch, tmp_path):
    """A machine without any configuration: `home(config="...")` gives it some."""
    for name in list(os.environ):
        if name.startswith("AWS_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    monkeypatch.setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://127.0.0.1:9")  # nobody is there
    monkeypatch.setenv("AWS_METADATA_SERVICE_NUM_ATTEMPTS", "1")

    def write(**files):
        (tmp_path / ".aws").mkdir(exist_ok=True)
        for name, text in files.items():
            (tmp_path / ".aws" / name).write_text(text, "utf-8")

    return write


def find(url=LOCAL, region=None, profile=None, keys=None):
    account = find_account(url, region, profile, keys)
    return account.url, account.region, account.source.peek() or account.source.fetch()


def test_a_local_endpoint_needs_nothing():
    assert find() == (LOCAL, "eu-west-2", LOCAL_KEYS)


def test_a_local_endpoint_does_not_load_botocore(monkeypatch):
    monkeypatch.setitem(sys.modules, "hashrange.client.aws_config", None)
    assert find()[2] == LOCAL_KEYS


def test_what_is_given_comes_first(monkeypatch):
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "other")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "other")
    assert find(LOCAL, "eu-central-1", None, MINE) == (LOCAL, "eu-central-1", MINE)


@pytest.mark.parametrize("url", [LOCAL, None])
def test_the_environment_comes_next(monkeypatch, url):
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-west-1")
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "mine")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "token")
    assert find(url)[1:] == ("us-east-1", MINE)


PROFILES = {
    "config": "[profile work]\nregion = eu-north-1\n[profile keyless]\nregion = eu-south-1\n",
    "credentials": "[default]\naws_access_key_id = d\naws_secret_access_key = s\n"
    "[work]\naws_access_key_id = w\naws_secret_access_key = s\naws_session_token = t\n",
}


@pytest.mark.parametrize("url", [LOCAL, None])
def test_a_profile_has_keys_and_a_region(home, url):
    home(**PROFILES)
    assert find(url, profile="work")[1:] == ("eu-north-1", Credentials("w", "s", "t"))


def test_a_profile_named_by_the_environment_counts(home, monkeypatch):
    home(**PROFILES)
    monkeypatch.setenv("AWS_PROFILE", "work")
    assert find()[1:] == ("eu-north-1", Credentials("w", "s", "t"))


def test_a_profile_that_is_asked_for_beats_keys_in_the_environment(home, monkeypatch):
    home(**PROFILES)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "other")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "other")
    assert find(profile="work")[2] == Credentials("w", "s", "t")


def test_the_default_profile_is_found_in_its_file(home):
    home(**PROFILES)
    assert find()[2] == Credentials("d", "s")


def test_a_configuration_without_keys_leaves_the_local_ones(home):
    home(**PROFILES)
    assert find(profile="keyless") == (LOCAL, "eu-south-1", LOCAL_KEYS)


def test_an_unknown_profile_is_said(home):
    home(**PROFILES)
    with pytest.raises(CredentialsMissing, match="nobody"):
        find(profile="nobody")


def test_a_process_may_give_the_keys(home, tmp_path):
    response = {"Version": 1, "AccessKeyId": "p", "SecretAccessKey": "s"}
    script = tmp_path / "keys.py"
    script.write_text(f"print({json.dumps(response)!r})", "utf-8")
    home(config=f"[profile tool]\ncredential_process = {shlex.join([sys.executable, str(script)])}\n")
    assert find(profile="tool")[2] == Credentials("p", "s")


def test_credentials_that_cannot_be_loaded_are_reported(home):
    home(config=f"[profile tool]\ncredential_process = {shlex.join([sys.executable, '-c', 'exit(3)'])}\n")
    with pytest.raises(CredentialsMissing, match="cannot be loaded"):
        find(profile="tool")


def test_a_damaged_configuration_is_said(home):
    home(config="[profile work\n")
    with pytest.raises(CredentialsMissing, match="config"):
        find(profile="work")


@pytest.mark.parametrize(
    ("region", "url", "streams"),
    [
        ("eu-west-2", "https://dynamodb.eu-west-2.amazonaws.com", "https://streams.dynamodb.eu-west-2.amazonaws.com"),
        (
            "cn-north-1",
            "https://dynamodb.cn-north-1.amazonaws.com.cn",
            "https://streams.dynamodb.cn-north-1.amazonaws.com.cn",
        ),
    ],
)
def test_aws_is_found_by_its_region(region, url, streams):
    account = find_account(None, region, None, MINE)
    assert (account.url, account.find_streams()) == (url, streams)


def test_the_configuration_chooses_the_kind_of_endpoint(monkeypatch):
    monkeypatch.setenv("AWS_USE_FIPS_ENDPOINT", "true")
    assert find(None, "us-east-1", None, MINE)[0] == "https://dynamodb-fips.us-east-1.amazonaws.com"


def test_a_profile_may_have_an_endpoint_of_its_own(home):
    home(
        config="[profile lab]\nregion = eu-west-2\nservices = lab\n[services lab]\ndynamodb =\n  endpoint_url = http://lab:8000\n"
    )
    assert find(None, profile="lab", keys=MINE)[0] == "http://lab:8000"


def test_aws_without_a_region_is_refused_with_the_remedy():
    with pytest.raises(EndpointUnknown, match="AWS_REGION"):
        find(None, keys=MINE)


@pytest.mark.parametrize("region", ["", "not a region!"])
def test_aws_in_no_region_is_refused(region):
    with pytest.raises(EndpointUnknown):
        find(None, region, keys=MINE)


def test_aws_without_keys_is_refused_when_it_is_called():
    with connect(region="eu-west-2") as remote, pytest.raises(CredentialsMissing, match="aws sso login"):
        remote.call("ListTables")


def test_the_environment_names_the_endpoint(monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://any:1")
    assert find_endpoint_url() == "http://any:1"
    monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", "http://ours:2")
    with connect() as remote:
        assert (remote.endpoint, remote.region) == ("http://ours:2", "eu-west-2")
    with connect("http://given:3") as remote:
        assert remote.endpoint == "http://given:3"
    monkeypatch.setenv("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "true")
    assert find_endpoint_url() is None


def test_the_environment_names_the_endpoint_of_streams(monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", LOCAL)
    monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB_STREAMS", "http://streams:1")
    assert find_account(LOCAL, None, None, None).find_streams() == "http://streams:1"
    assert find_account("http://other:1", None, None, None).find_streams() == "http://other:1"


def test_half_of_a_key_is_refused():
    with pytest.raises(EndpointUnknown, match="belong together"):
        connect(LOCAL, access_key="k")


def test_a_missing_botocore_is_said_with_the_remedy(monkeypatch):
    monkeypatch.delitem(sys.modules, "hashrange.client.aws_config", raising=False)
    monkeypatch.setitem(sys.modules, "botocore", None)
    monkeypatch.setitem(sys.modules, "botocore.session", None)
    with pytest.raises(ImportError, match=r"pip install 'hashrange\[aws\]'"):
        find(None, "eu-west-2")
    with pytest.raises(ImportError, match=r"pip install 'hashrange\[aws\]'"):
        find(LOCAL, profile="work")
    with pytest.raises(ImportError, match=r"pip install 'hashrange\[boto3\]'"):
        optional_import.import_optional("hashrange.client.aws_config")


def test_a_missing_botocore_does_not_matter_locally(home, monkeypatch):
    home(**PROFILES)
    monkeypatch.delitem(sys.modules, "hashrange.client.aws_config", raising=False)
    monkeypatch.setitem(sys.modules, "botocore", None)
    monkeypatch.setitem(sys.modules, "botocore.session", None)
    assert find()[2] == LOCAL_KEYS


class CredentialsHandler(http.server.BaseHTTPRequestHandler):
    """Gives keys that are about to expire, new ones each time."""

    given = 0

    def do_GET(self):
        type(self).given += 1
        soon = datetime.now(UTC) + timedelta(minutes=1)
        body = {
            "AccessKeyId": f"key{self.given}",
            "SecretAccessKey": "s",
            "Token": "t",
            "Expiration": f"{soon:%Y-%m-%dT%H:%M:%SZ}",
        }
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())

    def log_message(self, *_):
        pass


@pytest.fixture
def credentials_endpoint(monkeypatch):
    """A container's source of keys."""
    handler = type("NewCredentialsHandler", (CredentialsHandler,), {"given": 0})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        url = f"http://127.0.0.1:{server.server_port}/keys"
        monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", url)
        yield handler
        server.shutdown()
        thread.join()


def read_keys(asked):
    return [request.head.partition("Credential=")[2].partition("/")[0] for request in asked]


def test_keys_that_expire_are_renewed(credentials_endpoint):
    with misbehave(FINE) as server, connect(server.url) as remote:
        assert remote.call("ListTables") == GREETING
        assert asyncio.run(remote.call_async("ListTables")) == GREETING
        first, second = read_keys(server.asked)
    assert first.startswith("key")
    assert second.startswith("key")
    assert first != second
    assert "X-Amz-Security-Token: t\r\n" in server.asked[0].head


@pytest.mark.parametrize("files", [{}, {"config": "[default]\nregion = eu-west-2\n"}])
@pytest.mark.parametrize(("url", "questions"), [(LOCAL, 0), ("https://dynamodb.internal.example", 1)])
def test_an_instance_is_asked_for_keys_only_by_https(home, monkeypatch, files, url, questions):
    home(**files)
    asked = []
    fetcher = "botocore.utils.InstanceMetadataFetcher.retrieve_iam_role_credentials"
    monkeypatch.setattr(fetcher, lambda self: asked.append(self) or {})
    assert find(url)[2] == LOCAL_KEYS
    assert len(asked) == questions
