"""Keys: what is put into a template comes out again, no two things share a key, and order is kept."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hashrange import Item, Key, Table, Unreadable, ValueInvalid
from hashrange.schema.declare.key_codec import key_codecs
from hashrange.schema.items.loader import load

table = Table("things", "pk", "sk")
START = datetime(2026, 1, 1, tzinfo=UTC)


class Thing(Item, table=table, pk="{kind}#{owner}", sk="AT#{at}#{number:05d}#{name}"):
    kind: Key[str]
    owner: Key[str]
    at: Key[datetime]
    number: Key[int]
    name: Key[str]


class Long(Item, table=table, pk="LONG", sk="URL#{url:fit}"):
    url: str


class LongWithTail(Item, table=table, pk="TAIL", sk="URL#{url:fit}#größe"):
    url: str


class Hashed(Item, table=table, pk="HASH#{url:sha}", sk="S#{url:shard8}"):
    url: str


TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
VALUES = st.fixed_dictionaries(
    {
        "kind": TEXT,
        "owner": TEXT,
        "at": st.integers(0, 10**6).map(lambda seconds: START + timedelta(seconds=seconds)),
        "number": st.integers(0, 99_999),
        "name": TEXT,
    }
)


def make(cls, values):
    return {attr: key_codecs(cls)[attr].make(values.get)["S"] for attr in ("pk", "sk")}


def keys_or_none(values):
    try:
        return make(Thing, values)
    except ValueInvalid:
        return None


@given(VALUES)
def test_what_is_put_in_comes_out(values):
    keys = keys_or_none(values)
    if keys is None:
        assert "#" in values["kind"]
        return
    found = {}
    for attr, text in keys.items():
        found |= key_codecs(Thing)[attr].parse({"S": text})
    assert found == values


@given(VALUES, VALUES)
def test_no_two_things_share_a_key(one, other):
    first, second = keys_or_none(one), keys_or_none(other)
    if first is not None and first == second:
        assert one == other


@given(VALUES, st.integers(0, 10**6), st.integers(0, 99_999))
def test_keys_sort_as_their_fields_do(values, seconds, number):
    values = {**values, "kind": "k"}
    other = {**values, "at": START + timedelta(seconds=seconds), "number": number}
    one, two = make(Thing, values)["sk"], make(Thing, other)["sk"]
    order = (values["at"], values["number"]), (other["at"], other["number"])
    assert (one < two) == (order[0] < order[1])


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=1400))
def test_a_fitted_key_is_never_too_long_and_always_the_same(url):
    key = make(Long, {"url": url})["sk"]
    assert len(key.encode()) <= 1024
    assert key == make(Long, {"url": url})["sk"]
    if len(url.encode()) <= 1020:
        assert key == f"URL#{url}"


def test_a_fitted_key_leaves_room_for_the_bytes_of_the_text_after_it():
    assert len(make(LongWithTail, {"url": "x" * 2000})["sk"].encode()) <= 1024


@given(st.text("xy", min_size=1100, max_size=1103), st.text("xy", min_size=1100, max_size=1103))
def test_two_long_texts_do_not_share_a_fitted_key(one, other):
    assert (make(Long, {"url": one}) == make(Long, {"url": other})) == (one == other)


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=1400))
def test_a_fitted_field_that_is_not_stored_is_read_from_its_key_unless_it_was_shortened(url):
    raw = {"pk": {"S": "LONG"}, "sk": {"S": make(Long, {"url": url})["sk"]}}
    if len(url.encode()) <= 1020:
        assert load((Long,), raw) == Long(url=url)
    else:
        with pytest.raises(Unreadable, match="needs url"):
            load((Long,), raw)


def test_a_short_value_that_looks_shortened_is_whole():
    url = f"https://a.de/x~{'0' * 64}"
    assert load((Long,), {"pk": {"S": "LONG"}, "sk": {"S": f"URL#{url}"}}) == Long(url=url)


@given(TEXT)
def test_hashes_and_shards_are_stable(url):
    keys = make(Hashed, {"url": url})
    assert len(keys["pk"]) == len("HASH#") + 64
    assert keys["sk"] in {f"S#{shard}" for shard in range(8)}


@pytest.mark.parametrize("values", [{"url": ""}, {"url": "x", "kind": ""}])
def test_an_empty_field_is_no_part_of_a_key(values):
    cls = Thing if "kind" in values else Long
    full = {"kind": "k", "owner": "o", "at": START, "number": 1, "name": "n", **values}
    with pytest.raises(ValueInvalid, match="empty"):
        make(cls, full)


def test_a_missing_field_means_no_key():
    assert key_codecs(Thing)["sk"].make({"at": START}.get) is None
