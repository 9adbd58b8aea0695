"""Chapters 3.1.2.4 and 4.1: how long a session lives and what it holds."""

import pytest
from peer import HOUR_S, kept
from statements import both_versions, shows_311, shows_5
from wire import V5, V311

@both_versions
@shows_311("3.1.2-4", "3.1.2-5", "3.2.2-2", "3.2.2-3", "3.1.4-3", "4.1.0-1", "4.5.0-1", "3.1.3-2")
@shows_5("3.1.2-5", "3.1.2-6", "3.1.2-23", "3.2.2-3", "3.1.4-4", "4.5.0-1", "3.1.3-2")
def test_a_session_is_resumed_with_its_subscriptions_and_its_messages(connect, name, version):
    first = connect(version, name, **kept(version))
    assert not first.connack.session_present
    first.subscribe((f"{name}/1", 1), (f"{name}/2", 2))
    first.leave()
    publisher = connect(version)
    publisher.publish(f"{name}/1", b"one", 1)
    publisher.publish(f"{name}/2", b"two", 2)
    second = connect(version, name, **kept(version))
    assert second.connack.session_present
    assert sorted((p.topic, p.payload, p.qos) for p in second.deliveries(2)) == [
        (f"{name}/1", b"one", 1), (f"{name}/2", b"two", 2)]
    publisher.publish(f"{name}/1", b"more", 1)
    assert second.delivery().payload == b"more"


@both_versions
@shows_311("3.1.2-4", "4.1.0-1")
@shows_5("3.1.2-23")
def test_a_session_outlives_a_broken_connection(connect, name, version):
    first = connect(version, name, **kept(version))
    first.subscribe(name, qos=1)
    first.drop()
    connect(version).publish(name, b"x", 1)
    second = connect(version, name, **kept(version))
    assert second.connack.session_present
    assert second.delivery().payload == b"x"


@both_versions
@shows_311("3.1.2-6", "3.2.2-1", "3.1.4-3")
@shows_5("3.1.2-4", "3.2.2-2", "3.1.4-4")
def test_a_clean_start_discards_the_session(connect, name, version):
    first = connect(version, name, **kept(version))
    first.subscribe(f"{name}/t", qos=1)
    first.leave()
    publisher = connect(version)
    publisher.publish(f"{name}/t", b"old", 1)
    second = connect(version, name, clean=True)
    assert not second.connack.session_present
    second.subscribe(f"{name}/end")
    publisher.publish(f"{name}/t", b"new", 1)
    publisher.publish(f"{name}/end")
    assert second.until(f"{name}/end") == []


@both_versions
@shows_311("3.1.2-6", "3.2.2-3")
@shows_5("4.1.0-2", "3.2.2-3")
def test_a_clean_session_ends_with_its_connection(connect, name, version):
    first = connect(version, name, clean=True)
    first.subscribe(f"{name}/t", qos=1)
    first.leave()
    second = connect(version, name, clean=False)
    assert not second.connack.session_present
    second.subscribe(f"{name}/end")
    second.publish(f"{name}/t", b"x", 1)
    second.publish(f"{name}/end")
    assert second.until(f"{name}/end") == []


@shows_311("3.1.2-6")
def test_a_clean_session_is_not_resumed_by_the_next_persistent_one(connect, name):
    connect(V311, name, clean=False).leave()
    connect(V311, name, clean=True).leave()
    assert not connect(V311, name, clean=False).connack.session_present


@both_versions
@shows_311("4.1.0-2", "3.1.2-4")
@shows_5("4.1.0-1", "3.1.2-5")
def test_a_session_is_resumed_when_its_connection_is_taken_over(connect, name, version):
    first = connect(version, name, **kept(version))
    first.subscribe(f"{name}/t", qos=1)
    second = connect(version, name, **kept(version))
    assert second.connack.session_present
    connect(version).publish(f"{name}/t", b"x", 1)
    assert second.delivery().payload == b"x"


@shows_5("4.1.0-2", "3.1.2-23")
def test_without_a_session_expiry_the_session_ends_with_its_connection(connect, name):
    connect(V5, name, clean=False).leave()
    assert not connect(V5, name, clean=False).connack.session_present


@shows_5("3.1.2-23")
def test_the_longest_session_expiry_is_accepted(connect, name):
    connect(V5, name, **kept(V5, 0xFFFFFFFF)).leave()
    assert connect(V5, name, **kept(V5)).connack.session_present


@shows_5("4.1.0-2")
def test_a_session_is_discarded_when_its_expiry_passed(connect, name, passing):
    first = connect(V5, name, **kept(V5, 1))
    first.subscribe(f"{name}/t", qos=1)
    first.leave()
    passing(1.6)
    second = connect(V5, name, **kept(V5))
    assert not second.connack.session_present


@shows_5("4.1.0-1", "3.1.2-23")
def test_a_session_does_not_expire_while_it_is_connected(connect, name, passing):
    first = connect(V5, name, **kept(V5, 1))
    passing(1.6)
    first.alive()
    assert connect(V5, name, **kept(V5)).connack.session_present


@shows_5("3.1.2-23", "4.1.0-2")
def test_disconnect_may_shorten_the_session_expiry(connect, name):
    connect(V5, name, **kept(V5)).leave(0, {"session_expiry": 0})
    assert not connect(V5, name, clean=False).connack.session_present


@shows_5("3.1.2-23")
def test_disconnect_may_lengthen_a_session_expiry_that_is_not_0(connect, name, passing):
    connect(V5, name, **kept(V5, 1)).leave(0, {"session_expiry": HOUR_S})
    passing(1.6)
    assert connect(V5, name, **kept(V5)).connack.session_present


@shows_5("3.1.2-4", "3.1.2-23")
def test_a_clean_start_with_an_expiry_begins_a_session_that_lasts(connect, name):
    first = connect(V5, name, clean=True, props={"session_expiry": HOUR_S})
    first.subscribe(f"{name}/t", qos=1)
    first.leave()
    connect(V5).publish(f"{name}/t", b"x", 1)
    second = connect(V5, name, clean=False)
    assert second.connack.session_present
    assert second.delivery().payload == b"x"


@both_versions
@pytest.mark.parametrize("qos", [1, 2])
@shows_311("4.5.0-1", "3.1.2-5")
@shows_5("4.5.0-1")
def test_many_messages_wait_for_an_absent_session_in_their_order(connect, name, version, qos):
    first = connect(version, name, **kept(version))
    first.subscribe(f"{name}/t", qos=qos)
    first.leave()
    publisher = connect(version)
    for number in range(60):
        publisher.publish(f"{name}/t", b"%d" % number, qos)
    second = connect(version, name, **kept(version))
    assert [p.payload for p in second.deliveries(60)] == [b"%d" % n for n in range(60)]


@both_versions
@shows_311("4.1.0-1", "2.3.1-4")
@shows_5("4.1.0-1", "2.2.1-4")
def test_new_deliveries_of_a_resumed_session_avoid_the_identifiers_in_flight(connect, name, version):
    first = connect(version, name, **kept(version))
    first.subscribe(f"{name}/t", qos=1)
    publisher = connect(version)
    for number in range(3):
        publisher.publish(f"{name}/t", b"%d" % number, 1)
    held = {first.receive().packet_id for _ in range(3)}
    first.drop()
    publisher.publish(f"{name}/t", b"new", 1)
    second = connect(version, name, **kept(version))
    found = [second.receive() for _ in range(4)]
    assert {p.packet_id for p in found[:3]} == held and found[3].packet_id not in held


@shows_5("3.1.2-23", "4.1.0-2")
def test_the_session_expiry_of_the_last_connection_counts(connect, name):
    connect(V5, name, **kept(V5)).leave()
    second = connect(V5, name, clean=False)  # expiry 0
    assert second.connack.session_present
    second.leave()
    assert not connect(V5, name, clean=False).connack.session_present


@pytest.mark.parametrize("old, new", [(V311, V5), (V5, V311)], ids=["3.1.1-to-5.0", "5.0-to-3.1.1"])
@shows_311("3.1.2-4")
@shows_5("3.1.2-5")
def test_a_session_may_be_resumed_in_another_version(connect, name, old, new):
    first = connect(old, name, **kept(old))
    first.subscribe(f"{name}/t", qos=2)
    publisher = connect(V5)
    publisher.publish(f"{name}/t", b"begun", 2, props={"content_type": "c"})
    sent = first.receive()
    first.leave()
    publisher.publish(f"{name}/t", b"queued", 1, props={"content_type": "c"})
    second = connect(new, name, **kept(new))
    assert second.connack.session_present
    begun, queued = second.deliveries(2)
    assert (begun.payload, begun.packet_id, begun.dup) == (b"begun", sent.packet_id, True)
    assert queued.payload == b"queued"
    if new == V5:
        assert begun.property("content_type") == queued.property("content_type") == "c"


@both_versions
@shows_311("3.1.4-2", "4.1.0-1")
@shows_5("3.1.4-3", "4.1.0-1")
def test_of_many_connections_of_one_client_the_last_one_stands(connect, dial, name, version):
    first = connect(version, name, **kept(version))
    first.subscribe(f"{name}/t", qos=1)
    peers = [connect(version, name, **kept(version)) for _ in range(30)]
    for peer in [first, *peers[:-1]]:
        peer.refused(0x8E)
    connect(version).publish(f"{name}/t", b"x", 1)
    assert peers[-1].delivery().payload == b"x"


@both_versions
@shows_311("3.1.3-5", "3.1.3-9")
@shows_5("3.1.3-5", "3.1.3-8")
def test_a_client_identifier_of_65535_bytes_is_accepted_or_refused(dial, name, version):
    peer = dial(version)
    connack = peer.handshake((name + "x" * 65_535)[:65_535])
    assert connack.reason in ((0, 0x85) if version == V5 else (0, 2))
    if connack.reason:
        assert peer.until_end() == []
