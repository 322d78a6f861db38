"""Cached heads: a match is always what the parser would have read, and never what it would not."""

import pytest
from httptools import HttpParserError, HttpParserUpgrade, HttpRequestParser
from hypothesis import given, settings
from hypothesis import strategies as st

from hashrange.server.head_cache import MAX_CACHED_HEADS, HeadCache
from hashrange.server.http_request import make_request
from hashrange.server.server import HEADS_PER_SWEEP
from tests.unit.server.wire import build, get, put

SIGNATURE = "0123456789abcdef" * 4
CREDENTIAL = "AWS4-HMAC-SHA256 Credential=AKID/20260314/eu-west-2/dynamodb/aws4_request, SignedHeaders=host, Signature="
IDS = ("0f8fad5b-d9cb-469f-a165-70867728950e", "7c9e6679-7425-40de-944b-e07fc1f90ae7")


def ask(
    operation="GetItem", body=b'{"TableName":"things"}', *, date="20260314T150926Z", signature=SIGNATURE, **headers
):
    """What an SDK sends."""
    headers = {"amz_sdk_invocation_id": IDS[0], "accept_encoding": "identity", **headers}
    return build(operation, body=body, x_amz_date=date, authorization=CREDENTIAL + signature, **headers)


class Reader:
    """What the parser reads in some bytes."""

    def __init__(self):
        self.url = self.body = b""
        self.headers = {}
        self.requests = []
        self.parser = HttpRequestParser(self)

    def on_url(self, url):
        self.url += url

    def on_header(self, name, value):
        self.headers[name.lower()] = value

    def on_body(self, body):
        self.body += body

    def on_message_complete(self):
        method, keep_alive = self.parser.get_method(), self.parser.should_keep_alive()
        self.requests.append(make_request(method, self.url, self.headers, self.body, keep_alive=keep_alive))


def parse(source):
    """The request that the parser makes of these bytes, or None where they are not exactly one."""
    reader = Reader()
    try:
        reader.parser.feed_data(source)
    except (HttpParserError, HttpParserUpgrade):
        return None
    return reader.requests[0] if len(reader.requests) == 1 else None


def cache_head(*sources):
    heads = HeadCache()
    for source in sources:
        heads.add(parse(source), source)
    return heads


def describe(request):
    head = request.head
    said = (head.method, head.url, head.names, head.target, head.authorization, head.keep_alive, head.form)
    return said, request.headers, request.body


def test_the_next_request_of_a_client_matches():
    later = {"date": "20260314T150927Z", "signature": SIGNATURE[::-1], "amz_sdk_invocation_id": IDS[1]}
    source = ask(body=b'{"TableName":"others"}', **later)
    request = cache_head(ask()).match(source)
    assert request is not None
    assert describe(request) == describe(parse(source))


@pytest.mark.parametrize(
    "source",
    [
        ask("PutItem"),
        ask(user_agent="another"),
        ask(origin="http://localhost"),
        ask(accept_encoding="gzipfile"),
        ask(body=b"{}"),
        ask()[:-1],
        ask() + b" ",
        ask() + ask(),
        ask(signature=SIGNATURE[:-1]),
        ask(date="20260314T15092\r\n"),
        ask(date="20260314 150926Z"),
        ask(amz_sdk_invocation_id="x" * 30 + "\r\nA: b"),
        ask().replace(b"X-Amz-Date", b"x-amz-date"),
        ask().replace(b"HTTP/1.1", b"HTTP/1.0"),
        ask(content_length="+2"),
        b"",
    ],
)
def test_what_differs_elsewhere_is_left_to_the_parser(source):
    assert cache_head(ask()).match(source) is None


@pytest.mark.parametrize(
    "source",
    [
        ask(connection="close"),
        ask(expect="100-continue"),
        ask().replace(b"HTTP/1.1", b"HTTP/1.0"),
        build(method="GET"),
        b"\r\n" + ask(),
        ask(user_agent="x" * 4096),
    ],
    ids=["hangs up", "expects", "HTTP/1.0", "no length", "an empty line", "long"],
)
def test_unusual_heads_are_not_cached(source):
    assert cache_head(source).match(source) is None


def test_only_the_head_of_a_whole_packet_is_cached():
    heads = HeadCache()
    heads.add(parse(ask()), ask() + ask())
    assert heads.match(ask()) is None


def test_heads_of_several_kinds_are_told_apart():
    heads = cache_head(ask("PutItem"), ask("GetItem"), ask("DeleteItem"))
    for operation in ("GetItem", "PutItem", "DeleteItem", "PutItem", "GetItem"):
        assert heads.match(ask(operation)).head.target == f"DynamoDB_20120810.{operation}".encode()


def test_the_heads_cached_last_are_kept():
    agents = [f"agent-{number}" for number in range(MAX_CACHED_HEADS + 1)]
    heads = cache_head(*(ask(user_agent=agent) for agent in agents))
    assert [heads.match(ask(user_agent=agent)) is not None for agent in agents] == [False] + [True] * MAX_CACHED_HEADS


WORDS = st.text("0123456789abcdefXYZ-", min_size=16, max_size=16)


@given(date=WORDS.filter(lambda word: word.strip("-")), body=st.binary(min_size=10, max_size=99))
def test_a_head_matches_whatever_the_date(date, body):
    source = ask(body=body, date=date)
    assert describe(cache_head(ask()).match(source)) == describe(parse(source))


HOLES = (b"20260314T150926Z", SIGNATURE.encode(), IDS[0].encode())
PIECES = (b"\r\n", b"\r\nA: b", b"\r\n\r\n", b"\x00", b"\xff", b" ", b"-", b"Z", b"22")
PLACES = st.integers(0, len(ask()) - 1) | st.sampled_from([ask().index(hole) for hole in HOLES])
CHANGES = st.tuples(PLACES, st.binary(max_size=3) | st.sampled_from(PIECES), st.booleans())


@settings(max_examples=500, deadline=None)
@given(changes=st.lists(CHANGES, max_size=4))
def test_what_matches_is_what_the_parser_would_have_read(changes):
    source = ask()
    for at, text, overwrites in changes:
        source = source[:at] + text + source[at + len(text) * overwrites :]
    request = cache_head(ask()).match(source)
    if request is not None:
        assert describe(request) == describe(parse(source))


# -- on a connection


def test_a_head_is_cached_once(serve, connect):
    server = serve(sweep=3600)
    client = connect(server)
    for number in range(10, 20):
        assert client.ask(put(f"k{number}")).status == 200
    assert client.ask(get("k19")).json["Item"] == {"pk": {"S": "k19"}}
    assert server.heads_to_cache == HEADS_PER_SWEEP - 2


def test_clients_that_ask_but_once_are_not_cached(serve, connect):
    server = serve(sweep=3600)
    for _ in range(5):
        assert connect(server).ask(get("a")).status == 200
    assert server.heads_to_cache == HEADS_PER_SWEEP


def test_heads_that_are_never_alike_are_cached_only_so_often(serve, connect):
    server = serve(sweep=3600)
    client = connect(server)
    for number in range(HEADS_PER_SWEEP + 10):
        assert client.ask(get("a", user_agent="x" * number)).json == {}
    assert server.heads_to_cache == 0


def test_signatures_are_checked_in_every_request(serve, connect):
    seen = []
    client = connect(serve(authenticate=lambda request: seen.append(request.headers)))
    sent = [f"20260314T1509{second}Z" for second in range(10, 20)]
    for date in sent:
        assert client.ask(get("a", x_amz_date=date, authorization=f"AWS4 Signature={date}")).status == 200
    assert [headers[b"x-amz-date"].decode() for headers in seen] == sent
    assert [headers[b"authorization"].decode() for headers in seen] == [f"AWS4 Signature={date}" for date in sent]


def test_pieces_pairs_and_wholes_of_requests_may_follow_each_other(client):
    client.ask(put("a"))
    client.ask(put("b"))
    whole = get("a")
    for sent in (
        [whole],
        [whole + whole],
        [whole[:50], whole[50:]],
        [whole + whole[:9], whole[9:]],
        [whole],
        [b"\r\n", whole],
    ):
        for piece in sent:
            client.send(piece)
        for _ in range(b"".join(sent).count(b"POST")):
            assert client.read().json == {"Item": {"pk": {"S": "a"}}}


def test_a_matching_request_after_half_a_one_is_part_of_it(client):
    for _ in range(3):
        client.ask(get("a"))
    client.send(b"PO")
    client.send(get("a"))
    assert client.read().status == 400
    assert client.has_ended()
