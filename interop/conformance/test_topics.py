"""Chapter 4.7: topic names, filters and their matching; 4.6: order."""

import pytest
import wire
from peer import Ended, kept
from statements import both_versions, shows_311, shows_5
from wire import DISCONNECT, PUBLISH, SUBACK, V5, V311

# filter, the topics that it matches, the topics that it does not (all below a level of the test's own)
MATCHING = [
    ("a/#", ["a", "a/b", "a/b/c", "a/"], ["b", "ab", "A", "/a"]),
    ("+", ["a", ""], ["a/b", "/a"]),
    ("a/+", ["a/b", "a/"], ["a", "a/b/c"]),
    ("+/+", ["a/b", "/", "a/"], ["a", "a/b/c"]),
    ("/+", ["/a", "/"], ["a", "a/b"]),
    ("+/a/#", ["x/a", "x/a/b", "/a"], ["a", "x/b"]),
    ("a/+/c", ["a/b/c", "a//c"], ["a/c", "a/b/b/c"]),
    ("#", ["a", "a/b", "/", ""], []),
    ("a//b", ["a//b"], ["a/b", "a/ /b"]),
    ("a b", ["a b"], ["ab", "a%20b"]),
    ("a", ["a"], ["A", "a/", "/a", "a ", " a"]),
    ("caf\u00e9", ["caf\u00e9"], ["cafe\u0301"]),
    ("cafe\u0301", ["cafe\u0301"], ["caf\u00e9"]),
    ("a/$x/#", ["a/$x", "a/$x/y"], ["a/x"]),
    ("a.b*c?[d]", ["a.b*c?[d]"], ["aXbccd", "a.bc"]),
]


@both_versions
@pytest.mark.parametrize("pattern, matching, others", MATCHING, ids=[row[0] for row in MATCHING])
@shows_311("4.7.1-2", "4.7.1-3", "4.7.3-4", "3.3.2-3")
@shows_5("4.7.1-1", "4.7.1-2", "4.7.3-4", "3.3.2-3")
def test_a_filter_matches_what_it_says_and_nothing_else(connect, name, version, pattern, matching, others):
    peer, publisher = connect(version), connect(version)
    peer.subscribe(f"{name}/{pattern}", f"end/{name}")
    for topic in [*matching, *others]:
        publisher.publish(f"{name}/{topic}")
    publisher.publish(f"end/{name}")
    assert [p.topic for p in peer.until(f"end/{name}")] == [f"{name}/{topic}" for topic in matching]


@both_versions
@pytest.mark.parametrize("pattern", ["#", "+/monitor/x", "+/#", "+"])
@shows_311("4.7.2-1")
@shows_5("4.7.2-1")
def test_a_filter_that_begins_with_a_wildcard_does_not_match_dollar_topics(connect, name, version, pattern):
    peer, publisher = connect(version), connect(version)
    peer.subscribe(pattern, f"end/{name}")
    topic = "$own-" + name if pattern == "+" else f"$own-{name}/monitor/x"
    try:
        publisher.publish(topic, b"hidden")
        publisher.alive()
    except (AssertionError, Ended):
        publisher = connect(version)  # a server may refuse such a topic
    publisher.publish(f"end/{name}")
    found = peer.until(f"end/{name}")
    assert not [p.topic for p in found if p.kind == PUBLISH and p.topic.startswith("$")]


@both_versions
@shows_311("4.7.2-1")
@shows_5("4.7.2-1")
def test_the_sys_topics_are_hidden_from_wildcards(connect, name, version):
    peer = connect(version)
    peer.subscribe("#")
    for found in peer.fence():
        assert found.kind != PUBLISH or not found.topic.startswith("$")


@both_versions
@shows_311("4.7.3-3", "4.7.3-1")
@shows_5("4.7.3-3", "4.7.3-1")
def test_a_topic_name_may_have_65535_bytes_or_is_refused(connect, name, version):
    topic = (name + "/" + "x" * 65_535)[:65_535]
    peer = connect(version)
    peer.send(wire.subscribe(version, 1, [(topic, 1)]))
    found = peer.receive_or_last_words()
    if found and found.kind == SUBACK and found.reasons[0] < 0x80:
        assert peer.publish(topic, b"x", 1) == 0
        assert peer.delivery().topic == topic
    elif found:
        assert found.reasons in ([0x8F], [0x97], [0x80]) or (found.kind, found.reason) == (DISCONNECT, 0x8F), found


@both_versions
@pytest.mark.parametrize("topic", ["/", "//", " ", "a/", "/a", "x"])
@shows_311("4.7.3-1")
@shows_5("4.7.3-1")
def test_short_topic_names_and_empty_levels_are_allowed(connect, name, version, topic):
    peer = connect(version)
    peer.subscribe(topic)
    peer.publish(topic, name)
    while peer.expect(PUBLISH).payload != name.encode():
        pass  # another test's message to the same short topic


# Order.


@both_versions
@pytest.mark.parametrize("qos", [0, 1, 2])
@shows_311("4.6.0-5", "4.6.0-6")
@shows_5("4.6.0-5", "4.6.0-6")
def test_messages_of_a_topic_arrive_in_the_order_they_were_sent(connect, name, version, qos):
    peer, publisher = connect(version), connect(version)
    peer.subscribe(name, qos=qos)
    window = min(publisher.connack.property("receive_maximum", 20), 20)
    for start in range(0, 100, window):
        publisher.send(b"".join(
            wire.publish(version, name, b"%d" % n, qos, n - start + 1 if qos else None)
            for n in range(start, min(start + window, 100))))
        finish(publisher, min(window, 100 - start), qos)
    assert [p.payload for p in peer.deliveries(100)] == [b"%d" % n for n in range(100)]


def finish(publisher, count, qos):
    """Sees the acknowledgements of so many publishes through."""
    if not qos:
        return
    ids = [publisher.expect(wire.PUBACK if qos == 1 else wire.PUBREC).packet_id for _ in range(count)]
    if qos == 2:
        publisher.send(b"".join(wire.acknowledge(wire.PUBREL, packet_id) for packet_id in ids))
        assert [publisher.expect(wire.PUBCOMP).packet_id for _ in range(count)] == ids


@both_versions
@shows_311("4.6.0-6", "4.6.0-5")
@shows_5("4.6.0-5")
def test_order_holds_across_a_session_that_was_away(connect, name, version):
    first = connect(version, name, **kept(version))
    first.subscribe(f"{name}/t", qos=1)
    publisher = connect(version)
    for number in range(5):
        publisher.publish(f"{name}/t", b"%d" % number, 1)
    first.leave()
    for number in range(5, 10):
        publisher.publish(f"{name}/t", b"%d" % number, 1)
    second = connect(version, name, **kept(version))
    for number in range(10, 15):
        publisher.publish(f"{name}/t", b"%d" % number, 1)
    assert [p.payload for p in second.deliveries(15)] == [b"%d" % n for n in range(15)]


@shows_311("4.6.0-6")
@shows_5("4.6.0-5")
def test_each_publisher_keeps_its_order_for_each_subscriber(connect, name):
    subscribers = [connect(V5), connect(V311), connect(V5)]
    publishers = [connect(V311), connect(V5)]
    for peer in subscribers:
        peer.subscribe(name, qos=1)
    for number in range(20):
        for index, publisher in enumerate(publishers):
            publisher.publish(name, f"{index}:{number}", 1)
    for peer in subscribers:
        found = [p.payload.decode() for p in peer.deliveries(40)]
        for index in range(2):
            assert [t for t in found if t.startswith(f"{index}:")] == [f"{index}:{n}" for n in range(20)]


# One bad client hurts nobody else.


@both_versions
@shows_311("4.8.0-1")
@shows_5("4.13.1-1", "4.13.2-1")
def test_a_protocol_violation_ends_only_its_own_connection(connect, name, version):
    peers = [connect(version) for _ in range(3)]
    for peer in peers:
        peer.subscribe(name)
    peers[0].send(wire.packet(0, b""))
    peers[0].until_end()
    peers[1].publish(name, b"x")
    assert peers[1].delivery().payload == peers[2].delivery().payload == b"x"


@both_versions
@shows_311("4.8.0-1")
@shows_5("4.13.1-1")
def test_what_was_sent_before_a_violation_still_counts(connect, name, version):
    watcher, peer = connect(version), connect(version)
    watcher.subscribe(name)
    peer.send(wire.publish(version, name, b"good") + wire.packet(0, b""))
    peer.until_end()
    assert watcher.delivery().payload == b"good"
