"""The second factor: codes that count once, recovery codes, and a lock against guessing, also at the same time."""

import asyncio

import pyotp
import pytest

from hashrange_systems.shared.accounts.one_time_code import RECOVERY_CODES, find_lock, find_step, make_secret
from hashrange_systems.shared.errors import (
    AccountSuspended,
    CodeInvalid,
    ResourceMissing,
    StateConflict,
    TooManyRequests,
)
from systems.tests.shared.accounts.sample_system import do, race, winners

WRONG = "000000"


class Phone:
    """The authenticator app of a person who has turned it on."""

    def __init__(self, sample):
        self.sample, self.clock, self.factors = sample, sample.clock, sample.factors
        do(sample.add("ann"))
        self.secret = do(self.factors.begin("ann")).secret
        self.codes = do(self.factors.confirm("ann", self.code()))
        self.clock.advance(30)

    def code(self, steps=0):
        return pyotp.TOTP(self.secret).at(self.clock.millis() // 1000 + 30 * steps)

    def verify(self, code):
        return do(self.factors.verify("ann", code))


@pytest.fixture
def phone(sample):
    return Phone(sample)


def test_it_is_required_only_after_it_was_confirmed_with_a_code(sample):
    do(sample.add("ann"))
    factors = sample.factors
    begun = do(factors.begin("ann"))
    assert do(factors.begin("ann")).secret == begun.secret
    assert not do(factors.is_required("ann"))
    with pytest.raises(CodeInvalid):
        do(factors.confirm("ann", WRONG))
    with pytest.raises(ResourceMissing):
        do(factors.verify("ann", WRONG))
    codes = do(factors.confirm("ann", pyotp.TOTP(begun.secret).at(sample.clock.millis() // 1000)))
    assert len(set(codes)) == RECOVERY_CODES
    assert do(factors.is_required("ann"))
    for again in (factors.begin("ann"), factors.confirm("ann", WRONG)):
        with pytest.raises(StateConflict):
            do(again)


def test_a_suspended_owner_begins_nothing(sample):
    do(sample.add("ann"))
    sample.db.suspend("ann", "SUSPENDED").run()
    with pytest.raises(AccountSuspended):
        do(sample.factors.begin("ann"))


def test_neither_the_secret_nor_a_recovery_code_is_stored_in_the_clear(phone):
    rows = str(phone.sample.stored())
    assert phone.secret not in rows
    assert not any(code in rows or code.replace("-", "") in rows for code in phone.codes)


def test_a_code_is_accepted_once_and_a_step_early_or_late(phone):
    code = phone.code()
    phone.verify(f" {code[:3]} {code[3:]} ")
    with pytest.raises(CodeInvalid):
        phone.verify(code)
    phone.verify(phone.code(1))
    with pytest.raises(CodeInvalid):  # an earlier step than the one that was used
        phone.verify(phone.code(0))
    phone.clock.advance(120)
    with pytest.raises(CodeInvalid):
        phone.verify(phone.code(-2))
    phone.verify(phone.code(-1))


def test_the_same_code_at_the_same_moment_is_accepted_once(phone):
    code = phone.code()

    async def verify(_):
        await phone.factors.verify("ann", code)
        return True

    assert len(winners(race(3, verify))) == 1


def test_a_recovery_code_is_accepted_once_in_any_spelling(phone):
    first, second, *_ = phone.codes
    phone.verify(first.upper().replace("-", " "))
    with pytest.raises(CodeInvalid):
        phone.verify(first)
    phone.verify(second)
    assert len(do(phone.factors.find("ann")).recovery) == RECOVERY_CODES - 2


def test_wrong_codes_lock_for_longer_and_longer_and_a_right_one_does_not_pass_the_lock(phone):
    for _ in range(5):
        with pytest.raises(CodeInvalid):
            phone.verify(WRONG)
    for right in (phone.code(), phone.codes[0]):
        with pytest.raises(TooManyRequests):
            phone.verify(right)
    phone.clock.advance(60)
    with pytest.raises(CodeInvalid):
        phone.verify(WRONG)
    phone.clock.advance(61)
    with pytest.raises(TooManyRequests):
        phone.verify(phone.code())
    phone.clock.advance(60)
    phone.verify(phone.code())
    assert do(phone.factors.find("ann")).failures == 0
    assert [find_lock(failures) for failures in (4, 5, 6, 100)] == [None, 60_000, 120_000, 86_400_000]


def test_guesses_at_the_same_time_are_no_more_than_one_after_the_other(phone):
    async def guess():
        outcomes = await asyncio.gather(
            *(phone.factors.verify("ann", f"{n:06}") for n in range(40)), return_exceptions=True
        )
        return [type(each) for each in outcomes]

    assert do(guess()).count(CodeInvalid) <= 5


def test_new_recovery_codes_replace_the_others_and_turning_off_needs_a_code(phone):
    new = do(phone.factors.renew_recovery_codes("ann", phone.codes[0]))
    with pytest.raises(CodeInvalid):
        phone.verify(phone.codes[1])
    with pytest.raises(CodeInvalid):
        do(phone.factors.turn_off("ann", WRONG))
    do(phone.factors.turn_off("ann", new[0]))
    assert not do(phone.factors.is_required("ann"))
    assert do(phone.factors.reset("ann")) is False


@pytest.mark.parametrize("code", ["", "12345", "1234567", "12345a", "\uff11" * 6, "\ud800", "x" * 5000])
def test_what_is_no_code_is_refused(phone, code):
    assert find_step(make_secret(), code, 0, 0) is None
    with pytest.raises(CodeInvalid):
        phone.verify(code)
