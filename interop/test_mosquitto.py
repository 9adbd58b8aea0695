"""The command-line clients of mosquitto, in each version of the protocol."""

import pytest

import mosquitto_client


@pytest.fixture
def subscriber(broker):
    """Starts mosquitto_sub; they are gone when the test is."""
    running = []

    def start(*arguments, at=broker, **options):
        running.append(mosquitto_client.Subscriber(at, *arguments, **options))
        return running[-1]

    yield start
    for one in running:
        one.close()


@pytest.fixture
def publish(broker):
    """Runs mosquitto_pub."""
    return lambda *arguments, at=broker, **options: mosquitto_client.publish(at, *arguments, **options)


def test_the_two_lines_of_the_readme_work(subscriber, publish, topic):
    listening = subscriber("3.1.1", f"{topic}/#", form="%t %p")
    publish("3.1.1", f"{topic}/temperature", payload="21.5")
    assert listening.receive() == f"{topic}/temperature 21.5"


@pytest.mark.parametrize("sent", [0, 1, 2])
@pytest.mark.parametrize("granted", [0, 1, 2])
def test_messages_arrive_with_the_lower_quality(subscriber, publish, topic, version, sent, granted):
    listening = subscriber(version, topic, "-q", str(granted))
    publish(version, topic, "-q", str(sent), payload="x")
    assert listening.receive() == f"{topic}|{min(sent, granted)}|0|x"


def test_a_retained_message_is_kept_and_removed(subscriber, publish, topic, version):
    publish(version, topic, "-r", "-q", "1", payload="kept")
    assert subscriber(version, topic).receive() == f"{topic}|0|1|kept"
    publish(version, topic, "-r", "-n", "-q", "1")
    late = subscriber(version, topic)
    publish(version, topic, payload="live")
    assert late.receive() == f"{topic}|0|0|live"


def test_a_killed_subscriber_leaves_its_will(subscriber, topic, version):
    watching = subscriber(version, f"{topic}/will")
    lost = subscriber(version, topic, "--will-topic", f"{topic}/will", "--will-payload", "gone", "--will-qos", "1")
    lost.close(kill=True)
    assert watching.receive() == f"{topic}/will|0|0|gone"


def test_a_subscriber_that_leaves_has_no_will(subscriber, publish, topic, version):
    watching = subscriber(version, f"{topic}/will")
    leaving = subscriber(version, topic, "-C", "1", "--will-topic", f"{topic}/will", "--will-payload", "gone")
    publish(version, topic, payload="x")
    assert leaving.finish() == 0
    publish(version, f"{topic}/will", payload="end")
    assert watching.receive() == f"{topic}/will|0|0|end"


def test_a_persistent_session_collects_while_the_client_is_away(subscriber, publish, topic, name, version):
    expiry = ["-x", "300"] if version == "5" else []
    session = [version, topic, "-c", "-i", name(), "-q", "2", *expiry]
    subscriber(*session).close()
    for n in range(5):
        publish(version, topic, "-q", "2", payload=str(n))
    back = subscriber(*session)
    assert [back.receive() for _ in range(5)] == [f"{topic}|2|0|{n}" for n in range(5)]


def test_wildcards_and_unsubscriptions(subscriber, publish, topic, version):
    listening = subscriber(version, f"{topic}/+/x", "-t", f"{topic}/end")
    for name in ("a/x", "a/y", "a/b/x", "b/x", "end"):
        publish(version, f"{topic}/{name}", "-q", "1", payload=name)
    assert [listening.receive().split("|")[3] for _ in range(3)] == ["a/x", "b/x", "end"]


def test_lines_of_a_file_arrive_in_order(subscriber, publish, topic, version):
    lines = [f"line {n}" for n in range(200)]
    listening = subscriber(version, topic, "-q", "1", form="%p")
    publish(version, topic, "-q", "1", "-l", stdin="\n".join(lines) + "\n")
    assert [listening.receive() for _ in range(200)] == lines


def test_a_large_file_arrives_whole(subscriber, publish, topic, version, tmp_path):
    source = tmp_path / "large"
    source.write_bytes(b"0123456789abcdef" * 65536)
    listening = subscriber(version, topic, "-q", "1", form="%l")
    publish(version, topic, "-q", "1", "-f", str(source))
    assert listening.receive(timeout=30) == str(1 << 20)


def test_properties_of_version_5_arrive(subscriber, publish, topic):
    listening = subscriber("5", topic, form="%C|%D|%R|%F|%P|%p")
    publish("5", topic, "-D", "publish", "content-type", "text/plain", "-D", "publish", "correlation-data", "id-1",
            "-D", "publish", "response-topic", "r/t", "-D", "publish", "payload-format-indicator", "1",
            "-D", "publish", "user-property", "k", "v", payload="x")
    assert listening.receive() == "text/plain|id-1|r/t|1|k:v|x"


def test_the_remaining_expiry_is_sent_on(subscriber, publish, topic):
    listening = subscriber("5", topic, form="%E|%p")
    publish("5", topic, "-D", "publish", "message-expiry-interval", "300", payload="x")
    expiry, payload = listening.receive().split("|")
    assert payload == "x" and 295 <= int(expiry) <= 300


def test_a_subscription_identifier_is_sent_back(subscriber, publish, topic):
    listening = subscriber("5", topic, "-D", "subscribe", "subscription-identifier", "42", form="%S|%p")
    publish("5", topic, payload="x")
    assert listening.receive() == "42|x"


def test_a_group_of_two_shares_the_work(subscriber, publish, topic):
    members = [subscriber("5", f"$share/g/{topic}", "-q", "1", "-C", "10", form="%p") for _ in range(2)]
    for n in range(20):
        publish("5", topic, "-q", "1", payload=str(n))
    assert [member.finish() for member in members] == [0, 0]
    got = [int(line) for member in members for line in list(member.lines.queue)]
    assert sorted(got) == list(range(20))


def test_a_topic_alias_may_be_used(publish, subscriber, topic):
    listening = subscriber("5", topic, form="%t|%p")
    publish("5", topic, "-q", "1", "-D", "publish", "topic-alias", "1", "--repeat", "3", payload="x")
    assert [listening.receive() for _ in range(3)] == [f"{topic}|x"] * 3


def test_old_and_new_versions_talk_to_each_other(subscriber, publish, topic):
    listening = [subscriber(v, topic) for v in ("3.1", "3.1.1", "5")]
    for v in ("3.1", "3.1.1", "5"):
        publish(v, topic, payload=v)
    for one in listening:
        assert [one.receive().split("|")[3] for _ in range(3)] == ["3.1", "3.1.1", "5"]
