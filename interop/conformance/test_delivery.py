"""Chapters 3.4 to 3.7, 4.3 and 4.4: the state machines of QoS 1 and 2, both ways, and redelivery."""

import pytest
import wire
from peer import kept
from statements import both_versions, shows_311, shows_5
from wire import PUBACK, PUBCOMP, PUBLISH, PUBREC, PUBREL, V5, V311


def persistent(connect, version, name, *filters, qos, **more):
    options = kept(version)
    options.setdefault("props", {})
    if version == V5:
        options["props"] = {**options["props"], **more}
    else:
        options.pop("props")
    peer = connect(version, name, **options)
    if filters:
        peer.subscribe(*filters, qos=qos)
    return peer


def back(connect, version, name):
    """The same client, connected again."""
    peer = connect(version, name, **kept(version))
    assert peer.connack.session_present
    return peer


# Messages to the server.


@both_versions
@shows_311("4.3.3-2", "2.3.1-6")
@shows_5("4.3.3-8", "4.3.3-10", "4.3.3-11", "4.3.3-12")
def test_a_qos_2_message_sent_twice_is_delivered_once(connect, name, version):
    watcher, peer = connect(version), connect(version)
    watcher.subscribe(f"{name}/#", qos=2)
    for dup in (False, True, True):
        peer.send(wire.publish(version, f"{name}/t", b"x", 2, 7, dup=dup))
        assert peer.expect(PUBREC).packet_id == 7
    peer.send(wire.acknowledge(PUBREL, 7))
    assert peer.expect(PUBCOMP).packet_id == 7
    peer.publish(f"{name}/end", b"", 2)
    assert [p.payload for p in watcher.until(f"{name}/end")] == [b"x"]


@both_versions
@pytest.mark.parametrize("dup", [False, True])
@shows_311("4.3.3-2")
@shows_5("4.3.3-12")
def test_an_identifier_of_qos_2_is_free_after_pubcomp(connect, name, version, dup):
    peer = connect(version)
    peer.subscribe(name, qos=2)
    for number in range(2):
        peer.send(wire.publish(version, name, b"%d" % number, 2, 7, dup=dup and number > 0))
        peer.answer(PUBREC)
        peer.send(wire.acknowledge(PUBREL, 7))
        peer.answer(PUBCOMP)
    assert [p.payload for p in peer.deliveries(2)] == [b"0", b"1"]


@both_versions
@pytest.mark.parametrize("dup", [False, True])
@shows_311("4.3.2-2")
@shows_5("4.3.2-5")
def test_an_identifier_of_qos_1_is_free_after_puback_whatever_dup_says(connect, name, version, dup):
    peer = connect(version)
    peer.subscribe(name, qos=1)
    for number in range(2):
        peer.send(wire.publish(version, name, b"%d" % number, 1, 7, dup=dup and number > 0))
        peer.answer(PUBACK)
    assert [p.payload for p in peer.deliveries(2)] == [b"0", b"1"]


@both_versions
@shows_311("4.3.3-2", "4.1.0-1", "4.4.0-1")
@shows_5("4.3.3-10", "4.1.0-1", "4.3.3-11")
def test_a_qos_2_message_is_delivered_once_across_a_reconnection(connect, name, version):
    watcher = connect(version)
    watcher.subscribe(f"{name}/#", qos=2)
    first = persistent(connect, version, name, qos=2)
    first.send(wire.publish(version, f"{name}/t", b"x", 2, 7))
    first.expect(PUBREC)
    first.drop()
    second = back(connect, version, name)
    second.send(wire.publish(version, f"{name}/t", b"x", 2, 7, dup=True))
    assert second.expect(PUBREC).packet_id == 7
    second.send(wire.acknowledge(PUBREL, 7))
    second.expect(PUBCOMP)
    second.publish(f"{name}/end", b"", 2)
    assert [p.payload for p in watcher.until(f"{name}/end")] == [b"x"]


@both_versions
@shows_311("4.3.3-2")
@shows_5("4.3.3-11", "4.3.3-10")
def test_pubrel_may_come_on_the_next_connection_and_twice(connect, name, version):
    watcher = connect(version)
    watcher.subscribe(f"{name}/#", qos=2)
    first = persistent(connect, version, name, qos=2)
    first.send(wire.publish(version, f"{name}/t", b"x", 2, 7))
    first.expect(PUBREC)
    first.drop()
    second = back(connect, version, name)
    for _ in range(2):
        second.send(wire.acknowledge(PUBREL, 7))
        assert second.expect(PUBCOMP).packet_id == 7
    second.publish(f"{name}/end", b"", 2)
    assert [p.payload for p in watcher.until(f"{name}/end")] == [b"x"]


@both_versions
@shows_311("4.3.3-2")
@shows_5("4.3.3-11", "3.7.2-1")
def test_pubrel_for_an_unknown_identifier_is_answered(connect, version):
    peer = connect(version)
    peer.send(wire.acknowledge(PUBREL, 4711))
    found = peer.expect(PUBCOMP)
    assert (found.packet_id, found.reason) == (4711, 0x92 if version == V5 else 0)
    peer.alive()


@shows_5("3.6.2-1")
def test_pubrec_for_an_unknown_identifier_is_answered_by_pubrel_0x92(connect):
    peer = connect(V5)
    peer.send(wire.acknowledge(PUBREC, 4711))
    found = peer.expect(PUBREL)
    assert (found.packet_id, found.reason) == (4711, 0x92)
    peer.alive()


@both_versions
@shows_311("4.6.0-2", "4.6.0-3")
@shows_5("4.3.2-4", "4.3.3-8")
def test_many_publishes_at_once_are_acknowledged_in_their_order(connect, name, version):
    peer = connect(version)
    window = min(15, peer.connack.property("receive_maximum", 15))
    for qos, kind in ((1, PUBACK), (2, PUBREC)):
        peer.send(b"".join(wire.publish(version, name, b"x", qos, n) for n in range(1, window + 1)))
        assert [peer.expect(kind).packet_id for _ in range(window)] == list(range(1, window + 1))


# Messages from the server.


@both_versions
@shows_311("4.4.0-1", "3.3.1-1", "4.3.2-1", "2.3.1-4")
@shows_5("4.4.0-1", "3.3.1-1", "4.3.2-3")
def test_an_unacknowledged_qos_1_message_is_sent_again_with_dup_to_the_next_connection(connect, name, version):
    first = persistent(connect, version, name, f"{name}/t", qos=1)
    connect(version).publish(f"{name}/t", b"x", 1)
    sent = first.expect(PUBLISH)
    assert not sent.dup
    first.alive()  # not before
    first.drop()
    second = back(connect, version, name)
    again = second.delivery()
    assert (again.packet_id, again.payload, again.dup) == (sent.packet_id, b"x", True)
    second.alive()
    second.leave()
    back(connect, version, name).alive()


@both_versions
@shows_311("4.4.0-1", "4.3.3-1")
@shows_5("4.4.0-1", "4.3.3-3", "3.3.1-1")
def test_a_qos_2_message_without_pubrec_is_sent_again(connect, name, version):
    first = persistent(connect, version, name, f"{name}/t", qos=2)
    connect(version).publish(f"{name}/t", b"x", 2)
    sent = first.expect(PUBLISH)
    first.drop()
    second = back(connect, version, name)
    again = second.delivery()
    assert (again.packet_id, again.payload, again.dup) == (sent.packet_id, b"x", True)
    second.leave()
    back(connect, version, name).alive()


@both_versions
@shows_311("4.4.0-1", "4.3.3-1")
@shows_5("4.4.0-1", "4.3.3-4", "4.3.3-5", "4.3.3-6")
def test_after_pubrec_only_pubrel_is_sent_again(connect, name, version):
    first = persistent(connect, version, name, f"{name}/t", qos=2)
    connect(version).publish(f"{name}/t", b"x", 2)
    sent = first.expect(PUBLISH)
    first.send(wire.acknowledge(PUBREC, sent.packet_id))
    assert first.expect(PUBREL).packet_id == sent.packet_id
    first.drop()
    second = back(connect, version, name)
    assert second.expect(PUBREL).packet_id == sent.packet_id
    second.send(wire.acknowledge(PUBCOMP, sent.packet_id))
    second.alive()
    second.leave()
    back(connect, version, name).alive()


@both_versions
@shows_311("4.3.3-1")
@shows_5("4.3.3-4")
def test_a_repeated_pubrec_is_answered_by_pubrel_again(connect, name, version):
    peer = connect(version)
    peer.subscribe(name, qos=2)
    connect(version).publish(name, b"x", 2)
    sent = peer.expect(PUBLISH)
    for _ in range(2):
        peer.send(wire.acknowledge(PUBREC, sent.packet_id))
        found = peer.expect(PUBREL)
        assert (found.packet_id, found.reason) == (sent.packet_id, 0)
    peer.send(wire.acknowledge(PUBCOMP, sent.packet_id))
    peer.alive()


@both_versions
@shows_311("4.6.0-1", "4.4.0-1")
@shows_5("4.4.0-1")
def test_unacknowledged_messages_are_sent_again_in_their_order(connect, name, version):
    first = persistent(connect, version, name, f"{name}/t", qos=2)
    publisher = connect(version)
    for number in range(6):
        publisher.publish(f"{name}/t", b"%d" % number, 1 + number % 2)
    sent = [first.expect(PUBLISH) for _ in range(6)]
    first.send(wire.acknowledge(PUBACK, sent[2].packet_id))
    first.alive()
    first.drop()
    second = back(connect, version, name)
    again = [second.expect(PUBLISH) for _ in range(5)]
    assert [p.payload for p in again] == [b"0", b"1", b"3", b"4", b"5"]
    assert [p.packet_id for p in again] == [sent[n].packet_id for n in (0, 1, 3, 4, 5)]
    assert all(p.dup for p in again)


@both_versions
@shows_311("4.6.0-4")
@shows_5("4.3.3-4")
def test_pubrels_come_in_the_order_of_the_pubrecs(connect, name, version):
    peer = connect(version)
    peer.subscribe(name, qos=2)
    publisher = connect(version)
    for number in range(5):
        publisher.publish(name, b"%d" % number, 2)
    ids = [peer.expect(PUBLISH).packet_id for _ in range(5)]
    peer.send(b"".join(wire.acknowledge(PUBREC, packet_id) for packet_id in ids))
    assert [peer.expect(PUBREL).packet_id for _ in range(5)] == ids


@pytest.mark.parametrize("qos, kind", [(1, PUBACK), (2, PUBREC)])
@pytest.mark.parametrize("reason", [0x80, 0x83, 0x87, 0x97, 0x99])
@shows_5("4.4.0-2")
def test_a_delivery_that_the_client_refuses_is_over(connect, name, qos, kind, reason):
    first = persistent(connect, V5, name, f"{name}/t", qos=2, receive_maximum=1)
    publisher = connect(V5)
    publisher.publish(f"{name}/t", b"refused", qos)
    publisher.publish(f"{name}/t", b"next", qos)
    first.send(wire.acknowledge(kind, first.expect(PUBLISH).packet_id, reason, {"reason_string": "no"}))
    assert first.delivery().payload == b"next"  # the send quota is back, and no PUBREL came
    first.drop()
    back(connect, V5, name).alive()


@both_versions
@pytest.mark.parametrize("qos", [1, 2])
@shows_311("4.3.2-1", "4.3.3-1")
@shows_5("4.3.2-1", "4.3.3-1", "2.2.1-4")
def test_identifiers_in_flight_are_not_used_again_while_others_turn_over(connect, name, version, qos):
    peer, publisher = connect(version), connect(version)
    peer.subscribe(name, qos=qos)
    publisher.publish(name, b"held", qos)
    held = peer.expect(PUBLISH).packet_id
    for number in range(50):
        publisher.publish(name, b"%d" % number, qos)
        assert peer.delivery().packet_id != held


@shows_311("4.4.0-1", "4.3.2-1")
def test_a_takeover_gets_what_the_first_connection_did_not_acknowledge(connect, name):
    first = persistent(connect, V311, name, f"{name}/t", qos=1)
    connect(V311).publish(f"{name}/t", b"x", 1)
    sent = first.expect(PUBLISH)
    again = back(connect, V311, name).delivery()
    assert (again.packet_id, again.dup) == (sent.packet_id, True)


@both_versions
@shows_311("4.4.0-1")
@shows_5("4.4.0-1")
def test_a_clean_start_sends_nothing_again(connect, name, version):
    first = persistent(connect, version, name, f"{name}/t", qos=1)
    connect(version).publish(f"{name}/t", b"x", 1)
    first.expect(PUBLISH)
    first.drop()
    connect(version, name, clean=True).alive()
