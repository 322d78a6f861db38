"""Retries: which failures, after which delays, within which quota; and the rate of a table that throttles."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hashrange.client import errors
from hashrange.client.response_parser import make_error
from hashrange.client.retry import MAX_DELAY, RetryPolicy, RetryQuota, TableRateLimiter
from hashrange.core.errors import InternalServerError, LimitExceededException, ValidationException

THROTTLED = make_error("ThrottlingException", {}, 400)


class Time:
    """A monotonic clock that moves by hand."""

    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


@pytest.fixture
def time():
    return Time()


def begin(policy, operation="GetItem", table="things"):
    trial = policy.begin(operation, table)
    trial.wait_before()
    return trial


@pytest.mark.parametrize(
    "failure",
    [
        InternalServerError(),
        THROTTLED,
        make_error("TransactionInProgressException", {}, 400),
        make_error("TransactionConflictException", {}, 400),
        make_error("Unheard", {}, 503),
        errors.TimedOut("x"),
        errors.ConnectionLost("x"),
        errors.Unreachable("x"),
        errors.ResponseCorrupt("x"),
        errors.ResponseUnrecognised("x", 502),
        errors.ResponseUnrecognised("x", 429),
    ],
)
def test_what_may_pass_is_tried_again(failure):
    assert begin(RetryPolicy(2)).wait_after(failure) is not None


@pytest.mark.parametrize(
    "failure",
    [
        ValidationException("x"),
        LimitExceededException("x"),
        make_error("Unheard", {}, 400),
        errors.CertificateRefused("x"),
        errors.ResponseTooLarge("x"),
        errors.ResponseUnrecognised("x", 404),
        errors.CredentialsMissing("x"),
        errors.TransportClosed("x"),
    ],
)
def test_what_will_not_pass_is_not(failure):
    assert begin(RetryPolicy(2)).wait_after(failure) is None


def test_too_many_readers_of_a_stream_are_asked_to_wait():
    assert begin(RetryPolicy(2), "GetRecords").wait_after(LimitExceededException("x")) is not None


@given(st.floats(0, 1, exclude_max=True), st.integers(1, 60))
def test_a_delay_is_anything_up_to_its_doubled_limit(chance, retries):
    trial = begin(RetryPolicy(100, chance=lambda: chance))
    for at in range(retries):
        delay = trial.wait_after(InternalServerError())
        assert delay == pytest.approx(chance * min(MAX_DELAY, 0.05 * 2**at))
        trial.wait_before()


def test_one_attempt_is_one_attempt():
    assert begin(RetryPolicy(1)).wait_after(InternalServerError()) is None
    with pytest.raises(ValueError, match="at least 1"):
        RetryPolicy(0)


def test_a_stale_connection_is_replaced_at_once_and_for_free():
    policy = RetryPolicy(2)
    assert begin(policy).wait_after(errors.ConnectionLost("x", stale=True)) == 0.0
    assert policy.quota._left == RetryQuota.FULL


def test_a_retry_that_went_well_gives_back_what_it_cost():
    policy = RetryPolicy(3)
    trial = begin(policy)
    trial.wait_after(errors.TimedOut("x"))
    assert policy.quota._left == RetryQuota.FULL - RetryQuota.TIMEOUT
    trial.succeed()
    assert policy.quota._left == RetryQuota.FULL


def test_successes_fill_the_quota_again():
    policy = RetryPolicy(3)
    begin(policy).wait_after(InternalServerError())
    for _ in range(RetryQuota.RETRY + 3):
        begin(policy).succeed()
    assert policy.quota._left == RetryQuota.FULL


def test_a_table_that_never_throttles_is_never_waited_for(time):
    rate = TableRateLimiter(time)
    for _ in range(1000):
        assert rate.reserve() == 0
        rate.succeed()


def call_steadily(rate, time, count, each):
    """Calls one after the other; returns for how long they had to wait in all."""
    waited = 0.0
    for _ in range(count):
        time.now += each
        delay = rate.reserve()
        waited += delay
        time.now += delay
        rate.succeed()
    return waited


def test_a_throttled_table_gets_fewer_requests_than_it_had(time):
    rate = TableRateLimiter(time)
    call_steadily(rate, time, 400, 0.01)  # 100 a second
    rate.throttle()
    started = time.now
    waited = call_steadily(rate, time, 200, 0.0001)
    assert waited > 0
    assert 50 < 200 / (time.now - started) < 100


def test_a_throttled_table_gets_all_its_requests_again_after_a_while(time):
    rate = TableRateLimiter(time)
    call_steadily(rate, time, 400, 0.01)
    rate.throttle()
    call_steadily(rate, time, 4000, 0.01)
    assert call_steadily(rate, time, 400, 0.01) == 0


def test_throttling_again_and_again_never_stops_everything(time):
    rate = TableRateLimiter(time)
    for _ in range(50):
        time.now += rate.reserve()
        rate.throttle()
    assert rate.reserve() <= 1 / TableRateLimiter.MIN_RATE + 1


def test_only_the_throttled_table_waits(time):
    policy = RetryPolicy(5, chance=lambda: 0.0, now=time)
    for _ in range(5):
        begin(policy, table="hot").wait_after(THROTTLED)
    assert policy.begin("GetItem", "hot").wait_before() > 0
    assert policy.begin("GetItem", "cold").wait_before() == 0
