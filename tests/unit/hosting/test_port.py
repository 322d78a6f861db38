"""A port that is not available is explained."""

import os
import re
import socket
from pathlib import Path

import pytest

from hashrange.hosting.port import DEFAULT_PORTS, WEB_PORT, PortRefused, find_free_port, find_owner, listen, read_url
from hashrange.server.settings import PORT


def test_a_free_port_is_listened_on():
    with listen("127.0.0.1", 0, "--port") as listening:
        socket.create_connection(listening.getsockname()).close()
        assert read_url(listening) == f"http://127.0.0.1:{listening.getsockname()[1]}"


def test_an_address_for_everybody_is_reached_from_this_machine():
    with listen("0.0.0.0", 0, "--port") as listening:
        assert read_url(listening).startswith("http://127.0.0.1:")


@pytest.mark.skipif(not socket.has_ipv6, reason="no IPv6 here")
def test_version_6_addresses_stand_in_brackets():
    try:
        listening = listen("::1", 0, "--port")
    except PortRefused:
        pytest.skip("no IPv6 here")
    with listening:
        assert read_url(listening).startswith("http://[::1]:")


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="only Linux tells who listens")
def test_a_taken_port_is_explained_with_who_has_it():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(PortRefused) as refused:
            listen("127.0.0.1", port, "--web-port")
    text = str(refused.value)
    assert f"Port {port} on 127.0.0.1 is taken by process {os.getpid()} (" in text
    assert re.search(r"choose another port: --web-port \d+ \(or --web-port 0 for any free one\)\.$", text)


@pytest.mark.parametrize("taken", [PORT, WEB_PORT, 8003, 8004, 8010])
def test_the_port_that_is_advised_is_free_and_not_one_of_ours(taken):
    advised = find_free_port("127.0.0.1", taken)
    assert advised not in DEFAULT_PORTS
    with listen("127.0.0.1", advised, "--port"):
        another = find_free_port("127.0.0.1", taken)
    assert another not in {advised, *DEFAULT_PORTS}


def test_the_port_that_is_advised_is_not_the_one_given_for_the_other_service():
    advised = find_free_port("127.0.0.1", WEB_PORT)
    assert find_free_port("127.0.0.1", WEB_PORT, later=advised) != advised


def test_near_the_last_port_any_free_one_is_advised():
    assert find_free_port("127.0.0.1", 65535) is None


def test_nobody_listens_on_a_port_that_is_only_connected_from():
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
        assert find_owner(client.getsockname()[1]) is None


def test_an_address_of_another_machine_is_explained():
    with pytest.raises(PortRefused, match=r"Cannot listen on 192\.0\.2\.1:0: .* an address of this machine\?"):
        listen("192.0.2.1", 0, "--port")


def test_a_name_that_nobody_knows_is_explained():
    with pytest.raises(PortRefused, match=r"Cannot listen on nowhere\.invalid:0"):
        listen("nowhere.invalid", 0, "--port")
