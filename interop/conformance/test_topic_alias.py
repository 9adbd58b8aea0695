"""Chapter 3.3.2.3.4: topic aliases, both ways."""

import pytest
import wire
from peer import kept
from statements import shows_5
from wire import PUBLISH, V5


def alias_maximum(peer):
    maximum = peer.connack.property("topic_alias_maximum", 0)
    if not maximum:
        pytest.skip("the server takes no topic aliases")
    return maximum


@shows_5("3.3.2-12")
def test_each_topic_alias_up_to_the_maximum_is_accepted(connect, name):
    peer = connect(V5)
    maximum = min(alias_maximum(peer), 100)
    peer.subscribe(f"{name}/#")
    aliases = [*range(1, maximum + 1), alias_maximum(peer)]
    for alias in aliases:
        peer.send(wire.publish(V5, f"{name}/{alias}", b"first", props={"topic_alias": alias}))
        peer.send(wire.publish(V5, "", b"second", props={"topic_alias": alias}))
    for alias in aliases:
        assert [(p.topic, p.payload) for p in peer.deliveries(2)] == [
            (f"{name}/{alias}", b"first"), (f"{name}/{alias}", b"second")]


@shows_5("3.3.2-12")
def test_a_topic_alias_may_be_given_to_another_topic(connect, name):
    peer = connect(V5)
    alias_maximum(peer)
    peer.subscribe(f"{name}/#")
    for topic in (f"{name}/1", "", f"{name}/2", ""):
        peer.send(wire.publish(V5, topic, b"x", props={"topic_alias": 1}))
    assert [p.topic for p in peer.deliveries(4)] == [f"{name}/1", f"{name}/1", f"{name}/2", f"{name}/2"]


@shows_5("3.3.2-9", "3.2.2-17", "4.13.1-1")
def test_a_topic_alias_above_the_maximum_closes_the_connection(connect, name):
    peer = connect(V5)
    maximum = peer.connack.property("topic_alias_maximum", 0)
    if maximum == 65_535:
        pytest.skip("no topic alias is above the maximum")
    peer.send(wire.publish(V5, name, b"x", props={"topic_alias": maximum + 1}))
    peer.refused(0x94)


@shows_5("4.13.1-1")
def test_an_unknown_topic_alias_closes_the_connection(connect, name):
    peer = connect(V5)
    alias_maximum(peer)
    peer.send(wire.publish(V5, "", b"x", props={"topic_alias": 1}))
    peer.refused(0x82, 0x94)


@shows_5("3.3.2-7")
def test_a_topic_alias_ends_with_its_connection(connect, name):
    first = connect(V5, name, **kept(V5))
    alias_maximum(first)
    first.send(wire.publish(V5, f"{name}/t", b"x", props={"topic_alias": 1}))
    first.alive()
    first.drop()
    second = connect(V5, name, **kept(V5))
    second.send(wire.publish(V5, "", b"x", props={"topic_alias": 1}))
    second.refused(0x82, 0x94)


@pytest.mark.parametrize("maximum", [1, 2, 65_535])
@shows_5("3.1.2-26", "3.3.2-11", "3.3.2-8")
def test_topic_aliases_of_the_server_keep_to_the_maximum_and_resolve(connect, name, maximum):
    peer = connect(V5, props={"topic_alias_maximum": maximum})
    peer.subscribe(f"{name}/#", qos=1)
    sent = [f"{name}/{n % 4}" for n in range(20)]
    publisher = connect(V5)
    for number, topic in enumerate(sent):
        publisher.publish(topic, b"x", number % 2)
    topics, aliases = peer.aliased_deliveries(20)
    assert sorted(topics) == sorted(sent)
    assert all(1 <= alias <= maximum for alias in aliases)


@pytest.mark.parametrize("asked", [{}, {"topic_alias_maximum": 0}], ids=["absent", "0"])
@shows_5("3.1.2-27")
def test_without_a_topic_alias_maximum_the_server_sends_no_aliases(connect, name, asked):
    peer = connect(V5, props=asked)
    peer.subscribe(f"{name}/#")
    publisher = connect(V5)
    for _ in range(5):
        publisher.publish(f"{name}/t", b"x")
    found = peer.deliveries(5)
    assert all(p.topic and p.property("topic_alias") is None for p in found)


@shows_5("3.3.2-7", "3.1.2-27")
def test_topic_aliases_of_the_server_end_with_the_connection(connect, name):
    first = connect(V5, name, clean=False, props={"session_expiry": 60, "topic_alias_maximum": 10})
    first.subscribe(f"{name}/t", qos=1)
    first.publish(f"{name}/t", b"x", 1)
    assert first.aliased_deliveries(1)[0] == [f"{name}/t"]
    first.leave()
    connect(V5).publish(f"{name}/t", b"x", 1)
    second = connect(V5, name, **kept(V5))
    found = second.delivery()
    assert found.topic == f"{name}/t" and found.property("topic_alias") is None


@shows_5("3.3.2-7", "3.1.2-27")
def test_a_message_sent_again_has_its_topic_and_not_the_alias_of_the_old_connection(connect, name):
    first = connect(V5, name, clean=False, props={"session_expiry": 60, "topic_alias_maximum": 10})
    first.subscribe(f"{name}/t", qos=1)
    publisher = connect(V5)
    for number in range(3):
        publisher.publish(f"{name}/t", b"%d" % number, 1)
    for _ in range(3):
        first.expect(PUBLISH)
    first.drop()
    second = connect(V5, name, **kept(V5))
    assert [(p.topic, p.payload, p.dup) for p in second.deliveries(3)] == [
        (f"{name}/t", b"%d" % n, True) for n in range(3)]


@shows_5("3.1.2-25", "3.3.2-11", "3.1.2-26")
def test_a_message_left_out_for_its_size_establishes_no_alias(connect, name):
    peer = connect(V5, props={"topic_alias_maximum": 5, "maximum_packet_size": 300})
    peer.subscribe(f"{name}/t", qos=1)
    publisher = connect(V5)
    publisher.publish(f"{name}/t", b"x" * 1000, 1)
    publisher.publish(f"{name}/t", b"a", 1)
    publisher.publish(f"{name}/t", b"x" * 1000, 0)
    publisher.publish(f"{name}/t", b"b", 0)
    assert peer.aliased_deliveries(2)[0] == [f"{name}/t"] * 2


@pytest.mark.parametrize("qos", [1, 2])
@shows_5("3.3.2-12")
def test_a_topic_alias_works_at_each_qos(connect, name, qos):
    peer = connect(V5)
    alias_maximum(peer)
    watcher = connect(V5)
    watcher.subscribe(f"{name}/#", qos=2)
    for topic in (f"{name}/t", "", ""):
        assert peer.publish(topic, b"x", qos, props={"topic_alias": 1}) == 0
    found = [(p.topic, p.qos, p.property("topic_alias")) for p in watcher.deliveries(3)]
    assert found == [(f"{name}/t", qos, None)] * 3
