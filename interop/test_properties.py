"""What MQTT 5 adds to a message, a subscription and a connection."""

import time

import pytest

from paho_client import UNREAD, Refused, let_pass

KEPT = {"clean": False, "SessionExpiryInterval": 300}


def test_properties_of_a_message_arrive_as_sent(client, topic, qos):
    subscriber = client()
    subscriber.subscribe(topic)
    sent = {"PayloadFormatIndicator": 1, "ContentType": "text/plain", "ResponseTopic": "answers/here",
            "CorrelationData": b"\x00\xff", "UserProperty": [("k", "1"), ("a", ""), ("k", "2"), ("ü", "ö")]}
    client().publish(topic, b"x", qos=qos, **sent)
    got = subscriber.receive().properties
    assert {key: getattr(got, key) for key in sent} == sent


def test_request_and_response_find_each_other(client, topic):
    asking, answering = client(), client()
    asking.subscribe(f"{topic}/answer")
    answering.subscribe(f"{topic}/ask")
    asking.publish(f"{topic}/ask", b"6*7", ResponseTopic=f"{topic}/answer", CorrelationData=b"n1")
    asked = answering.receive().properties
    answering.publish(asked.ResponseTopic, b"42", CorrelationData=asked.CorrelationData)
    answer = asking.receive()
    assert (answer.payload, answer.properties.CorrelationData) == (b"42", b"n1")


def test_an_older_subscriber_gets_the_message_without_properties(client, topic):
    subscriber = client(version="3.1.1")
    subscriber.subscribe(topic)
    client().publish(topic, b"x", ContentType="text/plain", UserProperty=[("a", "b")])
    assert subscriber.receive().payload == b"x"


def test_a_topic_alias_stands_for_its_topic(client, topic):
    subscriber, publisher = client(), client()
    if getattr(publisher.connack_properties, "TopicAliasMaximum", 0) < 2:
        pytest.skip("this broker takes no topic aliases")
    subscriber.subscribe(f"{topic}/#")
    publisher.publish(f"{topic}/a", b"1", TopicAlias=1)
    publisher.publish(f"{topic}/b", b"2", TopicAlias=2)
    publisher.publish("", b"3", TopicAlias=1)
    publisher.publish(f"{topic}/c", b"4", TopicAlias=1)
    publisher.publish("", b"5", TopicAlias=1)
    publisher.publish("", b"6", TopicAlias=2)
    got = [subscriber.receive() for _ in range(6)]
    assert [m.topic[len(topic) + 1:] for m in got] == list("abaccb")
    assert not any(hasattr(m.properties, "TopicAlias") for m in got)


def test_an_unknown_topic_alias_ends_the_connection(client):
    publisher = client()
    publisher.send("", b"x", TopicAlias=1)
    reason, from_server, _ = publisher.await_disconnect()
    assert not from_server or reason in (0x82, 0x94, UNREAD)


def test_aliases_from_the_server_stay_within_what_the_client_allows(client, topic):
    subscriber, publisher = client(TopicAliasMaximum=3), client()
    subscriber.subscribe(f"{topic}/#")
    for n in range(30):
        publisher.publish(f"{topic}/{n % 5}", str(n))
    known, got = {}, []
    for _ in range(30):
        message = subscriber.receive()
        alias = getattr(message.properties, "TopicAlias", None)
        assert alias is None or 1 <= alias <= 3
        if message.topic and alias:
            known[alias] = message.topic
        got.append((message.topic or known[alias], int(message.payload)))
    assert got == [(f"{topic}/{n % 5}", n) for n in range(30)]


def test_a_message_past_its_expiry_is_not_delivered(client, topic, name):
    reader = name()
    absent = client(client_id=reader, **KEPT)
    absent.subscribe(topic)
    absent.disconnect()
    publisher = client()
    publisher.publish(topic, b"short", MessageExpiryInterval=1)
    publisher.publish(topic, b"long", MessageExpiryInterval=300)
    let_pass(client, 3)
    message = client(client_id=reader, **KEPT).receive()
    assert message.payload == b"long"
    assert 290 <= message.properties.MessageExpiryInterval <= 299


def test_a_retained_message_expires(client, topic):
    publisher = client()
    publisher.publish(f"{topic}/a", b"short", retain=True, MessageExpiryInterval=1)
    publisher.publish(f"{topic}/b", b"long", retain=True)
    let_pass(client, 3)
    late = client()
    late.subscribe(f"{topic}/#")
    assert late.receive().payload == b"long"


def test_a_subscription_identifier_comes_with_each_message(client, topic):
    subscriber, publisher = client(), client()
    subscriber.subscribe(f"{topic}/a", SubscriptionIdentifier=7)
    subscriber.subscribe(f"{topic}/b", SubscriptionIdentifier=268435455)
    subscriber.subscribe(f"{topic}/c")
    for name in "abc":
        publisher.publish(f"{topic}/{name}", name)
    got = [getattr(subscriber.receive().properties, "SubscriptionIdentifier", None) for _ in range(3)]
    assert got == [[7], [268435455], None]


def test_identifiers_of_all_matching_subscriptions_arrive(client, topic):
    subscriber, publisher = client(), client()
    subscriber.subscribe(f"{topic}/#", SubscriptionIdentifier=1)
    subscriber.subscribe(f"{topic}/+", SubscriptionIdentifier=2)
    publisher.publish(f"{topic}/a", b"x")
    publisher.publish(f"{topic}/a", b"end")
    got = [subscriber.receive()]
    while got[-1].payload != b"end":
        got.append(subscriber.receive())
    identifiers = [i for m in got if m.payload == b"x" for i in m.properties.SubscriptionIdentifier]
    assert sorted(identifiers) == [1, 2]


def test_no_local_keeps_a_client_s_own_messages_from_it(client, topic):
    both, other = client(), client()
    both.subscribe(topic, options={"qos": 1, "noLocal": True})
    both.publish(topic, b"own")
    other.publish(topic, b"end")
    assert both.receive_until(b"end") == []


def test_the_server_assigns_an_identifier_to_a_client_without_one(client):
    first, second = client(client_id=""), client(client_id="")
    names = [one.connack_properties.AssignedClientIdentifier for one in (first, second)]
    assert all(names) and names[0] != names[1]


def test_an_assigned_identifier_can_be_used_to_come_back(client, topic):
    first = client(client_id="", **KEPT)
    assigned = first.connack_properties.AssignedClientIdentifier
    first.subscribe(topic)
    first.vanish()
    client().publish(topic, b"x")
    back = client(client_id=assigned, **KEPT)
    assert back.session_present and back.receive().payload == b"x"


def test_a_client_of_version_3_1_1_without_an_identifier_must_be_clean(client):
    client(version="3.1.1", client_id="", clean=True)
    with pytest.raises((Refused, ValueError)):
        client(version="3.1.1", client_id="", clean=False)


def test_response_information_comes_when_asked_for_and_only_then(client):
    asked = client(RequestResponseInformation=1).connack_properties
    if not hasattr(asked, "ResponseInformation"):
        pytest.skip("this broker gives no response information, which MQTT 5 allows")
    assert not hasattr(client().connack_properties, "ResponseInformation")


def test_the_receive_maximum_of_the_server_is_named_or_the_largest(client):
    assert 1 <= getattr(client().connack_properties, "ReceiveMaximum", 65535) <= 65535


def test_a_message_larger_than_the_client_takes_is_not_sent_and_harms_nobody(client, topic):
    small, large, publisher = client(MaximumPacketSize=200), client(), client()
    for one in (small, large):
        one.subscribe(topic)
    publisher.publish(topic, b"x" * 500)
    publisher.publish(topic, b"end")
    assert small.receive_until(b"end") == []
    assert len(large.receive_until(b"end")) == 1


def test_a_silent_client_is_ended_after_one_and_a_half_times_its_keep_alive(client):
    silent = client(keepalive=3)
    silent.paho.loop_stop()
    connection = silent.paho.socket()
    connection.settimeout(10)
    start = time.monotonic()
    answer = connection.recv(64)
    assert answer == b"" or (answer[0], answer[2]) == (0xE0, 0x8D)
    assert 2 < time.monotonic() - start < 9


def test_a_client_that_pings_stays(client, topic):
    pinging = client(keepalive=1)
    pinging.subscribe(topic, qos=1)
    let_pass(client, 4)
    client().publish(topic, b"x")
    assert pinging.receive().payload == b"x"
