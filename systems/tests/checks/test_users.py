"""Users: added once for each address, found by id and by address, given another address."""

import pytest

from hashrange_systems.checks.errors import EmailTaken
from hashrange_systems.checks.schema import ActiveUser
from hashrange_systems.shared.errors import InvalidInput, ResourceMissing
from systems.tests.checks.check_items import USER, get_plain, put_plain
from systems.tests.checks.services import do, race, winners


def test_a_user_is_taken_in_with_a_first_key_and_a_channel_that_is_not_verified(services):
    new = do(services.users.create("Ann@Example.com", "PRO"))
    assert type(new.user) is ActiveUser
    assert (new.user.email, new.user.tier, new.user.check_limit, new.user.check_count) == (
        "Ann@Example.com",
        "PRO",
        100,
        0,
    )
    assert do(services.keys.authenticate(new.key)) == new.user
    (channel,) = do(services.channels.list_by_user(new.user.userid))
    assert (channel.channel_type, channel.target, channel.verified_at) == ("EMAIL", "Ann@Example.com", None)


def test_a_user_is_stored_as_the_seed_writes_them(services, database):
    user = services.sign_up().user
    assert get_plain(database, "USER", user.userid, "USER") == {
        "PK": user.userid,
        "SK": "USER",
        "email": "ann@example.com",
        "tier": "FREE",
        "checkLimit": 5,
        "checkCount": 0,
        "status": "ACTIVE",
        "createdAt": "2026-01-15T12:00:00Z",
        "updatedAt": "2026-01-15T12:00:00Z",
    }


def test_of_twenty_who_take_the_same_address_at_once_one_wins_and_nothing_is_left_of_the_others(services):
    spellings = ["ann@example.com", "ANN@example.com", "Ann@EXAMPLE.com"]
    outcomes = race(20, lambda n: services.users.create(spellings[n % 3]))
    (won,) = winners(outcomes)
    assert {type(found) for found in outcomes if found is not won} == {EmailTaken}
    assert do(services.users.by_email("ann@example.com")) == won.user
    assert len(services.stored("USER")) == 5  # user, guard, key, guard, channel


def test_a_user_is_found_by_id_and_by_address_however_it_is_spelled(services):
    user = do(services.users.create("Ann.Lee@Example.com")).user
    assert do(services.users.find(user.userid)) == user
    for spelling in ("ann.lee@example.com", "ANN.LEE@EXAMPLE.COM", "  Ann.Lee@Example.com "):
        assert do(services.users.by_email(spelling)) == user
    with pytest.raises(ResourceMissing):
        do(services.users.by_email("ann@example.com"))
    for nobody in ("", "x" * 3000, "\ud800", "EMAIL#ann.lee@example.com"):
        with pytest.raises(ResourceMissing):
            do(services.users.find(nobody))


@pytest.mark.parametrize(
    "email",
    [
        "",
        "ann",
        "ann@",
        "@example.com",
        "ann@example",
        "ann@@example.com",
        "ann@exa mple.com",
        "ann@example.com, bob@example.com",
        "ann@example.com\r\nBcc: bob@example.com",
        "<ann@example.com>",
        "ann@-example.com",
        "ann@example..com",
        ".ann@example.com",
        "a" * 65 + "@example.com",
        "ann@" + "a." * 130 + "com",
        "\ud800@example.com",
        None,
        7,
    ],
)
def test_what_is_no_address_is_refused(services, email):
    with pytest.raises(InvalidInput) as refused:
        do(services.users.create(email))
    assert [error.field for error in refused.value.errors] == ["email"]
    assert services.stored("USER") == []


def test_a_tier_that_does_not_exist_is_refused(services):
    with pytest.raises(InvalidInput, match="FREE, PRO, BUSINESS"):
        do(services.users.create("ann@example.com", "GOLD"))


def test_users_are_listed_page_by_page(services):
    made = {services.sign_up(name).user.userid for name in ("ann", "bob", "cy")}
    first = do(services.users.page(2))
    rest = do(services.users.page(2, after=first.cursor))
    assert (len(first), len(rest), rest.cursor) == (2, 1, None)
    assert {user.userid for page in (first, rest) for user in page} == made


# ── another address ──────────────────────────────────────────────────────────────────────────────────────────────────
def test_another_address_moves_the_guard_and_is_to_be_verified(services):
    user = services.sign_up().user
    moved = do(services.users.change_email(user.userid, "Lee@Example.com"))
    assert moved.user.email == "Lee@Example.com"
    assert do(services.users.by_email("lee@example.com")).userid == user.userid
    with pytest.raises(ResourceMissing):
        do(services.users.by_email("ann@example.com"))
    assert (moved.channel.channel.target, moved.channel.channel.verified_at) == ("Lee@Example.com", None)
    assert do(services.channels.verify(moved.channel.token)).verified_at is not None
    assert services.sign_up("ann").user.userid != user.userid  # the old address is free


def test_an_address_that_is_taken_cannot_be_moved_to(services):
    ann, bob = services.sign_up("ann").user, services.sign_up("bob").user
    with pytest.raises(EmailTaken):
        do(services.users.change_email(ann.userid, "BOB@example.com"))
    assert do(services.users.by_email("ann@example.com")) == ann
    assert do(services.users.by_email("bob@example.com")) == bob


def test_of_many_who_move_to_the_same_address_at_once_one_wins(services):
    users = [services.sign_up(f"u{n}").user.userid for n in range(8)]
    outcomes = race(8, lambda n: services.users.change_email(users[n], "new@example.com"))
    (won,) = winners(outcomes)
    assert {type(found) for found in outcomes if found is not won} == {EmailTaken}
    assert do(services.users.by_email("new@example.com")).userid == won.user.userid
    for n, userid in enumerate(users):
        if userid != won.user.userid:
            assert do(services.users.by_email(f"u{n}@example.com")).userid == userid


def test_one_user_who_moves_to_many_addresses_at_once_keeps_one(services):
    user = services.sign_up().user
    race(6, lambda n: services.users.change_email(user.userid, f"new{n}@example.com"))
    now = do(services.users.find(user.userid))
    guards = [key for key in services.stored("USER") if key.startswith("EMAIL#")]
    assert guards == [f"EMAIL#{now.email}/EMAIL"]


def test_an_address_may_be_spelled_anew_by_its_owner(services):
    user = services.sign_up().user
    moved = do(services.users.change_email(user.userid, "ANN@example.com"))
    assert (moved.user.email, moved.channel) == ("ANN@example.com", None)
    assert do(services.users.by_email("ann@example.com")).email == "ANN@example.com"
    with pytest.raises(EmailTaken):
        services.sign_up("ann")


# ── users of the original system ─────────────────────────────────────────────────────────────────────────────────────
def test_an_address_of_the_original_system_is_taken_though_nothing_guards_it(services, database):
    put_plain(database, "USER", USER)
    assert do(services.users.by_email("user@example.com")).userid == "123456"
    with pytest.raises(EmailTaken):
        services.sign_up("user")
    with pytest.raises(EmailTaken):
        do(services.users.change_email(services.sign_up("ann").user.userid, "user@example.com"))


def test_a_user_of_the_original_system_gets_a_guard_with_another_address_and_can_be_deleted(services, database):
    put_plain(database, "USER", USER)
    do(services.users.change_email("123456", "User@Example.com"))
    assert "EMAIL#user@example.com/EMAIL" in services.stored("USER")
    do(services.users.change_email("123456", "lee@example.com"))
    assert "EMAIL#user@example.com/EMAIL" not in services.stored("USER")
    do(services.users.delete("123456"))
    assert services.stored("USER") == []
