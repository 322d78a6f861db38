"""Channels: nothing is sent to an address that did not answer."""

import threading
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hashrange_systems.checks.service.channels import MAX_CHANNELS, Channels
from hashrange_systems.checks.web.account_page import CHANNEL_OPTIONS
from hashrange_systems.shared.channels.type_registry import CHANNEL_TYPES, EMAIL
from hashrange_systems.shared.errors import InvalidInput, LimitReached, ResourceMissing, TokenInvalid, TooSoon
from hashrange_systems.shared.signed_token import TokenSigner
from systems.tests.checks.check_items import NOON, get_plain
from systems.tests.checks.services import SECRET, ServiceSet, do

DAY = 86_400


def alert_targets(services, userid, checkid):
    """Have a check go down; return the channels that an alert waits for."""
    services.run(userid, checkid, "uddd")
    return [alert.channel_id for alert in services.db.alerts(checkid).run()]


def test_nothing_is_sent_anywhere_before_it_is_verified(services):
    new = services.sign_up()
    (checkid,) = services.add(new.user.userid)
    assert alert_targets(services, new.user.userid, checkid) == []


def test_the_sign_up_address_is_used_once_it_is_verified(services):
    new = services.sign_up()
    userid = new.user.userid
    verified = do(services.channels.verify(new.token))
    assert (verified.target, verified.verified_at) == ("ann@example.com", NOON)
    other = do(services.channels.add(userid, "EMAIL", "bob@example.com")).channel
    assert other.verified_at is None
    (checkid,) = services.add(userid)
    assert alert_targets(services, userid, checkid) == [verified.channel_id]


def test_a_token_can_be_used_twice_and_verifies_once(services):
    new = services.sign_up()
    do(services.channels.verify(new.token))
    services.clock.advance(60)
    assert do(services.channels.verify(new.token)).verified_at == NOON


def test_a_token_expires(services):
    new = services.sign_up()
    services.clock.advance(3 * DAY)
    with pytest.raises(TokenInvalid, match="expired"):
        do(services.channels.verify(new.token))
    again = do(services.channels.resend_verification(new.user.userid, new.channel.channel_id))
    services.clock.advance(3 * DAY - 1)
    assert do(services.channels.verify(again.token)).verified_at is not None


def test_a_token_of_another_secret_or_with_anything_changed_is_refused(services, database):
    new = services.sign_up()
    other = ServiceSet(database, services.clock, secret=b"another secret of the same length")
    with pytest.raises(TokenInvalid):
        do(other.channels.verify(new.token))
    changed = [new.token[:at] + ("A" if new.token[at] != "A" else "B") + new.token[at + 1 :] for at in range(0, 80, 7)]
    for token in (*changed, new.token[:-1], new.token + "A", "", "x" * 5000, "\ud800", "ä"):
        with pytest.raises(TokenInvalid):
            do(services.channels.verify(token))
    assert do(services.channels.list_by_user(new.user.userid))[0].verified_at is None


@given(words=st.lists(st.text(st.characters(exclude_categories=["Cs"])), max_size=4), now=st.integers(0, 10**13))
def test_a_token_says_what_it_was_made_to_say_until_it_expires(words, now):
    signer = TokenSigner(SECRET, "checks")
    token = signer.sign("purpose", words, now + 1)
    assert signer.open("purpose", token, now) == words
    with pytest.raises(TokenInvalid):
        signer.open("purpose", token, now + 1)
    with pytest.raises(TokenInvalid):
        signer.open("another purpose", token, now)


def test_the_token_of_a_removed_channel_is_refused(services):
    new = services.sign_up()
    do(services.channels.remove(new.user.userid, new.channel.channel_id))
    with pytest.raises(TokenInvalid, match="removed"):
        do(services.channels.verify(new.token))
    with pytest.raises(ResourceMissing):
        do(services.channels.remove(new.user.userid, new.channel.channel_id))
    assert do(services.channels.list_by_user(new.user.userid)) == []


def test_a_token_does_not_verify_another_address_under_the_same_id(services):
    userid = services.sign_up().user.userid
    channels = Channels(services.db, services.clock, make_id=lambda: "m1")
    token = do(channels.add(userid, "EMAIL", "old@example.com")).token
    do(channels.remove(userid, "m1"))
    do(channels.add(userid, "EMAIL", "new@example.com"))
    with pytest.raises(TokenInvalid):
        do(channels.verify(token))
    assert do(channels.find(userid, "m1")).verified_at is None


def test_an_address_is_not_asked_again_within_ten_minutes(services):
    new = services.sign_up()
    userid, channel_id = new.user.userid, new.channel.channel_id
    services.clock.advance(599)
    with pytest.raises(TooSoon):
        do(services.channels.resend_verification(userid, channel_id))
    services.clock.advance(1)
    do(services.channels.resend_verification(userid, channel_id))
    with pytest.raises(TooSoon):
        do(services.channels.resend_verification(userid, channel_id))


def test_a_webhook_gets_a_secret_that_is_stored_sealed(services, database):
    userid = services.sign_up().user.userid
    made = do(services.channels.add(userid, "WEBHOOK", "https://hooks.example/x")).channel
    other = do(services.channels.add(userid, "WEBHOOK", "https://hooks.example/x")).channel
    given_one = do(services.channels.add(userid, "WEBHOOK", "https://hooks.example/x", secret="mine")).channel
    assert made.secret.startswith("whsec_")
    assert made.secret != other.secret
    assert do(services.channels.find(userid, made.channel_id)).secret == made.secret
    assert do(services.channels.find(userid, given_one.channel_id)).secret == "mine"
    assert made.secret not in str(get_plain(database, "USER", userid, f"CHANNEL#{made.channel_id}"))


def test_an_apprise_url_is_a_password_and_only_some_can_be_used(services, database):
    userid = services.sign_up().user.userid
    url = "tgram://123456789:abcdefghijklmnopqrstuvwxyz123456789/-100"
    made = do(services.channels.add(userid, "APPRISE", url)).channel
    assert (made.target, made.secret) == ("tgram://…", url)
    assert "123456789" not in str(get_plain(database, "USER", userid, f"CHANNEL#{made.channel_id}"))
    for other in ("json://169.254.169.254/", "slack://", "file:///etc/passwd"):
        with pytest.raises(InvalidInput, match="target cannot be used"):
            do(services.channels.add(userid, "APPRISE", other))


def test_the_target_of_a_user_is_parsed_off_the_event_loop(services):
    """Apprise is imported then, which takes a second."""
    threads = []

    def parse(text, rules):
        threads.append(threading.current_thread())
        return EMAIL.parse(text, rules)

    userid = services.sign_up().user.userid
    channels = Channels(services.db, services.clock, types={"EMAIL": replace(EMAIL, parse=parse)})
    do(channels.add(userid, "EMAIL", "b@example.com"))
    assert threading.main_thread() not in threads
    assert len(threads) == 1


@pytest.mark.parametrize(
    ("channel_type", "target"),
    [
        ("EMAIL", "nobody"),
        ("EMAIL", "a@example.com,b@example.com"),
        ("WEBHOOK", "file:///etc/passwd"),
        ("WEBHOOK", "https://user:pass@hooks.example/"),
        ("WEBHOOK", "http://127.0.0.1:8002/checks/api"),  # ourselves
        ("WEBHOOK", "https://hooks.example/\ud800"),
        ("PIGEON", "roof"),
    ],
)
def test_a_target_that_cannot_be_used_is_refused(services, channel_type, target):
    userid = services.sign_up().user.userid
    with pytest.raises(InvalidInput):
        do(services.channels.add(userid, channel_type, target))
    assert len(do(services.channels.list_by_user(userid))) == 1


def test_there_are_not_too_many_channels(services):
    userid = services.sign_up().user.userid
    for number in range(MAX_CHANNELS - 1):
        do(services.channels.add(userid, "EMAIL", f"a{number}@example.com"))
    with pytest.raises(LimitReached):
        do(services.channels.add(userid, "EMAIL", "one.more@example.com"))


def test_the_form_offers_every_type_of_channel():
    assert [name for name, _ in CHANNEL_OPTIONS] == list(CHANNEL_TYPES) == ["EMAIL", "WEBHOOK", "APPRISE"]
