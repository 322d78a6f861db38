"""`--target aws` by configuration alone: the signed requests of the whole way of a resource, and the documented policy.

AWS itself is not asked. The requests go to `hashrange serve`, which verifies their signatures, and to a bucket in this
process; what they ask for must be allowed by the IAM policy of the documentation.
"""

import fnmatch
import io
import json
import re
import subprocess

import httpx
import pytest
from PIL import Image

from systems.tests.kelifax.recorded_aws import record_aws
from systems.tests.kelifax.services import make_form
from tests.conftest import ROOT
from tests.e2e.served import CLEAN, Served
from tests.e2e.test_up import COMMAND, SOON, UpProcess, wait_for

PAGE = ROOT / "docs" / "systems" / "kelifax.md"
KEY, REGION = "AKIAKELIFAX", "eu-central-1"
PASSWORD = "a long password of moderators"


def read_policy():
    """The policy on the page of the directory."""
    (text,) = [
        text for text in re.findall(r"```json\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL) if "Action" in text
    ]
    return json.loads(text)


def is_allowed(policy, action, arn):
    arn = arn.replace(REGION, "eu-west-2")  # the one of the page
    return any(
        action in statement["Action"] and any(fnmatch.fnmatchcase(arn, pattern) for pattern in statement["Resource"])
        for statement in policy["Statement"]
    )


@pytest.fixture(scope="module")
def aws(tmp_path_factory):
    """A server that accepts one access key, and everything that the directory asked it for."""
    folder = tmp_path_factory.mktemp("aws")
    served = Served(
        "--access-key", KEY, "--secret-key", "the secret of AWS", errors=folder / "served", shared=False
    )  # fmt: skip
    try:
        with record_aws(served.url) as recorded:
            yield recorded
    finally:
        served.stop()


@pytest.fixture
def environment(aws, tmp_path):
    """The configuration: nothing else says where the data is."""
    return {
        "PYTHONPATH": "",
        "AWS_ENDPOINT_URL_DYNAMODB": aws.url,
        "AWS_ENDPOINT_URL_DYNAMODB_STREAMS": aws.url,
        "AWS_ENDPOINT_URL_S3": aws.url,
        "AWS_ALLOW_HTTP": "true",
        "AWS_REGION": REGION,
        "AWS_ACCESS_KEY_ID": KEY,
        "AWS_SECRET_ACCESS_KEY": "the secret of AWS",
        "KELIFAX_LOGOS": "s3://pictures/kelifax",
        "KELIFAX_SECRET": "ab" * 32,
        "KELIFAX_KEYS": str(tmp_path / "keys.json"),
    }


def command(environment, *arguments, text=None):
    outcome = subprocess.run(
        [*COMMAND, "kelifax", *arguments, "--target", "aws"],
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
        env={**CLEAN, **environment, "COLUMNS": "200"},
        input=text,
    )
    assert outcome.returncode == 0, outcome.stderr
    return outcome.stdout


def draw_logo():
    output = io.BytesIO()
    Image.new("RGB", (64, 64), "teal").save(output, "PNG")
    return output.getvalue()


def test_the_whole_way_works_with_configuration_alone_and_within_the_documented_policy(aws, environment, tmp_path):
    up = UpProcess(tmp_path, "--target", "aws", "--only", "kelifax", environment=environment)
    try:
        command(environment, "admin", "add", "ann", "--role", "admin", text=f"{PASSWORD}\n{PASSWORD}\n")
        with httpx.Client(base_url=f"{up.web}/kelifax", timeout=SOON) as browser:
            logo = browser.post("/api/logos", content=draw_logo()).json()["logoImage"]
            sent = browser.post("/api/resources", json=make_form("Quetzal Press", logoImage=logo))
            assert sent.status_code == 201, sent.text
            assert browser.post("/api/resources", json=make_form("Quetzal Ink")).status_code == 201
            command(environment, "approve", "quetzal-press", "quetzal-ink")
            wait_for(lambda: "Quetzal Press" in browser.get("/search", params={"q": "quetzl"}).text)
            wait_for(lambda: browser.get(f"/logo/{logo}").status_code == 200)
            for path in ("/", "/browse?tag=icons", "/r/quetzal-press", "/export.json", "/sitemap.xml", "/health"):
                assert browser.get(path).status_code == 200, path
        for arguments in (
            ("analytics",), ("adopt",), ("queue",), ("person", "zoe@techcorp.com"), ("check-links",),
            ("unpublish", "quetzal-press", "--reason", "Sold to others."), ("undo", "quetzal-press"),
            ("erase", "zoe@techcorp.com", "--yes"), ("delete", "quetzal-press", "--yes"),
        ):  # fmt: skip
            command(environment, *arguments)
        assert up.stop() == 0
    finally:
        up.kill()
    assert aws.signed_for == {(KEY, REGION, "dynamodb"), (KEY, REGION, "s3")}
    policy = read_policy()
    refused = sorted((action, arn) for action, arn in aws.asked if not is_allowed(policy, action, arn))
    assert refused == [], refused


def test_the_policy_allows_nothing_that_is_never_asked_for(aws):
    """It runs after the way of a resource; what only happens later is named here."""
    if not aws.asked:
        pytest.skip("nothing was asked")
    allowed = {action for statement in read_policy()["Statement"] for action in statement["Action"]}
    seldom = {
        "s3:DeleteObject",  # after three days
        "dynamodb:UpdateTable",  # of a table that is adopted
        "dynamodb:ConditionCheckItem",  # when a resource is featured
        "dynamodb:BatchGetItem",  # of suggestions, reviews and claims that wait
    }
    assert allowed - {action for action, _ in aws.asked} <= seldom
