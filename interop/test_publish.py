"""Messages from a publisher to a subscriber, with Paho, at every quality of service and in every version."""

import pytest

VERSIONS = ["3.1", "3.1.1", "5"]


def test_a_message_arrives_once_with_its_topic_payload_and_qos(client, topic, version, qos):
    subscriber, publisher = client(version=version), client(version=version)
    assert subscriber.subscribe(topic, qos=2) == [2]
    publisher.publish(topic, b"hello", qos=qos)
    publisher.publish(topic, b"end", qos=qos)
    message = subscriber.receive()
    assert (message.topic, message.payload, message.qos) == (topic, b"hello", qos)
    assert not message.retain and not message.dup
    assert subscriber.receive_until(b"end") == []


@pytest.mark.parametrize("granted", [0, 1, 2])
def test_a_message_arrives_with_the_lower_of_both_qualities(client, topic, qos, granted):
    subscriber, publisher = client(), client()
    assert subscriber.subscribe(topic, qos=granted) == [granted]
    publisher.publish(topic, b"x", qos=qos)
    assert subscriber.receive().qos == min(qos, granted)


@pytest.mark.parametrize("receiving", VERSIONS)
@pytest.mark.parametrize("sending", VERSIONS)
def test_versions_talk_to_each_other(client, topic, sending, receiving):
    subscriber, publisher = client(version=receiving), client(version=sending)
    subscriber.subscribe(topic)
    publisher.publish(topic, "grüße".encode(), qos=2)
    assert subscriber.receive().payload.decode() == "grüße"


def test_messages_of_a_publisher_keep_their_order(client, topic, version, qos):
    subscriber, publisher = client(version=version), client(version=version)
    subscriber.subscribe(topic)
    sent = [publisher.send(topic, str(n), qos=qos) for n in range(500)]
    for mid in sent:
        publisher.await_published(mid)
    assert subscriber.receive_payloads(500) == [str(n).encode() for n in range(500)]


def test_an_empty_payload_arrives(client, topic, version, qos):
    subscriber, publisher = client(version=version), client(version=version)
    subscriber.subscribe(topic)
    publisher.publish(topic, b"", qos=qos)
    assert subscriber.receive().payload == b""


def test_a_mebibyte_arrives_whole(client, topic, version, qos):
    body = bytes(range(256)) * 4096
    subscriber, publisher = client(version=version), client(version=version)
    subscriber.subscribe(topic)
    publisher.publish(topic, body, qos=qos)
    assert subscriber.receive(timeout=30).payload == body


def test_sixteen_mebibytes_or_the_server_s_limit_arrive_whole(client, topic):
    subscriber, publisher = client(), client()
    limit = getattr(publisher.connack_properties, "MaximumPacketSize", 16 << 20)
    body = b"\xa5" * (min(limit, 16 << 20) - 512)
    subscriber.subscribe(topic)
    publisher.publish(topic, body, qos=1)
    assert subscriber.receive(timeout=60).payload == body


def test_a_binary_payload_arrives_unchanged(client, topic, version):
    body = bytes(range(256))
    subscriber, publisher = client(version=version), client(version=version)
    subscriber.subscribe(topic)
    publisher.publish(topic, body)
    assert subscriber.receive().payload == body


def test_every_subscriber_gets_a_copy(client, topic, version):
    subscribers = [client(version=version) for _ in range(10)]
    for one in subscribers:
        one.subscribe(topic)
    client(version=version).publish(topic, b"all", qos=2)
    assert [one.receive().payload for one in subscribers] == [b"all"] * 10


def test_a_client_hears_itself(client, topic, version):
    both = client(version=version)
    both.subscribe(topic)
    both.publish(topic, b"echo")
    assert both.receive().payload == b"echo"


def test_a_publish_that_nobody_gets_is_acknowledged_as_such(client, topic):
    publisher = client()
    assert publisher.publish(topic, b"x", qos=1) == 0x10
    client().subscribe(topic)
    assert publisher.publish(topic, b"x", qos=1) == 0


def test_many_clients_publish_to_one(client, topic):
    subscriber = client()
    subscriber.subscribe(f"{topic}/+")
    publishers = [client() for _ in range(20)]
    sent = [(p, p.send(f"{topic}/{n}", str(i), qos=1)) for n, p in enumerate(publishers) for i in range(20)]
    for publisher, mid in sent:
        publisher.await_published(mid)
    by_topic = {}
    for _ in range(400):
        message = subscriber.receive()
        by_topic.setdefault(message.topic, []).append(int(message.payload))
    assert len(by_topic) == 20
    assert all(values == list(range(20)) for values in by_topic.values())
