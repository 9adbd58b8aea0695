"""Chapters 3.1.2.5 to 3.1.3.3 and 3.14.4: the will."""

import time

import pytest
import wire
from peer import kept
from statements import both_versions, shows_311, shows_5
from wire import V5, V311, Will

WILL_PROPERTIES = [
    ("payload_format", 1), ("message_expiry", 1000), ("content_type", "text/plain"), ("response_topic", "answers"),
    ("correlation_data", b"\x00\x01"), ("user_property", ("b", "1")), ("user_property", ("a", "2")),
    ("user_property", ("b", "3")),
]


def watching(connect, version, name, qos=2):
    watcher = connect(version)
    watcher.subscribe(f"{name}/will", f"{name}/end", qos=qos)
    return watcher


def no_will(watcher, name):
    """Nothing was published to the will's topic up to now."""
    watcher.publish(f"{name}/end")
    assert watcher.until(f"{name}/end") == []


@both_versions
@pytest.mark.parametrize("qos", [0, 1, 2])
@shows_311("3.1.2-8", "3.1.2-9", "3.1.2-14", "3.1.2-16")
@shows_5("3.1.2-7", "3.1.2-8", "3.1.2-9", "3.1.2-12", "3.1.2-14")
def test_the_will_is_published_when_the_connection_breaks(connect, name, version, qos):
    watcher = watching(connect, version, name)
    connect(version, will=Will(f"{name}/will", b"last words", qos)).drop()
    found = watcher.delivery()
    assert (found.payload, found.qos, found.retain) == (b"last words", qos, False)


@both_versions
@shows_311("3.14.4-3", "3.1.2-10", "3.1.2-8")
@shows_5("3.14.4-3", "3.1.2-10", "3.1.2-8")
def test_a_disconnect_discards_the_will(connect, name, version):
    watcher = watching(connect, version, name)
    connect(version, will=Will(f"{name}/will")).leave()
    no_will(watcher, name)


@shows_5("3.14.4-3", "3.1.2-8")
def test_a_disconnect_with_will_message_publishes_the_will(connect, name):
    watcher = watching(connect, V5, name)
    connect(V5, will=Will(f"{name}/will")).leave(0x04)
    assert watcher.delivery().payload == b"gone"


@both_versions
@shows_311("3.1.2-12")
@shows_5("3.1.2-8")
def test_without_a_will_none_is_published(connect, name, version):
    watcher = connect(version)
    watcher.subscribe(f"{name}/#")
    connect(version, f"{name}/client").drop()
    watcher.publish(f"{name}/end")
    assert watcher.until(f"{name}/end") == []


@both_versions
@shows_311("3.1.2-8", "4.8.0-1")
@shows_5("3.1.2-8", "4.13.1-1")
def test_the_will_is_published_when_the_server_ends_the_connection(connect, name, version):
    watcher = watching(connect, version, name)
    peer = connect(version, will=Will(f"{name}/will"))
    peer.send(wire.publish(version, "t", flags=0b0110))
    peer.until_end()
    assert watcher.delivery().payload == b"gone"


@both_versions
@shows_311("3.1.2-8", "3.1.4-2")
@shows_5("3.1.2-8", "3.1.4-3")
def test_the_will_is_published_when_the_connection_is_taken_over(connect, name, version):
    watcher = watching(connect, version, name)
    connect(version, name, will=Will(f"{name}/will"))
    connect(version, name)
    assert watcher.delivery().payload == b"gone"


@both_versions
@shows_311("3.1.2-10")
@shows_5("3.1.2-10")
def test_the_will_is_published_once(connect, name, version):
    watcher = watching(connect, version, name)
    connect(version, name, will=Will(f"{name}/will"), **kept(version)).drop()
    assert watcher.delivery().payload == b"gone"
    connect(version, name, **kept(version)).drop()
    no_will(watcher, name)


@both_versions
@shows_311("3.1.2-17", "3.3.1-8", "3.3.1-9")
@shows_5("3.1.2-15", "3.3.1-12")
def test_a_will_with_retain_is_retained(connect, name, version):
    watcher = watching(connect, version, name)
    connect(version, will=Will(f"{name}/will", b"kept", 1, retain=True)).drop()
    assert not watcher.delivery().retain
    later = connect(version)
    later.subscribe(f"{name}/will", qos=1)
    found = later.delivery()
    assert (found.payload, found.retain, found.qos) == (b"kept", True, 1)


@both_versions
@shows_311("3.1.2-16")
@shows_5("3.1.2-14")
def test_a_will_without_retain_is_not_retained(connect, name, version):
    watcher = watching(connect, version, name)
    connect(version, will=Will(f"{name}/will", b"passing", 1)).drop()
    watcher.delivery()
    later = connect(version)
    later.subscribe(f"{name}/will", f"{name}/end")
    later.publish(f"{name}/end")
    assert later.until(f"{name}/end") == []


@both_versions
@shows_311("3.1.2-8")
@shows_5("3.1.2-8")
def test_an_empty_will_is_published(connect, name, version):
    watcher = watching(connect, version, name)
    connect(version, will=Will(f"{name}/will", b"")).drop()
    assert watcher.delivery().payload == b""


@both_versions
@shows_311("3.1.2-8")
@shows_5("3.1.2-7")
def test_the_will_of_a_persistent_session_waits_for_absent_subscribers(connect, name, version):
    absent = connect(version, f"{name}-absent", **kept(version))
    absent.subscribe(f"{name}/will", qos=1)
    absent.leave()
    connect(version, will=Will(f"{name}/will", b"gone", 1)).drop()
    assert connect(version, f"{name}-absent", **kept(version)).delivery().payload == b"gone"


@shows_5("3.1.3-10", "3.1.2-9", "3.3.2-4", "3.3.2-15", "3.3.2-16", "3.3.2-17", "3.3.2-18", "3.3.2-20")
def test_the_properties_of_the_will_are_published_in_their_order(connect, name):
    watcher = watching(connect, V5, name)
    connect(V5, will=Will(f"{name}/will", b"text", properties=WILL_PROPERTIES)).drop()
    found = watcher.delivery()
    assert found.all("user_property") == [("b", "1"), ("a", "2"), ("b", "3")]
    for key, value in WILL_PROPERTIES[:5]:
        if key == "message_expiry":
            assert value - 2 <= found.property(key) <= value
        else:
            assert found.property(key) == value
    assert found.property("will_delay") is None


@shows_5("3.1.2-8", "3.1.3-9")
def test_the_will_waits_for_its_delay(connect, name):
    watcher = watching(connect, V5, name)
    peer = connect(V5, will=Will(f"{name}/will", properties={"will_delay": 1}), props={"session_expiry": 60})
    peer.drop()
    began = time.monotonic()
    no_will(watcher, name)
    assert watcher.delivery().payload == b"gone"
    assert 0.7 <= time.monotonic() - began < 2.5


@shows_5("3.1.3-9", "3.1.2-8")
def test_a_reconnection_within_the_delay_cancels_the_will(connect, name, passing):
    watcher = watching(connect, V5, name)
    connect(V5, name, will=Will(f"{name}/will", properties={"will_delay": 1}), **kept(V5)).drop()
    connect(V5, name, **kept(V5))
    passing(1.6)
    no_will(watcher, name)


@shows_5("3.1.3-9")
def test_a_takeover_within_the_delay_cancels_the_will(connect, name, passing):
    watcher = watching(connect, V5, name)
    connect(V5, name, will=Will(f"{name}/will", properties={"will_delay": 1}), **kept(V5))
    connect(V5, name, **kept(V5))
    passing(1.6)
    no_will(watcher, name)


@pytest.mark.parametrize("expiry", [{}, {"session_expiry": 1}], ids=["none", "1-s"])
@shows_5("3.1.2-8", "4.1.0-2")
def test_the_end_of_the_session_publishes_the_will_before_its_delay(connect, name, expiry):
    watcher = watching(connect, V5, name)
    connect(V5, will=Will(f"{name}/will", properties={"will_delay": 600}), props=expiry).drop()
    assert watcher.delivery().payload == b"gone"


@shows_5("3.1.2-8", "3.1.2-4")
def test_a_clean_start_ends_the_session_and_publishes_the_delayed_will(connect, name):
    watcher = watching(connect, V5, name)
    connect(V5, name, will=Will(f"{name}/will", properties={"will_delay": 600}), **kept(V5)).drop()
    connect(V5, name, clean=True)
    assert watcher.delivery().payload == b"gone"


@shows_5("3.1.2-8")
def test_a_disconnect_with_will_message_keeps_the_delay(connect, name):
    watcher = watching(connect, V5, name)
    peer = connect(V5, will=Will(f"{name}/will", properties={"will_delay": 1}), props={"session_expiry": 60})
    peer.leave(0x04)
    no_will(watcher, name)
    assert watcher.delivery().payload == b"gone"


@shows_311("3.1.2-8")
@shows_5("3.1.2-8")
def test_a_will_crosses_the_versions(connect, name):
    old, new = watching(connect, V311, name), watching(connect, V5, name)
    connect(V5, will=Will(f"{name}/will", b"five", 1, properties=WILL_PROPERTIES)).drop()
    connect(V311, will=Will(f"{name}/will", b"four", 1)).drop()
    assert {p.payload for p in old.deliveries(2)} == {p.payload for p in new.deliveries(2)} == {b"five", b"four"}


@shows_5("3.1.2-8", "4.1.0-2")
def test_a_disconnect_that_ends_the_session_publishes_its_delayed_will(connect, name):
    watcher = watching(connect, V5, name)
    peer = connect(V5, will=Will(f"{name}/will", properties={"will_delay": 600}), props={"session_expiry": 60})
    peer.leave(0x04, {"session_expiry": 0})
    assert watcher.delivery().payload == b"gone"


@both_versions
@shows_311("3.1.2-17", "3.3.1-10")
@shows_5("3.1.2-15", "3.3.1-6")
def test_an_empty_will_with_retain_removes_the_retained_message(connect, name, version):
    watcher = watching(connect, version, name)
    watcher.publish(f"{name}/will", b"kept", 1, retain=True)
    assert watcher.delivery().payload == b"kept"
    connect(version, will=Will(f"{name}/will", b"", retain=True)).drop()
    assert watcher.delivery().payload == b""
    later = connect(version)
    later.subscribe(f"{name}/will", f"{name}/end")
    later.publish(f"{name}/end")
    assert later.until(f"{name}/end") == []
