"""Local keys: a sealed value opens only in its own context, and only its owner can read the key file."""

import copy
import json
import os
import pickle
import re
import shlex
import stat
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hashrange.client import key_file
from hashrange.client.keyring import PREFIX, is_sealed, parse
from hashrange.client.local_keys import LocalKeys
from hashrange.core.errors import SealError, Tampered, UnknownKey, UnsafeKeyFile

KEYS = LocalKeys.generate()
contexts = st.binary(max_size=40)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "private" / "keys.json"


# -- sealing -----------------------------------------------------------------------------------------------------


@given(st.binary(), contexts)
def test_what_is_sealed_opens_in_its_context(plain, context):
    sealed = KEYS.seal(plain, context)
    assert is_sealed(sealed)
    assert sealed.isascii()
    assert KEYS.unseal(sealed, context) == plain


@given(st.binary(), contexts, contexts)
def test_it_does_not_open_in_another_context(plain, context, other):
    if context == other:
        other += b"!"
    with pytest.raises(Tampered, match="another item, attribute or table"):
        KEYS.unseal(KEYS.seal(plain, context), other)


@given(st.binary(max_size=40), contexts, st.data())
def test_a_flipped_bit_is_found(plain, context, data):
    sealed = bytearray(KEYS.seal(plain, context).encode())
    at = data.draw(st.integers(0, len(sealed) - 1))
    sealed[at] ^= 1 << data.draw(st.integers(0, 6))
    with pytest.raises(SealError) as refusal:
        KEYS.unseal(sealed.decode(), context)
    assert type(refusal.value) is Tampered or is_in_the_key_id(at)


def is_in_the_key_id(at):
    """Return whether that letter carries the length or the id of the key, whose change may name another key."""
    return len(PREFIX) < at < len(PREFIX) + -(-(3 + len(KEYS.current)) * 4 // 3)


@given(st.binary(max_size=40), st.data())
def test_a_part_of_a_sealed_value_is_refused(plain, data):
    sealed = KEYS.seal(plain, b"")
    with pytest.raises(Tampered):
        KEYS.unseal(sealed[: data.draw(st.integers(0, len(sealed) - 1))], b"")


@given(st.text())
def test_no_text_breaks_it(text):
    with pytest.raises(SealError):
        KEYS.unseal(text, b"")


def test_a_nonce_is_never_used_again():
    assert len({parse(KEYS.seal(b"same", b"same")).nonce for _ in range(10_000)}) == 10_000


def test_a_sealed_value_does_not_show_what_is_in_it():
    assert "secret" not in KEYS.seal(b"secret", b"context")
    assert b"secret" not in parse(KEYS.seal(b"secret", b"context")).ciphertext


def test_a_key_of_another_keyring_is_unknown_and_named():
    with pytest.raises(UnknownKey, match=f"sealed with key {KEYS.current}, which is not in memory"):
        LocalKeys.generate().unseal(KEYS.seal(b"x", b""), b"")


def test_the_form_of_version_one_stays(path):
    """Sealed values are data: they must open in every later release."""
    keys = '{"version": 1, "current": "5f0c9a1e", "keys": {"5f0c9a1e": "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="}}'
    path.parent.mkdir()
    path.write_text(keys)
    path.chmod(0o600)
    assert (
        LocalKeys(path).unseal("hr1:TAAINWYwYzlhMWXQZW624zeKcT9pLHT0pC7oP2nhCOVqunflc2s9Cgz1_34", b"context")
        == b"token"
    )


# -- rotation ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [lambda path: LocalKeys.generate(), LocalKeys], ids=["memory", "file"])
def test_after_a_rotation_the_old_opens_and_the_new_key_seals(make, path):
    keys = make(path)
    old = keys.seal(b"old", b"")
    first = keys.current
    second = keys.rotate()
    new = keys.seal(b"new", b"")
    assert keys.ids == [first, second]
    assert keys.current == second != first
    assert (parse(old).name, parse(new).name) == (first.encode(), second.encode())
    assert (keys.unseal(old, b""), keys.unseal(new, b"")) == (b"old", b"new")


def test_what_another_process_seals_after_a_rotation_opens(path):
    mine, theirs = LocalKeys(path), LocalKeys(path)
    mine.seal(b"x", b"")
    theirs.rotate()
    assert mine.unseal(theirs.seal(b"new", b""), b"") == b"new"
    assert mine.current == theirs.current


def test_rotations_at_the_same_time_lose_no_key(path):
    rings = [LocalKeys(path) for _ in range(8)]
    sealed = []
    threads = [threading.Thread(target=lambda ring=ring: sealed.append(rotate_and_seal(ring))) for ring in rings]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    fresh = LocalKeys(path)
    assert len(fresh.ids) == len(rings)
    assert [fresh.unseal(text, b"") for text in sealed] == [b"x"] * len(rings)


def rotate_and_seal(ring):
    ring.rotate()
    return ring.seal(b"x", b"")


def test_processes_that_begin_at_the_same_time_share_one_key(path):
    rings = [LocalKeys(path) for _ in range(8)]
    threads = [threading.Thread(target=ring.seal, args=(b"x", b"")) for ring in rings]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {ring.current for ring in rings} == {LocalKeys(path).current}


# -- the file ----------------------------------------------------------------------------------------------------


def test_the_first_seal_makes_a_private_file_and_opening_does_not(path):
    keys = LocalKeys(path)
    with pytest.raises(UnknownKey, match="there is none"):
        keys.unseal(KEYS.seal(b"x", b""), b"")
    assert not path.exists()
    sealed = keys.seal(b"x", b"")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert [entry.name for entry in path.parent.iterdir()] == ["keys.json"]
    assert LocalKeys(str(path)).unseal(sealed, b"") == b"x"


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o601, 0o666])
def test_a_file_that_others_can_use_is_refused(tmp_path, mode):
    path = tmp_path / "my keys.json"
    LocalKeys(path).rotate()
    path.chmod(mode)
    with pytest.raises(UnsafeKeyFile, match=f"has mode {mode:04o}.*chmod 600 {re.escape(shlex.quote(str(path)))}"):
        LocalKeys(path)


def test_a_file_that_its_owner_can_only_read_is_fine(path):
    sealed = rotate_and_seal(LocalKeys(path))
    path.chmod(0o400)
    assert LocalKeys(path).unseal(sealed, b"") == b"x"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_file_of_another_user_is_refused(path):
    LocalKeys(path).rotate()
    os.chown(path, 4711, -1)
    with pytest.raises(UnsafeKeyFile, match="belongs to another user"):
        LocalKeys(path)


def test_a_link_to_the_file_is_followed_and_stays(path, tmp_path):
    LocalKeys(path).rotate()
    link = tmp_path / "link"
    link.symlink_to(path)
    LocalKeys(link).rotate()
    assert link.is_symlink()
    assert len(LocalKeys(path).ids) == 2


def change(document, **members):
    return json.dumps({**json.loads(document), **members}).encode()


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: b"",
        lambda text: text[:-9],
        lambda text: b"[]",
        lambda text: change(text, current="other"),
        lambda text: change(text, keys={}),
        lambda text: change(text, keys={json.loads(text)["current"]: "AAAA"}),
        lambda text: change(text, more=1),
    ],
    ids=["empty", "cut", "a list", "no current", "no keys", "short key", "more members"],
)
def test_a_damaged_file_is_refused_and_left_alone(path, damage):
    LocalKeys(path).rotate()
    secret = next(iter(json.loads(path.read_bytes())["keys"].values()))
    path.write_bytes(damage(path.read_bytes()))
    before = path.read_bytes()
    with pytest.raises(UnsafeKeyFile, match="not a key file, or is damaged") as refusal:
        LocalKeys(path)
    with pytest.raises(UnsafeKeyFile):
        key_file.add_key(path)
    assert path.read_bytes() == before
    assert secret not in str(refusal.value)


def test_a_file_of_a_newer_version_is_refused_as_such(path):
    LocalKeys(path).rotate()
    path.write_bytes(change(path.read_bytes(), version=2))
    with pytest.raises(UnsafeKeyFile, match="newer hashrange"):
        LocalKeys(path)


def test_a_directory_in_its_place_is_refused(tmp_path):
    with pytest.raises(UnsafeKeyFile, match="directory"):
        LocalKeys(tmp_path)


def test_a_place_where_no_directory_can_be_is_refused_by_the_first_seal(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UnsafeKeyFile, match="cannot be used as a key file"):
        LocalKeys(tmp_path / "file" / "keys.json").seal(b"x", b"")


def test_a_failed_write_leaves_the_keys_as_they_were(path, monkeypatch):
    keys = LocalKeys(path)
    sealed = keys.seal(b"x", b"")
    before = path.read_bytes()

    def fail(_descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(UnsafeKeyFile, match="No space left"):
        keys.rotate()
    assert path.read_bytes() == before
    assert [entry.name for entry in path.parent.iterdir()] == ["keys.json"]
    assert keys.unseal(sealed, b"") == b"x"


# -- nothing shows the keys --------------------------------------------------------------------------------------


def test_nothing_that_is_printed_shows_a_key(path):
    keys = LocalKeys(path)
    keys.rotate()
    held = key_file.read_key_file(path)
    secret = held.keys[held.current]
    texts = [repr(keys), str(keys), repr(vars(keys)), repr(held), str(held), repr(held.__rich_repr__())]
    assert keys.current in repr(keys)
    for text in texts:
        assert repr(secret)[2:-1] not in text
        assert secret.hex() not in text
        assert json.loads(path.read_bytes())["keys"][held.current] not in text


def test_keys_are_not_copied_into_a_pickle():
    for leak in (pickle.dumps, copy.deepcopy):
        with pytest.raises(TypeError):
            leak(KEYS)
