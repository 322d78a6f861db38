"""Compression of requests and responses."""

import contextlib
import gzip
import random
import time
import zlib
from functools import cache

import pytest

from hashrange.core.errors import InternalServerError
from hashrange.server.compression import RequestTooLarge, choose_encoding, compress, inflate

LIMIT = 1000
MIB = 1 << 20
EMPTY = gzip.compress(b"")


def seconds_for(work):
    """CPU seconds of this thread, the least of three."""
    times = []
    for _ in range(3):
        started = time.thread_time()
        with contextlib.suppress(RequestTooLarge, InternalServerError):
            work()
        times.append(time.thread_time() - started)
    return min(times)


def test_a_gzipped_body_is_inflated():
    assert inflate(gzip.compress(b'{"a": 1}'), b"gzip", LIMIT) == b'{"a": 1}'


def test_the_name_of_the_encoding_may_have_any_case():
    assert inflate(gzip.compress(b"x"), b" GZip ", LIMIT) == b"x"


def test_a_body_of_several_gzip_members_is_one_body():
    assert inflate(gzip.compress(b"one ") + gzip.compress(b"two"), b"gzip", LIMIT) == b"one two"


def test_bytes_after_the_last_member_are_overlooked_as_dynamodb_does():
    assert inflate(gzip.compress(b"one") + b"junk", b"gzip", LIMIT) == b"one"


@pytest.mark.parametrize(
    "body",
    [b"", b"plain text", gzip.compress(b"x")[:-1], gzip.compress(b"x") + gzip.compress(b"y")[:12]],
    ids=["empty", "not gzip", "cut", "second member cut"],
)
def test_what_is_not_gzip_is_an_internal_error(body):
    with pytest.raises(InternalServerError):
        inflate(body, b"gzip", LIMIT)


def test_a_deflated_body_is_inflated():
    assert inflate(zlib.compress(b'{"a": 1}'), b"deflate", LIMIT) == b'{"a": 1}'


@pytest.mark.parametrize("body", [b"", b"plain text", zlib.compress(b"x")[:-1]], ids=["empty", "not deflate", "cut"])
def test_what_is_not_deflate_is_an_internal_error(body):
    with pytest.raises(InternalServerError):
        inflate(body, b"deflate", LIMIT)


def test_a_deflated_body_has_a_largest_size():
    assert len(inflate(zlib.compress(b"x" * LIMIT), b"deflate", LIMIT)) == LIMIT
    with pytest.raises(RequestTooLarge):
        inflate(zlib.compress(b"x" * (LIMIT + 1)), b"deflate", LIMIT)


@pytest.mark.parametrize("encoding", [b"identity", b" Identity "])
def test_identity_is_no_encoding(encoding):
    assert inflate(b"x", encoding, LIMIT) == b"x"


@pytest.mark.parametrize("encoding", [b"deflate", b"br", b"garbage", b""])
def test_other_encodings_are_an_internal_error(encoding):
    with pytest.raises(InternalServerError):
        inflate(gzip.compress(b"x"), encoding, LIMIT)


def test_a_body_may_have_exactly_the_limit_when_inflated():
    assert len(inflate(gzip.compress(b"x" * LIMIT), b"gzip", LIMIT)) == LIMIT


def test_a_body_over_the_limit_is_refused():
    with pytest.raises(RequestTooLarge):
        inflate(gzip.compress(b"x" * (LIMIT + 1)), b"gzip", LIMIT)


def test_the_members_of_a_body_share_the_limit():
    with pytest.raises(RequestTooLarge):
        inflate(gzip.compress(b"x" * LIMIT) + gzip.compress(b"x"), b"gzip", LIMIT)


def test_a_body_may_have_1024_gzip_members():
    assert inflate(EMPTY * 1023 + gzip.compress(b"x"), b"gzip", LIMIT) == b"x"
    with pytest.raises(RequestTooLarge, match="larger than 1024 gzip members"):
        inflate(EMPTY * 1024 + gzip.compress(b"x"), b"gzip", LIMIT)


@cache
def pack_random(size):
    """Return that many bytes that cannot be made shorter, in gzip."""
    return gzip.compress(random.Random(1).randbytes(size), 1)


# Made when it is needed: together they are large.
COSTLY = {
    "empty members": (b"gzip", lambda: EMPTY * (15 * MIB // len(EMPTY))),
    "then content": (b"gzip", lambda: EMPTY * 1023 + pack_random(15 * MIB)),
    "then junk": (b"gzip", lambda: pack_random(7 * MIB) + EMPTY * 1023 + bytes(7 * MIB)),
    "cut members": (b"gzip", lambda: gzip.compress(b"")[:-1] * (15 * MIB // 19)),
    "deflate": (b"deflate", lambda: zlib.compress(b"") * (15 * MIB // 8)),
    "deflate, junk": (b"deflate", lambda: zlib.compress(b"") + bytes(15 * MIB)),
    "expands": (b"deflate", lambda: zlib.compress(bytes(64 * MIB), 9)),
}


@pytest.mark.parametrize("name", COSTLY)
def test_the_time_to_inflate_is_linear(name):
    encoding, make_body = COSTLY[name]
    body, plain = make_body(), pack_random(15 * MIB)
    usual = seconds_for(lambda: inflate(plain, b"gzip", 16 * MIB))
    assert (
        seconds_for(lambda: inflate(body, encoding, 16 * MIB)) < 40 * usual
    )  # quadratic time was a thousand times as much


@pytest.mark.parametrize(
    ("accepted", "chosen"),
    [
        (b"identity", None),
        (b"br", None),
        (b"x-gzip", None),
        (b"gzip", b"gzip"),
        (b"deflate", b"deflate"),
        (b"gzip, deflate", b"gzip"),
        (b"br, identity, deflate, gzip", b"deflate"),
        (b"GZIP, identity", b"gzip"),
        (b"dog, gzip ,, cat", b"gzip"),
        (b"gzip;q=0.8, deflate;q=0.9", b"deflate"),
        (b"br, gzip;q=0, deflate; q = 0.5 , identity;q=0", b"deflate"),
        (b"*", b"gzip"),
        (b"*, deflate", b"deflate"),
        (b"*, deflate;q=0.5", b"gzip"),
        (b"*, gzip;q=0.5", b"deflate"),
        (b"*;q=0", None),
        (b"*;q=0.5,identity", b"gzip"),
        (b"gzip ;q=0", None),
        (b"gzip;q=0.5,identity;q=0.8", b"gzip"),
        (b"gzip br", None),
        (b"deflate;q=0.5, gzip;q=31", b"gzip"),
        (b"gzip;q=31,deflate;q=51", b"gzip"),
        (b"deflate;q=0.5, gzip;q=1;q=0.2", b"gzip"),
        (b"deflate;q=0.5,gzip;q=0.x", b"gzip"),
        (b"deflate;q=-0.5,gzip;q=0.2", b"gzip"),
        (b"gzip;q= 0;q=1", None),
        (b"gzip;q =0;q=1", b"gzip"),
        (b"gzip; q=0;q=1", None),
        (b"gzip;nq=0;q=1", None),
        (b"deflate;q=0.5,gzip;q=0.", b"deflate"),
        (b"deflate;q=0.5,gzip;q=0. x", b"gzip"),
        (b"gzip:q=1", None),
        (b'"gzip"', None),
        (b"gzip;q=0, gzip;q=1, gzip;q=0", b"gzip"),
    ],
)
def test_the_encoding_with_the_highest_weight_is_chosen_then_the_first(accepted, chosen):
    assert choose_encoding(accepted) == chosen


def test_a_response_can_be_read_again():
    body = b'{"a": "' + b"x" * 5000 + b'"}'
    assert gzip.decompress(compress(body, b"gzip")) == body
    assert zlib.decompress(compress(body, b"deflate")) == body
