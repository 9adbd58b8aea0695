"""Chapter 1.5: strings, string pairs and variable byte integers, in every place where a client may send one."""

import pytest
import wire
from statements import both_versions, shows_311, shows_5
from wire import V5, Will

ILL_FORMED = {
    "a high surrogate": b"a\xed\xa0\x80", "a low surrogate": b"a\xed\xbf\xbf", "an overlong slash": b"\xc0\xaf",
    "a lone continuation": b"a\x80b", "a cut sequence": b"a\xe2\x82",
    "a code point above U+10FFFF": b"\xf4\x90\x80\x80",
}
NUL = b"a\x00b"

# place -> (what the CONNECT then is, the reasons that MQTT 5 allows)
CONNECT_PLACES = {
    "client identifier": (lambda v, bad: wire.connect(v, bad), (0x81, 0x85)),
    "user name": (lambda v, bad: wire.connect(v, "x", username=bad), (0x81, 0x86)),
    "will topic": (lambda v, bad: wire.connect(v, "x", will=Will(bad)), (0x81, 0x90)),
}
PACKET_PLACES = {
    "topic name": (lambda v, bad: wire.publish(v, bad), (0x81, 0x90)),
    "subscribed filter": (lambda v, bad: wire.subscribe(v, 1, [(bad, 0)]), (0x81, 0x8F)),
    "unsubscribed filter": (lambda v, bad: wire.unsubscribe(v, 1, [bad]), (0x81, 0x8F)),
}
PROPERTY_PLACES = {
    "content type": lambda bad: wire.publish(V5, "t", props={"content_type": bad}),
    "response topic": lambda bad: wire.publish(V5, "t", props={"response_topic": bad}),
    "user property name": lambda bad: wire.publish(V5, "t", props={"user_property": (bad, "v")}),
    "user property value": lambda bad: wire.publish(V5, "t", props={"user_property": ("k", bad)}),
    "reason string of DISCONNECT": lambda bad: wire.disconnect(0, {"reason_string": bad}),
}


def placed(place, ids_311, ids_5):
    return pytest.param(place, marks=[shows_311(*ids_311), shows_5(*ids_5)], id=place.replace(" ", "-"))


CONNECT_CASES = [
    placed("client identifier", ["3.1.3-4"], ["3.1.3-4", "3.1.3-8"]),
    placed("user name", ["3.1.3-11"], ["3.1.3-12"]),
    placed("will topic", ["3.1.3-10"], ["3.1.3-11"]),
]
PACKET_CASES = [
    placed("topic name", ["3.3.2-1"], ["3.3.2-1"]),
    placed("subscribed filter", ["3.8.3-1"], ["3.8.3-1"]),
    placed("unsubscribed filter", ["3.10.3-1"], ["3.10.3-1"]),
]
every_ill_form = pytest.mark.parametrize("ill", list(ILL_FORMED), ids=[k.replace(" ", "-") for k in ILL_FORMED])


@both_versions
@every_ill_form
@pytest.mark.parametrize("place", CONNECT_CASES)
@shows_311("1.5.3-1", "3.1.4-1")
@shows_5("1.5.4-1", "3.1.4-1")
def test_ill_formed_utf8_in_a_connect_closes_the_connection(dial, version, place, ill):
    build, reasons = CONNECT_PLACES[place]
    peer = dial(version)
    peer.send(build(version, ILL_FORMED[ill]))
    peer.refused(*reasons)


@both_versions
@every_ill_form
@pytest.mark.parametrize("place", PACKET_CASES)
@shows_311("1.5.3-1", "4.8.0-1")
@shows_5("1.5.4-1", "4.13.1-1")
def test_ill_formed_utf8_in_a_packet_closes_the_connection(connect, version, place, ill):
    build, reasons = PACKET_PLACES[place]
    peer = connect(version)
    peer.send(build(version, ILL_FORMED[ill]))
    peer.refused(*reasons)


@both_versions
@pytest.mark.parametrize("place", list(CONNECT_PLACES))
@shows_311("1.5.3-2")
@shows_5("1.5.4-2")
def test_a_null_character_in_a_connect_closes_the_connection(dial, version, place):
    build, reasons = CONNECT_PLACES[place]
    peer = dial(version)
    peer.send(build(version, NUL))
    peer.refused(*reasons)


@both_versions
@pytest.mark.parametrize("place", list(PACKET_PLACES))
@shows_311("1.5.3-2", "4.7.3-2")
@shows_5("1.5.4-2", "4.7.3-2")
def test_a_null_character_in_a_packet_closes_the_connection(connect, version, place):
    build, reasons = PACKET_PLACES[place]
    peer = connect(version)
    peer.send(build(version, NUL))
    peer.refused(*reasons)


@pytest.mark.parametrize("place", [
    placed("content type", [], ["3.3.2-19"]),
    placed("response topic", [], ["3.3.2-13"]),
    placed("user property name", [], ["1.5.7-1"]),
    placed("user property value", [], ["1.5.7-1"]),
    placed("reason string of DISCONNECT", [], ["4.13.1-1"]),
])
@pytest.mark.parametrize("ill", [*ILL_FORMED, "U+0000"])
@shows_5("1.5.4-1", "1.5.4-2")
def test_a_bad_string_in_a_property_closes_the_connection(connect, place, ill):
    peer = connect(V5)
    peer.send(PROPERTY_PLACES[place](ILL_FORMED.get(ill, NUL)))
    if place.endswith("DISCONNECT"):
        peer.until_end()  # the answer to a DISCONNECT may be a plain close
    else:
        peer.refused(0x81, 0x90)


@both_versions
@shows_311("1.5.3-3", "4.7.3-4")
@shows_5("1.5.4-3", "4.7.3-4")
def test_a_byte_order_mark_is_part_of_the_topic(connect, name, version):
    peer = connect(version)
    peer.subscribe(f"\ufeff{name}", f"{name}/end")
    peer.publish(name, b"without")
    peer.publish(f"\ufeff{name}", b"with")
    peer.publish(f"{name}/end")
    found = peer.until(f"{name}/end")
    assert [(p.topic, p.payload) for p in found] == [(f"\ufeff{name}", b"with")]


@both_versions
@shows_311("1.5.3-3", "3.1.3-2")
@shows_5("1.5.4-3", "3.1.3-2")
def test_a_byte_order_mark_is_part_of_the_client_identifier(connect, name, version):
    plain = connect(version, name)
    marked = connect(version, f"\ufeff{name}")
    marked.alive()
    plain.alive()


@both_versions
@pytest.mark.parametrize("text", ["ü/ß/ÿ", "日本/語", "😀/𝄞", "\U0010fffd"])
@shows_311("1.5.3-1")
@shows_5("1.5.4-1")
def test_well_formed_text_of_any_length_in_bytes_is_a_topic(connect, name, version, text):
    peer = connect(version)
    peer.subscribe(f"{name}/{text}")
    peer.publish(f"{name}/{text}", b"x")
    assert peer.delivery().topic == f"{name}/{text}"


@both_versions
@pytest.mark.parametrize("width", [2, 3, 4])
@shows_5("1.5.5-1")
def test_a_remaining_length_longer_than_needed_is_malformed_in_mqtt_5(connect, version, width):
    peer = connect(version)
    peer.send(wire.packet(wire.PINGREQ, b"", length=wire.varint(0, width)))
    if version == V5:
        peer.refused(0x81)
    else:  # 3.1.1 does not say that the shortest form must be used
        assert peer.receive_or_end() in ("PINGRESP", "end")


@shows_5("1.5.5-1", "4.13.1-1")
def test_a_property_length_longer_than_needed_is_malformed(connect):
    peer = connect(V5)
    peer.send(wire.packet(wire.PUBLISH, wire.string("t") + wire.varint(0, 2) + b"x", 0))
    peer.refused(0x81)


@shows_5("1.5.5-1")
def test_a_subscription_identifier_longer_than_needed_is_malformed(connect):
    peer = connect(V5)
    listed = bytes([0x0B]) + wire.varint(1, 2)
    peer.send(wire.packet(wire.SUBSCRIBE, wire.two(1) + wire.properties(listed) + wire.string("t") + b"\0"))
    peer.refused(0x81)
