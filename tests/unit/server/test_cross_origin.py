"""Web pages that a developer visits cannot reach the server: neither from another origin nor by DNS rebinding."""

import pytest

from hashrange.server.cross_origin import CrossOriginCheck, is_host, is_origin
from tests.unit.server.wire import build, get, put

LIST = build("ListTables", {})
PAGE = "https://page.example"
PREFLIGHT = {"method": "OPTIONS", "access_control_request_method": "POST"}


def raw(target="/", *lines, version="1.1", method="GET"):
    return "\r\n".join([f"{method} {target} HTTP/{version}", *lines, "", ""]).encode()


# -- Origin


@pytest.mark.parametrize(
    "request_",
    [
        build("ListTables", {}, origin=PAGE),
        put("a").replace(b"Host: 127.0.0.1", b"Host: 127.0.0.1\r\nOrigin: null"),
        build(method="GET", origin=PAGE),
        build(method="GET", path="/metrics", origin=PAGE),
        build(origin=PAGE, **PREFLIGHT),
        build("ListTables", {}, origin="http://127.0.0.1:8000"),
        build("ListTables", {}, origin=""),
    ],
    ids=["call", "null", "health", "metrics", "preflight", "a page of this machine", "empty"],
)
def test_a_request_of_a_web_page_is_refused(client, request_):
    response = client.ask(request_)
    assert response.status == 403
    assert b"--cors" in response.body
    assert "access-control-allow-origin" not in response.headers
    assert client.has_ended()


def test_an_empty_origin_is_called_empty(client):
    text = client.ask(build("ListTables", {}, origin="")).body.decode()
    assert "has an empty Origin header" in text
    assert text.endswith("--cors ORIGIN\n")


def test_the_refusal_names_the_option(client):
    text = client.ask(build("ListTables", {}, origin=PAGE)).body.decode()
    assert text == (
        "Requests of web pages are refused, and this one comes from the origin https://page.example. To allow it, "
        "start the server with --cors https://page.example\n"
    )


def test_a_request_of_a_web_page_is_refused_before_its_body_arrives(client):
    client.send(build("ListTables", body=b"", origin=PAGE, content_length="100"))
    assert client.read().status == 403


def test_nothing_of_a_refused_request_is_executed(client, connect, server):
    assert client.ask(put("a").replace(b"Host:", b"Origin: http://x\r\nHost:")).status == 403
    assert connect(server).ask(get("a")).json == {}


@pytest.mark.parametrize("origin", [PAGE, "HTTPS://PAGE.example"])
def test_an_allowed_origin_is_served(serve, connect, origin):
    client = connect(serve(cors=(f"{PAGE}/",)))
    response = client.ask(build("ListTables", {}, origin=origin))
    assert (response.status, response.headers["access-control-allow-origin"]) == (200, "*")
    assert client.ask(build(origin=origin, **PREFLIGHT)).status == 200


@pytest.mark.parametrize(
    "origin", ["null", "https://page.example.evil.example", "https://page.example:444", "http://page.example", "*"]
)
def test_other_origins_are_refused_beside_an_allowed_one(serve, connect, origin):
    client = connect(serve(cors=(PAGE,)))
    assert client.ask(build("ListTables", {}, origin=origin)).status == 403


@pytest.mark.parametrize("origin", [PAGE, "null", "x"])
def test_every_origin_can_be_allowed_by_name(serve, connect, origin):
    assert connect(serve(cors=("*",))).ask(build("ListTables", {}, origin=origin)).status == 200


def test_a_repeated_origin_is_refused(serve, connect):
    client = connect(serve(cors=("*",)))
    assert client.ask(raw("/", "Host: localhost", f"Origin: {PAGE}", f"Origin: {PAGE}")).status == 400


def test_a_cached_head_does_not_let_an_origin_pass(client):
    for _ in range(4):
        assert client.ask(get("a")).status == 200
    assert client.ask(get("a", origin=PAGE)).status == 403


# -- Host


@pytest.mark.parametrize(
    "host",
    [
        "localhost", "localhost:8000", "LOCALHOST", "localhost.", "localhost.:8000", "db.localhost", "a.b.LocalHost:1",
        "127.0.0.1", "127.0.0.1:9", "127.1.2.3", "[::1]", "[::1]:8000", "localhost:", "[::ffff:127.0.0.1]:8000",
    ],
)  # fmt: skip
def test_the_names_of_this_machine_are_accepted(client, host):
    assert client.ask(build("ListTables", {}, host=host)).status == 200


@pytest.mark.parametrize(
    "host",
    [
        "rebound.example", "rebound.example:8000", "localhost.evil.example", "evillocalhost", "127.0.0.1.evil.example",
        "192.168.1.7", "[2001:db8::1]", "[::ffff:192.168.1.7]", "2130706433", "0x7f.1", "dynamodb:8000",
        "169.254.169.254", "rebound.example.",
    ],
)  # fmt: skip
@pytest.mark.parametrize("build_request", [
    lambda host: build("ListTables", {}, host=host),
    lambda host: build(method="GET", path="/metrics", host=host),
    lambda host: build(method="GET", host=host),
    lambda host: build(host=host, origin=PAGE, **PREFLIGHT),
], ids=["call", "metrics", "health", "preflight"])  # fmt: skip
def test_other_names_are_refused(client, host, build_request):
    response = client.ask(build_request(host))
    assert response.status == 403
    assert b"--allow-host" in response.body
    assert client.has_ended()


@pytest.mark.parametrize(
    "lines",
    [
        ["Host: localhost", "Host: localhost"],
        ["Host: localhost", "Host: rebound.example"],
        ["Host: localhost,rebound.example"],
        ["Host: localhost rebound.example"],
        ["Host: user@localhost"],
        ["Host: localhost/x"],
        ["Host: evil.com\\.localhost"],
        ["Host: evil.com,.localhost"],
        ["Host: [::1"],
        ["Host: \xe9"],
        ["Host:"],
        [],
    ],
)
def test_a_repeated_malformed_or_missing_host_is_refused(client, lines):
    assert client.ask(raw("/", *lines)).status in {400, 403}
    assert client.has_ended()


def test_http_1_0_needs_no_host(client):
    assert client.ask(raw("/", version="1.0")).status == 200


def test_a_whole_url_as_target_must_name_this_machine_too(connect, server):
    assert connect(server).ask(raw("http://rebound.example/", "Host: localhost")).status == 403
    assert connect(server).ask(raw("http://localhost/", "Host: rebound.example")).status == 403
    assert connect(server).ask(raw("http://localhost@rebound.example/", "Host: localhost")).status in {400, 403}


def test_a_web_socket_is_refused(client):
    lines = ["Host: localhost", "Connection: Upgrade", "Upgrade: websocket", f"Origin: {PAGE}"]
    assert client.ask(raw("/", *lines)).status == 403


def test_a_host_can_be_allowed(serve, connect):
    server = serve(allow_hosts=("Dynamodb:8000",))
    for host in ("dynamodb:8000", "dynamodb", "DYNAMODB."):
        assert connect(server).ask(build("ListTables", {}, host=host)).status == 200
    assert connect(server).ask(build("ListTables", {}, host="other:8000")).status == 403


def test_every_host_can_be_allowed_by_name(serve, connect):
    assert connect(serve(allow_hosts=("*",))).ask(build("ListTables", {}, host="any.example")).status == 200


def test_a_server_on_all_addresses_accepts_addresses_but_no_names(serve, connect):
    server = serve(host="0.0.0.0")
    assert connect(server).ask(build("ListTables", {}, host="192.168.1.7:8000")).status == 200
    assert connect(server).ask(build("ListTables", {}, host="0.0.0.0:8000")).status == 200
    refusal = connect(server).ask(build("ListTables", {}, host="dynamodb:8000"))
    assert (
        refusal.status,
        b"--allow-host dynamodb (for instance the service name of a container)" in refusal.body,
    ) == (403, True)


def test_the_name_that_the_server_was_told_to_listen_on_is_accepted():
    check = CrossOriginCheck(["db.internal", "10.0.0.5"])
    assert check.find_host_problem(b"DB.internal:8000", repeated=False, version="1.1") is None
    assert check.find_host_problem(b"10.0.0.5", repeated=False, version="1.1") is None
    assert check.find_host_problem(b"10.0.0.6", repeated=False, version="1.1") is not None


def test_a_refusal_is_logged_once_per_origin(client, server, connect, caplog):
    for _ in range(2):
        connect(server).ask(build("ListTables", {}, origin=PAGE))
    (record,) = [each for each in caplog.records if each.message == "refused a request"]
    assert "--cors https://page.example" in record.fields["reason"]


def test_what_can_be_an_origin_or_a_host():
    assert [text for text in ("http://a", "https://a:1/", "null", "a", "http://", "http://a/b") if is_origin(text)] == [
        "http://a", "https://a:1/", "null",
    ]  # fmt: skip
    assert [text for text in ("a", "a:1", "[::1]:1", "http://a", "a b", "") if is_host(text)] == ["a", "a:1", "[::1]:1"]


@pytest.mark.parametrize("host", ["evil.com\\.localhost", "evil.com,.localhost"])
def test_a_name_with_a_backslash_or_comma_is_no_host(host):
    assert not is_host(host)
