"""Channels: nothing is sent to an address that did not answer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hashrange_systems.checks.errors import LimitReached, NotThere, TokenRefused, TooSoon
from hashrange_systems.checks.model.refusal import InputRefused
from hashrange_systems.checks.senders.sender import ReceiverRefuses
from hashrange_systems.checks.service.channels import MOST_CHANNELS, Channels
from hashrange_systems.checks.service.token import open_token, sign_token
from systems.tests.checks.monitors import NOON, get_plain
from systems.tests.checks.office import SECRET, Office, do

DAY = 86_400


def alert_targets(office, userid, checkid):
    """Have a check go down; return the channels that an alert waits for."""
    office.run(userid, checkid, "uddd")
    return [alert.channel_id for alert in office.db.alerts(checkid).run()]


def test_nothing_is_sent_anywhere_before_it_is_verified(office):
    new = office.sign_up()
    (checkid,) = office.add(new.user.userid)
    assert alert_targets(office, new.user.userid, checkid) == []


def test_the_sign_up_address_is_used_once_it_is_verified(office):
    new = office.sign_up()
    userid = new.user.userid
    verified = do(office.channels.verify(new.token))
    assert (verified.target, verified.verified_at) == ("ann@example.com", NOON)
    other = do(office.channels.add(userid, "EMAIL", "bob@example.com")).channel
    assert other.verified_at is None
    (checkid,) = office.add(userid)
    assert alert_targets(office, userid, checkid) == [verified.channel_id]


def test_a_token_can_be_used_twice_and_verifies_once(office):
    new = office.sign_up()
    do(office.channels.verify(new.token))
    office.clock.advance(60)
    assert do(office.channels.verify(new.token)).verified_at == NOON


def test_a_token_expires(office):
    new = office.sign_up()
    office.clock.advance(3 * DAY)
    with pytest.raises(TokenRefused, match="expired"):
        do(office.channels.verify(new.token))
    again = do(office.channels.ask_again(new.user.userid, new.channel.channel_id))
    office.clock.advance(3 * DAY - 1)
    assert do(office.channels.verify(again.token)).verified_at is not None


def test_a_token_of_another_secret_or_with_anything_changed_is_refused(office, database):
    new = office.sign_up()
    other = Office(database, office.clock, secret=b"another secret of the same length")
    with pytest.raises(TokenRefused):
        do(other.channels.verify(new.token))
    changed = [new.token[:at] + ("A" if new.token[at] != "A" else "B") + new.token[at + 1 :] for at in range(0, 80, 7)]
    for token in (*changed, new.token[:-1], new.token + "A", "", "x" * 5000, "\ud800", "ä"):
        with pytest.raises(TokenRefused):
            do(office.channels.verify(token))
    assert do(office.channels.of_user(new.user.userid))[0].verified_at is None


@given(words=st.lists(st.text(st.characters(exclude_categories=["Cs"])), max_size=4), now=st.integers(0, 10**13))
def test_a_token_says_what_it_was_made_to_say_until_it_expires(words, now):
    token = sign_token(SECRET, "purpose", words, now + 1)
    assert open_token(SECRET, "purpose", token, now) == words
    with pytest.raises(TokenRefused):
        open_token(SECRET, "purpose", token, now + 1)
    with pytest.raises(TokenRefused):
        open_token(SECRET, "another purpose", token, now)


def test_the_token_of_a_removed_channel_is_refused(office):
    new = office.sign_up()
    do(office.channels.remove(new.user.userid, new.channel.channel_id))
    with pytest.raises(TokenRefused, match="removed"):
        do(office.channels.verify(new.token))
    with pytest.raises(NotThere):
        do(office.channels.remove(new.user.userid, new.channel.channel_id))
    assert do(office.channels.of_user(new.user.userid)) == []


def test_a_token_does_not_verify_another_address_under_the_same_id(office):
    userid = office.sign_up().user.userid
    channels = Channels(office.db, office.clock, make_id=lambda: "m1")
    token = do(channels.add(userid, "EMAIL", "old@example.com")).token
    do(channels.remove(userid, "m1"))
    do(channels.add(userid, "EMAIL", "new@example.com"))
    with pytest.raises(TokenRefused):
        do(channels.verify(token))
    assert do(channels.find(userid, "m1")).verified_at is None


def test_an_address_is_not_asked_again_within_ten_minutes(office):
    new = office.sign_up()
    userid, channel_id = new.user.userid, new.channel.channel_id
    office.clock.advance(599)
    with pytest.raises(TooSoon):
        do(office.channels.ask_again(userid, channel_id))
    office.clock.advance(1)
    do(office.channels.ask_again(userid, channel_id))
    with pytest.raises(TooSoon):
        do(office.channels.ask_again(userid, channel_id))


def test_a_webhook_gets_a_secret_that_is_stored_sealed(office, database):
    userid = office.sign_up().user.userid
    made = do(office.channels.add(userid, "WEBHOOK", "https://hooks.example/x")).channel
    other = do(office.channels.add(userid, "WEBHOOK", "https://hooks.example/x")).channel
    given_one = do(office.channels.add(userid, "WEBHOOK", "https://hooks.example/x", secret="mine")).channel
    assert made.secret.startswith("whsec_")
    assert made.secret != other.secret
    assert do(office.channels.find(userid, made.channel_id)).secret == made.secret
    assert do(office.channels.find(userid, given_one.channel_id)).secret == "mine"
    assert made.secret not in str(get_plain(database, "USER", userid, f"CHANNEL#{made.channel_id}"))


def test_an_apprise_url_is_a_password_and_only_some_can_be_used(office, database):
    def allow(url):
        if not url.startswith("tgram://"):
            raise ReceiverRefuses("not that service")

    userid = office.sign_up().user.userid
    channels = Channels(office.db, office.clock, try_service=allow)
    made = do(channels.add(userid, "APPRISE", "tgram://bottoken/chat")).channel
    assert (made.target, made.secret) == ("tgram://…", "tgram://bottoken/chat")
    assert "bottoken" not in str(get_plain(database, "USER", userid, f"CHANNEL#{made.channel_id}"))
    with pytest.raises(InputRefused, match="not that service"):
        do(channels.add(userid, "APPRISE", "json://169.254.169.254/"))
    with pytest.raises(InputRefused):
        do(office.channels.add(userid, "APPRISE", "tgram://bottoken/chat"))


@pytest.mark.parametrize(
    ("kind", "target"),
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
def test_a_target_that_cannot_be_used_is_refused(office, kind, target):
    userid = office.sign_up().user.userid
    with pytest.raises(InputRefused):
        do(office.channels.add(userid, kind, target))
    assert len(do(office.channels.of_user(userid))) == 1


def test_there_are_not_too_many_channels(office):
    userid = office.sign_up().user.userid
    for number in range(MOST_CHANNELS - 1):
        do(office.channels.add(userid, "EMAIL", f"a{number}@example.com"))
    with pytest.raises(LimitReached):
        do(office.channels.add(userid, "EMAIL", "one.more@example.com"))
