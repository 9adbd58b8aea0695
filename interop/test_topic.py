"""Topic filters: what they match and what not, and the end of a subscription."""

import pytest


@pytest.mark.parametrize("pattern, name, matches", [
    ("{t}/a", "{t}/a", True),
    ("{t}/a", "{t}/A", False),
    ("{t}/a", "{t}/a/", False),
    ("{t}/+", "{t}/a", True),
    ("{t}/+", "{t}/", True),
    ("{t}/+", "{t}", False),
    ("{t}/+", "{t}/a/b", False),
    ("{t}/+/c", "{t}/b/c", True),
    ("{t}/+/+", "{t}//", True),
    ("{t}/#", "{t}", True),
    ("{t}/#", "{t}/a/b/c", True),
    ("{t}/a/#", "{t}/ab", False),
    ("{t}//b", "{t}//b", True),
    ("{t}//b", "{t}/b", False),
    ("{t}/ü/+", "{t}/ü/中", True),
    ("{t}/+/x/#", "{t}/1/x", True),
    ("{t}/a b", "{t}/a b", True),
])
def test_a_filter_matches_what_the_specification_says(client, topic, pattern, name, matches):
    subscriber, publisher = client(), client()
    subscriber.subscribe(pattern.format(t=topic))
    subscriber.subscribe(f"end/{topic}")
    publisher.publish(name.format(t=topic), b"x")
    publisher.publish(f"end/{topic}", b"end")
    assert len(subscriber.receive_until(b"end")) == (1 if matches else 0)


@pytest.mark.parametrize("pattern", ["#", "+/+/+", "+/#"])
def test_a_leading_wildcard_matches_no_topic_that_starts_with_a_dollar(client, topic, pattern):
    subscriber, publisher = client(), client()
    subscriber.subscribe(pattern)
    publisher.publish(f"$private/{topic}", b"hidden")
    publisher.publish(f"{topic}/open", b"end")
    assert b"hidden" not in [m.payload for m in subscriber.receive_until(b"end")]


def test_nothing_arrives_after_an_unsubscribe(client, topic, version):
    both = client(version=version)
    both.subscribe(f"{topic}/a", f"{topic}/end")
    both.unsubscribe(f"{topic}/a")
    both.publish(f"{topic}/a", b"x")
    both.publish(f"{topic}/end", b"end")
    assert both.receive_until(b"end") == []


def test_an_unsubscribe_says_whether_there_was_a_subscription(client, topic):
    one = client()
    one.subscribe(f"{topic}/a")
    assert one.unsubscribe(f"{topic}/a", f"{topic}/b") == [0x00, 0x11]


def test_a_second_subscribe_replaces_the_first(client, topic, version):
    both = client(version=version)
    both.subscribe(topic, qos=0)
    assert both.subscribe(topic, qos=1) == [1]
    both.publish(topic, b"x", qos=1)
    both.publish(topic, b"end", qos=1)
    message = both.receive()
    assert (message.payload, message.qos) == (b"x", 1)
    assert both.receive_until(b"end") == []


def test_overlapping_subscriptions_deliver_with_the_highest_of_their_qualities(client, topic):
    subscriber, publisher = client(version="3.1.1"), client()
    subscriber.subscribe(f"{topic}/#", qos=0)
    subscriber.subscribe(f"{topic}/a", qos=2)
    publisher.publish(f"{topic}/a", b"x", qos=2)
    publisher.publish(f"{topic}/a", b"end", qos=2)
    copies = [subscriber.receive() for _ in range(1)]
    while copies[-1].payload != b"end" or copies[-1].qos != 2:
        copies.append(subscriber.receive())
    assert 2 in [m.qos for m in copies if m.payload == b"x"]


def test_one_subscribe_may_name_many_filters(client, topic):
    subscriber, publisher = client(), client()
    filters = [f"{topic}/{n}" for n in range(100)]
    assert subscriber.subscribe(*filters, qos=1) == [1] * 100
    for one in filters:
        publisher.publish(one, one)
    assert subscriber.receive_payloads(100) == [one.encode() for one in filters]


def test_a_topic_of_many_levels_is_delivered(client, topic):
    both = client()
    deep = topic + "/x" * 60
    both.subscribe(f"{topic}/#")
    both.publish(deep, b"deep")
    assert both.receive().topic == deep
