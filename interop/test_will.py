"""Wills: published when a client is lost, with the delay it asked for, and not when it takes its leave."""

import time

from paho_client import properties


def will(topic, payload=b"gone", qos=1, retain=False, **props):
    out = {"topic": topic, "payload": payload, "qos": qos, "retain": retain}
    if props:
        out["properties"] = properties("WILLMESSAGE", **props)
    return out


def test_a_lost_client_s_will_is_published(client, topic, name, version, qos):
    watcher = client(version=version)
    watcher.subscribe(topic)
    client(version=version, client_id=name(), will=will(topic, qos=qos)).vanish()
    message = watcher.receive()
    assert (message.topic, message.payload, message.qos, message.retain) == (topic, b"gone", qos, False)


def test_a_client_that_takes_its_leave_has_no_will(client, topic, name, version):
    watcher = client(version=version)
    watcher.subscribe(topic)
    client(version=version, client_id=name(), will=will(topic)).disconnect()
    client(version=version, client_id=name(), will=will(topic, b"end")).vanish()
    assert watcher.receive_until(b"end") == []


def test_a_client_may_ask_for_its_will_at_disconnect(client, topic, name):
    import paho.mqtt.reasoncodes as codes
    from paho.mqtt.packettypes import PacketTypes
    watcher = client()
    watcher.subscribe(topic)
    leaving = client(client_id=name(), will=will(topic))
    leaving.disconnect(reason=codes.ReasonCode(PacketTypes.DISCONNECT, identifier=0x04))
    assert watcher.receive().payload == b"gone"


def test_a_retained_will_is_kept(client, topic, name, version):
    watcher, late = client(version=version), client(version=version)
    watcher.subscribe(topic)
    client(version=version, client_id=name(), will=will(topic, retain=True)).vanish()
    assert not watcher.receive().retain
    late.subscribe(topic)
    assert late.receive().retain


def test_a_will_keeps_its_properties(client, topic, name):
    watcher = client()
    watcher.subscribe(topic)
    props = {"ContentType": "text/plain", "ResponseTopic": "r/t", "CorrelationData": b"\x01\x02",
             "UserProperty": [("a", "1"), ("b", "2")], "PayloadFormatIndicator": 1}
    client(client_id=name(), will=will(topic, **props)).vanish()
    got = watcher.receive().properties
    assert {key: getattr(got, key) for key in props} == props


def test_a_will_waits_for_its_delay(client, topic, name):
    watcher = client()
    watcher.subscribe(topic)
    lost = client(client_id=name(), will=will(topic, WillDelayInterval=2), SessionExpiryInterval=60)
    lost.vanish()
    from_loss = time.monotonic()
    watcher.receive()
    assert 1.0 < time.monotonic() - from_loss < 5


def test_a_will_does_not_outwait_its_session(client, topic, name):
    watcher = client()
    watcher.subscribe(topic)
    lost = client(client_id=name(), will=will(topic, WillDelayInterval=300), SessionExpiryInterval=1)
    lost.vanish()
    assert watcher.receive().payload == b"gone"


def test_a_client_that_returns_in_time_cancels_its_will(client, topic, name):
    watcher, returning = client(), name()
    watcher.subscribe(topic)
    client(client_id=returning, will=will(topic, WillDelayInterval=1), SessionExpiryInterval=60).vanish()
    client(client_id=returning, clean=False, SessionExpiryInterval=60)
    client(client_id=name(), will=will(topic, b"end", WillDelayInterval=3), SessionExpiryInterval=60).vanish()
    assert watcher.receive_until(b"end") == []


def test_a_takeover_publishes_the_will_of_the_old_connection(client, topic, name, version):
    watcher, taken = client(version=version), name()
    watcher.subscribe(topic)
    client(version=version, client_id=taken, will=will(topic))
    client(version=version, client_id=taken)
    assert watcher.receive().payload == b"gone"


def test_a_will_reaches_a_persistent_session(client, topic, name):
    absent, watcher = name(), client()
    watcher.subscribe(topic)
    reader = client(client_id=absent, clean=False, SessionExpiryInterval=60)
    reader.subscribe(topic)
    reader.disconnect()
    client(client_id=name(), will=will(topic, qos=2)).vanish()
    assert watcher.receive().payload == b"gone"
    back = client(client_id=absent, clean=False, SessionExpiryInterval=60)
    assert (back.session_present, back.receive().payload) == (True, b"gone")
