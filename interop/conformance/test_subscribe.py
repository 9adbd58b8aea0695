"""Chapters 3.8 to 3.11: SUBSCRIBE, SUBACK, UNSUBSCRIBE, UNSUBACK; 3.12: PINGREQ."""

import pytest
import wire
from peer import kept
from statements import both_versions, shows_311, shows_5
from wire import PUBACK, PUBCOMP, PUBLISH, PUBREC, PUBREL, SUBACK, UNSUBACK, V5, V311

NO_LOCAL, RETAIN_AS_PUBLISHED = 0x04, 0x08


@both_versions
@shows_311("3.8.4-1", "3.8.4-4", "3.8.4-5", "3.9.3-1", "3.9.3-2")
@shows_5("3.8.4-1", "3.8.4-5", "3.8.4-6", "3.8.4-7", "3.9.3-1", "3.9.3-2")
def test_suback_has_a_code_for_each_filter_in_their_order(connect, name, version):
    peer = connect(version)
    granted = peer.subscribe(*[(f"{name}/{n}", n % 3) for n in range(30)])
    assert granted == [n % 3 for n in range(30)]
    publisher = connect(version)
    for number in range(30):
        publisher.publish(f"{name}/{number}", b"", 2)
    assert [p.qos for p in peer.deliveries(30)] == [n % 3 for n in range(30)]


@both_versions
@pytest.mark.parametrize("granted", [0, 1, 2])
@pytest.mark.parametrize("published", [0, 1, 2])
@shows_311("3.8.4-6", "3.3.2-3")
@shows_5("3.8.4-8", "3.3.2-3")
def test_a_message_is_delivered_at_the_lower_qos(connect, name, version, published, granted):
    peer, publisher = connect(version), connect(version)
    assert peer.subscribe(name, qos=granted) == [granted]
    publisher.publish(name, b"x", published)
    assert peer.delivery().qos == min(published, granted)


@both_versions
@shows_311("3.8.3-3", "4.8.0-1")
@shows_5("3.8.3-2", "4.13.1-1")
def test_a_subscribe_without_filters_closes_the_connection(connect, version):
    peer = connect(version)
    peer.send(wire.subscribe(version, 1, []))
    peer.refused(0x82, 0x81)


@pytest.mark.parametrize("options", [0x03, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80])
@shows_311("3.8.3-4", "4.8.0-1")
def test_reserved_bits_of_the_requested_qos_close_the_connection_in_mqtt_311(connect, options):
    peer = connect(V311)
    peer.send(wire.subscribe(V311, 1, [("t", options)]))
    peer.refused()


@pytest.mark.parametrize("options", [0x03, 0x30, 0x40, 0x80, 0xC0])
@shows_5("3.8.3-5", "4.13.1-1")
def test_reserved_bits_and_values_of_the_subscription_options_close_the_connection(connect, options):
    peer = connect(V5)
    peer.send(wire.subscribe(V5, 1, [("good", 0), ("t", options)]))
    peer.refused(0x81, 0x82)


@both_versions
@shows_311("3.8.4-3")
@shows_5("3.8.4-3")
def test_a_second_subscription_to_a_filter_replaces_the_first(connect, name, version):
    peer = connect(version)
    peer.subscribe(f"{name}/t", qos=2)
    peer.subscribe(f"{name}/t", qos=0)
    peer.subscribe(f"{name}/end")
    publisher = connect(version)
    publisher.publish(f"{name}/t", b"x", 2)
    publisher.publish(f"{name}/end")
    assert [p.qos for p in peer.until(f"{name}/end")] == [0]


@both_versions
@shows_311("3.8.4-3")
@shows_5("3.8.4-4")
def test_no_message_is_lost_while_a_subscription_is_replaced(connect, name, version):
    peer, publisher = connect(version), connect(version)
    peer.subscribe(name, qos=1)
    for number in range(40):
        publisher.send(wire.publish(version, name, b"%d" % number, 1, number + 1))
        peer.send(wire.subscribe(version, 100 + number, [(name, 1)]))
    payloads, subacks = [], 0
    while len(payloads) < 40 or subacks < 40:
        found = peer.receive()
        subacks += found.kind == SUBACK
        if found.kind == PUBLISH:
            payloads.append(found.payload)
            peer.send(wire.acknowledge(PUBACK, found.packet_id))
    assert payloads == [b"%d" % n for n in range(40)]


@both_versions
@shows_311("3.3.5-1")
@shows_5("3.3.4-2")
def test_overlapping_subscriptions_deliver_at_the_highest_qos(connect, name, version):
    peer = connect(version)
    peer.subscribe((f"{name}/#", 0), (f"{name}/+", 2), (f"{name}/t", 1), (f"{name}/x/end", 0))
    publisher = connect(version)
    publisher.publish(f"{name}/t", b"x", 2)
    publisher.publish(f"{name}/x/end")
    found = peer.until(f"{name}/x/end")
    assert 1 <= len(found) <= 3 and max(p.qos for p in found) == 2


@shows_5("3.3.4-3", "3.3.4-4", "3.3.4-5")
def test_overlapping_subscriptions_bring_their_identifiers(connect, name):
    peer = connect(V5)
    peer.subscribe(f"{name}/#", props={"subscription_identifier": 1})
    peer.subscribe(f"{name}/+", props={"subscription_identifier": 268_435_455})
    peer.subscribe(f"{name}/t")
    peer.subscribe("end/" + name)
    publisher = connect(V5)
    publisher.publish(f"{name}/t", b"x")
    publisher.publish("end/" + name)
    found = peer.until("end/" + name)
    carried = [p.all("subscription_identifier") for p in found]
    assert sorted(sum(carried, [])) == [1, 268_435_455]
    if len(found) > 1:
        assert len(found) == 3 and all(len(ids) <= 1 for ids in carried)


@shows_5("3.3.4-3", "3.8.4-3")
def test_a_replaced_subscription_has_the_new_identifier(connect, name):
    peer = connect(V5)
    peer.subscribe(name, props={"subscription_identifier": 7})
    peer.subscribe(name, props={"subscription_identifier": 8})
    peer.publish(name, b"1")
    assert peer.delivery().all("subscription_identifier") == [8]
    peer.subscribe(name)
    peer.publish(name, b"2")
    assert peer.delivery().all("subscription_identifier") == []


@shows_5("3.3.4-3")
def test_subscription_identifiers_outlive_the_connection(connect, name):
    first = connect(V5, name, **kept(V5))
    first.subscribe(f"{name}/t", qos=1, props={"subscription_identifier": 300})
    first.leave()
    connect(V5).publish(f"{name}/t", b"x", 1)
    assert connect(V5, name, **kept(V5)).delivery().all("subscription_identifier") == [300]


@shows_5("3.3.4-3", "3.3.1-9")
def test_a_retained_message_brings_the_subscription_identifier(connect, name):
    peer = connect(V5)
    peer.publish(name, b"kept", retain=True)
    peer.subscribe(name, props={"subscription_identifier": 9})
    assert peer.delivery().all("subscription_identifier") == [9]


@pytest.mark.parametrize("listed", [
    {"subscription_identifier": 0}, [("subscription_identifier", 1), ("subscription_identifier", 2)],
    {"session_expiry": 1}, b"\x0b\x80\x80\x80\x80\x01", b"\x7f\x00",
], ids=["0", "twice", "wrong-property", "five-bytes", "unknown-property"])
@shows_5("4.13.1-1")
def test_a_bad_property_of_subscribe_closes_the_connection(connect, listed):
    peer = connect(V5)
    peer.send(wire.subscribe(V5, 1, [("t", 0)], listed))
    peer.refused(0x81, 0x82)


@shows_5("3.8.3-3")
def test_no_local_keeps_a_message_from_its_publisher(connect, name):
    peer, other = connect(V5), connect(V5)
    for each in (peer, other):
        each.subscribe((f"{name}/t", NO_LOCAL), (f"{name}/end", 0))
    peer.publish(f"{name}/t", b"own")
    peer.publish(f"{name}/end")
    assert peer.until(f"{name}/end") == []
    assert [p.payload for p in other.until(f"{name}/end")] == [b"own"]


@shows_5("3.8.3-3")
def test_no_local_looks_at_the_client_identifier_not_at_the_connection(connect, name):
    first = connect(V5, name, **kept(V5))
    first.subscribe((f"{name}/t", NO_LOCAL | 1), (f"{name}/end", 1))
    second = connect(V5, name, **kept(V5))
    second.publish(f"{name}/t", b"own", 1)
    second.publish(f"{name}/end", b"", 1)
    assert second.until(f"{name}/end") == []


@shows_5("3.8.3-4", "4.13.1-1")
def test_no_local_on_a_shared_subscription_is_a_protocol_error(connect, name):
    peer = connect(V5)
    peer.send(wire.subscribe(V5, 1, [(f"$share/g/{name}", NO_LOCAL)]))
    peer.refused(0x82)


@both_versions
@pytest.mark.parametrize("bad", ["a/#/b", "a#", "#a", "a/b#", "+a", "a+", "a/+b", "a/b+/c", "++", "##", ""])
@shows_311("4.7.1-2", "4.7.1-3", "4.7.3-1")
@shows_5("4.7.1-1", "4.7.1-2", "4.7.3-1")
def test_a_filter_that_is_none_is_refused(connect, version, bad):
    peer = connect(version)
    peer.send(wire.subscribe(version, 1, [(bad, 0)]))
    found = peer.receive_or_last_words()
    if found and found.kind == SUBACK:
        assert found.reasons in ([0x80], [0x8F])
        peer.alive()
    elif found:
        assert found.reason in (0x81, 0x82, 0x8F)


@both_versions
@shows_311("3.10.4-1", "3.10.4-2", "3.10.4-4")
@shows_5("3.10.4-1", "3.10.4-2", "3.10.4-4", "3.11.3-2")
def test_unsubscribe_ends_exactly_the_named_subscription(connect, name, version):
    peer = connect(version)
    peer.subscribe(f"{name}/t", f"{name}/+", f"{name}/end/x")
    codes = peer.unsubscribe(f"{name}/t")
    assert codes == ([0] if version == V5 else [])
    peer.publish(f"{name}/t", b"x")
    peer.publish(f"{name}/end/x")
    assert [p.payload for p in peer.until(f"{name}/end/x")] == [b"x"]  # by the filter with the wildcard
    peer.unsubscribe(f"{name}/+")
    peer.publish(f"{name}/t", b"x")
    peer.publish(f"{name}/end/x")
    assert peer.until(f"{name}/end/x") == []


@both_versions
@shows_311("3.10.4-5", "3.10.4-1")
@shows_5("3.10.4-5", "3.10.4-1", "3.11.3-2")
def test_unsubscribe_of_nothing_is_acknowledged(connect, name, version):
    peer = connect(version)
    peer.subscribe(f"{name}/a")
    for other in (f"{name}/A", f"{name}/#", f"{name}/+", f"{name}/a/", f"/{name}/a"):
        assert peer.unsubscribe(other) == ([0x11] if version == V5 else [])
    peer.publish(f"{name}/a", b"x")
    assert peer.delivery().payload == b"x"


@both_versions
@shows_311("3.10.4-6")
@shows_5("3.10.4-6", "3.11.3-1")
def test_unsubscribe_takes_several_filters_in_one_packet(connect, name, version):
    peer = connect(version)
    peer.subscribe(f"{name}/1", f"{name}/3", f"{name}/end")
    codes = peer.unsubscribe(f"{name}/1", f"{name}/2", f"{name}/3")
    assert codes == ([0, 0x11, 0] if version == V5 else [])
    for level in ("1", "3", "end"):
        peer.publish(f"{name}/{level}")
    assert peer.until(f"{name}/end") == []


@both_versions
@shows_311("3.10.3-2", "4.8.0-1")
@shows_5("3.10.3-2", "4.13.1-1")
def test_an_unsubscribe_without_filters_closes_the_connection(connect, version):
    peer = connect(version)
    peer.send(wire.unsubscribe(version, 1, []))
    peer.refused(0x82, 0x81)


@shows_5("4.13.1-1")
def test_a_bad_property_of_unsubscribe_closes_the_connection(connect):
    peer = connect(V5)
    peer.send(wire.unsubscribe(V5, 1, ["t"], {"subscription_identifier": 1}))
    peer.refused(0x81, 0x82)


@both_versions
@shows_311("3.10.4-3", "4.3.3-1")
@shows_5("3.10.4-3", "4.3.3-4")
def test_a_delivery_that_was_begun_is_completed_after_unsubscribe(connect, name, version):
    peer = connect(version, name, **kept(version))
    peer.subscribe(f"{name}/1", f"{name}/2", qos=2)
    publisher = connect(version)
    publisher.publish(f"{name}/2", b"two", 2)
    publisher.publish(f"{name}/1", b"one", 1)
    two, one = peer.expect(PUBLISH), peer.expect(PUBLISH)
    peer.unsubscribe(f"{name}/1", f"{name}/2")
    peer.send(wire.acknowledge(PUBREC, two.packet_id))
    assert peer.expect(PUBREL).packet_id == two.packet_id
    peer.send(wire.acknowledge(PUBCOMP, two.packet_id))
    peer.alive()
    peer.drop()
    again = connect(version, name, **kept(version)).expect(PUBLISH)
    assert (again.payload, again.packet_id, again.dup) == (b"one", one.packet_id, True)


@both_versions
@shows_311("3.10.4-2")
@shows_5("3.10.4-2")
def test_nothing_is_queued_for_an_absent_session_after_unsubscribe(connect, name, version):
    first = connect(version, name, **kept(version))
    first.subscribe(f"{name}/t", f"{name}/end", qos=1)
    first.unsubscribe(f"{name}/t")
    first.leave()
    publisher = connect(version)
    publisher.publish(f"{name}/t", b"x", 1)
    publisher.publish(f"{name}/end", b"", 1)
    assert connect(version, name, **kept(version)).until(f"{name}/end") == []


@both_versions
@shows_311("3.12.4-1")
@shows_5("3.12.4-1")
def test_each_ping_is_answered(connect, version):
    peer = connect(version)
    peer.send(wire.pingreq() * 10)
    for _ in range(10):
        peer.expect(wire.PINGRESP)
    peer.alive()


@shows_5("3.8.4-5")
def test_user_properties_in_subscribe_and_unsubscribe_are_accepted(connect, name):
    peer = connect(V5)
    listed = [("user_property", ("a", "1")), ("user_property", ("a", "1"))]
    assert peer.subscribe(name, props=listed) == [0]
    peer.send(wire.unsubscribe(V5, 9, [name], listed))
    assert peer.expect(UNSUBACK).reasons == [0]


# Corners.


@shows_5("3.8.3-3")
def test_no_local_does_not_silence_another_subscription(connect, name):
    peer = connect(V5)
    peer.subscribe((f"{name}/t", NO_LOCAL), (f"{name}/+", 0), (f"{name}/x/end", 0))
    peer.publish(f"{name}/t", b"own")
    peer.publish(f"{name}/x/end")
    assert [p.payload for p in peer.until(f"{name}/x/end")] == [b"own"]


@both_versions
@shows_311("3.8.4-4")
@shows_5("3.8.4-5")
def test_a_thousand_filters_fit_into_one_packet(connect, name, version):
    peer = connect(version)
    filters = [f"{name}/{n}/+" for n in range(1000)]
    assert peer.subscribe(*filters, qos=1) == [1] * 1000
    peer.publish(f"{name}/999/x", b"x", 1)
    assert peer.delivery().topic == f"{name}/999/x"
    assert peer.unsubscribe(*filters) == ([0] * 1000 if version == V5 else [])


@both_versions
@shows_311("3.8.4-4", "3.8.4-3")
@shows_5("3.8.4-5", "3.8.4-3")
def test_a_filter_twice_in_one_packet_counts_as_the_last(connect, name, version):
    peer = connect(version)
    assert peer.subscribe((f"{name}/t", 2), (f"{name}/t", 0), (f"{name}/end", 0)) == [2, 0, 0]
    publisher = connect(version)
    publisher.publish(f"{name}/t", b"x", 2)
    publisher.publish(f"{name}/end")
    assert [p.qos for p in peer.until(f"{name}/end")] == [0]


@both_versions
@pytest.mark.parametrize("bad", ["a/#/b", "a#", "+a", ""])
@shows_311("4.7.1-2", "4.7.1-3", "4.7.3-1")
@shows_5("4.7.1-1", "4.7.1-2", "4.7.3-1")
def test_an_unsubscribe_of_a_filter_that_is_none_harms_nothing(connect, version, bad):
    peer = connect(version)
    peer.send(wire.unsubscribe(version, 1, [bad]))
    found = peer.receive_or_last_words()
    assert found is None or found.kind == UNSUBACK and found.reasons in ([], [0x11], [0x8F]) or found.reason in (
        0x81, 0x82, 0x8F)


@pytest.mark.parametrize("build", [
    lambda bad: wire.subscribe(V5, 1, [("t", 0)], {"user_property": (bad, "v")}),
    lambda bad: wire.unsubscribe(V5, 1, ["t"], {"user_property": ("k", bad)}),
    lambda bad: wire.acknowledge(PUBACK, 1, 0, {"reason_string": bad}),
    lambda bad: wire.acknowledge(PUBREL, 1, 0, {"user_property": ("k", bad)}),
    lambda bad: wire.auth(0x18, {"authentication_method": bad}),
], ids=["SUBSCRIBE", "UNSUBSCRIBE", "PUBACK", "PUBREL", "AUTH"])
@pytest.mark.parametrize("bad", [b"\xed\xa0\x80", b"\xc0\x80", b"\x00"])
@shows_5("1.5.4-1", "1.5.4-2", "1.5.7-1", "4.13.1-1")
def test_a_bad_string_in_any_packet_closes_the_connection(connect, build, bad):
    peer = connect(V5)
    peer.send(build(bad))
    peer.refused(0x81, 0x82)
