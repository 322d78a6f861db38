"""The registry of check types: lenient reading, strict writing, one clear message per field."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hashrange_systems.checks.model.attributes import Availability, Ebay
from hashrange_systems.checks.model.regex import search_regex
from hashrange_systems.checks.registry import CHECK_TYPES, name_attributes, read_attributes, write_attributes
from hashrange_systems.shared.errors import InvalidInput

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
names = st.sampled_from(sorted({name for check_type in CHECK_TYPES for name in name_attributes(check_type)})) | st.text(
    max_size=10
)


def faults_of(check_type, given, stored=None):
    with pytest.raises(InvalidInput) as refused:
        write_attributes(check_type, given, stored)
    return {error.field: error.message for error in refused.value.errors}


def test_the_seeds_attributes_are_read_and_written_as_they_are():
    stored = {"keyword": "Example"}
    reading = read_attributes("AVAILABILITY", stored)
    assert reading.attributes == Availability(keyword="Example")
    assert reading.runnable
    assert write_attributes("AVAILABILITY", stored) == stored


def test_numbers_and_truths_may_be_stored_as_text():
    stored = {"timeoutMs": "5000", "followRedirects": "false", "headers": "Accept: text/html\nX-Key: a:b"}
    read = read_attributes("AVAILABILITY", stored).attributes
    assert (read.timeout_ms, read.follow_redirects) == (5000, False)
    assert read.headers == {"Accept": "text/html", "X-Key": "a:b"}


def test_unknown_attributes_are_kept_when_read_and_when_written_again():
    stored = {"keyword": "Example", "alias": "my page", "mostRecentAlert": {"at": 5}}
    reading = read_attributes("AVAILABILITY", stored)
    assert reading.kept == {"alias": "my page", "mostRecentAlert": {"at": 5}}
    changed = {"keyword": "Other", "alias": "my page"}
    assert write_attributes("AVAILABILITY", changed, stored) == stored | {"keyword": "Other"}


def test_a_new_unknown_attribute_is_refused_so_that_a_misspelling_shows():
    assert faults_of("AVAILABILITY", {"keywrod": "x"})["keywrod"].startswith(
        "is not an attribute of AVAILABILITY: accepted"
    )


def test_attributes_are_spelled_as_stored_only():
    assert "follow_redirects" in faults_of("AVAILABILITY", {"follow_redirects": True})


def test_trap_12_an_unknown_type_can_be_read_but_not_run_or_written():
    reading = read_attributes("PAGE DIFFERENCE", {"percent_diff": 5})
    assert not reading.runnable
    assert reading.kept == {"percent_diff": 5}
    assert faults_of("PAGE DIFFERENCE", {}) == {
        "checkType": f"must be one of {', '.join(CHECK_TYPES)}, not 'PAGE DIFFERENCE'",
    }


def test_stored_attributes_that_make_no_sense_can_be_read_but_not_run():
    reading = read_attributes("EBAY", {"query": "lamp", "threshold": "cheap"})
    assert not reading.runnable
    assert [str(error) for error in reading.errors] == ["threshold must be a whole number"]


def test_every_fault_is_reported_at_once():
    given = {"timeoutMs": 5, "retries": "many", "method": "BREW", "followRedirects": "perhaps", "keyword": ""}
    assert faults_of("AVAILABILITY", given) == {
        "timeoutMs": "must be at least 100",
        "retries": "must be a whole number",
        "method": "must be one of 'GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE' or 'OPTIONS'",
        "followRedirects": "must be true or false",
        "keyword": "must not be empty",
    }


def test_a_keyword_of_a_megabyte_is_refused():
    assert faults_of("AVAILABILITY", {"keyword": "a" * 1_000_000}) == {"keyword": "must be at most 1000 characters"}


@pytest.mark.parametrize(
    ("headers", "reason"),
    [
        ({"X-Key": "a\r\nX-Evil: 1"}, "must have values on one line"),
        ({"X-Key": "a\nb"}, "must have values on one line"),
        ({"X-Key": "a\x00b"}, "must have values on one line"),
        ({"X-Key": "a" * 5000}, "must have values on one line, at most 4096 characters"),
        ({"X Key": "a"}, "must have names of letters, digits and dashes"),
        ({"X\r\nY": "a"}, "must have names of letters, digits and dashes"),
        ({"Host": "internal"}, "must not set Host"),
        ({"content-length": "5"}, "must not set content-length"),
        ({f"X-{n}": "a" for n in range(33)}, "must be at most 32"),
        ("no colon and\rno name", "must have names"),
        (5, "must be a map of names to texts"),
    ],
)
def test_headers_that_break_the_request_are_refused(headers, reason):
    assert reason in faults_of("AVAILABILITY", {"headers": headers})["headers"]


@pytest.mark.parametrize("pattern", ["(a", "(?=a)b", r"(a)\1", "a{1000}{1000}", "((a{100}){100}){100}", "a" * 501])
def test_a_regex_outside_re2_is_refused(pattern):
    assert set(faults_of("AVAILABILITY", {"regex": pattern})) == {"regex"}


def test_a_catastrophic_regex_cannot_hang_a_worker():
    assert write_attributes("AVAILABILITY", {"regex": "(a+)+$"})
    assert not search_regex("(a+)+$", "a" * 200_000 + "b")  # a backtracking engine never returns from this


@pytest.mark.parametrize("ranges", ["", "abc", "200-", "299-200", "99", "600", "200,,301", "200" + ",200" * 60, "٢٠٠"])
def test_a_list_of_statuses_that_is_none_is_refused(ranges):
    assert "acceptedStatus" in faults_of("AVAILABILITY", {"acceptedStatus": ranges})


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"body": "x"}, "body"),
        ({"method": "HEAD", "keyword": "x"}, "method"),
        ({"keyword": "x", "regex": "x"}, "regex"),
        ({"invert": True}, "invert"),
    ],
)
def test_attributes_that_contradict_each_other_are_refused(given, field):
    assert set(faults_of("AVAILABILITY", given)) == {field}


@pytest.mark.parametrize(
    ("given", "fields"),
    [
        ({}, {"threshold"}),
        ({"threshold": 1}, {"query"}),
        ({"threshold": 1, "query": "a", "url": "https://ebay.com/sch/i.html"}, {"url"}),
        ({"threshold": 0, "query": "a"}, {"threshold"}),
        ({"threshold": 19.99, "query": "a"}, {"threshold"}),
        ({"threshold": "19.99", "query": "a"}, {"threshold"}),
        ({"threshold": 1, "query": "a", "currency": "DOGE"}, {"currency"}),
        ({"threshold": 1, "url": "file:///etc/passwd"}, {"url"}),
        ({"threshold": 10**30, "query": "a"}, {"threshold"}),
    ],
)
def test_an_ebay_check_needs_one_search_and_a_threshold_in_minor_units(given, fields):
    assert set(faults_of("EBAY", given)) == fields


def test_an_ebay_check_is_stored_as_given():
    given = {"query": "desk lamp", "threshold": 2500, "includeShipping": False}
    assert write_attributes("EBAY", given) == given
    assert read_attributes("EBAY", given).attributes == Ebay(query="desk lamp", threshold=2500, include_shipping=False)


def test_an_attribute_set_to_nothing_is_left_out():
    assert write_attributes("AVAILABILITY", {"keyword": None, "retries": 0}) == {"retries": 0}


@given(st.sampled_from([*CHECK_TYPES, "OTHER"]), st.dictionaries(names, anything, max_size=6))
def test_reading_refuses_nothing_and_says_why_it_cannot_run(check_type, stored):
    reading = read_attributes(check_type, stored)
    assert reading.runnable != bool(reading.errors)


@given(st.sampled_from([*CHECK_TYPES]), st.dictionaries(names, anything, max_size=6))
def test_what_is_written_can_be_run_and_written_again(check_type, given):
    try:
        written = write_attributes(check_type, given)
    except InvalidInput:
        return
    assert read_attributes(check_type, written).runnable
    assert write_attributes(check_type, written) == written
