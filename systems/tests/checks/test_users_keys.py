"""API keys: shown once, stored hashed, revocable, their use noted now and then."""

import hashlib
import json
from datetime import timedelta

import pytest

from hashrange_systems.checks.service.api_keys import MAX_KEYS
from hashrange_systems.shared.errors import ApiKeyInvalid, InvalidInput, LimitReached, ResourceMissing
from hashrange_systems.shared.identifier import KEY_PREFIX, make_key
from systems.tests.checks.check_items import NOON
from systems.tests.checks.services import do, interfere, race


def test_a_key_is_32_random_bytes_with_a_prefix_and_nowhere_to_be_found_afterwards(services, database):
    new = services.sign_up()
    more = do(services.keys.add(new.user.userid, "ci"))
    everything = json.dumps(database.call("Scan", {"TableName": "USER"})["Items"])
    for text in (new.key, more.text):
        assert text.startswith(KEY_PREFIX)
        assert len(text) == len(KEY_PREFIX) + 43
        assert text[len(KEY_PREFIX) :] not in everything
        assert hashlib.sha256(text.encode()).hexdigest() in everything
        assert do(services.keys.authenticate(text)).userid == new.user.userid


def test_a_key_that_is_not_ours_opens_nothing(services):
    key = services.sign_up().key
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
        with pytest.raises(ApiKeyInvalid):
            do(services.keys.authenticate(text))


def test_a_revoked_key_opens_nothing_and_the_others_stay(services):
    new = services.sign_up()
    more = do(services.keys.add(new.user.userid, "ci"))
    do(services.keys.revoke(new.user.userid, more.key.key_id))
    with pytest.raises(ApiKeyInvalid):
        do(services.keys.authenticate(more.text))
    assert do(services.keys.authenticate(new.key)) == new.user
    with pytest.raises(ResourceMissing):
        do(services.keys.revoke(new.user.userid, more.key.key_id))
    assert [key.name for key in do(services.keys.list_by_user(new.user.userid))] == ["first key"]


def test_a_key_revoked_many_times_at_once_is_revoked_once(services):
    new = services.sign_up()
    (key,) = do(services.keys.list_by_user(new.user.userid))
    outcomes = race(5, lambda _: services.keys.revoke(new.user.userid, key.key_id))
    assert outcomes.count(None) == 1
    assert len(services.stored("USER")) == 3  # user, guard of the address, channel


def test_the_use_of_a_key_is_noted_at_most_once_a_minute(services):
    new = services.sign_up()
    noted = []
    for _ in range(9):
        do(services.keys.authenticate(new.key))
        noted.append(do(services.keys.list_by_user(new.user.userid))[0].last_used_at - NOON)
        services.clock.advance(20)
    assert noted == [timedelta(minutes=minute) for minute in (0, 0, 0, 1, 1, 1, 2, 2, 2)]


def test_a_use_that_is_not_noted_writes_nothing(services):
    new = services.sign_up()
    do(services.keys.authenticate(new.key))
    written = []

    async def note():
        written.append(True)

    watched = interfere(services, note, operation="UpdateItem")
    do(watched.keys.authenticate(new.key))
    assert not written
    services.clock.advance(60)
    do(watched.keys.authenticate(new.key))
    assert written


def test_of_many_uses_at_once_one_is_noted(services):
    new = services.sign_up()
    assert {found.userid for found in race(8, lambda _: services.keys.authenticate(new.key))} == {new.user.userid}
    assert do(services.keys.list_by_user(new.user.userid))[0].last_used_at == NOON


def test_there_are_not_too_many_keys_and_each_has_a_name(services):
    userid = services.sign_up().user.userid
    for name in ("", "  ", "a\nb", "x" * 101):
        with pytest.raises(InvalidInput, match="name"):
            do(services.keys.add(userid, name))
    for number in range(MAX_KEYS - 1):
        do(services.keys.add(userid, f"key {number}"))
    with pytest.raises(LimitReached):
        do(services.keys.add(userid, "one more"))
