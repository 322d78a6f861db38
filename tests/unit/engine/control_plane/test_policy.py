"""Resource policies: canonical documents, revisions, and what is refused."""

import json

import pytest

from hashrange.engine.arn import table_arn
from tests.unit.engine.control_plane.conftest import ACCOUNT, REGION

ARN = table_arn(REGION, ACCOUNT, "tab")
ROOT = f"arn:aws:iam::{ACCOUNT}:root"
MISSING = "PolicyNotFoundException: Resource-based policy not found for the provided ResourceArn: "
INVALID = "ValidationException: One or more parameter values were invalid: Invalid policy document: "


def statement(**members):
    base = {"Effect": "Allow", "Principal": {"AWS": ACCOUNT}, "Action": "dynamodb:GetItem", "Resource": ARN}
    return {name: value for name, value in (base | members).items() if value is not None}


def document(*statements, **head):
    return json.dumps({"Version": "2012-10-17", **head, "Statement": list(statements or [statement()])})


def put(control, policy=None, arn=ARN, **members):
    return control.call("PutResourcePolicy", ResourceArn=arn, Policy=policy or document(), **members)["RevisionId"]


def refuse(control, policy, **members):
    return control.refusal("PutResourcePolicy", ResourceArn=ARN, Policy=policy, **members)


def get(control, arn=ARN):
    return control.call("GetResourcePolicy", ResourceArn=arn)


def test_a_policy_is_read_back_in_canonical_form(control):
    control.create()
    loose = {
        "Resource": [ARN], "Action": ["dynamodb:GetItem"], "Principal": {"AWS": [ACCOUNT, ROOT]},
        "Effect": "allow", "Sid": "Read",
    }  # fmt: skip
    put(control, json.dumps({"Statement": loose, "Version": "2012-10-17"}, indent=4))
    assert get(control)["Policy"] == (
        '{"Version":"2012-10-17","Statement":[{"Sid":"Read","Effect":"Allow","Principal":{"AWS":"' + ROOT + '"},'
        '"Action":"dynamodb:GetItem","Resource":"' + ARN + '"}]}'
    )


def test_an_equivalent_document_keeps_its_revision(control):
    control.create()
    first = put(control)
    assert first == "1800000000000"
    control.clock.advance(60)
    assert put(control, document(statement(Action=["dynamodb:GetItem"], Principal={"AWS": [ROOT]}))) == first
    second = put(control, document(statement(Action="dynamodb:PutItem")))
    assert second == "1800000060000"
    assert int(put(control)) > int(second)
    assert get(control)["RevisionId"] == put(control)


def test_a_version_is_added_on_reading_only(control):
    control.create()
    bare = json.dumps({"Statement": [statement()]})
    first = put(control, bare)
    read = get(control)["Policy"]
    assert json.loads(read)["Version"] == "2008-10-17"
    assert put(control, bare) == first
    assert put(control, read) != first


def test_a_table_without_a_policy_says_so_and_may_be_told_to_have_none(control):
    control.create()
    assert control.refusal("GetResourcePolicy", ResourceArn=ARN) == MISSING + ARN
    assert control.call("DeleteResourcePolicy", ResourceArn=ARN) == {}


def test_a_deleted_policy_leaves_the_revision_of_its_deletion(control):
    control.create()
    first = put(control)
    control.clock.advance(60)
    assert control.call("DeleteResourcePolicy", ResourceArn=ARN) == {"RevisionId": first}
    assert control.refusal("GetResourcePolicy", ResourceArn=ARN) == MISSING + ARN
    assert control.call("DeleteResourcePolicy", ResourceArn=ARN) == {"RevisionId": "1800000060000"}
    assert int(put(control)) > 1_800_000_060_000


def test_an_expected_revision_must_be_the_present_one(control):
    control.create()
    assert refuse(control, document(), ExpectedRevisionId="123") == (
        MISSING + "Requested update for policy with revision id 123, but table tab has no associated policy."
    )
    first = put(control, ExpectedRevisionId="NO_POLICY")
    assert refuse(control, document(), ExpectedRevisionId="NO_POLICY") == (
        MISSING + "Requested policy update expecting none to be present for table tab, "
        f"but a policy exists with revision id {first}."
    )
    text = (
        MISSING + "Requested update for policy with revision id old, but the policy associated to target table tab "
        f"has revision id {first}."
    )
    assert refuse(control, document(), ExpectedRevisionId="old") == text
    assert control.refusal("DeleteResourcePolicy", ResourceArn=ARN, ExpectedRevisionId="old") == text
    control.call("DeleteResourcePolicy", ResourceArn=ARN, ExpectedRevisionId=first)


@pytest.mark.parametrize(
    ("policy", "text"),
    [
        ("", "This policy contains invalid Json"),
        ("{", "This policy contains invalid Json"),
        ("[]", "This policy contains invalid Json"),
        ("null", "This text appears not to be a policy"),
        ("{}", "Syntax error at position (1,3)"),
        ('{"Statement": []}', "Could not parse the policy: Statement is empty!"),
        ('{"Statement": [{}]}', "Missing required field Effect"),
        (document(statement(Principal=None)), "Missing required field Principal"),
        (document(statement(Resource=None)), "Missing required field Resource"),
        (document(statement(Sid="a"), statement(Sid="a")), "The Statement Ids in the policy are not unique"),
    ],
)
def test_what_is_not_a_policy_is_refused(control, policy, text):
    control.create()
    assert refuse(control, policy) == INVALID + text
    assert control.refusal("GetResourcePolicy", ResourceArn=ARN) == MISSING + ARN


@pytest.mark.parametrize("principal", ["*", {"AWS": "*"}])
def test_everyone_may_be_denied_but_not_allowed(control, principal):
    control.create()
    assert refuse(control, document(statement(Principal=principal))) == (
        "ValidationException: Resource-based policy grants unbounded access in one or more elements. Please revise the "
        "policy to ensure least-privilege form of access"
    )
    put(control, document(statement(Principal=principal, Effect="Deny")))


def test_a_policy_may_have_twenty_kilobytes_with_its_spaces(control):
    control.create()
    policy = document()
    put(control, policy + " " * (20_480 - len(policy)))
    assert refuse(control, policy + " " * (20_481 - len(policy))) == (
        "ValidationException: One or more parameter values were invalid: Maximum policy size of 20480 bytes exceeded"
    )


def test_a_stream_has_a_policy_of_its_own(control):
    stream = control.create(StreamSpecification={"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"})[
        "LatestStreamArn"
    ]
    put(control, arn=stream)
    assert json.loads(get(control, stream)["Policy"])["Statement"]
    assert control.refusal("GetResourcePolicy", ResourceArn=ARN) == MISSING + ARN
    assert control.refusal("GetResourcePolicy", ResourceArn=f"{ARN}/stream/2000") == (
        "ResourceNotFoundException: Requested resource not found: Stream: 2000 not found for Table: tab"
    )


def test_a_policy_given_at_creation_is_there(control):
    control.create(ResourcePolicy=document())
    assert get(control)["RevisionId"] == "1800000000000"


@pytest.mark.parametrize(
    ("arn", "text"),
    [
        ("tab", "ValidationException: One or more parameter values were invalid: ARNs must start with 'arn:': tab"),
        (f"{ARN}x", "ResourceNotFoundException: Requested resource not found: Table: tabx not found"),
        (
            ARN.replace(ACCOUNT, "999999999999"),
            "ValidationException: This action is only supported by accounts that match the resource owner’s account.",  # noqa: RUF001
        ),
        (
            ARN.replace(REGION, "us-east-1"),
            "ValidationException: One or more parameter values were invalid: Invalid resource Arn: "
            + ARN.replace(REGION, "us-east-1"),
        ),
    ],
)
@pytest.mark.parametrize("operation", ["GetResourcePolicy", "DeleteResourcePolicy"])
def test_only_tables_and_streams_here_have_policies(control, operation, arn, text):
    control.create()
    assert control.refusal(operation, ResourceArn=arn) == text
