"""The rules of the form: each field, all errors at once, and nothing but the fields of the form."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hashrange_systems.kelifax.model.draft import find_warnings, parse_content, parse_draft, parse_fields
from hashrange_systems.shared.errors import InvalidInput
from systems.tests.kelifax.services import make_form

SEED_FORM = {
    "submitter": {"firstName": "John", "lastName": "Doe", "companyEmail": "john@techcorp.com"},
    "resource": {"resourceName": "Amazing Dev Tool", "category": "development", "tags": ["productivity"]},
    "details": {"keyFeatures": ["Feature 1", "Feature 2"], "useCases": ["Use case 1"]},
}


def find_errors(form):
    with pytest.raises(InvalidInput) as refused:
        parse_draft(form)
    return {error.field: error.message for error in refused.value.errors}


def test_a_valid_form_is_returned_as_it_was():
    draft = parse_draft(make_form())
    assert parse_draft(draft.to_form()) == draft
    assert (draft.submitter.domain, draft.content.learning_resources[0]["url"]) == (
        "techcorp.com",
        "https://docs.example.com/a|b",
    )


def test_the_seeds_own_example_form_is_answered_with_all_errors_at_once():
    assert find_errors(SEED_FORM) == {
        "resource.resourceUrl": "is required",
        "resource.usagePurpose": "is required",
        "details.keyFeatures": "must have 3 to 10 entries",
        "details.keyFeatures[0]": "must have 10 to 200 characters",
        "details.keyFeatures[1]": "must have 10 to 200 characters",
        "details.useCases": "must have 2 to 8 entries",
        "details.useCases[0]": "must have 15 to 300 characters",
    }


@pytest.mark.parametrize("form", [None, [], "x", 7, {}, {"submitter": [], "resource": 3, "details": "x"}])
def test_what_is_no_form_is_refused_with_field_errors(form):
    assert find_errors(form)


@pytest.mark.parametrize(
    "field", ["featured", "resourceStatus", "viewCount", "publishedAt", "publicFeed", "resourceSlug", "submissionId"]
)
def test_nobody_sets_more_than_the_form_has(field):
    form = make_form()
    form["resource"][field] = "approved"
    assert find_errors(form) == {f"resource.{field}": "is not a field of the form"}
    with pytest.raises(InvalidInput):
        parse_fields({**make_form()["resource"], **make_form()["details"], field: True})


@pytest.mark.parametrize(
    "name", ["Zoë", "O'Neill-Díaz", "J. R.", "王小明", "Łukasz Żółw", "अनीता", "สมชาย ใจดี", "வித்யா"]
)
def test_names_of_people_have_letters_of_any_script(name):
    form = make_form()
    form["submitter"]["firstName"] = name
    assert parse_draft(form).submitter.first_name == name


@pytest.mark.parametrize(
    "name",
    ["X", "R2D2", "<b>Bob</b>", "Bob\r\nBcc: eve@example.com", "-", "a" * 51, 7, "Bob\u202e", "\u093eBob", "A \u0301b"],
)
def test_other_names_of_people_are_refused(name):
    form = make_form()
    form["submitter"]["lastName"] = name
    assert list(find_errors(form)) == ["submitter.lastName"]


@pytest.mark.parametrize(
    "email", ["", "x", "a@b", "a@@b.com", "a b@example.com", "a@example.com\nBcc: b@example.com", "a@mailinator.com"]
)
def test_addresses_that_are_none_or_thrown_away_are_refused(email):
    assert list(find_errors(make_form(email=email))) == ["submitter.companyEmail"]


def test_the_domain_of_an_address_is_the_parsers_and_not_what_follows_an_at_sign():
    assert parse_draft(make_form(email="Zoe@Sub.TechCorp.com")).submitter.domain == "sub.techcorp.com"


def test_a_telephone_number_of_no_country_is_a_warning_and_no_error():
    form = make_form()
    form["submitter"]["phoneNumber"] = "+1234567890"
    draft = parse_draft(form)
    assert (draft.submitter.phone, len(draft.warnings)) == ("+1234567890", 1)
    form["submitter"]["phoneNumber"] = "call me"
    assert list(find_errors(form)) == ["submitter.phoneNumber"]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("resourceName", "ab"),
        ("resourceName", "x" * 101),
        ("usagePurpose", "too short"),
        ("usagePurpose", "x" * 500_000),
        ("category", "cooking"),
        ("category", ""),
        ("tags", ["a"] * 11),
        ("tags", ["x" * 31]),
        ("tags", ["a,b"]),
        ("tags", ["a|b"]),
        ("tags", [""]),
        ("tags", "a,b"),
        ("tags", ["Ai", "ai"]),
        ("tags", [str(at) for at in range(10_000)]),
        ("pricing", ["stolen"]),
        ("logoImage", "../../etc/passwd"),
        ("logoImage", "a/b.png"),
        ("logoImage", 7),
        ("resourceUrl", "javascript:alert(1)"),
        ("resourceUrl", "data:text/html,x"),
        ("resourceUrl", "http://127.0.0.1/"),
        ("resourceUrl", "http://[::1]/"),
        ("resourceUrl", "http://10.0.0.5/"),
        ("resourceUrl", "http://169.254.169.254/latest"),
        ("resourceUrl", "http://2130706433/"),
        ("resourceUrl", "http://localhost/"),
        ("resourceUrl", "http://printer.local/"),
        ("resourceUrl", "https://user:secret@example.com/"),
        ("resourceUrl", "https://example.com/\u202egpj.exe"),
        ("keyFeatures", ["x" * 20]),
        ("keyFeatures", ["a | b | c | d", "second feature", "third feature"]),
        ("useCases", ["x" * 20] * 9),
        ("learningResources", [{"title": "a", "url": "https://a.example.com"}]),
        ("learningResources", [{"title": "a", "url": "javascript:alert(1)", "type": "video"}]),
        ("learningResources", [{"title": "a", "url": "https://a.example.com", "type": "podcast"}]),
        ("learningResources", [{"title": "a", "url": "https://a.example.com", "type": "video", "more": 1}]),
        ("learningResources", [{"title": "a", "url": "https://a.example.com", "type": "video"}] * 6),
    ],
)
def test_a_wrong_field_is_refused_alone(field, value):
    errors = find_errors(make_form(**{field: value}))
    assert {name.split(".")[1].partition("[")[0] for name in errors} == {field}


def test_a_company_has_at_most_a_hundred_characters_and_a_logo_may_be_null():
    form = make_form(logoImage=None)
    form["submitter"]["company"] = "x" * 101
    assert list(find_errors(form)) == ["submitter.company"]
    form["submitter"]["company"] = None
    assert parse_draft(form).content.logo_image is None


def test_what_moderators_are_warned_of_can_be_found_in_a_stored_resource_too():
    form = make_form(resourceUrl="https://\u0430pple.com/")
    form["submitter"]["phoneNumber"] = "+1234567890"
    draft, plain = parse_draft(form), parse_draft(make_form()).content
    assert find_warnings(draft.content, "+1234567890") == draft.warnings
    assert find_warnings(plain, "+49 30 901820") == find_warnings(plain, None) == ()


def test_a_look_alike_host_is_a_warning_for_moderators():
    (warning,) = parse_draft(make_form(url="https://\u0430pple.com/")).warnings
    assert "look like others" in warning


def test_text_is_stored_as_it_is_and_not_as_html():
    content = parse_content(
        {name: make_form(name="<script>alert(1)</script>")[name] for name in ("resource", "details")}
    )
    assert content.resource_name == "<script>alert(1)</script>"


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=12), inner, max_size=3),
        max_leaves=8,
    )
)
def test_whatever_is_sent_the_answer_is_a_draft_or_field_errors(value):
    for section in ("submitter", "resource", "details"):
        form = make_form()
        form[section] = dict.fromkeys(form[section], value)
        with pytest.raises(InvalidInput):
            parse_draft(form)
