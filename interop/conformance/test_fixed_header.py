"""Chapter 2: fixed header, flags, remaining length, packet identifiers, packets that no client sends."""

import pytest
import wire
from statements import both_versions, shows_311, shows_5
from wire import (
    AUTH, CONNACK, DISCONNECT, PINGREQ, PINGRESP, PUBACK, PUBCOMP, PUBLISH, PUBREC, PUBREL, SUBACK, SUBSCRIBE,
    UNSUBACK, UNSUBSCRIBE, V5, V311,
)


def whole(version, kind, flags):
    """A packet that is right but for its flags."""
    builders = {
        PUBACK: lambda: wire.acknowledge(PUBACK, 1, flags=flags),
        PUBREC: lambda: wire.acknowledge(PUBREC, 1, flags=flags),
        PUBREL: lambda: wire.acknowledge(PUBREL, 1, flags=flags),
        PUBCOMP: lambda: wire.acknowledge(PUBCOMP, 1, flags=flags),
        SUBSCRIBE: lambda: wire.subscribe(version, 1, [("t", 0)], flags=flags),
        UNSUBSCRIBE: lambda: wire.unsubscribe(version, 1, ["t"], flags=flags),
        PINGREQ: lambda: wire.pingreq(flags),
        DISCONNECT: lambda: wire.disconnect(flags=flags),
        AUTH: lambda: wire.auth(flags=flags),
    }
    return builders[kind]()


def bad_flags(kind, flags, ids_311=(), ids_5=()):
    return pytest.param(kind, flags, id=f"{wire.KIND_NAMES[kind]}-{flags:04b}",
                        marks=[shows_311(*ids_311), shows_5(*ids_5)])


@both_versions
@pytest.mark.parametrize("kind, flags", [
    *[bad_flags(SUBSCRIBE, f, ["3.8.1-1"], ["3.8.1-1"]) for f in (0, 1, 3, 6, 10)],
    *[bad_flags(UNSUBSCRIBE, f, ["3.10.1-1"], ["3.10.1-1"]) for f in (0, 1, 3, 6, 10)],
    *[bad_flags(PUBREL, f, ["3.6.1-1"], ["3.6.1-1"]) for f in (0, 1, 3, 6, 10)],
    *[bad_flags(DISCONNECT, f, ["3.14.1-1"], ["3.14.1-1"]) for f in (1, 2, 4, 8)],
    *[bad_flags(kind, f) for kind in (PUBACK, PUBREC, PUBCOMP, PINGREQ) for f in (1, 2, 4, 8)],
])
@shows_311("2.2.2-1", "2.2.2-2")
@shows_5("2.1.3-1")
def test_wrong_flags_close_the_connection(connect, version, kind, flags):
    peer = connect(version)
    peer.send(whole(version, kind, flags))
    peer.refused(0x81)


@pytest.mark.parametrize("flags", [1, 2, 4, 8, 15])
@shows_5("3.15.1-1", "2.1.3-1")
def test_auth_with_flags_closes_the_connection(connect, flags):
    peer = connect(V5)
    peer.send(whole(V5, AUTH, flags))
    peer.refused(0x81)


@both_versions
@pytest.mark.parametrize("flags", [1, 2, 4, 8, 15])
@shows_311("2.2.2-2", "3.1.4-1")
@shows_5("2.1.3-1", "3.1.4-1")
def test_connect_with_flags_in_its_fixed_header_is_refused(dial, name, version, flags):
    peer = dial(version)
    peer.send(wire.connect(version, name, flags=flags))
    assert all(p.reason in (0x81, 0x82) for p in peer.until_end())


@both_versions
@pytest.mark.parametrize("first", [0x00, 0x0F, CONNACK << 4, SUBACK << 4, UNSUBACK << 4, PINGRESP << 4])
@shows_311("4.8.0-1")
@shows_5("4.13.1-1")
def test_a_packet_that_no_client_sends_closes_the_connection(connect, version, first):
    peer = connect(version)
    peer.send(bytes([first, 2, 0, 0]))
    peer.refused(0x81, 0x82)


@shows_311("2.2.2-2", "4.8.0-1")
def test_type_15_closes_a_connection_of_mqtt_311(connect):
    peer = connect(V311)
    peer.send(wire.packet(AUTH, b""))
    peer.refused()


@both_versions
@pytest.mark.parametrize("length", [b"\xff\xff\xff\xff\x7f", b"\x80\x80\x80\x80\x01", b"\xff\xff\xff\xff\xff\xff"])
@shows_311("4.8.0-1")
@shows_5("4.13.1-1")
def test_a_remaining_length_of_more_than_four_bytes_closes_the_connection(connect, version, length):
    peer = connect(version)
    peer.send(wire.packet(PUBLISH, b"", flags=0, length=length))
    peer.refused(0x81, 0x95)


CUT_OR_PADDED = {
    "PUBLISH without a topic": lambda v: wire.packet(PUBLISH, b"", 0),
    "PUBLISH cut in its topic": lambda v: wire.packet(PUBLISH, b"\x00\x09abc", 0),
    "PUBLISH of QoS 1 without identifier": lambda v: wire.packet(PUBLISH, wire.string("t"), 2),
    "PUBACK of no bytes": lambda v: wire.packet(PUBACK, b""),
    "PUBACK of one byte": lambda v: wire.packet(PUBACK, b"\x01"),
    "PUBREC of one byte": lambda v: wire.packet(PUBREC, b"\x01"),
    "PUBREL of one byte": lambda v: wire.packet(PUBREL, b"\x01"),
    "PUBCOMP of one byte": lambda v: wire.packet(PUBCOMP, b"\x01"),
    "SUBSCRIBE of no bytes": lambda v: wire.packet(SUBSCRIBE, b""),
    "SUBSCRIBE cut in its filter": lambda v: wire.packet(SUBSCRIBE, wire.subscribe(v, 1, [])[2:] + b"\x00\x09ab"),
    "SUBSCRIBE without options": lambda v: wire.packet(SUBSCRIBE, wire.subscribe(v, 1, [])[2:] + b"\x00\x01t"),
    "UNSUBSCRIBE of no bytes": lambda v: wire.packet(UNSUBSCRIBE, b""),
    "UNSUBSCRIBE cut in its filter": lambda v: wire.packet(UNSUBSCRIBE, wire.unsubscribe(v, 1, [])[2:] + b"\x00\x09a"),
    "PINGREQ with a byte": lambda v: wire.packet(PINGREQ, b"\x00"),
    "PUBACK with bytes behind": lambda v: wire.packet(PUBACK, b"\x00\x01" + (b"\x00\x00\x00" if v == V5 else b"\x00")),
    "DISCONNECT with bytes behind": lambda v: wire.packet(DISCONNECT, b"\x00\x00\x00" if v == V5 else b"\x00"),
}


@both_versions
@pytest.mark.parametrize("case", list(CUT_OR_PADDED))
@shows_311("4.8.0-1")
@shows_5("4.13.1-1")
def test_a_packet_shorter_or_longer_than_its_fields_closes_the_connection(connect, version, case):
    peer = connect(version)
    peer.send(CUT_OR_PADDED[case](version))
    if case.startswith("DISCONNECT"):
        peer.until_end()
    else:
        peer.refused(0x81, 0x82)


@both_versions
@pytest.mark.parametrize("case", ["PUBLISH 1", "PUBLISH 2", "SUBSCRIBE", "UNSUBSCRIBE"])
@shows_311("2.3.1-1", "4.8.0-1")
@shows_5("2.2.1-3", "4.13.1-1")
def test_packet_identifier_zero_closes_the_connection(connect, version, case):
    zero = {
        "PUBLISH 1": wire.publish(version, "t", b"", 1, 0), "PUBLISH 2": wire.publish(version, "t", b"", 2, 0),
        "SUBSCRIBE": wire.subscribe(version, 0, [("t", 0)]), "UNSUBSCRIBE": wire.unsubscribe(version, 0, ["t"]),
    }
    peer = connect(version)
    peer.send(zero[case])
    peer.refused(0x81, 0x82)


@both_versions
@pytest.mark.parametrize("packet_id", [1, 256, 65535])
@shows_311("2.3.1-6", "2.3.1-7", "3.8.4-2", "3.10.4-4")
@shows_5("2.2.1-5", "2.2.1-6", "3.8.4-2", "3.10.4-5")
def test_each_acknowledgement_carries_the_identifier_of_its_packet(connect, name, version, packet_id):
    peer = connect(version)
    conversation = [
        (wire.subscribe(version, packet_id, [(f"{name}/other", 0)]), SUBACK),
        (wire.unsubscribe(version, packet_id, [f"{name}/other"]), UNSUBACK),
        (wire.publish(version, name, b"", 1, packet_id), PUBACK),
        (wire.publish(version, name, b"", 2, packet_id), PUBREC),
        (wire.acknowledge(PUBREL, packet_id), PUBCOMP),
    ]
    for sent, kind in conversation:
        peer.send(sent)
        assert peer.expect(kind).packet_id == packet_id


@both_versions
@shows_311("2.3.1-5", "4.3.1-1", "3.3.1-2")
@shows_5("2.2.1-2", "4.3.1-1", "3.3.1-2")
def test_a_qos_0_publish_of_the_server_has_no_identifier_and_no_dup(connect, name, version):
    peer = connect(version)
    peer.subscribe(name)
    peer.publish(name, b"\x00\x01payload")
    found = peer.delivery()
    assert (found.qos, found.dup, found.payload) == (0, False, b"\x00\x01payload")


@both_versions
@pytest.mark.parametrize("qos", [1, 2])
@shows_311("2.3.1-4", "4.3.2-1", "4.3.3-1")
@shows_5("2.2.1-4", "4.3.2-1", "4.3.2-2", "4.3.3-1", "4.3.3-2")
def test_messages_in_flight_have_identifiers_of_their_own_and_no_dup(connect, name, version, qos):
    peer, publisher = connect(version), connect(version)
    peer.subscribe(name, qos=qos)
    for number in range(5):
        publisher.publish(name, b"%d" % number, qos)
    found = [peer.expect(PUBLISH) for _ in range(5)]
    assert len({p.packet_id for p in found}) == 5
    assert all(p.qos == qos and not p.dup for p in found)


@both_versions
@shows_311("7.1.1-1", "7.0.0-2")
@shows_5("4.2.0-1")
def test_packets_may_arrive_byte_by_byte_and_many_at_once(dial, name, version):
    peer = dial(version)
    for byte in wire.connect(version, name) + wire.subscribe(version, 1, [(name, 1)]):
        peer.send(bytes([byte]))
    peer.expect(CONNACK)
    peer.expect(SUBACK)
    peer.send(b"".join(wire.publish(version, name, b"%d" % n) for n in range(100)))
    assert [p.payload for p in peer.deliveries(100)] == [b"%d" % n for n in range(100)]


@shows_5("2.2.2-1")
def test_no_properties_are_a_property_length_of_zero(connect, name):
    peer = connect(V5)
    peer.subscribe(name)  # the parser demands a property length in SUBACK and in PUBLISH
    peer.publish(name, b"x")
    assert peer.delivery().properties == []


@pytest.mark.parametrize("kind", [PUBACK, PUBREC, PUBREL, PUBCOMP])
@shows_5("3.4.2-1", "3.5.2-1", "3.6.2-1", "3.7.2-1", "4.13.1-1")
def test_a_reason_code_that_the_packet_does_not_have_closes_the_connection(connect, kind):
    peer = connect(V5)
    peer.send(wire.acknowledge(kind, 1, 0x42))
    peer.refused(0x81, 0x82)


@pytest.mark.parametrize("kind", [PUBACK, PUBREC, PUBREL, PUBCOMP])
@shows_5("4.13.1-1")
def test_a_property_that_an_acknowledgement_does_not_have_closes_the_connection(connect, kind):
    peer = connect(V5)
    peer.send(wire.acknowledge(kind, 1, 0, {"session_expiry": 1}))
    peer.refused(0x81, 0x82)


@pytest.mark.parametrize("kind", [PUBACK, PUBREC, PUBREL, PUBCOMP])
@shows_5("4.13.1-1")
def test_a_reason_string_twice_closes_the_connection(connect, kind):
    peer = connect(V5)
    peer.send(wire.acknowledge(kind, 1, 0, [("reason_string", "a"), ("reason_string", "a")]))
    peer.refused(0x82)


@pytest.mark.parametrize("kind", [PUBREC, PUBREL, PUBCOMP, PUBACK])
@shows_5("3.4.2-1", "3.5.2-1", "3.6.2-1", "3.7.2-1")
def test_acknowledgements_may_explain_themselves(connect, kind):
    peer = connect(V5)
    reason = 0x92 if kind in (PUBREL, PUBCOMP) else 0x97
    peer.send(wire.acknowledge(kind, 1, reason, [("reason_string", "why"), ("user_property", ("a", "b")),
                                                 ("user_property", ("a", "b"))]))
    assert all(found.kind in (PUBREL, PUBCOMP) for found in peer.fence())
