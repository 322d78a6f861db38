"""API keys: shown once, stored hashed, revocable, their use noted now and then."""

import hashlib
import json
from datetime import timedelta

import pytest

from hashrange_systems.checks.errors import KeyUnknown, LimitReached, NotThere
from hashrange_systems.checks.model.refusal import InputRefused
from hashrange_systems.checks.service.identity import KEY_PREFIX, make_key
from hashrange_systems.checks.service.keys import MOST_KEYS
from systems.tests.checks.monitors import NOON
from systems.tests.checks.office import do, interfere, race


def test_a_key_is_32_random_bytes_with_a_prefix_and_nowhere_to_be_found_afterwards(office, database):
    new = office.sign_up()
    more = do(office.keys.add(new.user.userid, "ci"))
    everything = json.dumps(database.call("Scan", {"TableName": "USER"})["Items"])
    for text in (new.key, more.text):
        assert text.startswith(KEY_PREFIX)
        assert len(text) == len(KEY_PREFIX) + 43
        assert text[len(KEY_PREFIX) :] not in everything
        assert hashlib.sha256(text.encode()).hexdigest() in everything
        assert do(office.keys.authenticate(text)).userid == new.user.userid


def test_a_key_that_is_not_ours_opens_nothing(office):
    key = office.sign_up().key
    digest = hashlib.sha256(key.encode()).hexdigest()
    for text in (
        "",
        "hrc_",
        key[:-1],
        key + "x",
        key.lower(),
        key[4:],
        digest,
        make_key(),
        "hrc_" + "x" * 9999,
        "\ud800",
    ):
        with pytest.raises(KeyUnknown):
            do(office.keys.authenticate(text))


def test_a_revoked_key_opens_nothing_and_the_others_stay(office):
    new = office.sign_up()
    more = do(office.keys.add(new.user.userid, "ci"))
    do(office.keys.revoke(new.user.userid, more.key.key_id))
    with pytest.raises(KeyUnknown):
        do(office.keys.authenticate(more.text))
    assert do(office.keys.authenticate(new.key)) == new.user
    with pytest.raises(NotThere):
        do(office.keys.revoke(new.user.userid, more.key.key_id))
    assert [key.name for key in do(office.keys.of_user(new.user.userid))] == ["first key"]


def test_a_key_revoked_many_times_at_once_is_revoked_once(office):
    new = office.sign_up()
    (key,) = do(office.keys.of_user(new.user.userid))
    outcomes = race(5, lambda _: office.keys.revoke(new.user.userid, key.key_id))
    assert outcomes.count(None) == 1
    assert len(office.stored("USER")) == 3  # user, guard of the address, channel


def test_the_use_of_a_key_is_noted_at_most_once_a_minute(office):
    new = office.sign_up()
    noted = []
    for _ in range(9):
        do(office.keys.authenticate(new.key))
        noted.append(do(office.keys.of_user(new.user.userid))[0].last_used_at - NOON)
        office.clock.advance(20)
    assert noted == [timedelta(minutes=minute) for minute in (0, 0, 0, 1, 1, 1, 2, 2, 2)]


def test_a_use_that_is_not_noted_writes_nothing(office):
    new = office.sign_up()
    do(office.keys.authenticate(new.key))
    written = []

    async def note():
        written.append(True)

    watched = interfere(office, note, operation="UpdateItem")
    do(watched.keys.authenticate(new.key))
    assert not written
    office.clock.advance(60)
    do(watched.keys.authenticate(new.key))
    assert written


def test_of_many_uses_at_once_one_is_noted(office):
    new = office.sign_up()
    assert {found.userid for found in race(8, lambda _: office.keys.authenticate(new.key))} == {new.user.userid}
    assert do(office.keys.of_user(new.user.userid))[0].last_used_at == NOON


def test_there_are_not_too_many_keys_and_each_has_a_name(office):
    userid = office.sign_up().user.userid
    for name in ("", "  ", "a\nb", "x" * 101):
        with pytest.raises(InputRefused, match="name"):
            do(office.keys.add(userid, name))
    for number in range(MOST_KEYS - 1):
        do(office.keys.add(userid, f"key {number}"))
    with pytest.raises(LimitReached):
        do(office.keys.add(userid, "one more"))
