"""Two-factor sign-in: codes that count once, recovery codes, and a lock against guessing, also at the same time."""

import asyncio

import pyotp
import pytest

from hashrange_systems.checks.service.two_factor import SecondFactors
from hashrange_systems.shared.accounts.one_time_code import RECOVERY_CODES, find_lock, find_step, make_secret
from hashrange_systems.shared.errors import CodeInvalid, ResourceMissing, StateConflict, TooManyRequests
from systems.tests.checks.services import do, race, winners

WRONG = "000000"


class Person:
    """A user who has turned it on."""

    def __init__(self, services):
        self.services, self.clock = services, services.clock
        self.userid = services.sign_up().user.userid
        self.factors = SecondFactors(services.db, services.clock)
        self.secret = do(self.factors.begin(self.userid)).secret
        self.codes = do(self.factors.confirm(self.userid, self.code()))
        self.clock.advance(30)

    def code(self, steps=0):
        return pyotp.TOTP(self.secret).at(self.clock.millis() // 1000 + 30 * steps)

    def verify(self, code):
        return do(self.factors.verify(self.userid, code))


@pytest.fixture
def person(services):
    return Person(services)


def test_it_is_required_only_after_it_was_confirmed_with_a_code(services):
    userid = services.sign_up().user.userid
    factors = SecondFactors(services.db, services.clock)
    begun = do(factors.begin(userid))
    assert do(factors.begin(userid)).secret == begun.secret
    assert not do(factors.is_required(userid))
    with pytest.raises(CodeInvalid):
        do(factors.confirm(userid, WRONG))
    with pytest.raises(ResourceMissing):
        do(factors.verify(userid, WRONG))
    codes = do(factors.confirm(userid, pyotp.TOTP(begun.secret).at(services.clock.millis() // 1000)))
    assert len(set(codes)) == RECOVERY_CODES
    assert do(factors.is_required(userid))
    for again in (factors.begin(userid), factors.confirm(userid, WRONG)):
        with pytest.raises(StateConflict):
            do(again)


def test_neither_the_secret_nor_a_recovery_code_is_stored_in_the_clear(person):
    rows = str(person.services.database.call("Scan", {"TableName": "USER"})["Items"])
    assert person.secret not in rows
    assert not any(code in rows or code.replace("-", "") in rows for code in person.codes)


def test_a_code_is_accepted_once_and_a_step_early_or_late(person):
    code = person.code()
    person.verify(f" {code[:3]} {code[3:]} ")
    with pytest.raises(CodeInvalid):
        person.verify(code)
    person.verify(person.code(1))
    with pytest.raises(CodeInvalid):  # an earlier step than the one that was used
        person.verify(person.code(0))
    person.clock.advance(120)
    with pytest.raises(CodeInvalid):
        person.verify(person.code(-2))
    person.verify(person.code(-1))


def test_the_same_code_at_the_same_moment_signs_in_once(person):
    code = person.code()

    async def sign_in(_):
        await person.factors.verify(person.userid, code)
        return True

    assert len(winners(race(3, sign_in))) == 1


def test_a_recovery_code_is_accepted_once_in_any_spelling(person):
    first, second, *_ = person.codes
    person.verify(first.upper().replace("-", " "))
    with pytest.raises(CodeInvalid):
        person.verify(first)
    person.verify(second)
    assert len(do(person.factors.find(person.userid)).recovery) == RECOVERY_CODES - 2


def test_wrong_codes_lock_for_longer_and_longer_and_a_right_one_does_not_pass_the_lock(person):
    for _ in range(5):
        with pytest.raises(CodeInvalid):
            person.verify(WRONG)
    for right in (person.code(), person.codes[0]):
        with pytest.raises(TooManyRequests):
            person.verify(right)
    person.clock.advance(60)
    with pytest.raises(CodeInvalid):
        person.verify(WRONG)
    person.clock.advance(61)
    with pytest.raises(TooManyRequests):
        person.verify(person.code())
    person.clock.advance(60)
    person.verify(person.code())
    assert do(person.factors.find(person.userid)).failures == 0
    assert [find_lock(failures) for failures in (4, 5, 6, 100)] == [None, 60_000, 120_000, 86_400_000]


def test_guesses_at_the_same_time_are_no_more_than_one_after_the_other(person):
    async def guess():
        outcomes = await asyncio.gather(
            *(person.factors.verify(person.userid, f"{n:06}") for n in range(40)), return_exceptions=True
        )
        return [type(each) for each in outcomes]

    assert do(guess()).count(CodeInvalid) <= 5


def test_new_recovery_codes_replace_the_others_and_turning_off_needs_a_code(person):
    new = do(person.factors.renew_recovery_codes(person.userid, person.codes[0]))
    with pytest.raises(CodeInvalid):
        person.verify(person.codes[1])
    with pytest.raises(CodeInvalid):
        do(person.factors.turn_off(person.userid, WRONG))
    do(person.factors.turn_off(person.userid, new[0]))
    assert not do(person.factors.is_required(person.userid))


def test_a_deleted_user_leaves_nothing(person):
    do(person.services.users.delete(person.userid))
    assert person.services.stored("USER") == []


@pytest.mark.parametrize("code", ["", "12345", "1234567", "12345a", "\uff11" * 6, "\ud800", "x" * 5000])
def test_what_is_no_code_is_refused(person, code):
    assert find_step(make_secret(), code, 0, 0) is None
    with pytest.raises(CodeInvalid):
        person.verify(code.replace("\ud800", "?"))
