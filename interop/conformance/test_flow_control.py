"""Chapter 4.9: receive maximum, both ways; and maximum packet size, both ways (3.1.2.11, 3.2.2.3)."""

import pytest
import wire
from peer import kept
from statements import both_versions, shows_5
from wire import CONNACK, DISCONNECT, PUBACK, PUBCOMP, PUBLISH, PUBREC, PUBREL, V5

SMALL = 128


def published(connect, name, count, qos):
    """A publisher, after it saw the acknowledgements of so many messages."""
    publisher = connect(V5)
    for number in range(count):
        publisher.publish(f"{name}/t", b"%d" % number, qos)
    return publisher


@pytest.mark.parametrize("maximum", [1, 2, 7])
@shows_5("3.3.4-9", "4.9.0-1", "4.9.0-2")
def test_no_more_qos_1_messages_are_in_flight_than_the_client_allows(connect, name, maximum):
    peer = connect(V5, props={"receive_maximum": maximum})
    peer.subscribe(f"{name}/t", qos=1)
    published(connect, name, 15, 1)
    seen = []
    while len(seen) < 15:
        window = [peer.expect(PUBLISH) for _ in range(min(maximum, 15 - len(seen)))]
        peer.alive()  # no more than those
        seen += window
        peer.send(b"".join(wire.acknowledge(PUBACK, p.packet_id) for p in window))
    assert [p.payload for p in seen] == [b"%d" % n for n in range(15)]


@shows_5("3.3.4-9", "4.9.0-2")
def test_each_puback_lets_one_more_message_through(connect, name):
    peer = connect(V5, props={"receive_maximum": 2})
    peer.subscribe(f"{name}/t", qos=1)
    published(connect, name, 6, 1)
    first = peer.expect(PUBLISH)
    peer.expect(PUBLISH)
    for _ in range(4):
        peer.alive()
        peer.send(wire.acknowledge(PUBACK, first.packet_id))
        first = peer.expect(PUBLISH)


@shows_5("3.3.4-9", "4.9.0-2")
def test_pubrec_does_not_give_the_quota_back_but_pubcomp_does(connect, name):
    peer = connect(V5, props={"receive_maximum": 1})
    peer.subscribe(f"{name}/t", qos=2)
    published(connect, name, 3, 2)
    for number in range(3):
        found = peer.expect(PUBLISH)
        assert found.payload == b"%d" % number
        peer.send(wire.acknowledge(PUBREC, found.packet_id))
        assert peer.expect(PUBREL).packet_id == found.packet_id
        peer.alive()
        peer.send(wire.acknowledge(PUBCOMP, found.packet_id))


@shows_5("3.3.4-9")
def test_a_pubrec_that_refuses_gives_the_quota_back(connect, name):
    peer = connect(V5, props={"receive_maximum": 1})
    peer.subscribe(f"{name}/t", qos=2)
    published(connect, name, 2, 2)
    peer.send(wire.acknowledge(PUBREC, peer.expect(PUBLISH).packet_id, 0x97))
    assert peer.expect(PUBLISH).payload == b"1"


@shows_5("3.3.4-9", "4.9.0-1", "4.4.0-1")
def test_redelivery_keeps_to_the_receive_maximum(connect, name):
    first = connect(V5, name, **kept(V5))
    first.subscribe(f"{name}/t", qos=1)
    published(connect, name, 6, 1)
    for _ in range(6):
        first.expect(PUBLISH)
    first.drop()
    second = connect(V5, name, clean=False, props={"session_expiry": 60, "receive_maximum": 2})
    seen = []
    for _ in range(3):
        window = [second.expect(PUBLISH) for _ in range(2)]
        second.alive()
        seen += window
        second.send(b"".join(wire.acknowledge(PUBACK, p.packet_id) for p in window))
    assert [p.payload for p in seen] == [b"%d" % n for n in range(6)]


@shows_5("4.9.0-3", "3.3.4-10")
def test_other_packets_flow_at_a_quota_of_zero(connect, name):
    peer = connect(V5, props={"receive_maximum": 1})
    peer.subscribe(f"{name}/t", qos=1)
    published(connect, name, 3, 1)
    held = peer.expect(PUBLISH)
    assert peer.subscribe(f"{name}/other") == [0]
    assert peer.unsubscribe(f"{name}/other") == [0]
    assert peer.publish(f"{name}/nobody", b"x", 1) < 0x80
    assert peer.publish(f"{name}/nobody", b"x", 2) < 0x80
    peer.alive()
    peer.send(wire.acknowledge(PUBACK, held.packet_id))
    assert peer.expect(PUBLISH).payload == b"1"


@shows_5("3.3.4-9")
def test_qos_0_messages_need_no_quota(connect, name):
    peer = connect(V5, props={"receive_maximum": 1})
    peer.subscribe((f"{name}/t", 1), (f"{name}/0", 0))
    publisher = published(connect, name, 1, 1)
    peer.expect(PUBLISH)
    publisher.publish(f"{name}/0", b"x")
    assert peer.expect(PUBLISH).topic == f"{name}/0"


@shows_5("3.3.4-7", "4.13.1-1")
def test_a_client_that_exceeds_the_receive_maximum_is_disconnected(connect, name):
    peer = connect(V5)
    maximum = peer.connack.property("receive_maximum", 65_535)
    if maximum == 65_535:
        pytest.skip("no client can exceed a receive maximum of 65,535")
    for packet_id in range(1, maximum + 2):
        peer.try_send(wire.publish(V5, name, b"x", 2, packet_id))
    said = peer.until_end()
    assert [p.kind for p in said[:-1]] == [PUBREC] * (len(said) - 1) and len(said) - 1 <= maximum
    assert (said[-1].kind, said[-1].reason) == (DISCONNECT, 0x93)


@shows_5("3.3.4-7")
def test_a_client_may_use_the_whole_receive_maximum(connect, name):
    peer = connect(V5)
    maximum = min(peer.connack.property("receive_maximum", 65_535), 1000)
    for start in (1, 1):  # twice: PUBCOMP gives the quota back
        peer.send(b"".join(wire.publish(V5, name, b"x", 2, start + n) for n in range(maximum)))
        assert [peer.expect(PUBREC).packet_id for _ in range(maximum)] == list(range(1, maximum + 1))
        peer.send(b"".join(wire.acknowledge(PUBREL, start + n) for n in range(maximum)))
        assert [peer.expect(PUBCOMP).packet_id for _ in range(maximum)] == list(range(1, maximum + 1))


# Maximum packet size of the client.


@pytest.mark.parametrize("qos", [0, 1, 2])
@shows_5("3.1.2-24", "3.1.2-25")
def test_a_message_too_large_for_a_client_is_left_out_as_if_it_were_sent(connect, name, qos):
    peer = connect(V5, props={"maximum_packet_size": 300, "receive_maximum": 1})
    other = connect(V5)
    for each in (peer, other):
        each.subscribe(f"{name}/t", qos=qos)
    publisher = connect(V5)
    for payload in (b"small", b"x" * 400, b"x" * 400, b"last"):
        publisher.publish(f"{name}/t", payload, qos)
    found = peer.deliveries(2)
    assert [p.payload for p in found] == [b"small", b"last"] and all(p.size <= 300 for p in found)
    peer.alive()
    assert len(other.deliveries(4)) == 4


@shows_5("3.1.2-24")
def test_a_message_of_exactly_the_maximum_packet_size_is_sent(connect, name):
    topic = f"{name}/t"
    whole = len(wire.publish(V5, topic, b"x" * 400))
    peer = connect(V5, props={"maximum_packet_size": whole})
    peer.subscribe(topic)
    publisher = connect(V5)
    publisher.publish(topic, b"y" * 401)
    publisher.publish(topic, b"x" * 400)
    found = peer.delivery()
    assert (found.payload[:1], found.size) == (b"x", whole)


@shows_5("3.1.2-25", "3.1.2-24")
def test_a_message_too_large_does_not_come_back_with_the_session(connect, name):
    first = connect(V5, name, **kept(V5))
    first.subscribe(f"{name}/t", qos=1)
    first.leave()
    publisher = connect(V5)
    publisher.publish(f"{name}/t", b"x" * 400, 1)
    publisher.publish(f"{name}/t", b"small", 1)
    second = connect(V5, name, clean=False, props={"session_expiry": 60, "maximum_packet_size": 300})
    assert second.delivery().payload == b"small"
    second.alive()


def fits(*packets):
    """That the packets which explain themselves stay within the limit; DISCONNECT of 4 bytes always does."""
    for found in packets:
        assert found.size <= SMALL, f"{found} has {found.size} bytes"


@shows_5("3.4.2-2", "3.4.2-3", "3.5.2-2", "3.5.2-3", "3.6.2-2", "3.6.2-3", "3.7.2-2", "3.7.2-3", "3.9.2-1", "3.9.2-2",
         "3.11.2-1", "3.11.2-2", "3.1.2-24")
def test_explanations_never_burst_the_maximum_packet_size(connect, name):
    peer = connect(V5, props={"maximum_packet_size": SMALL})
    long = name + "x" * 500
    peer.send(wire.publish(V5, long, b"", 1, 1), wire.publish(V5, long, b"\xff", 1, 2, props={"payload_format": 1}),
              wire.publish(V5, long, b"", 2, 3), wire.acknowledge(PUBREL, 77), wire.acknowledge(PUBREC, 78),
              wire.subscribe(V5, 4, [(long, 0)]), wire.unsubscribe(V5, 5, [long, "no"]),
              wire.subscribe(V5, 6, [(f"$share/g/{long}", 0)]), wire.pingreq())
    while (found := peer.receive_or_last_words()) and found.kind not in (wire.PINGRESP, DISCONNECT):
        fits(found)


@shows_5("3.14.2-1", "3.14.2-2", "3.14.2-3", "3.14.2-4")
def test_the_reason_of_a_disconnect_never_bursts_the_maximum_packet_size(connect):
    peer = connect(V5, props={"maximum_packet_size": SMALL})
    peer.send(wire.publish(V5, "#" * 5000, b"x"))
    fits(*peer.until_end())


@shows_5("3.2.2-19", "3.2.2-20")
def test_a_connack_never_bursts_the_maximum_packet_size(dial, name):
    peer = dial(V5)
    peer.send(wire.connect(V5, name, props={"maximum_packet_size": SMALL, "authentication_method": "no such " * 100}))
    assert all(p.kind == CONNACK and p.size <= SMALL for p in peer.until_end())


# Maximum packet size of the server.


@shows_5("3.2.2-15", "4.13.1-1")
def test_a_packet_beyond_the_maximum_of_the_server_closes_the_connection(connect, name):
    peer = connect(V5)
    maximum = peer.connack.property("maximum_packet_size", 268_435_460)
    if maximum >= 268_435_455 + 5:
        pytest.skip("the server has no maximum packet size")
    too_long = maximum - len(wire.varint(maximum))
    peer.send(wire.packet(PUBLISH, wire.string(name) + b"\0", 0, length=wire.varint(too_long)))
    peer.try_send(b"x" * 70_000)
    peer.refused(0x95)


@both_versions
@shows_5("3.2.2-15")
def test_a_large_message_within_the_maximum_is_taken(connect, name, version):
    peer = connect(version)
    size = min(peer.connack.property("maximum_packet_size", 1 << 20), 1 << 20) - 200
    peer.subscribe(name, qos=1)
    assert peer.publish(name, b"x" * size, 1) == 0
    assert len(peer.delivery().payload) == size
