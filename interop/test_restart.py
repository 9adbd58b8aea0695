"""What is on disk when the server is killed, and what an orderly end looks like."""

import signal

import pytest

from paho_client import let_pass, properties
from server import Server

KEPT = {"clean": False, "SessionExpiryInterval": 3600}


@pytest.fixture
def server(new_server):
    """A server of this test's own."""
    return new_server()


def restart(server):
    server.kill()
    server.start()


def test_a_session_its_subscriptions_and_its_backlog_survive(client, server, name, version):
    kept = dict(KEPT, version=version) if version == "5" else {"clean": False, "version": version}
    reader = name()
    first = client(server, client_id=reader, **kept)
    first.subscribe("a/+", "b/#", qos=2)
    first.disconnect()
    publisher = client(server)
    for n in range(50):
        publisher.publish(f"a/{n}", str(n), qos=1 + n % 2)
    restart(server)
    back = client(server, client_id=reader, **kept)
    assert back.session_present or version == "3.1"
    got = [back.receive() for _ in range(50)]
    for qos in (1, 2):  # Paho hands a QoS 2 message over when it is released, so each quality has its own order
        expected = [(f"a/{n}", str(n).encode()) for n in range(qos - 1, 50, 2)]
        assert [(m.topic, m.payload) for m in got if m.qos == qos] == expected
    client(server).publish("b/x/y", b"still subscribed")
    assert back.receive().payload == b"still subscribed"


def test_retained_messages_survive_with_their_properties(client, server):
    publisher = client(server)
    for n in range(20):
        publisher.publish(f"r/{n}", str(n), retain=True, qos=n % 3, ContentType="text/plain", UserProperty=[("n", str(n))])
    publisher.publish("r/0", b"", retain=True, qos=1)
    publisher.publish("r/end", b"end", retain=True, qos=1)
    restart(server)
    late = client(server)
    late.subscribe("r/#")
    got = {m.topic: m for m in (late.receive() for _ in range(20))}
    assert set(got) == {f"r/{n}" for n in range(1, 20)} | {"r/end"}
    for n in range(1, 20):
        assert got[f"r/{n}"].payload == str(n).encode()
        assert got[f"r/{n}"].properties.UserProperty == [("n", str(n))]


def test_what_was_under_way_comes_again_and_marked(client, server, name):
    reader = name()
    silent = client(server, client_id=reader, manual_ack=True, **KEPT)
    silent.subscribe("t", qos=1)
    client(server).publish("t", b"x")
    first = silent.receive()
    restart(server)
    again = client(server, client_id=reader, **KEPT).receive()
    assert (again.payload, again.dup, again.mid) == (b"x", True, first.mid)


def test_what_was_acknowledged_to_the_server_before_an_orderly_end_does_not_come_again(client, server, name):
    reader = name()
    first = client(server, client_id=reader, **KEPT)
    first.subscribe("t", "end")
    publisher = client(server)
    for n in range(10):
        publisher.publish("t", str(n), qos=2)
    first.receive_payloads(10)
    first.disconnect()
    assert server.terminate() == 0
    server.start()
    client(server).publish("end", b"end")
    assert client(server, client_id=reader, **KEPT).receive_until(b"end") == []


def test_an_unsubscribe_and_a_clean_start_survive(client, server, name):
    reader, ended = name(), name()
    first = client(server, client_id=reader, **KEPT)
    first.subscribe("t", "end")
    first.unsubscribe("t")
    client(server, client_id=ended, **KEPT).subscribe("t")
    client(server, client_id=ended, clean=True).disconnect()
    restart(server)
    publisher = client(server)
    publisher.publish("t", b"x")
    publisher.publish("end", b"end")
    assert client(server, client_id=reader, **KEPT).receive_until(b"end") == []
    assert not client(server, client_id=ended, clean=False).session_present


def test_a_session_that_ended_before_the_crash_stays_ended(client, server, name):
    gone = name()
    client(server, client_id=gone, clean=True).disconnect()
    restart(server)
    assert not client(server, client_id=gone, clean=False).session_present


def test_a_will_that_waits_for_its_delay_survives(client, server, name):
    will = {"topic": "will", "payload": b"gone", "qos": 1,
            "properties": properties("WILLMESSAGE", WillDelayInterval=2)}
    client(server, client_id=name(), will=will, **KEPT).vanish()
    restart(server)
    watcher = client(server)
    watcher.subscribe("will")
    assert watcher.receive().payload == b"gone"


def test_a_client_that_was_connected_at_the_crash_finds_its_session_and_its_will_cancelled(client, server, name):
    will = {"topic": "will", "payload": b"gone", "properties": properties("WILLMESSAGE", WillDelayInterval=1)}
    returning = name()
    client(server, client_id=returning, will=will, **KEPT)
    restart(server)
    watcher = client(server)
    watcher.subscribe("will")
    assert client(server, client_id=returning, **KEPT).session_present
    let_pass(lambda **options: client(server, **options), 2)
    client(server).publish("will", b"end")
    assert watcher.receive_until(b"end") == []


def test_a_large_message_survives(client, server, name):
    reader, body = name(), bytes(range(256)) * 4096
    first = client(server, client_id=reader, **KEPT)
    first.subscribe("large", qos=1)
    first.disconnect()
    client(server).publish("large", body)
    restart(server)
    assert client(server, client_id=reader, **KEPT).receive(timeout=30).payload == body


def test_many_crashes_in_a_row_change_nothing(client, server, name):
    reader = name()
    first = client(server, client_id=reader, **KEPT)
    first.subscribe("t", qos=1)
    first.disconnect()
    for n in range(10):
        client(server).publish("t", str(n))
        restart(server)
    assert client(server, client_id=reader, **KEPT).receive_payloads(10) == [str(n).encode() for n in range(10)]


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_an_orderly_end_tells_clients_and_exits_with_0(client, server, how):
    connected = client(server)
    assert server.terminate(how) == 0, server.output()
    _, from_server, _ = connected.await_disconnect()
    assert from_server


def test_a_second_server_on_the_same_data_is_refused_and_the_first_goes_on(client, server, new_server):
    with pytest.raises(AssertionError, match="ended with") as refused:
        new_server()
    assert "ended with 0 " not in str(refused.value)
    connected = client(server)
    connected.subscribe("t")
    connected.publish("t", b"x")
    assert connected.receive().payload == b"x"


def test_a_taken_port_is_refused_by_name(server, tmp_path):
    other = Server(tmp_path / "other", ports=[server.port])
    other.spawn()
    assert other.process.wait(timeout=20) != 0
    assert f"127.0.0.1:{server.port}" in other.output()


def test_the_server_says_where_it_listens(server):
    assert f"127.0.0.1:{server.port}" in server.output()
