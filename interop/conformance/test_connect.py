"""Chapters 3.1 and 3.2: what a CONNECT may be, and what CONNACK answers."""

import string as letters
import time

import pytest
import wire
from peer import Ended, Silent
from received import split
from statements import both_versions, shows_311, shows_5
from wire import CONNACK, DISCONNECT, PINGRESP, PUBLISH, SUBACK, V5, V31, V311, Will


def raw_answer(peer):
    """The packets of a server that may answer in either version, as (first byte, body), up to its close."""
    data = b""
    try:
        while chunk := peer.socket.recv(4096):
            data += chunk
    except OSError:
        pass
    found = []
    while whole := split(data):
        found.append(whole[:2])
        data = data[whole[2]:]
    assert data == b""
    return found


@both_versions
@shows_311("3.1.4-4", "3.2.0-1", "3.2.2-1", "7.1.1-1")
@shows_5("3.1.4-5", "3.2.0-1", "3.2.2-1", "3.2.2-2", "3.2.2-8", "4.2.0-1")
def test_a_valid_connect_is_answered_by_connack_first(dial, name, version):
    connack = dial(version).handshake(name)
    assert (connack.reason, connack.session_present) == (0, False)


@shows_311("7.0.0-2")
def test_mqtt_31_is_served(dial, name):
    peer = dial(V31)
    assert peer.handshake(name[:23]).reason == 0
    peer.subscribe(name, qos=2)
    assert peer.publish(name, b"x", 2) == 0
    assert peer.delivery().payload == b"x"


@both_versions
@pytest.mark.parametrize("first", [
    wire.publish(4, "t"), wire.publish(4, "t", b"", 1, 1), wire.acknowledge(wire.PUBACK, 1),
    wire.subscribe(4, 1, [("t", 0)]), wire.unsubscribe(4, 1, ["t"]), wire.pingreq(), wire.disconnect(),
    wire.auth(0x18, {"authentication_method": "x"}), wire.packet(CONNACK, b"\0\0"), b"GET / HTTP/1.1\r\n\r\n",
], ids=["PUBLISH-0", "PUBLISH-1", "PUBACK", "SUBSCRIBE", "UNSUBSCRIBE", "PINGREQ", "DISCONNECT", "AUTH", "CONNACK",
        "HTTP"])
@shows_311("3.1.0-1", "3.2.0-1")
@shows_5("3.1.0-1", "3.2.0-1", "3.14.0-1")
def test_a_connection_that_does_not_begin_with_connect_is_closed_without_a_word(dial, version, first):
    peer = dial(version)
    peer.send(first)
    assert raw_answer(peer) == []


@both_versions
@shows_311("3.1.0-2", "4.8.0-1")
@shows_5("3.1.0-2", "3.2.0-2", "3.14.0-1", "4.13.1-1")
def test_a_second_connect_ends_the_connection(connect, name, version):
    peer = connect(version, name)
    peer.send(wire.connect(version, name))
    peer.refused(0x82)


@both_versions
@pytest.mark.parametrize("protocol", ["MQTX", "mqtt", "MQT", "MQTTT", "", b"\xff\xff\xff\xff"])
@shows_311("3.1.2-1")
@shows_5("3.1.2-1")
def test_a_wrong_protocol_name_is_not_served(connect, dial, name, version, protocol):
    watcher = connect(version)
    watcher.subscribe(f"{name}/#")
    peer = dial(version)
    peer.send(wire.connect(version, name, protocol=protocol), wire.publish(version, f"{name}/sent", b"x"))
    assert all(first == CONNACK << 4 and body[1] in (1, 0x84) for first, body in raw_answer(peer))
    watcher.publish(f"{name}/end")
    assert watcher.until(f"{name}/end") == []


@pytest.mark.parametrize("protocol, level", [("MQIsdp", 4), ("MQIsdp", 5), ("MQTT", 3)])
@shows_311("3.1.2-1", "3.1.2-2")
@shows_5("3.1.2-1", "3.1.2-2")
def test_a_protocol_name_with_the_level_of_another_is_not_served(dial, name, protocol, level):
    peer = dial(V311)
    peer.send(wire.connect(V311, name, protocol=protocol, level=level))
    assert all(first == CONNACK << 4 and body[1] in (1, 0x84) for first, body in raw_answer(peer))


@pytest.mark.parametrize("level", [0, 1, 2, 6, 7, 127, 255])
@shows_311("3.1.2-2", "3.2.2-5", "3.1.4-5")
@shows_5("3.1.2-2", "3.1.4-6", "3.2.2-7", "4.13.2-1", "3.1.4-2")
def test_an_unsupported_protocol_level_is_answered_by_a_code_and_a_close(connect, dial, name, level):
    watcher = connect(V311)
    watcher.subscribe(f"{name}/#")
    peer = dial(V311)
    peer.send(wire.connect(V311, name, level=level), wire.publish(V311, f"{name}/sent", b"x"))
    answers = raw_answer(peer)
    assert len(answers) == 1 and answers[0][0] == CONNACK << 4, answers
    assert answers[0][1][0] == 0 and answers[0][1][1] in (0x01, 0x84)
    watcher.publish(f"{name}/end")
    assert watcher.until(f"{name}/end") == []


def malformed(label, bits, payload, ids_311, ids_5):
    return pytest.param(bits, payload, id=label.replace(" ", "-"), marks=[shows_311(*ids_311), shows_5(*ids_5)])


def fields(*values):
    return b"".join(wire.string(v) for v in values)


BAD_PAYLOADS = [
    malformed("reserved flag", 0x03, fields("id"), ["3.1.2-3"], ["3.1.2-3"]),
    malformed("will QoS 1 without will", 0x0A, fields("id"), ["3.1.2-11", "3.1.2-13"], ["3.1.2-11"]),
    malformed("will QoS 2 without will", 0x12, fields("id"), ["3.1.2-11", "3.1.2-13"], ["3.1.2-11"]),
    malformed("will retain without will", 0x22, fields("id"), ["3.1.2-11", "3.1.2-15"], ["3.1.2-13"]),
    malformed("will QoS 3", 0x1E, None, ["3.1.2-14"], ["3.1.2-12"]),
    malformed("will flag and no will", 0x06, fields("id"), ["3.1.2-9"], ["3.1.2-9"]),
    malformed("will fields without flag", 0x02, fields("id", "topic", "gone"), ["3.1.2-11"], []),
    malformed("user name flag and no user name", 0x82, fields("id"), ["3.1.2-19"], ["3.1.2-17"]),
    malformed("user name without flag", 0x02, fields("id", "user"), ["3.1.2-18"], ["3.1.2-16"]),
    malformed("password flag and no password", 0xC2, fields("id", "user"), ["3.1.2-21"], ["3.1.2-19"]),
    malformed("password without flag", 0x82, fields("id", "user", "secret"), ["3.1.2-20"], ["3.1.2-18"]),
    malformed("no payload", 0x02, b"", ["3.1.3-3"], ["3.1.3-3"]),
    malformed("client identifier cut short", 0x02, b"\x00\x09abc", ["3.1.3-3"], ["3.1.3-3"]),
]


@both_versions
@pytest.mark.parametrize("bits, payload", BAD_PAYLOADS)
@shows_311("3.1.4-1", "3.2.2-6")
@shows_5("3.1.4-1", "3.14.0-1")
def test_a_connect_that_breaks_its_format_closes_the_connection(dial, version, bits, payload):
    if payload is None:
        payload = wire.string("id") + Will("t").body(version)
    peer = dial(version)
    peer.send(wire.connect(version, "id", connect_flag_bits=bits, payload=payload))
    peer.refused(0x81, 0x82)


@shows_311("3.1.2-22", "3.1.4-1")
def test_a_password_without_a_user_name_is_refused_in_mqtt_311(dial):
    peer = dial(V311)
    peer.send(wire.connect(V311, "id", password="secret"))
    peer.refused()


@both_versions
@pytest.mark.parametrize("cut", [1, 3, 7, 9])
@shows_311("3.1.4-1")
@shows_5("3.1.4-1")
def test_a_connect_cut_within_its_header_closes_the_connection(dial, version, cut):
    body = wire.connect(version, "id")[2:2 + cut]
    peer = dial(version)
    peer.send(wire.packet(wire.CONNECT, body))
    assert all(first == CONNACK << 4 and body[1] in (0x81, 0x82) for first, body in raw_answer(peer))


def bad_property(label, listed, *reasons):
    return pytest.param(listed, reasons, id=label.replace(" ", "-"))


@pytest.mark.parametrize("listed, reasons", [
    bad_property("session expiry twice", [("session_expiry", 1), ("session_expiry", 1)], 0x82),
    bad_property("receive maximum twice", [("receive_maximum", 1), ("receive_maximum", 1)], 0x82),
    bad_property("receive maximum 0", {"receive_maximum": 0}, 0x82),
    bad_property("maximum packet size twice", [("maximum_packet_size", 99), ("maximum_packet_size", 99)], 0x82),
    bad_property("maximum packet size 0", {"maximum_packet_size": 0}, 0x82),
    bad_property("topic alias maximum twice", [("topic_alias_maximum", 1), ("topic_alias_maximum", 1)], 0x82),
    bad_property("request response information 2", {"request_response_information": 2}, 0x82),
    bad_property("request problem information 2", {"request_problem_information": 2}, 0x82),
    bad_property("authentication data without method", {"authentication_data": b"x"}, 0x82),
    bad_property("a property of PUBLISH", {"topic_alias": 1}, 0x81, 0x82),
    bad_property("a property of CONNACK", {"assigned_client_id": "x"}, 0x81, 0x82),
    bad_property("an unknown property", b"\x7f\x00", 0x81, 0x82),
    bad_property("property identifier 0", b"\x00\x00", 0x81, 0x82),
    bad_property("a property cut short", b"\x11\x00", 0x81, 0x82),
])
@shows_5("3.1.4-1", "3.2.2-7", "4.13.1-1", "4.13.2-1")
def test_a_bad_property_of_connect_closes_the_connection(dial, name, listed, reasons):
    peer = dial(V5)
    peer.send(wire.connect(V5, name, props=listed))
    peer.refused(*reasons)


@pytest.mark.parametrize("listed, reasons", [
    bad_property("will delay twice", [("will_delay", 1), ("will_delay", 1)], 0x82),
    bad_property("content type twice", [("content_type", "a"), ("content_type", "a")], 0x82),
    bad_property("payload format twice", [("payload_format", 1), ("payload_format", 1)], 0x82),
    bad_property("response topic with a wildcard", {"response_topic": "a/#"}, 0x81, 0x82, 0x90),
    bad_property("a property of PUBLISH only", {"topic_alias": 1}, 0x81, 0x82),
    bad_property("an unknown property", b"\x7f\x00", 0x81, 0x82),
])
@shows_5("3.1.4-1", "3.1.2-9")
def test_a_bad_property_of_the_will_closes_the_connection(dial, name, listed, reasons):
    peer = dial(V5)
    peer.send(wire.connect(V5, name, will=Will("t", properties=listed)))
    peer.refused(*reasons)


@both_versions
@pytest.mark.parametrize("topic", ["a/#", "+/b", "", "#"])
@shows_311("4.7.1-1", "4.7.3-1")
@shows_5("4.7.0-1", "4.7.3-1")
def test_a_will_topic_that_is_no_topic_name_is_refused(dial, name, version, topic):
    peer = dial(version)
    peer.send(wire.connect(version, name, will=Will(topic)))
    peer.refused(0x81, 0x82, 0x90)


@shows_5("3.1.4-5")
def test_a_password_without_a_user_name_is_allowed_in_mqtt_5(dial, name):
    assert dial(V5).handshake(name, password="secret").reason == 0


@both_versions
@shows_311("3.1.3-1", "3.1.2-9", "3.1.2-19", "3.1.2-21", "3.1.3-3")
@shows_5("3.1.3-1", "3.1.2-9", "3.1.2-17", "3.1.2-19", "3.1.3-3")
def test_all_fields_of_the_payload_are_read_in_their_order(connect, name, version):
    watcher = connect(version)
    watcher.subscribe(f"{name}/will", qos=2)
    peer = connect(version, name, will=Will(f"{name}/will", b"last words", 2), username="user", password="secret")
    peer.drop()
    found = watcher.delivery()
    assert (found.topic, found.payload, found.qos) == (f"{name}/will", b"last words", 2)


@both_versions
@pytest.mark.parametrize("length", [1, 22, 23])
@shows_311("3.1.3-5")
@shows_5("3.1.3-5")
def test_client_identifiers_of_1_to_23_letters_and_digits_are_accepted(dial, version, length):
    alphabet = letters.digits + letters.ascii_letters
    for start in range(0, len(alphabet), length):
        client_id = (alphabet + alphabet)[start:start + length] if length > 1 else alphabet[start]
        peer = dial(version)
        assert peer.handshake(client_id).reason == 0
        peer.leave()


@both_versions
@shows_311("3.1.3-6", "3.2.2-1")
@shows_5("3.1.3-6", "3.2.2-16")
def test_each_empty_client_identifier_gets_one_of_its_own(dial, version):
    first, second = dial(version), dial(version)
    assert first.handshake("").reason == 0
    assert second.handshake("").reason == 0
    first.alive()
    second.alive()
    if version == V5:
        names = {p.connack.property("assigned_client_id") for p in (first, second)}
        assert len(names) == 2 and None not in names and "" not in names


@shows_5("3.1.3-7", "3.2.2-16", "3.1.2-23")
def test_an_assigned_client_identifier_is_as_good_as_a_chosen_one(dial, name):
    first = dial(V5)
    assigned = first.handshake("", props={"session_expiry": 60}).property("assigned_client_id")
    first.subscribe(name, qos=1)
    first.leave()
    second = dial(V5)
    assert second.handshake(assigned, clean=False).session_present
    second.publish(name, b"x", 1)
    assert second.delivery().payload == b"x"


@shows_5("3.1.3-6", "3.1.3-7")
def test_an_empty_client_identifier_without_clean_start_is_assigned_one_in_mqtt_5(dial):
    connack = dial(V5).handshake("", clean=False)
    assert connack.reason == 0 and connack.property("assigned_client_id")


@shows_5("3.1.3-7")
def test_a_chosen_client_identifier_is_not_assigned(dial, name):
    assert dial(V5).handshake(name).property("assigned_client_id") in (None, name)


@shows_311("3.1.3-7", "3.1.3-8", "3.1.3-9", "3.2.2-4", "3.2.2-5")
def test_an_empty_client_identifier_without_clean_session_is_answered_by_code_2(dial):
    peer = dial(V311)
    connack = peer.handshake("", clean=False)
    assert (connack.reason, connack.session_present) == (2, False)
    assert peer.until_end() == []


@pytest.mark.parametrize("old", [V311, V5], ids=["3.1.1", "5.0"])
@pytest.mark.parametrize("new", [V311, V5], ids=["3.1.1", "5.0"])
@shows_311("3.1.4-2", "3.1.3-2")
@shows_5("3.1.4-3", "3.1.3-2")
def test_a_second_connection_of_a_client_identifier_ends_the_first(connect, name, old, new):
    first = connect(old, name)
    second = connect(new, name)
    first.refused(0x8E)
    second.alive()


@both_versions
@shows_311("3.2.0-1")
@shows_5("3.2.0-1", "3.2.0-2")
def test_a_client_need_not_wait_for_connack(dial, name, version):
    peer = dial(version)
    peer.send(wire.connect(version, name) + wire.subscribe(version, 1, [(name, 0)])
              + wire.publish(version, name, b"x") + wire.pingreq())
    kinds = [peer.receive().kind for _ in range(4)]
    assert kinds[0] == CONNACK and sorted(kinds[1:]) == sorted([SUBACK, PUBLISH, PINGRESP])
    peer.alive()


@both_versions
@shows_311("3.2.0-1", "3.2.2-2")
@shows_5("3.2.0-1", "3.2.2-3")
def test_connack_comes_before_the_queued_messages(connect, dial, name, version):
    keep = {"props": {"session_expiry": 60}} if version == V5 else {}
    first = connect(version, name, clean=False, **keep)
    first.subscribe(f"{name}/t", qos=1)
    first.leave()
    publisher = connect(version)
    for number in range(5):
        publisher.publish(f"{name}/t", b"%d" % number, 1)
    second = dial(version)
    assert second.handshake(name, clean=False, **keep).session_present  # demands that CONNACK is first
    assert [p.payload for p in second.deliveries(5)] == [b"%d" % n for n in range(5)]


@both_versions
@shows_311("3.1.2-24")
@shows_5("3.1.2-22", "3.2.2-22")
def test_a_silent_client_is_disconnected_after_its_keep_alive(connect, name, version):
    watcher = connect(version)
    watcher.subscribe(f"{name}/will")
    peer = connect(version, name, keep_alive=1, will=Will(f"{name}/will"))
    assert peer.connack.property("server_keep_alive", 1) == 1
    began = time.monotonic()
    peer.refused(0x8D)
    assert 1.0 < time.monotonic() - began < 2.5
    assert watcher.delivery().payload == b"gone"


@both_versions
@shows_311("3.1.2-24", "3.12.4-1")
@shows_5("3.1.2-22", "3.12.4-1")
def test_pings_keep_a_connection_alive(connect, version):
    peer = connect(version, keep_alive=1)
    peer.socket.settimeout(0.8)
    for _ in range(3):
        with pytest.raises(TimeoutError):
            peer.socket.recv(1)
        peer.socket.settimeout(0.8)
        peer.alive()
        peer.socket.settimeout(0.8)


@both_versions
@shows_311("3.1.2-24")
@shows_5("3.1.2-22")
def test_keep_alive_0_turns_it_off(connect, version):
    peer = connect(version, keep_alive=0)
    peer.socket.settimeout(1.8)
    if not peer.connack.property("server_keep_alive"):
        with pytest.raises(TimeoutError):
            peer.socket.recv(1)
    peer.alive()


@pytest.mark.parametrize("asked", [{}, {"request_response_information": 0}])
@shows_5("3.1.2-28")
def test_response_information_is_not_returned_unasked(dial, name, asked):
    assert dial(V5).handshake(name, props=asked).property("response_information") is None


@shows_5("3.1.2-28")
def test_response_information_may_be_asked_for(dial, name):
    dial(V5).handshake(name, props={"request_response_information": 1}).property("response_information")


@shows_5("3.2.2-8")
def test_connack_says_only_sensible_limits(dial, name):
    connack = dial(V5).handshake(name)
    assert connack.property("receive_maximum", 65535) > 0
    assert connack.property("maximum_packet_size", 1) > 0
    assert connack.property("maximum_qos", 1) in (0, 1)
    for flag in ("retain_available", "wildcard_available", "subscription_identifiers_available", "shared_available"):
        assert connack.property(flag, 1) in (0, 1)


@both_versions
@shows_311("3.14.4-1", "3.14.4-2")
@shows_5("3.14.4-1", "3.14.4-2", "4.13.2-1")
def test_nothing_after_disconnect_is_processed(connect, name, version):
    watcher = connect(version)
    watcher.subscribe(f"{name}/#")
    peer = connect(version)
    peer.send(wire.disconnect() + wire.publish(version, f"{name}/late", b"x") + wire.pingreq())
    assert peer.until_end() == []
    watcher.publish(f"{name}/end")
    assert watcher.until(f"{name}/end") == []


@pytest.mark.parametrize("reason", [0x81, 0x82, 0x93, 0x04])
@shows_5("4.13.2-1", "3.14.4-2")
def test_a_disconnect_of_the_client_closes_the_connection_whatever_its_reason(connect, reason):
    assert connect(V5).leave(reason) == []


@pytest.mark.parametrize("body, reasons", [
    (b"\x42", (0x81, 0x82)), (b"\x00\x05\x11\x00\x00", (0x81, 0x82)), (b"\x00\x02\x21\x00", (0x81, 0x82)),
], ids=["an-unknown-reason", "a-property-cut-short", "a-property-of-CONNECT"])
@shows_5("3.14.2-1", "4.13.1-1")
def test_a_bad_disconnect_closes_the_connection_as_a_failure(connect, name, body, reasons):
    watcher = connect(V5)
    watcher.subscribe(f"{name}/will")
    peer = connect(V5, will=Will(f"{name}/will"))
    peer.send(wire.packet(DISCONNECT, body))
    peer.until_end()
    assert watcher.delivery().payload == b"gone"


@shows_5("3.14.2-1", "4.13.1-1")
def test_a_session_expiry_may_not_appear_at_disconnect(connect, name):
    peer = connect(V5, name)  # the session expiry of its CONNECT is 0
    peer.send(wire.disconnect(0, {"session_expiry": 60}))
    found = peer.until_end()
    assert all(p.kind == DISCONNECT and p.reason == 0x82 for p in found)


@both_versions
@shows_311("3.2.0-1")
@shows_5("3.2.0-2")
def test_there_is_one_connack(connect, version):
    peer = connect(version)
    assert all(p.kind != CONNACK for p in peer.fence())
    assert peer.leave() == []


@both_versions
@shows_311("3.1.2-24")
@shows_5("3.1.2-22")
def test_pieces_of_a_packet_do_not_keep_a_connection_alive(connect, version):
    peer = connect(version, keep_alive=1)
    began, packet = time.monotonic(), wire.publish(version, "t", b"x" * 100)
    for byte in packet:
        try:
            peer.send(bytes([byte]))
            peer.receive(within=0.25)
        except Silent:
            assert time.monotonic() - began < 3, "each piece was taken for a packet"
        except Ended:
            break
        else:
            break  # DISCONNECT
    assert 1.0 < time.monotonic() - began < 3
