"""Chapter 3.3: PUBLISH, its properties, topic aliases and message expiry."""

import pytest
import wire
from peer import kept
from statements import both_versions, shows_311, shows_5
from wire import DISCONNECT, PINGRESP, PUBACK, PUBCOMP, PUBLISH, PUBREC, PUBREL, V5, V311


@both_versions
@shows_311("3.3.4-1", "4.3.1-1", "4.3.2-2", "4.3.3-2")
@shows_5("3.3.4-1", "4.3.1-1", "4.3.2-4", "4.3.3-8", "4.3.3-11", "3.4.2-1", "3.5.2-1", "3.7.2-1")
def test_a_publish_is_answered_as_its_qos_says(connect, name, version):
    peer = connect(version)
    peer.send(wire.publish(version, name, b"x"))
    peer.alive()
    peer.send(wire.publish(version, name, b"x", 1, 1))
    peer.expect(PUBACK)
    peer.alive()
    peer.send(wire.publish(version, name, b"x", 2, 2))
    peer.expect(PUBREC)
    peer.alive()
    peer.send(wire.acknowledge(PUBREL, 2))
    peer.expect(PUBCOMP)
    peer.alive()


@both_versions
@pytest.mark.parametrize("topic", ["a/#", "+/b", "#", "+", "a/b+"])
@shows_311("3.3.2-2", "4.7.1-1", "4.8.0-1")
@shows_5("3.3.2-2", "4.7.0-1", "4.13.1-1")
def test_a_wildcard_in_a_topic_name_closes_the_connection(connect, version, topic):
    peer = connect(version)
    peer.send(wire.publish(version, topic, b"x"))
    peer.refused(0x81, 0x82, 0x90)


@both_versions
@pytest.mark.parametrize("qos", [0, 1])
@shows_311("4.7.3-1", "4.8.0-1")
@shows_5("4.7.3-1", "4.13.1-1")
def test_an_empty_topic_name_closes_the_connection(connect, version, qos):
    peer = connect(version)
    peer.send(wire.publish(version, "", b"x", qos, 1 if qos else None))
    peer.refused(0x81, 0x82, 0x90)


@both_versions
@pytest.mark.parametrize("flags", [0b0110, 0b0111, 0b1110, 0b1111])
@shows_311("3.3.1-4", "2.2.2-2")
@shows_5("3.3.1-4", "4.13.1-1")
def test_qos_3_closes_the_connection(connect, version, flags):
    peer = connect(version)
    peer.send(wire.publish(version, "t", b"x", packet_id=1, flags=flags))
    peer.refused(0x81)


@both_versions
@shows_311("3.3.1-2")
@shows_5("3.3.1-2")
def test_dup_on_qos_0_is_never_forwarded(connect, name, version):
    watcher = connect(version)
    watcher.subscribe(f"{name}/#")
    peer = connect(version)
    peer.send(wire.publish(version, f"{name}/t", b"x", dup=True))  # the parser refuses DUP on QoS 0
    peer.try_send(wire.pingreq())
    peer.receive_or_last_words()
    watcher.publish(f"{name}/end")
    assert len(watcher.until(f"{name}/end")) <= 1


@both_versions
@pytest.mark.parametrize("qos", [1, 2])
@shows_311("3.3.1-3")
@shows_5("3.3.1-3")
def test_dup_is_not_handed_on(connect, name, version, qos):
    peer = connect(version)
    peer.subscribe(name, qos=qos)
    peer.publish(name, b"x", qos, dup=True)
    assert not peer.delivery().dup


@both_versions
@pytest.mark.parametrize("size", [0, 1, 127, 128, 16_383, 16_384, 200_000])
@shows_311("3.3.2-3")
@shows_5("3.3.2-3")
def test_payloads_of_any_size_arrive_unaltered(connect, name, version, size):
    payload = bytes(n * 7 % 256 for n in range(size))
    peer = connect(version)
    peer.subscribe(name, qos=1)
    peer.publish(name, payload, 1)
    assert peer.delivery().payload == payload


FORWARDED = [("payload_format", 1), ("content_type", "text/plain"), ("response_topic", "a/b"),
             ("correlation_data", bytes(range(256)))]
USER = [("user_property", pair) for pair in (("b", "1"), ("a", "2"), ("b", "1"), ("", ""), ("ü", "\ufeff"))]


@pytest.mark.parametrize("qos", [0, 1, 2])
@shows_5("3.3.2-4", "3.3.2-15", "3.3.2-16", "3.3.2-17", "3.3.2-18", "3.3.2-20")
def test_properties_are_forwarded_unaltered_and_in_order(connect, name, qos):
    peer = connect(V5)
    peer.subscribe(name, qos=qos)
    peer.publish(name, b"text", qos, props=FORWARDED + USER)
    found = peer.delivery()
    assert {key: found.property(key) for key, _ in FORWARDED} == dict(FORWARDED)
    assert [("user_property", pair) for pair in found.all("user_property")] == USER


@shows_5("3.3.2-4", "3.3.2-17", "3.3.2-18")
def test_properties_wait_with_their_message(connect, name):
    first = connect(V5, name, **kept(V5))
    first.subscribe(f"{name}/t", qos=2)
    first.leave()
    connect(V5).publish(f"{name}/t", b"text", 2, props=USER + FORWARDED)
    found = connect(V5, name, **kept(V5)).delivery()
    assert {key: found.property(key) for key, _ in FORWARDED} == dict(FORWARDED)
    assert [("user_property", pair) for pair in found.all("user_property")] == USER


@shows_311("3.3.2-3")
@shows_5("3.3.2-3")
def test_messages_cross_the_versions_both_ways(connect, name):
    old, new = connect(V311), connect(V5)
    for peer in (old, new):
        peer.subscribe(name, qos=1)
    new.publish(name, b"five", 1, props=FORWARDED + USER)
    old.publish(name, b"four", 1)
    assert {p.payload for p in old.deliveries(2)} == {b"five", b"four"}
    assert {(p.payload, len(p.properties)) for p in new.deliveries(2)} == {(b"five", 9), (b"four", 0)}


@pytest.mark.parametrize("listed, reasons", [
    ({"topic_alias": 0}, (0x94,)),
    ([("topic_alias", 1), ("topic_alias", 1)], (0x82,)),
    ([("payload_format", 1), ("payload_format", 1)], (0x82,)),
    ([("message_expiry", 1), ("message_expiry", 1)], (0x82,)),
    ([("content_type", "a"), ("content_type", "a")], (0x82,)),
    ([("response_topic", "a"), ("response_topic", "a")], (0x82,)),
    ([("correlation_data", b"a"), ("correlation_data", b"a")], (0x82,)),
    ({"session_expiry": 1}, (0x81, 0x82)),
    (b"\x7f\x00", (0x81, 0x82)),
    (b"\x02\x00", (0x81, 0x82)),
], ids=["alias-0", "alias-twice", "format-twice", "expiry-twice", "content-type-twice", "response-topic-twice",
        "correlation-twice", "wrong-property", "unknown-property", "cut-short"])
@shows_5("4.13.1-1", "3.3.2-8")
def test_a_bad_property_of_publish_closes_the_connection(connect, name, listed, reasons):
    peer = connect(V5)
    peer.send(wire.publish(V5, name, b"x", props=listed))
    peer.refused(*reasons)


@shows_5("3.3.4-6", "4.13.1-1")
def test_a_subscription_identifier_from_a_client_closes_the_connection(connect, name):
    peer = connect(V5)
    peer.send(wire.publish(V5, name, b"x", props={"subscription_identifier": 1}))
    peer.refused(0x82, 0x81)


@pytest.mark.parametrize("topic", ["a/#", "+", "a/+/b"])
@shows_5("3.3.2-14", "4.13.1-1")
def test_a_wildcard_in_a_response_topic_closes_the_connection(connect, name, topic):
    peer = connect(V5)
    peer.send(wire.publish(V5, name, b"x", props={"response_topic": topic}))
    peer.refused(0x81, 0x82, 0x90)


@shows_5("3.4.2-1", "3.5.2-1")
def test_a_publish_nobody_subscribed_to_succeeds(connect, name):
    peer = connect(V5)
    assert peer.publish(name, b"x", 1) in (0x00, 0x10)
    assert peer.publish(name, b"x", 2) in (0x00, 0x10)
    peer.subscribe(name)
    assert peer.publish(name, b"x", 1) == 0


@shows_5("4.3.3-9", "3.5.2-1")
def test_a_refused_qos_2_identifier_is_free_for_a_new_message(connect, name):
    peer = connect(V5)
    peer.subscribe(f"{name}/#", qos=2)
    peer.send(wire.publish(V5, f"{name}/bad", b"\xff", 2, 9, props={"payload_format": 1}))
    found = peer.receive_or_last_words()
    if found is None or found.kind != PUBREC or found.reason < 0x80:
        pytest.skip("the server does not refuse a payload that breaks its format by PUBREC")
    peer.send(wire.publish(V5, f"{name}/good", b"x", 2, 9))
    assert peer.answer(PUBREC).reason == 0
    peer.send(wire.acknowledge(PUBREL, 9))
    peer.answer(PUBCOMP)
    assert peer.delivery().topic == f"{name}/good"


@shows_5("3.1.2-29")
def test_without_problem_information_acknowledgements_explain_nothing(connect, name):
    peer = connect(V5, props={"request_problem_information": 0})
    peer.send(wire.publish(V5, name, b"", 1, 1), wire.publish(V5, name, b"", 2, 3), wire.acknowledge(PUBREL, 77),
              wire.acknowledge(PUBREC, 78), wire.unsubscribe(V5, 5, ["no"]), wire.subscribe(V5, 4, [("$share/g/", 0)]))
    peer.try_send(wire.pingreq())
    while (found := peer.receive_or_last_words()) and found.kind not in (PINGRESP, DISCONNECT):
        assert found.property("reason_string") is None and not found.all("user_property"), found


@both_versions
@shows_311("7.0.0-2")
@shows_5("3.3.4-1")
def test_a_publish_of_each_qos_reaches_its_own_publisher(connect, name, version):
    peer = connect(version)
    peer.subscribe(name, qos=2)
    for qos in (0, 1, 2):
        peer.publish(name, b"%d" % qos, qos)
        found = peer.delivery()
        assert (found.payload, found.qos) == (b"%d" % qos, qos)


@both_versions
@shows_311("3.3.2-1")
@shows_5("3.3.2-1")
def test_the_topic_of_a_delivery_is_the_one_it_was_published_to(connect, name, version):
    peer = connect(version)
    peer.subscribe(f"{name}/+/c")
    peer.publish(f"{name}/b/c", b"x")
    assert peer.expect(PUBLISH).topic == f"{name}/b/c"


# Corners.


@both_versions
@shows_311("2.3.1-4", "4.3.2-1")
@shows_5("2.2.1-4", "4.3.2-1")
def test_both_sides_have_identifiers_of_their_own(connect, name, version):
    peer, publisher = connect(version), connect(version)
    peer.subscribe(name, qos=2)
    publisher.publish(name, b"one", 1)
    publisher.publish(name, b"two", 2)
    one, two = peer.expect(PUBLISH), peer.expect(PUBLISH)
    peer.send(wire.publish(version, f"{name}/x", b"", 1, one.packet_id),
              wire.publish(version, f"{name}/x", b"", 2, two.packet_id))
    assert (peer.expect(PUBACK).packet_id, peer.expect(PUBREC).packet_id) == (one.packet_id, two.packet_id)
    peer.send(wire.acknowledge(PUBREC, two.packet_id), wire.acknowledge(PUBREL, two.packet_id))
    assert {peer.receive().kind for _ in range(2)} == {PUBREL, PUBCOMP}
    peer.send(wire.acknowledge(PUBACK, one.packet_id), wire.acknowledge(PUBCOMP, two.packet_id))
    peer.alive()


@both_versions
@shows_311("4.5.0-1", "3.14.4-3")
@shows_5("4.5.0-1")
def test_a_publish_just_before_the_end_of_the_connection_is_delivered(connect, dial, name, version):
    watcher = connect(version)
    watcher.subscribe(name)
    for number, ending in enumerate([wire.disconnect(), b""] * 5):
        peer = dial(version)
        peer.send(wire.connect(version, f"{name}-ends-{number}") + wire.publish(version, name, b"%d" % number) + ending)
        peer.drop()
    assert sorted(p.payload for p in watcher.deliveries(10)) == [b"%d" % n for n in range(10)]


@pytest.mark.parametrize("listed", [
    [("user_property", ("k" * 65_535, "v" * 65_535))],
    [("user_property", (f"k{n}", f"v{n}")) for n in range(500)],
    [("correlation_data", b"\xff" * 65_535)],
    [("content_type", "c" * 65_535)],
    [("correlation_data", b""), ("content_type", ""), ("user_property", ("", ""))],
], ids=["long-pair", "500-pairs", "long-correlation", "long-content-type", "empty"])
@shows_5("3.3.2-16", "3.3.2-17", "3.3.2-18", "3.3.2-20")
def test_properties_of_any_size_are_forwarded(connect, name, listed):
    peer = connect(V5)
    peer.subscribe(name, qos=1)
    peer.publish(name, b"x", 1, props=listed)
    assert peer.delivery().properties == listed


PROPERTY_LENGTHS = {
    "PUBLISH": lambda: wire.packet(PUBLISH, wire.string("t") + b"\x7f" + b"x" * 10, 0),
    "PUBLISH of four bytes": lambda: wire.packet(PUBLISH, wire.string("t") + b"\xff\xff\xff\x7f" + b"x" * 10, 0),
    "PUBLISH of five bytes": lambda: wire.packet(PUBLISH, wire.string("t") + b"\xff\xff\xff\xff\x7f" + b"x" * 10, 0),
    "SUBSCRIBE": lambda: wire.packet(wire.SUBSCRIBE, b"\x00\x01\x7f" + wire.string("t") + b"\x00"),
    "UNSUBSCRIBE": lambda: wire.packet(wire.UNSUBSCRIBE, b"\x00\x01\x7f" + wire.string("t")),
    "PUBACK": lambda: wire.packet(PUBACK, b"\x00\x01\x00\x05"),
    "AUTH": lambda: wire.packet(wire.AUTH, b"\x18\x7f\x15"),
    "a string beyond its properties": lambda: wire.packet(
        PUBLISH, wire.string("t") + wire.properties(b"\x03\x00\x20ab") + b"x" * 50, 0),
    "a pair cut in the middle": lambda: wire.packet(
        PUBLISH, wire.string("t") + wire.properties(b"\x26\x00\x01a") + b"\x00\x01b", 0),
}


@pytest.mark.parametrize("case", list(PROPERTY_LENGTHS))
@shows_5("4.13.1-1")
def test_a_property_length_that_lies_closes_the_connection(connect, case):
    peer = connect(V5)
    peer.send(PROPERTY_LENGTHS[case]())
    peer.refused(0x81, 0x82)
