"""Keys of AWS KMS, against a stand-in that real botocore speaks to over HTTP."""

import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hashrange.client.keyring import is_sealed, parse
from hashrange.client.kms_keys import CachePolicy, KmsKeys
from hashrange.client.local_keys import LocalKeys
from hashrange.core.clock import ManualClock
from hashrange.core.errors import KeyRefused, Tampered, TransportError, UnknownKey
from tests.unit.client.kms import Kms, connect, serve

MASTER, OTHER = "alias/fields", "alias/other"


@pytest.fixture(scope="module")
def served():
    kms = Kms(MASTER, OTHER)
    with serve(kms) as url:
        client = connect(url, retries={"total_max_attempts": 1})
        yield kms, client
        client.close()


@pytest.fixture
def kms(served):
    served[0].calls.clear()
    served[0].contexts.clear()
    served[0].refusal = None
    return served[0]


@pytest.fixture
def make(kms, served):
    """Makes a keyring, of the first master key unless told otherwise, that remembers nothing yet."""
    return lambda key_id=MASTER, **options: KmsKeys(key_id, client=served[1], **options)


def test_what_is_sealed_opens_in_its_context_also_elsewhere(make):
    sealed = make().seal(b"token", b"context")
    assert is_sealed(sealed)
    assert make().unseal(sealed, b"context") == b"token"


@settings(deadline=None)
@given(plain=st.binary(), context=st.binary(max_size=20))
def test_any_bytes_in_any_context_come_back(served, plain, context):
    keys = KmsKeys(MASTER, client=served[1])
    sealed = keys.seal(plain, context)
    assert keys.unseal(sealed, context) == plain
    with pytest.raises(Tampered):
        keys.unseal(sealed, context + b"!")


@settings(deadline=None)
@given(data=st.data())
def test_a_flipped_bit_is_found_also_in_the_wrapped_key(served, data):
    keys = KmsKeys(MASTER, client=served[1])
    sealed = bytearray(keys.seal(b"token", b"").encode())
    at = data.draw(st.integers(0, len(sealed) - 1))
    sealed[at] ^= 1 << data.draw(st.integers(0, 6))
    with pytest.raises(Tampered):
        keys.unseal(sealed.decode(), b"")


# -- how often KMS is asked --------------------------------------------------------------------------------------


def test_one_data_key_serves_many_values_and_the_sealer_needs_no_decrypt(make, kms):
    keys = make()
    sealed = [keys.seal(b"x", b"") for _ in range(20)]
    assert {keys.unseal(text, b"") for text in sealed} == {b"x"}
    assert kms.calls == ["GenerateDataKey"]
    assert len({parse(text).nonce for text in sealed}) == 20


def test_a_reader_unwraps_a_data_key_once(make, kms):
    writer, reader = make(), make()
    sealed = [writer.seal(b"x", b"") for _ in range(5)]
    assert {reader.unseal(text, b"") for text in sealed} == {b"x"}
    assert kms.calls == ["GenerateDataKey", "Decrypt"]


def test_a_data_key_is_replaced_after_its_uses(make, kms):
    keys = make(cache=CachePolicy(uses=3))
    wrapped = [parse(keys.seal(b"x", b"")).name for _ in range(7)]
    assert kms.calls == ["GenerateDataKey"] * 3
    assert [wrapped.index(name) for name in wrapped] == [0, 0, 0, 3, 3, 3, 6]


def test_a_data_key_is_forgotten_after_its_time_by_sealers_and_readers(make, kms):
    clock = ManualClock()
    keys = make(cache=CachePolicy(minutes=5), clock=clock)
    sealed = keys.seal(b"x", b"")
    clock.advance(299)
    keys.seal(b"x", b"")
    keys.unseal(sealed, b"")
    assert kms.calls == ["GenerateDataKey"]
    clock.advance(1)
    assert keys.unseal(sealed, b"") == b"x"
    keys.seal(b"x", b"")
    assert kms.calls == ["GenerateDataKey", "Decrypt", "GenerateDataKey"]


def test_a_revoked_key_stops_opening_within_that_time(make, kms):
    clock = ManualClock()
    keys = make(clock=clock)
    sealed = keys.seal(b"x", b"")
    kms.refusal = "AccessDeniedException"
    assert keys.unseal(sealed, b"") == b"x"
    clock.advance(300)
    with pytest.raises(KeyRefused, match="AWS KMS refuses Decrypt with alias/fields: AccessDeniedException no"):
        keys.unseal(sealed, b"")


def test_the_data_key_that_was_not_used_for_longest_is_forgotten(make, kms):
    writer = make(cache=CachePolicy(uses=1))
    first, second, third = [writer.seal(b"x", b"") for _ in range(3)]
    reader = make(cache=CachePolicy(size=2))
    for text in (first, second, first, third):
        reader.unseal(text, b"")
    kms.calls.clear()
    reader.unseal(first, b"")
    assert kms.calls == []
    reader.unseal(second, b"")
    assert kms.calls == ["Decrypt"]


# -- which key ---------------------------------------------------------------------------------------------------


def test_the_encryption_context_goes_to_kms_and_must_be_the_same(make, kms):
    sealed = make(encryption_context={"stage": "live"}).seal(b"x", b"")
    assert kms.contexts == [{"application": "hashrange", "stage": "live"}]
    with pytest.raises(Tampered, match="another encryption context"):
        make(encryption_context={"stage": "test"}).unseal(sealed, b"")


def test_a_value_of_another_master_key_opens_only_if_that_key_is_named(make):
    sealed = make(OTHER).seal(b"x", b"")
    with pytest.raises(UnknownKey, match=f"another KMS key than {MASTER}"):
        make(MASTER).unseal(sealed, b"")
    assert make(MASTER, older=[OTHER]).unseal(sealed, b"") == b"x"


def test_a_key_that_does_not_exist_is_unknown(make):
    with pytest.raises(UnknownKey, match="NotFoundException Key 'alias/none' does not exist"):
        make("alias/none").seal(b"x", b"")
    with pytest.raises(UnknownKey) as refusal:
        make("alias/none").unseal(make().seal(b"x", b""), b"")
    assert "does not exist" in str(refusal.value.__cause__)


def test_a_disabled_key_is_refused(make, kms):
    kms.refusal = "DisabledException"
    with pytest.raises(KeyRefused, match="GenerateDataKey with alias/fields: DisabledException"):
        make().seal(b"x", b"")


def test_a_kms_that_does_not_answer_is_no_fault_of_the_value():
    client = connect("http://127.0.0.1:9", retries={"total_max_attempts": 1}, connect_timeout=1)
    with pytest.raises(TransportError, match="did not respond to GenerateDataKey"):
        KmsKeys(MASTER, client=client).seal(b"x", b"")
    client.close()


def test_each_kind_of_keyring_says_that_a_value_is_of_the_other_kind(make):
    local = LocalKeys.generate()
    with pytest.raises(UnknownKey, match="another type of keyring"):
        make().unseal(local.seal(b"x", b""), b"")
    with pytest.raises(UnknownKey, match="another type of keyring"):
        local.unseal(make().seal(b"x", b""), b"")


def test_a_client_is_made_from_the_users_configuration_when_it_is_needed(kms, monkeypatch, tmp_path):
    with serve(kms) as url:
        monkeypatch.setenv("AWS_ENDPOINT_URL_KMS", url)
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
        monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
        keys = KmsKeys(MASTER, region="eu-west-2")
        assert keys._client is None
        assert keys.unseal(keys.seal(b"x", b""), b"") == b"x"
        keys._client.close()  # type: ignore[attr-defined]


def test_without_botocore_the_error_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "botocore.session", None)
    with pytest.raises(ImportError, match=r"pip install 'hashrange\[aws\]'"):
        KmsKeys(MASTER, region="eu-west-2").seal(b"x", b"")


def test_nothing_that_is_printed_shows_a_data_key(make):
    keys = make()
    keys.seal(b"x", b"")
    assert repr(keys) == "KmsKeys('alias/fields')"
    assert "cipher" not in repr(keys._current)
