"""Tags: which are taken, which are refused, and that a refusal changes nothing."""

import pytest

from hashrange.engine.arn import table_arn
from tests.unit.engine.control_plane.conftest import ACCOUNT, REGION

ARN = table_arn(REGION, ACCOUNT, "tab")
P1 = "ValidationException: One or more parameter values were invalid: "
TOO_MANY = "ValidationException: Number of Tags exceed the current limit for the provided ResourceArn"


def tag(control, **tags):
    return control.call("TagResource", ResourceArn=ARN, Tags=[{"Key": k, "Value": v} for k, v in tags.items()])


def refuse(control, *tags):
    return control.refusal("TagResource", ResourceArn=ARN, Tags=list(tags))


def read(control):
    return {tag["Key"]: tag["Value"] for tag in control.call("ListTagsOfResource", ResourceArn=ARN)["Tags"]}


def test_tags_are_added_replaced_and_removed(control):
    control.create(Tags=[{"Key": "made", "Value": "with"}])
    assert tag(control, env="test", made="later") is None
    assert read(control) == {"made": "later", "env": "test"}
    control.call("UntagResource", ResourceArn=ARN, TagKeys=["env", "never"])
    assert read(control) == {"made": "later"}


@pytest.mark.parametrize("text", ["a b+c-d=e.f_g:h/i@j", "ключ", "café", "表", "\u00a0x", "myaws:x"])
def test_letters_digits_and_spaces_of_any_script_are_taken(control, text):
    control.create()
    tag(control, **{text: text})
    assert read(control) == {text: text}


@pytest.mark.parametrize(
    "mark", ["🔑", "100%", "a,b", "(x)", "a&b", "a*b", "a;b", "a?b", "a|b", "a\\b", "<a>", "~a", "#"]
)
def test_other_marks_are_refused_in_keys_and_values(control, mark):
    control.create()
    assert refuse(control, {"Key": mark, "Value": "v"}) == (
        f"ValidationException: The Tag Key provided is invalid, Key: {mark}"
    )
    assert refuse(control, {"Key": "k", "Value": mark}) == (
        f"ValidationException: The Tag Value provided is invalid, Value: {mark}"
    )


@pytest.mark.parametrize(
    ("tags", "text"),
    [
        ([], "Atleast one Tag needs to be provided as Input."),
        ([{}], "The Tag Key provided is invalid, Key: null"),
        ([{"Value": "v"}], "The Tag Key provided is invalid, Key: null"),
        ([{"Key": "k"}], "The Tag Value provided is invalid, Value: null"),
        ([{"Key": "", "Value": ""}], "The Tag Key provided is invalid, Key: "),
        ([{"Key": "k" * 129, "Value": ""}], f"The Tag Key provided is invalid, Key: {'k' * 129}"),
        ([{"Key": "k", "Value": "v" * 257}], f"The Tag Value provided is invalid, Value: {'v' * 257}"),
        ([{"Key": "AWS:x", "Value": ""}], "Tag Key cannot be prefixed with aws:, Key: AWS:x"),
        (
            [{"Key": "dup", "Value": "1"}, {"Key": "dup", "Value": "2"}],
            "Duplicate Tag Keys provided as input: Duplicate Tag Key found dup",
        ),
        ([{"Key": "good", "Value": ""}, {"Key": "#", "Value": ""}], "The Tag Key provided is invalid, Key: #"),
    ],
)
def test_one_bad_tag_refuses_them_all(control, tags, text):
    control.create()
    assert refuse(control, *tags) == f"ValidationException: {text}"
    assert read(control) == {}


def test_the_limit_of_fifty_counts_what_would_be_there_afterwards(control):
    fifty = {f"k{n}": "v" for n in range(50)}
    control.create(Tags=[{"Key": k, "Value": v} for k, v in fifty.items()])
    tag(control, **dict.fromkeys(fifty, "new"))
    assert refuse(control, {"Key": "one-more", "Value": ""}) == TOO_MANY
    assert set(read(control).values()) == {"new"}


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        ([], "ValidationException: Atleast one Tag Key needs to be provided as Input."),
        ([""], "ValidationException: The Tag Key provided is invalid, Key: "),
        (["aws:x"], "ValidationException: Tag Key cannot be prefixed with aws:, Key: aws:x"),
        ([f"k{n}" for n in range(51)], TOO_MANY),
    ],
)
def test_keys_to_remove_are_checked_too(control, keys, text):
    control.create()
    assert control.refusal("UntagResource", ResourceArn=ARN, TagKeys=keys) == text


@pytest.mark.parametrize(
    ("arn", "text"),
    [
        ("tab", P1 + "ARNs must start with 'arn:': tab"),
        (f"{ARN}x", f"ResourceNotFoundException: Requested resource not found: ResourceArn: {ARN}x not found"),
        (
            f"{ARN}/index/idx",
            P1 + "Invalid resource arn provided, only table or stream is accepted. "
            f"Provided resource arn: {ARN}/index/idx",
        ),
        (f"{ARN}/backup/01", P1 + f"Provided Arn is not a DynamoDB resource arn: {ARN}/backup/01"),
        ("arn:aws:s3:::bucket", P1 + "Provided Arn is not a DynamoDB resource arn: arn:aws:s3:::bucket"),
        (ARN.replace(ACCOUNT, "999999999999"), "AccessDeniedException: Access is denied"),
        (
            ARN.replace(REGION, "us-east-1"),
            "ValidationException: Invalid TableArn: Invalid ResourceArn provided as input "
            + ARN.replace(REGION, "us-east-1"),
        ),
    ],
)
def test_only_the_arn_of_a_table_here_has_tags(control, arn, text):
    control.create()
    assert control.refusal("ListTagsOfResource", ResourceArn=arn) == text
