"""When a fault is injected: by count, table, probability and seed; and faults as text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hashrange.faults.faults import Faults
from hashrange.operations import OPERATIONS
from tests.conformance.wire import item


def find_faulted_calls(faults, count, operation="GetItem", request=None):
    """Which of so many calls are applied."""
    return [number for number in range(1, count + 1) if faults.choose(OPERATIONS[operation], request or {}) is not None]


def test_every_tenth_call_is_struck():
    faults = Faults()
    faults.fail(every=10)
    assert find_faulted_calls(faults, 35) == [10, 20, 30]


def test_the_third_call_alone_is_struck():
    faults = Faults()
    faults.fail(every=3, times=1)
    assert find_faulted_calls(faults, 20) == [3]


def test_calls_that_a_fault_does_not_concern_are_not_counted():
    faults = Faults()
    fault = faults.fail("PutItem", table="tab", every=2)
    assert find_faulted_calls(faults, 9, "GetItem", {"TableName": "tab"}) == []
    assert find_faulted_calls(faults, 9, "PutItem", {"TableName": "other"}) == []
    assert find_faulted_calls(faults, 4, "PutItem", {"TableName": "tab"}) == [2, 4]
    assert (fault.seen, fault.applied) == (4, 2)


def test_the_same_seed_gives_the_same_faults_and_another_seed_others():
    def play(seed):
        faults = Faults(seed=seed)
        faults.fail(chance=0.3)
        return find_faulted_calls(faults, 200)

    assert play(1) == play(1) != play(2)
    assert 30 < len(play(1)) < 90


def test_a_fault_has_its_own_luck():
    alone, accompanied = Faults(seed=1), Faults(seed=1)
    for faults in (alone, accompanied):
        faults.throttle("PutItem", chance=0.3)
    accompanied.throttle("GetItem", chance=0.5)
    for _ in range(10):
        accompanied.choose(OPERATIONS["GetItem"], {})
    assert find_faulted_calls(alone, 50, "PutItem") == find_faulted_calls(accompanied, 50, "PutItem")


def test_the_first_fault_that_is_due_applies():
    faults = Faults()
    first, second = faults.throttle(times=1), faults.fail(times=1)
    assert [faults.choose(OPERATIONS["GetItem"], {})[0] for _ in range(2)] == [first, second]
    assert faults.choose(OPERATIONS["GetItem"], {}) is None


def test_delays_add_up_and_refuse_nothing():
    faults = Faults()
    faults.delay(seconds=0.5)
    faults.delay("GetItem", seconds=0.25, every=2)
    assert [faults.take_delay(OPERATIONS["GetItem"], {}) for _ in range(4)] == [0.5, 0.75, 0.5, 0.75]
    assert faults.take_delay(OPERATIONS["PutItem"], {}) == 0.5
    assert find_faulted_calls(faults, 5) == []


def test_what_was_cleared_applies_no_more():
    faults = Faults()
    faults.fail()
    faults.delay(seconds=1)
    faults.clear()
    assert (find_faulted_calls(faults, 3), faults.take_delay(OPERATIONS["GetItem"], {}), str(faults)) == ([], 0, "")


@pytest.mark.parametrize(
    "request_",
    [
        {"TableName": ["tab"]},
        {"RequestItems": ["tab"]},
        {"TransactItems": "tab"},
        {"TransactItems": ["tab", {"Put": "tab"}, {"Put": {"TableName": 1}}]},
        {"Statement": 5, "Statements": [None]},
    ],
)
def test_a_request_that_makes_no_sense_names_no_table(request_):
    faults = Faults()
    faults.delay(seconds=1, table="tab")
    assert faults.take_delay(OPERATIONS["PutItem"], request_) == 0


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda faults: faults.throttle("PutItm"), "there is no operation PutItm; is it PutItem?"),
        (lambda faults: faults.throttle(""), "there is no operation "),
        (lambda faults: faults.throttle(error="InternalServerError"), "error is one of Provisioned.*, not Internal"),
        (lambda faults: faults.fail(error="Whatever"), "error is one of InternalServerError.*, not Whatever"),
        (lambda faults: faults.conflict("Query"), "conflict applies to DeleteItem.*, not to Query"),
        (lambda faults: faults.conflict(at=-1), "at is the number of an item in its transaction, from 0, not -1"),
        (lambda faults: faults.unprocessed("PutItem"), "applies to BatchGetItem, BatchWriteItem, not to PutItem"),
        (lambda faults: faults.unprocessed(last=0), "at least 1, not 0"),
        (lambda faults: faults.delay(seconds=0), "more than 0, not 0"),
        (lambda faults: faults.delay(seconds=float("nan")), "more than 0, not nan"),
        (lambda faults: faults.fail(times=0), "times is the number of calls .*: at least 1, not 0"),
        (lambda faults: faults.fail(every=0), "at least 1, not 0"),
        (lambda faults: faults.fail(chance=1.5), "chance is more than 0 and at most 1, not 1.5"),
        (lambda faults: faults.fail(chance=0), "chance is more than 0 and at most 1, not 0"),
    ],
)
def test_a_fault_that_could_never_apply_is_refused(make, text):
    faults = Faults()
    with pytest.raises(ValueError, match=text):
        make(faults)
    assert list(faults) == []


# -- as text -----------------------------------------------------------------------------------------------------------

TEXT = """
# what the retries must survive
seed 7
throttle PutItem table=orders times=3
unprocessed BatchWriteItem last=5; conflict TransactWriteItems at=1   # two in a line
fail every=10 after=yes
delay seconds=0.2 chance=0.5
"""


def test_a_text_is_read_line_by_line():
    faults = Faults.read(TEXT)
    assert [str(fault) for fault in faults] == [
        "throttle PutItem table=orders times=3",
        "unprocessed BatchWriteItem last=5",
        "conflict TransactWriteItems at=1",
        "fail * after=yes every=10",
        "delay * seconds=0.2 chance=0.5",
    ]


def test_a_text_has_its_seed():
    parsed, made = Faults.read("fail chance=0.3; seed 5"), Faults(seed=5)
    made.fail(chance=0.3)
    assert find_faulted_calls(parsed, 50) == find_faulted_calls(made, 50)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "explode PutItem",
            "'explode PutItem' is none of throttle, fail, conflict, unprocessed, delay, seed; write it",
        ),
        ("throttle PutItem twice=3", "'throttle PutItem twice=3': 'twice=3' is none of table=..., times=..., "),
        ("throttle PutItem GetItem", "'GetItem' is none of table=..."),
        ("throttle times=many", "'throttle times=many': 'many' cannot be the value of times"),
        ("fail after=maybe", "'maybe' cannot be the value of after"),
        ("throttle at=1", "'throttle at=1': throttle has no at"),
        ("throttle PutItm", "'throttle PutItm': there is no operation PutItm"),
        ("delay", "'delay': seconds is how much longer a call takes"),
        ("seed soon", "'seed soon': a seed is a whole number"),
        ("seed", "a seed is a whole number"),
    ],
)
def test_what_makes_no_sense_is_said(text, problem):
    with pytest.raises(ValueError) as caught:  # noqa: PT011 the whole text is compared
        Faults.read(f"throttle\n{text}")
    assert problem in str(caught.value)


NAMED = st.fixed_dictionaries(
    {},
    optional={
        "table": st.sampled_from(["orders", "a-b.c_d"]),
        "times": st.integers(1, 9),
        "every": st.integers(1, 9),
        "chance": st.sampled_from([0.25, 0.5, 1.0]),
    },
)
ANY_FAULT = st.one_of(
    st.tuples(st.just("throttle"), st.sampled_from(["*", "PutItem", "Scan"]), st.just({}), NAMED),
    st.tuples(st.just("fail"), st.sampled_from(["*", "Query"]), st.fixed_dictionaries({"after": st.booleans()}), NAMED),
    st.tuples(st.just("conflict"), st.just("*"), st.fixed_dictionaries({"at": st.integers(0, 99)}), NAMED),
    st.tuples(st.just("unprocessed"), st.just("*"), st.fixed_dictionaries({"last": st.integers(1, 25)}), NAMED),
    st.tuples(st.just("delay"), st.just("GetItem"), st.just({"seconds": 0.125}), NAMED),
)


@given(st.lists(ANY_FAULT, max_size=6))
def test_what_is_shown_is_read_as_the_same(chosen):
    made = Faults()
    for verb, operation, options, when in chosen:
        getattr(made, verb)(operation, **options, **when)
    read = Faults.read(str(made))
    assert str(read) == str(made)
    request = {"TableName": "orders", "Item": item(pk="a")}
    calls = ["PutItem", "GetItem", "Query", "BatchWriteItem"] * 5
    for operation in map(OPERATIONS.__getitem__, calls):
        parsed, expected = read.choose(operation, request), made.choose(operation, request)
        assert str(parsed and parsed[0]) == str(expected and expected[0])
        assert read.take_delay(operation, request) == made.take_delay(operation, request)
