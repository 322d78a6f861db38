"""A type of channel is one file; what it hides is stored in plain text nowhere, in no system."""

import asyncio
import importlib
import json
import sys

import pytest

import hashrange
from hashrange import LocalKeys
from hashrange_systems.aura.application import APPLICATION as AURA
from hashrange_systems.checks.schema import Checks
from hashrange_systems.checks.service.channels import Channels
from hashrange_systems.checks.service.users import Users
from hashrange_systems.shared.channels import types
from hashrange_systems.shared.channels.channel_type import ANY_TARGET, ParsedTarget, TargetRules
from hashrange_systems.shared.channels.type_registry import CHANNEL_TYPES, find_channel_types
from hashrange_systems.shared.errors import InvalidInput
from systems.tests.hosting import make_host

CREDENTIAL = "pager://0123456789:correct-horse-battery/ward-7"
FILE = '''
"""PAGER: a pager, whose address is a credential."""

from hashrange_systems.shared.channels.channel_type import ChannelType, ParsedTarget


def parse(text, rules):
    return ParsedTarget.hidden(text, "a pager")


CHANNEL_TYPE = ChannelType(
    name="PAGER", label="pager", hint="pager://…", parse=parse, make_sender=lambda parts: None
)
'''


@pytest.fixture
def channel_types(tmp_path, monkeypatch):
    """The types, with one that is added with one file."""
    (tmp_path / "pager.py").write_text(FILE)
    monkeypatch.setattr(types, "__path__", [*types.__path__, str(tmp_path)])
    importlib.invalidate_caches()
    find_channel_types.cache_clear()
    yield find_channel_types()
    find_channel_types.cache_clear()
    sys.modules.pop(f"{types.__name__}.pager")


def read_everything(database):
    """Everything that is stored, as text."""
    names = database.call("ListTables", {})["TableNames"]
    return json.dumps([database.call("Scan", {"TableName": name})["Items"] for name in names])


async def add_to_checks(database, clock):
    db = Checks.open(database, clock=clock, keys=LocalKeys.generate(), secret=b"secret of a test")
    user = (await Users(db, clock).create("ann@example.com")).user
    channels = Channels(db, clock)
    added = (await channels.add(user.userid, "PAGER", CREDENTIAL)).channel
    channel = await channels.find(user.userid, added.channel_id)
    return channel.channel_type, channel.target, channel.secret


async def add_to_aura(database, clock):
    services = AURA.open(make_host(database, clock, base_url="https://aura.example"))
    member = (await services.members.add("ann@example.com")).member
    await services.accounts.channels.add(member.member_id, "PAGER", CREDENTIAL)
    (channel,) = await services.accounts.channels.list_by_owner(member.member_id)
    assert channel.confirmed_at is None, "nothing else is sent before it is confirmed"
    await services.runtime.close()
    return channel.channel_type, channel.shown, channel.secret


@pytest.mark.parametrize(
    ("patterns", "add"), [((Checks,), add_to_checks), (AURA.patterns, add_to_aura)], ids=["checks", "aura"]
)
def test_a_type_that_is_one_file_works_in_each_system_and_its_credential_is_stored_sealed(
    database, clock, channel_types, patterns, add
):
    """Kelifax stores no channels: it sends mails only."""
    hashrange.create_tables(database, *patterns)
    assert asyncio.run(add(database, clock)) == ("PAGER", "a pager", CREDENTIAL)
    stored = read_everything(database)
    assert "a pager" in stored
    assert [part for part in ("0123456789", "correct", "horse", "battery", "ward") if part in stored] == []


def test_the_types_are_the_files_of_the_folder(channel_types):
    assert list(channel_types) == ["EMAIL", "WEBHOOK", "APPRISE", "PAGER"]
    assert list(CHANNEL_TYPES) == ["EMAIL", "WEBHOOK", "APPRISE"]
    assert {name: each.name for name, each in channel_types.items()} == {name: name for name in channel_types}


@pytest.mark.parametrize("shown", [CREDENTIAL, "pager 0123456789", "pager://…/ward-7 of correct", "battery"])
def test_a_shown_text_with_a_part_of_the_credential_is_refused(shown):
    with pytest.raises(ValueError, match="a part of the secret"):
        ParsedTarget.hidden(CREDENTIAL, shown)


def test_a_public_target_does_not_contain_its_secret_and_no_repr_does():
    with pytest.raises(ValueError, match="contains its secret"):
        ParsedTarget.public("https://example.com/whsec_1", "whsec_1")
    assert "whsec_1" not in repr(ParsedTarget.public("https://example.com/", "whsec_1"))
    assert "battery" not in repr(ParsedTarget.hidden(CREDENTIAL, "a pager"))


@pytest.mark.parametrize("name", list(CHANNEL_TYPES))
@pytest.mark.parametrize(
    "text", ["", " ", "nobody", "://", "https://", "\0", "a@b@c", "x" * 5000, "json://[", "\ud800"]
)
def test_a_target_that_is_none_is_refused_with_the_field(name, text):
    with pytest.raises(InvalidInput) as refused:
        CHANNEL_TYPES[name].parse(text, ANY_TARGET)
    assert [error.field for error in refused.value.errors] == ["target"]


@pytest.mark.parametrize(
    ("channel_type", "target", "rules"),
    [
        ("APPRISE", "slack://slack@T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ", ANY_TARGET),
        ("WEBHOOK", "https://example.com/a-long-secret", TargetRules(secret="a-long-secret")),
    ],
)
def test_an_address_that_would_show_its_own_secret_is_refused_with_the_reason(channel_type, target, rules):
    with pytest.raises(InvalidInput, match="have"):
        CHANNEL_TYPES[channel_type].parse(target, rules)
