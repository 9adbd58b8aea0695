"""$SYS topics: what the server says of itself."""

import pytest

pytestmark = pytest.mark.usefixtures("ferrymq_only")


def test_the_server_says_its_version_and_how_long_it_has_been_up(client):
    watcher = client()
    watcher.subscribe("$SYS/#")
    seen = {}
    while not {"$SYS/broker/version", "$SYS/broker/uptime"} <= seen.keys():
        message = watcher.receive(timeout=30)
        seen[message.topic] = message.payload
    assert b"ferrymq" in seen["$SYS/broker/version"].lower()


def test_the_number_of_connected_clients_is_told(client):
    watcher = client()
    watcher.subscribe("$SYS/broker/clients/connected")
    while int(watcher.receive(timeout=30).payload) < 1:
        pass


def test_no_wildcard_at_the_first_level_sees_them(client, topic):
    watcher, publisher = client(), client()
    watcher.subscribe("#", "+/broker/#")
    publisher.publish(topic, b"end")
    assert not [m.topic for m in watcher.receive_until(b"end") if m.topic.startswith("$")]


def test_clients_do_not_publish_there(client):
    watcher, publisher = client(), client()
    watcher.subscribe("$SYS/broker/version", options={"qos": 1, "retainHandling": 2})
    watcher.subscribe("end")
    publisher.send("$SYS/broker/version", b"forged", qos=0)
    client().publish("end", b"end")
    assert b"forged" not in [m.payload for m in watcher.receive_until(b"end")]
