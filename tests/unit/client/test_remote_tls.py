"""TLS and proxies: certificates are checked, and https goes through the proxy that the environment names."""

import asyncio
import base64
import socket
import ssl
import threading
from contextlib import contextmanager

import pytest
import trustme

from hashrange.client import errors
from hashrange.client.http.connector import find_proxy, parse_endpoint
from hashrange.client.http.network_stream import make_tls_context
from hashrange.client.remote import connect
from tests.unit.client.misbehaving_server import FINE, GREETING, CloseConnection, NoPauseRemote, misbehave, render


@pytest.fixture(scope="module")
def authority():
    return trustme.CA()


@pytest.fixture(scope="module")
def bundle(authority, tmp_path_factory):
    path = tmp_path_factory.mktemp("tls") / "ca.pem"
    authority.cert_pem.write_to_path(path)
    return str(path)


def certify(authority, name):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(name).configure_cert(context)
    return context


@pytest.fixture
def context(authority):
    return certify(authority, "127.0.0.1")


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch):
    for name in ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "NO_PROXY", "AWS_CA_BUNDLE"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


def test_an_endpoint_with_a_good_certificate_is_trusted(context, bundle):
    with misbehave(FINE, context=context) as server, NoPauseRemote(server.url, bundle=bundle) as client:
        assert [client.ask(), client.ask()] == [GREETING] * 2
        assert server.connections == 1


def test_the_bundle_of_the_environment_is_trusted(context, bundle, monkeypatch):
    monkeypatch.setenv("AWS_CA_BUNDLE", bundle)
    with misbehave(FINE, context=context) as server, connect(server.url, access_key="k", secret_key="s") as remote:
        assert remote.call("ListTables") == GREETING


def test_an_unknown_authority_is_refused_at_once(context):
    with misbehave(FINE, context=context) as server, NoPauseRemote(server.url) as client:
        with pytest.raises(errors.CertificateRefused):
            client.ask()
        assert server.asked == []
        assert client.naps == []


def test_a_certificate_of_another_name_is_refused(authority, bundle):
    other = certify(authority, "elsewhere.example")
    with misbehave(FINE, context=other) as server, NoPauseRemote(server.url, bundle=bundle) as client:
        with pytest.raises(errors.CertificateRefused):
            client.ask()
        assert server.asked == []


def test_tls_works_on_an_event_loop_too(context, bundle):
    async def ask(remote):
        return await asyncio.gather(*(remote.call_async("ListTables") for _ in range(10)))

    with misbehave(FINE, context=context) as server, NoPauseRemote(server.url, bundle=bundle) as client:
        assert asyncio.run(ask(client.remote)) == [GREETING] * 10
        assert client.ask() == GREETING


def test_a_large_answer_comes_through_tls_whole(context, bundle):
    response = {"TableNames": ["x" * 1_000_000]}
    with (
        misbehave(render(body=response), context=context) as server,
        NoPauseRemote(server.url, bundle=bundle) as client,
    ):
        assert client.ask() == response
        assert asyncio.run(client.remote.call_async("ListTables")) == response


@pytest.mark.parametrize("end", [CloseConnection(), CloseConnection(FINE[:-5]), CloseConnection(FINE[:-5], reset=True)])
def test_a_tls_connection_that_ends_is_tried_again(context, bundle, end):
    with misbehave(end, FINE, context=context) as server, NoPauseRemote(server.url, bundle=bundle) as client:
        assert client.ask() == GREETING
        assert len(server.asked) == 2


def test_a_server_without_tls_is_said(bundle):
    with misbehave(FINE) as server:
        url = server.url.replace("http:", "https:")
        with (
            NoPauseRemote(url, attempts=1, bundle=bundle, connect_timeout=0.3) as client,
            pytest.raises(errors.Unreachable),
        ):
            client.ask()


def test_the_default_context_checks_certificates_and_names():
    context = make_tls_context()
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname
    assert context.minimum_version >= ssl.TLSVersion.TLSv1_2


@pytest.mark.parametrize("text", [None, "no certificate"])
def test_a_bundle_that_cannot_be_used_is_named(tmp_path, text):
    path = tmp_path / "ca.pem"
    if text:
        path.write_text(text, "utf-8")
    with pytest.raises(errors.CertificateRefused, match=r"ca\.pem"):
        make_tls_context(str(path))


class Proxy:
    """A proxy that passes bytes on, or refuses."""

    def __init__(self, response=b"HTTP/1.1 200 Connection established\r\n\r\n", context=None):
        self.response = response
        self.context = context
        self.asked = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.threads = []
        self.start(self.listen)

    def start(self, work, *arguments):
        self.threads.append(threading.Thread(target=work, args=arguments, daemon=True))
        self.threads[-1].start()

    def listen(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            self.start(self.handle_connection, client)

    def handle_connection(self, client):
        try:
            if self.context:
                client = self.context.wrap_socket(client, server_side=True)
            head = b""
            while b"\r\n\r\n" not in head:
                head += client.recv(1024)
            self.asked.append(head.decode())
            client.sendall(self.response)
            host, _, port = head.split(b" ")[1].decode().rpartition(":")
            with socket.create_connection((host, int(port))) as server:
                self.start(pass_on, server, client)
                pass_on(client, server)
        except OSError:
            pass
        finally:
            client.close()

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for thread in self.threads:
            thread.join(100)


def pass_on(source, sink):
    try:
        while data := source.recv(65536):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        pass


@contextmanager
def proxied(monkeypatch, *, user="", **options):
    proxy = Proxy(**options)
    scheme = "https" if options.get("context") else "http"
    monkeypatch.setenv("HTTPS_PROXY", f"{scheme}://{user}127.0.0.1:{proxy.port}")
    try:
        yield proxy
    finally:
        proxy.close()


def test_https_goes_through_the_proxy(context, bundle, monkeypatch):
    with misbehave(FINE, context=context) as server, proxied(monkeypatch) as proxy:
        with NoPauseRemote(server.url, bundle=bundle) as client:
            assert [client.ask(), client.ask()] == [GREETING] * 2
            assert asyncio.run(client.remote.call_async("ListTables")) == GREETING
        assert [asked.split("\r\n")[0] for asked in proxy.asked] == [f"CONNECT 127.0.0.1:{server.port} HTTP/1.1"]


def test_the_proxy_is_told_who_asks(context, bundle, monkeypatch):
    with misbehave(FINE, context=context) as server, proxied(monkeypatch, user="me:p%40ss@") as proxy:
        with NoPauseRemote(server.url, bundle=bundle) as client:
            client.ask()
        login = base64.b64encode(b"me:p@ss").decode()
        assert f"Proxy-Authorization: Basic {login}\r\n" in proxy.asked[0]


def test_a_proxy_may_be_reached_through_tls_itself(context, bundle, monkeypatch):
    with misbehave(FINE, context=context) as server, proxied(monkeypatch, context=context) as proxy:
        with NoPauseRemote(server.url, bundle=bundle) as client:
            assert client.ask() == GREETING
        assert len(proxy.asked) == 1


@pytest.mark.parametrize("response", [b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", b"garbage\r\n\r\n"])
def test_a_proxy_that_refuses_is_named(context, bundle, monkeypatch, response):
    with misbehave(FINE, context=context) as server, proxied(monkeypatch, response=response) as proxy:
        reason = f"the proxy 127.0.0.1:{proxy.port} responded"
        with (
            NoPauseRemote(server.url, attempts=1, bundle=bundle) as client,
            pytest.raises(errors.Unreachable, match=reason),
        ):
            client.ask()
        assert server.asked == []


def test_hosts_that_need_no_proxy_have_none(monkeypatch):
    monkeypatch.setenv("HTTPS_PROXY", "proxy.example:3128")
    monkeypatch.setenv("NO_PROXY", "localhost,.internal.example")
    assert find_proxy(parse_endpoint("https://dynamodb.eu-west-2.amazonaws.com")).authority == "proxy.example:3128"
    assert find_proxy(parse_endpoint("https://db.internal.example")) is None
    assert find_proxy(parse_endpoint("http://127.0.0.1:8000")) is None


@pytest.mark.parametrize("url", ["127.0.0.1:8000", "ftp://x", "http://", "http://x:99999", "http://x/?q=1", ""])
def test_what_is_no_endpoint_is_refused(url):
    with pytest.raises(errors.EndpointUnknown):
        parse_endpoint(url)


@pytest.mark.parametrize(
    ("url", "authority"),
    [
        ("http://127.0.0.1:8000", "127.0.0.1:8000"),
        ("http://x:80/", "x"),
        ("https://x:443", "x"),
        ("https://x:80", "x:80"),
        ("http://[::1]:8000", "[::1]:8000"),
    ],
)
def test_the_host_header_names_a_port_only_when_it_is_unusual(url, authority):
    assert parse_endpoint(url).authority == authority
