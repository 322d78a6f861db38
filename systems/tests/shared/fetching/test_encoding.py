import gzip
import zlib
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hashrange_systems.shared.fetching.content_encoding import Body
from hashrange_systems.shared.fetching.errors import BodyDamaged, CompressionBomb

MANY = 10_000_000


def deflate_bare(data):
    deflater = zlib.compressobj(wbits=-15)
    return deflater.compress(data) + deflater.flush()


ENCODERS = [("", bytes), ("identity", bytes), ("gzip", gzip.compress), ("x-gzip", gzip.compress)]
ENCODERS += [("deflate", zlib.compress), ("deflate", deflate_bare)]


def collect(encoding, wire, limit=MANY, step=MANY):
    body = Body(encoding, limit)
    feed(body, wire, step)
    body.finish()
    return body


def feed(body, wire, step):
    for start in range(0, len(wire), step):
        body.feed(wire[start : start + step])
        if body.overflowed:
            break


@given(st.binary(), st.sampled_from(ENCODERS), st.integers(1, 50))
def test_a_body_is_decoded_however_it_is_cut(data, encoder, step):
    encoding, encode = encoder
    assert collect(encoding, encode(data), step=step).content == data


@given(st.binary(max_size=200), st.sampled_from(ENCODERS), st.integers(0, 220), st.integers(1, 50))
def test_a_body_stops_at_its_limit_and_says_so(data, encoder, limit, step):
    encoding, encode = encoder
    body = collect(encoding, encode(data), limit, step)
    assert (body.content, body.overflowed) == (data[:limit], len(data) > limit)


@given(st.binary(), st.sampled_from(["gzip", "deflate"]))
def test_damaged_data_is_damaged_or_read_but_never_another_error(data, encoding):
    with suppress(BodyDamaged):
        collect(encoding, data, limit=1000)


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_a_compressed_body_must_be_complete(encoding):
    wire = gzip.compress(b"hello") if encoding == "gzip" else zlib.compress(b"hello")
    for cut in range(1, len(wire)):
        with pytest.raises(BodyDamaged, match="ends in the middle"):
            collect(encoding, wire[:cut])


def test_an_empty_body_may_call_itself_compressed():
    assert collect("gzip", b"").content == b""


def test_gzip_members_are_one_body_and_padding_is_ignored():
    assert collect("gzip", gzip.compress(b"one ") + gzip.compress(b"two") + b"\0\0", step=7).content == b"one two"


@pytest.mark.parametrize("encoding", ["br", "zstd", "gzip, gzip", "nonsense"])
def test_an_encoding_that_was_not_asked_for_is_damage(encoding):
    with pytest.raises(BodyDamaged, match="not asked for"):
        Body(encoding, MANY)


@pytest.mark.parametrize("encode", [gzip.compress, zlib.compress, deflate_bare])
def test_a_bomb_is_refused_before_it_fills_its_limit(encode):
    bomb = encode(bytes(50_000_000))
    body = Body("gzip" if encode is gzip.compress else "deflate", 40_000_000)
    with pytest.raises(CompressionBomb):
        feed(body, bomb, 1024)
    assert len(body.content) < 3_000_000


def test_a_small_limit_bounds_what_a_bomb_unfolds():
    body = Body("gzip", 1000)
    body.feed(gzip.compress(bytes(50_000_000)))
    assert (len(body.content), len(body._content), body.overflowed) == (1000, 1001, True)


def test_a_well_compressed_page_is_not_a_bomb():
    page = b"".join(b"<tr><td>%d</td></tr>\n" % number for number in range(100_000))
    assert collect("gzip", gzip.compress(page), step=16384).content == page
