"""Starting and stopping a server, and one that polls instead of waiting (`spin`)."""

import threading
import time

import pytest

from hashrange.server.runner import raise_file_limit, serve_in_background
from hashrange.server.settings import ServerSettings
from tests.unit.server.wire import Client, build, get, put, wait_until_refused

LIST = build("ListTables", {})


def test_a_port_that_is_taken_is_an_error_in_the_callers_thread(engine, server):
    port = int(server.url.rpartition(":")[2])
    with pytest.raises(OSError, match="address already in use"), serve_in_background(engine, ServerSettings(port=port)):
        pass


def test_a_failure_in_the_block_ends_the_server(engine):
    ports = []

    def fail():
        with serve_in_background(engine) as server:
            ports.append(int(server.url.rpartition(":")[2]))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    wait_until_refused(ports[0])


def test_an_ipv6_address_is_written_in_brackets(serve):
    try:
        server = serve(host="::1")
    except OSError:
        pytest.skip("no IPv6 here")
    assert server.url.startswith("http://[::1]:")
    assert server.is_private


def test_only_loopback_addresses_are_private(serve):
    assert serve().is_private
    assert not serve(host="0.0.0.0").is_private


def test_a_spinning_server_answers_the_same(serve, connect):
    client = connect(serve(spin=100e-6))
    assert [client.ask(put(f"k{number}")).status for number in range(20)] == [200] * 20
    assert client.ask(get("k19")).status == 200


def test_a_spinning_server_does_not_burn_the_processor_when_idle(serve, connect):
    client = connect(serve(spin=100e-6))
    client.ask(LIST)
    before = time.process_time()
    threading.Event().wait(0.3)
    assert time.process_time() - before < 0.1


class Stopping:
    """A server that is told to stop while the test goes on."""

    def __init__(self, engine, **settings):
        self.running = serve_in_background(engine, ServerSettings(port=0, **settings))
        self.server = self.running.__enter__()
        self.port = int(self.server.url.rpartition(":")[2])
        self.thread = threading.Thread(target=self.running.__exit__, args=(None, None, None))

    def begin(self):
        self.thread.start()
        while not self.server.stopping:
            time.sleep(0.001)

    def end(self):
        self.thread.join(200)
        assert not self.thread.is_alive()


def test_a_stopping_server_hangs_up_on_idle_clients(engine):
    stopping = Stopping(engine)
    client = Client(stopping.port)
    client.ask(LIST)
    stopping.begin()
    assert client.has_ended()
    stopping.end()
    client.close()


def test_a_stopping_server_takes_no_new_clients_while_it_waits_for_others(engine):
    stopping = Stopping(engine)
    client, witness = Client(stopping.port), Client(stopping.port)
    client.send(LIST[:20])
    witness.ask(LIST)  # by now the server has seen the beginning
    stopping.begin()
    wait_until_refused(stopping.port)
    client.send(LIST[20:])
    assert client.read().status == 200
    stopping.end()
    client.close()
    witness.close()


def test_a_request_that_was_arriving_is_answered_and_is_the_last(engine):
    stopping = Stopping(engine)
    client, witness = Client(stopping.port), Client(stopping.port)
    client.send(put("late")[:-5])
    witness.ask(LIST)  # by now the server has seen the beginning
    stopping.begin()
    client.send(put("late")[-5:])
    response = client.read()
    assert (response.status, response.headers["connection"]) == (200, "close")
    assert client.has_ended()
    stopping.end()
    assert engine.call("GetItem", {"TableName": "things", "Key": {"pk": {"S": "late"}}}) != b"{}"
    client.close()
    witness.close()


@pytest.mark.parametrize("is_refused", [True, False], ids=["refused", "not reading"])
def test_a_client_that_takes_no_notice_does_not_delay_the_stop(engine, is_refused):
    engine.call("PutItem", {"TableName": "things", "Item": {"pk": {"S": "big"}, "text": {"S": "x" * 300_000}}})
    stopping = Stopping(engine, grace=150.0, stall=0.2, linger=150.0, write_timeout=150.0)
    client, witness = Client(stopping.port), Client(stopping.port)
    client.send(b"garbage\r\n\r\n" if is_refused else get("big") * 60)
    witness.ask(LIST)
    began = time.monotonic()
    stopping.begin()
    stopping.end()
    assert time.monotonic() - began < 100  # of a grace of 150
    client.close()
    witness.close()


def test_a_request_that_never_arrives_is_not_waited_for_longer_than_the_grace(engine):
    stopping = Stopping(engine, grace=0.2)
    client = Client(stopping.port)
    client.send(LIST[:20])
    stopping.begin()
    assert client.has_ended()
    stopping.end()
    client.close()


def test_the_limit_of_open_files_is_raised_as_far_as_allowed():
    import resource

    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 512
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, before[1]))
        assert raise_file_limit(wanted) == wanted
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (wanted, before[1])
        assert raise_file_limit(10) == 10
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (wanted, before[1])
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
