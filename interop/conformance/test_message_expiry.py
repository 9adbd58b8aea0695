"""Chapter 3.3.2.3.3: message expiry."""

import wire
from peer import kept
from statements import shows_5
from wire import PUBACK, PUBCOMP, PUBLISH, PUBREC, PUBREL, V5


@shows_5("3.3.2-5", "3.3.2-6")
def test_a_message_expires_while_it_waits(connect, name, passing):
    first = connect(V5, name, **kept(V5))
    first.subscribe(f"{name}/t", qos=2)
    first.leave()
    publisher = connect(V5)
    publisher.publish(f"{name}/t", b"short", 1, props={"message_expiry": 1})
    publisher.publish(f"{name}/t", b"short", 2, props={"message_expiry": 1})
    publisher.publish(f"{name}/t", b"long", 1, props={"message_expiry": 100})
    publisher.publish(f"{name}/t", b"forever", 1)
    passing(1.6)
    second = connect(V5, name, **kept(V5))
    long, forever = second.deliveries(2)
    assert long.payload == b"long" and 90 <= long.property("message_expiry") <= 99
    assert forever.payload == b"forever" and forever.property("message_expiry") is None


@shows_5("3.3.2-6")
def test_a_message_delivered_at_once_has_its_expiry_in_full(connect, name):
    peer = connect(V5)
    peer.subscribe(name, qos=1)
    peer.publish(name, b"x", 1, props={"message_expiry": 100})
    assert 99 <= peer.delivery().property("message_expiry") <= 100


@shows_5("4.3.3-7")
def test_a_message_does_not_expire_once_it_was_sent(connect, name, passing):
    first = connect(V5, name, **kept(V5))
    first.subscribe(f"{name}/t", qos=2)
    connect(V5).publish(f"{name}/t", b"x", 2, props={"message_expiry": 1})
    sent = first.expect(PUBLISH)
    first.drop()
    passing(1.6)
    again = connect(V5, name, **kept(V5)).expect(PUBLISH)
    assert (again.packet_id, again.payload, again.dup) == (sent.packet_id, b"x", True)


@shows_5("4.3.3-13")
def test_the_qos_2_sequence_goes_on_after_the_expiry(connect, name, passing):
    peer = connect(V5)
    peer.send(wire.publish(V5, name, b"x", 2, 5, props={"message_expiry": 1}))
    assert peer.expect(PUBREC).reason < 0x80
    passing(1.3)
    peer.send(wire.acknowledge(PUBREL, 5))
    found = peer.expect(PUBCOMP)
    assert (found.packet_id, found.reason) == (5, 0)


@shows_5("3.3.2-5")
def test_a_message_expires_while_the_receive_maximum_holds_it_back(connect, name, passing):
    peer = connect(V5, props={"receive_maximum": 1})
    peer.subscribe(name, qos=1)
    publisher = connect(V5)
    publisher.publish(name, b"held", 1)
    publisher.publish(name, b"short", 1, props={"message_expiry": 1})
    publisher.publish(name, b"last", 1)
    held = peer.expect(PUBLISH)
    passing(1.6)
    peer.send(wire.acknowledge(PUBACK, held.packet_id))
    assert peer.delivery().payload == b"last"
