"""Servers with a configuration file: several queue managers, what is kept where, limits that clients are told of."""

import signal

import pytest

import server as servers
from paho_client import UNREAD, Refused

KEPT = {"clean": False, "SessionExpiryInterval": 3600}


@pytest.fixture
def configured(new_server, tmp_path):
    """Starts a server from queue managers: each a tuple of its name, its durability and lines of its [mqtt] table."""

    def start(*queue_managers):
        ports = [servers.free_port() for _ in queue_managers]
        text = "".join(section(*one, port=port) for one, port in zip(queue_managers, ports, strict=True))
        config = tmp_path / "ferrymq.toml"
        config.write_text(text)
        return new_server(config=config, ports=ports)

    return start


def section(name, durability="fsync", *mqtt, port):
    lines = ["[[queue_manager]]", f'name = "{name}"', f'durability = "{durability}"', "[queue_manager.mqtt]", *mqtt,
             "[[queue_manager.listener]]", 'protocol = "mqtt"', f'address = "127.0.0.1:{port}"']
    return "\n".join(lines) + "\n"


def addresses(server):
    return [servers.Address("127.0.0.1", port) for port in server.ports]


def test_two_queue_managers_in_one_process_share_nothing(client, configured, name):
    a, b = addresses(configured(("A",), ("B",)))
    same = name()
    on_a, on_b = client(a, client_id=same, **KEPT), client(b, client_id=same, **KEPT)
    for one in (on_a, on_b):
        one.subscribe("#")
    on_a.publish("t", b"for A", retain=True)
    on_b.publish("t", b"for B", retain=True)
    assert on_a.receive().payload == b"for A"
    assert on_b.receive().payload == b"for B"
    late = client(b)
    late.subscribe("#")
    assert late.receive().payload == b"for B"


def test_each_queue_manager_keeps_its_own_data(client, configured, name):
    server = configured(("A",), ("B",))
    readers = [name(), name()]
    for at, reader in zip(addresses(server), readers, strict=True):
        client(at, client_id=reader, **KEPT).subscribe("t", qos=1)
    for reader_at in addresses(server):
        client(reader_at).publish("kept", f"{reader_at.port}", retain=True)
    server.kill()
    server.start()
    for at, reader in zip(addresses(server), readers, strict=True):
        back = client(at, client_id=reader, **KEPT)
        assert back.session_present
        back.subscribe("kept")
        assert back.receive().payload == str(at.port).encode()


def test_memory_keeps_nothing_over_a_restart_and_works_until_then(client, configured, name):
    server = configured(("A", "memory"))
    reader = name()
    first = client(server, client_id=reader, **KEPT)
    first.subscribe("t", qos=2)
    first.disconnect()
    client(server).publish("t", b"x", qos=2)
    back = client(server, client_id=reader, **KEPT)
    assert back.session_present and back.receive().payload == b"x"
    assert server.terminate() == 0
    server.start()
    assert not client(server, client_id=reader, **KEPT).session_present


def test_memory_and_fsync_live_side_by_side(client, configured, name):
    server = configured(("M", "memory"), ("F", "fsync"))
    reader = name()
    for at in addresses(server):
        client(at, client_id=reader, **KEPT)
    server.kill()
    server.start()
    assert [client(at, client_id=reader, **KEPT).session_present for at in addresses(server)] == [False, True]


def test_the_server_overrides_a_longer_keep_alive(client, configured):
    server = configured(("A", "fsync", "keep_alive_max_s = 30"))
    assert client(server, keepalive=600).connack_properties.ServerKeepAlive == 30
    assert getattr(client(server, keepalive=20).connack_properties, "ServerKeepAlive", 20) == 20


def test_clients_are_told_of_limits(client, configured):
    server = configured(("A", "fsync", "receive_maximum = 7", "max_packet_size = 4096", "topic_alias_max = 3"))
    told = client(server).connack_properties
    assert (told.ReceiveMaximum, told.MaximumPacketSize, told.TopicAliasMaximum) == (7, 4096, 3)


def test_a_packet_beyond_the_limit_ends_its_connection_alone(client, configured):
    server = configured(("A", "fsync", "max_packet_size = 4096"))
    other, large = client(server), client(server)
    other.subscribe("t")
    large.paho.publish("t", b"x" * 5000, qos=1)
    reason, from_server, _ = large.await_disconnect()
    assert from_server and reason in (0x95, UNREAD)
    other.publish("t", b"alive")
    assert other.receive().payload == b"alive"


def test_a_packet_just_within_the_limit_is_taken(client, configured):
    server = configured(("A", "fsync", "max_packet_size = 4096"))
    both = client(server)
    both.subscribe("t")
    fixed_header, topic, packet_id, no_properties = 3, 3, 2, 1
    body = b"x" * (4096 - fixed_header - topic - packet_id - no_properties)
    both.publish("t", body)
    assert both.receive().payload == body


def test_a_full_queue_refuses_the_publisher_and_loses_nothing(client, configured, name):
    server = configured(("A", "fsync", "[queue_manager.limits]", "queue_depth = 10"))
    reader = name()
    first = client(server, client_id=reader, **KEPT)
    first.subscribe("t", qos=1)
    first.disconnect()
    publisher = client(server)
    assert [publisher.publish("t", str(n)) for n in range(12)] == [0] * 10 + [0x97] * 2
    back = client(server, client_id=reader, **KEPT)
    assert back.receive_payloads(10) == [str(n).encode() for n in range(10)]
    assert publisher.publish("t", b"again") == 0


def test_a_longer_session_expiry_than_allowed_is_told(client, configured, name):
    server = configured(("A", "fsync", "[queue_manager.limits]", "session_expiry_s = 60"))
    asked = client(server, client_id=name(), **KEPT).connack_properties
    assert asked.SessionExpiryInterval == 60


def test_a_lower_maximum_qos_is_told_and_kept(client, configured):
    server = configured(("A", "fsync", "maximum_qos = 1"))
    limited = client(server)
    assert limited.connack_properties.MaximumQoS == 1
    assert limited.subscribe("t", qos=2) == [1]


def test_retained_messages_can_be_turned_off(client, configured):
    server = configured(("A", "fsync", "retain_available = false"))
    assert client(server).connack_properties.RetainAvailable == 0


def test_response_information_can_be_configured(client, configured):
    server = configured(("A", "fsync", 'response_information_prefix = "answers/"'))
    asked = client(server, RequestResponseInformation=1).connack_properties.ResponseInformation
    assert asked.startswith("answers/")


def test_a_server_to_be_emptied_sends_its_clients_elsewhere(client, configured):
    server = configured(("A", "fsync", 'server_reference = "other.example:1883"'))
    with pytest.raises(Refused, match="(?i)another server"):
        client(server)


@pytest.mark.parametrize("text, named", [
    ("[limits]\nconections = 5\n", ["conections", "line 2"]),
    ("[[queue_manager]]\ndurability = 'sometimes'\n", ["sometimes", "line 2"]),
    ("[[queue_manager]\n", ["line 1"]),
])
def test_a_malformed_configuration_is_refused_by_file_line_and_word(new_server, tmp_path, text, named):
    config = tmp_path / "bad.toml"
    config.write_text(text)
    with pytest.raises(AssertionError, match="ended with") as refused:
        new_server(config=config)
    assert all(word in str(refused.value) for word in ["bad.toml", *named])


def test_every_queue_manager_ends_in_order(client, configured):
    server = configured(("A",), ("B",), ("C", "memory"))
    for at in addresses(server):
        client(at)
    assert server.terminate(signal.SIGTERM) == 0
