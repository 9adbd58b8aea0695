"""Chapter 3.3.1.3: retained messages; retain handling and retain as published of MQTT 5."""

import pytest
from statements import both_versions, shows_311, shows_5
from wire import V5

RETAIN_AS_PUBLISHED = 0x08
HANDLING_1, HANDLING_2 = 0x10, 0x20


def retained(connect, version, *filters, end, options=0, qos=2):
    """What a new subscriber gets: (topic, payload, qos, retain), in any order."""
    peer = connect(version)
    peer.subscribe(*filters, qos=qos, options=options)
    peer.subscribe(end)
    peer.publish(end)
    return sorted((p.topic, p.payload, p.qos, p.retain) for p in peer.until(end))


@both_versions
@pytest.mark.parametrize("qos", [0, 1, 2])
@shows_311("3.3.1-5", "3.3.1-6", "3.3.1-8")
@shows_5("3.3.1-5", "3.3.1-9")
def test_a_retained_message_is_sent_to_later_subscribers(connect, name, version, qos):
    connect(version).publish(f"{name}/t", b"kept", qos, retain=True)
    assert retained(connect, version, f"{name}/t", end=f"{name}/end") == [(f"{name}/t", b"kept", qos, True)]


@both_versions
@pytest.mark.parametrize("qos", [0, 1, 2])
@shows_311("3.3.1-5", "3.3.1-7", "3.3.1-6")
@shows_5("3.3.1-5")
def test_the_last_retained_message_replaces_the_earlier_one(connect, name, version, qos):
    publisher = connect(version)
    publisher.publish(f"{name}/t", b"old", 1, retain=True)
    publisher.publish(f"{name}/t", b"new", qos, retain=True)
    assert retained(connect, version, f"{name}/t", end=f"{name}/end") == [(f"{name}/t", b"new", qos, True)]


@both_versions
@shows_311("3.3.1-10", "3.3.1-11", "3.3.1-9")
@shows_5("3.3.1-6", "3.3.1-7")
def test_an_empty_retained_message_is_delivered_and_removes_the_retained_one(connect, name, version):
    publisher, watcher = connect(version), connect(version)
    watcher.subscribe(f"{name}/t")
    publisher.publish(f"{name}/t", b"kept", 1, retain=True)
    publisher.publish(f"{name}/t", b"", 1, retain=True)
    assert [(p.payload, p.retain) for p in watcher.deliveries(2)] == [(b"kept", False), (b"", False)]
    assert retained(connect, version, f"{name}/t", end=f"{name}/end") == []


@both_versions
@shows_311("3.3.1-12")
@shows_5("3.3.1-8")
def test_a_message_without_retain_neither_stores_nor_removes(connect, name, version):
    publisher = connect(version)
    publisher.publish(f"{name}/1", b"passing", 1)
    publisher.publish(f"{name}/2", b"kept", 1, retain=True)
    publisher.publish(f"{name}/2", b"passing", 1)
    publisher.publish(f"{name}/2", b"", 1)
    assert retained(connect, version, f"{name}/+", end=f"{name}/x/end") == [(f"{name}/2", b"kept", 1, True)]


@both_versions
@shows_311("3.3.1-9")
@shows_5("3.3.1-12")
def test_an_established_subscription_gets_the_message_without_retain(connect, name, version):
    peer = connect(version)
    peer.subscribe(f"{name}/t", qos=1)
    peer.publish(f"{name}/t", b"kept", 1, retain=True)
    assert not peer.delivery().retain


@both_versions
@shows_311("3.3.1-6", "4.7.2-1")
@shows_5("3.3.1-9", "4.7.2-1")
def test_each_matching_topic_has_a_retained_message_of_its_own(connect, name, version):
    publisher = connect(version)
    for level in ("a", "a/b", "a/b/c", "d"):
        publisher.publish(f"{name}/{level}", level, 1, retain=True)
    found = retained(connect, version, f"{name}/a/#", f"{name}/+", end=f"{name}/x/y/end")
    assert {topic for topic, *_ in found} == {f"{name}/{level}" for level in ("a", "a/b", "a/b/c", "d")}
    assert all(retain for *_, retain in found)


@both_versions
@shows_311("3.1.2-7")
@shows_5("3.3.1-5")
def test_a_retained_message_outlives_its_publisher(connect, name, version):
    publisher = connect(version, clean=True)
    publisher.publish(f"{name}/t", b"kept", 1, retain=True)
    publisher.leave()
    assert retained(connect, version, f"{name}/t", end=f"{name}/end")


@both_versions
@shows_311("3.8.4-6")
@shows_5("3.8.4-8")
def test_a_retained_message_is_sent_at_the_lower_qos(connect, name, version):
    connect(version).publish(f"{name}/t", b"kept", 2, retain=True)
    assert retained(connect, version, f"{name}/t", end=f"{name}/end", qos=1)[0][2] == 1


@both_versions
@shows_311("3.8.4-3")
@shows_5("3.8.4-3", "3.8.4-4", "3.3.1-9")
def test_subscribing_again_sends_the_retained_message_again(connect, name, version):
    peer = connect(version)
    peer.publish(name, b"kept", 1, retain=True)
    for _ in range(2):
        peer.subscribe(name, qos=1)
        found = peer.delivery()
        assert (found.payload, found.retain) == (b"kept", True)


@shows_5("3.3.1-10")
def test_retain_handling_1_sends_retained_messages_to_a_new_subscription_only(connect, name):
    peer = connect(V5)
    peer.publish(name, b"kept", 1, retain=True)
    peer.subscribe(name, options=HANDLING_1)
    assert peer.delivery().payload == b"kept"
    peer.subscribe(name, options=HANDLING_1)
    peer.subscribe(f"{name}/end")
    peer.publish(f"{name}/end")
    assert peer.until(f"{name}/end") == []


@shows_5("3.3.1-10")
def test_retain_handling_1_counts_a_subscription_after_unsubscribe_as_new(connect, name):
    peer = connect(V5)
    peer.publish(name, b"kept", 1, retain=True)
    for _ in range(2):
        peer.subscribe(name, options=HANDLING_1)
        assert peer.delivery().payload == b"kept"
        peer.unsubscribe(name)


@shows_5("3.3.1-11")
def test_retain_handling_2_sends_no_retained_messages(connect, name):
    connect(V5).publish(f"{name}/t", b"kept", 1, retain=True)
    assert retained(connect, V5, f"{name}/t", end=f"{name}/end", options=HANDLING_2) == []


@pytest.mark.parametrize("retain", [False, True])
@shows_5("3.3.1-13")
def test_retain_as_published_keeps_the_flag(connect, name, retain):
    peer = connect(V5)
    peer.subscribe(name, options=RETAIN_AS_PUBLISHED)
    peer.publish(name, b"x", retain=retain)
    assert peer.delivery().retain == retain


@shows_5("3.3.1-12")
def test_without_retain_as_published_the_flag_is_cleared(connect, name):
    peer = connect(V5)
    peer.subscribe(name)
    peer.publish(name, b"x", retain=True)
    assert not peer.delivery().retain


@shows_5("3.3.1-9")
def test_a_retained_message_sent_for_a_new_subscription_has_retain_whatever_the_option(connect, name):
    connect(V5).publish(f"{name}/t", b"kept", retain=True)
    for options in (0, RETAIN_AS_PUBLISHED):
        assert retained(connect, V5, f"{name}/t", end=f"{name}/end", options=options)[0][3]


@shows_5("3.3.1-9", "4.8.2-3")
def test_a_shared_subscription_gets_no_retained_messages(connect, name):
    connect(V5).publish(f"{name}/t", b"kept", retain=True)
    assert retained(connect, V5, f"$share/g/{name}/t", end=f"{name}/end") == []


@shows_5("3.3.2-5", "3.3.2-6")
def test_a_retained_message_expires(connect, name, passing):
    connect(V5).publish(f"{name}/short", b"x", 1, retain=True, props={"message_expiry": 1})
    connect(V5).publish(f"{name}/long", b"x", 1, retain=True, props={"message_expiry": 100})
    passing(1.6)
    peer = connect(V5)
    peer.subscribe(f"{name}/+", qos=1)
    found = peer.delivery()
    assert found.topic == f"{name}/long" and 90 <= found.property("message_expiry") <= 99
    peer.alive()


@shows_5("3.3.2-17", "3.3.2-18", "3.3.2-20", "3.3.2-15", "3.3.2-16", "3.3.2-4")
def test_a_retained_message_keeps_its_properties(connect, name):
    listed = [("payload_format", 1), ("content_type", "c"), ("response_topic", "r"), ("correlation_data", b"\0"),
              ("user_property", ("b", "1")), ("user_property", ("a", "2"))]
    peer = connect(V5)
    peer.publish(name, b"x", 1, retain=True, props=listed)
    peer.subscribe(name, qos=1)
    found = peer.delivery()
    assert all(found.property(key) == value for key, value in listed[:4])
    assert found.all("user_property") == [("b", "1"), ("a", "2")]
