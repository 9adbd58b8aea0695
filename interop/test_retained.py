"""Retained messages: kept, replaced, removed, and sent to new subscriptions as the options of MQTT 5 say."""

import pytest


def payloads_before_end(subscriber, publisher, topic):
    """What a subscriber has got, shown by a live message behind it."""
    publisher.publish(f"{topic}/end", b"end")
    return subscriber.receive_until(b"end")


def test_a_retained_message_reaches_later_subscribers_marked_as_retained(client, topic, version, qos):
    client(version=version).publish(topic, b"kept", qos=qos, retain=True)
    late = client(version=version)
    late.subscribe(topic, qos=2)
    message = late.receive()
    assert (message.payload, message.retain, message.qos) == (b"kept", True, qos)


def test_a_live_subscriber_gets_it_without_the_mark(client, topic, version):
    live = client(version=version)
    live.subscribe(topic)
    client(version=version).publish(topic, b"kept", retain=True)
    assert not live.receive().retain


def test_the_last_one_is_kept(client, topic):
    publisher = client()
    for n in range(5):
        publisher.publish(topic, str(n), retain=True)
    late = client()
    late.subscribe(f"{topic}/#")
    assert [m.payload for m in payloads_before_end(late, publisher, topic)] == [b"4"]


def test_an_empty_payload_removes_it_and_still_reaches_live_subscribers(client, topic, version):
    publisher, live, late = client(version=version), client(version=version), client(version=version)
    publisher.publish(topic, b"kept", retain=True)
    live.subscribe(f"{topic}/#")
    assert live.receive().payload == b"kept"
    publisher.publish(topic, b"", retain=True)
    assert live.receive().payload == b""
    late.subscribe(f"{topic}/#")
    assert payloads_before_end(late, publisher, topic) == []


def test_a_message_without_the_mark_leaves_the_retained_one_alone(client, topic):
    publisher, late = client(), client()
    publisher.publish(topic, b"kept", retain=True)
    publisher.publish(topic, b"passing")
    late.subscribe(topic)
    assert late.receive().payload == b"kept"


def test_a_wildcard_finds_all_that_match(client, topic):
    publisher, late = client(), client()
    for n in range(20):
        publisher.publish(f"{topic}/{n}/value", str(n), retain=True)
        publisher.publish(f"{topic}/{n}/other", b"no", retain=True)
    late.subscribe(f"{topic}/+/value", f"{topic}/end")
    found = payloads_before_end(late, publisher, topic)
    assert sorted(int(m.payload) for m in found) == list(range(20))


def test_it_arrives_with_the_lower_quality(client, topic):
    client().publish(topic, b"kept", qos=2, retain=True)
    late = client()
    late.subscribe(topic, qos=1)
    assert late.receive().qos == 1


def test_its_properties_are_kept(client, topic):
    client().publish(topic, b"kept", retain=True, ContentType="text/plain", UserProperty=[("a", "1"), ("a", "2")])
    late = client()
    late.subscribe(topic)
    kept = late.receive().properties
    assert (kept.ContentType, kept.UserProperty) == ("text/plain", [("a", "1"), ("a", "2")])


@pytest.mark.parametrize("handling, first, second", [(0, 1, 1), (1, 1, 0), (2, 0, 0)])
def test_retain_handling_says_when_it_is_sent(client, topic, handling, first, second):
    publisher, late = client(), client()
    publisher.publish(f"{topic}/kept", b"kept", retain=True)
    late.subscribe(f"{topic}/end")
    for expected in (first, second):
        late.subscribe(f"{topic}/kept", options={"qos": 1, "retainHandling": handling})
        assert len(payloads_before_end(late, publisher, topic)) == expected


@pytest.mark.parametrize("as_published", [False, True])
def test_retain_as_published_keeps_the_mark_of_live_messages(client, topic, as_published):
    live, publisher = client(), client()
    live.subscribe(topic, options={"qos": 1, "retainAsPublished": as_published})
    publisher.publish(topic, b"kept", retain=True)
    publisher.publish(topic, b"passing", retain=False)
    assert [live.receive().retain for _ in range(2)] == [as_published, False]


@pytest.mark.usefixtures("ferrymq_only")
def test_a_shared_subscription_gets_no_retained_messages(client, topic):
    publisher, member = client(), client()
    publisher.publish(f"{topic}/kept", b"kept", retain=True)
    member.subscribe(f"$share/g/{topic}/#")
    assert payloads_before_end(member, publisher, topic) == []
