"""Client sessions: what outlives a connection, for how long, and who owns it."""

import pytest

from paho_client import UNREAD, let_pass

KEPT = {"clean": False, "SessionExpiryInterval": 300}


def persistent(version):
    """Options that keep a session, in each version's own words."""
    return dict(KEPT, version=version) if version == "5" else {"clean": False, "version": version}


def test_a_new_client_has_no_session(client, name, version):
    if version == "3.1":
        pytest.skip("MQTT 3.1 has no session present flag")
    assert not client(client_id=name(), **persistent(version)).session_present


def test_a_kept_session_holds_subscriptions_and_messages(client, topic, name, version, qos):
    reader = name()
    first = client(client_id=reader, **persistent(version))
    first.subscribe(topic, qos=2)
    first.disconnect()
    publisher = client(version=version)
    for n in range(10):
        publisher.publish(topic, str(n), qos=max(qos, 1))
    back = client(client_id=reader, **persistent(version))
    assert back.session_present or version == "3.1"
    assert back.receive_payloads(10) == [str(n).encode() for n in range(10)]
    publisher.publish(topic, b"live", qos=qos)
    assert back.receive().payload == b"live"


def test_a_clean_start_ends_the_session_that_there_was(client, topic, name, version):
    reader = name()
    first = client(client_id=reader, **persistent(version))
    first.subscribe(topic)
    first.disconnect()
    client().publish(topic, b"lost")
    fresh = client(client_id=reader, version=version, clean=True)
    assert not fresh.session_present
    fresh.disconnect()
    again = client(client_id=reader, **persistent(version))
    again.subscribe(f"{topic}/end")
    client().publish(topic, b"not subscribed")
    client().publish(f"{topic}/end", b"end")
    assert again.receive_until(b"end") == []


def test_a_session_without_expiry_ends_with_its_connection(client, topic, name):
    reader = name()
    first = client(client_id=reader, clean=False)
    first.subscribe(topic)
    first.disconnect()
    assert not client(client_id=reader, clean=False).session_present


def test_a_session_ends_when_its_interval_is_over(client, topic, name):
    reader = name()
    first = client(client_id=reader, clean=False, SessionExpiryInterval=1)
    first.subscribe(topic)
    first.disconnect()
    let_pass(client, 3)
    assert not client(client_id=reader, clean=False).session_present


def test_a_session_within_its_interval_is_there(client, name):
    reader = name()
    client(client_id=reader, clean=False, SessionExpiryInterval=60).vanish()
    assert client(client_id=reader, clean=False).session_present


def test_the_interval_may_change_at_disconnect(client, name):
    ended, kept = name(), name()
    client(client_id=ended, **KEPT).disconnect(SessionExpiryInterval=0)
    client(client_id=kept, clean=False, SessionExpiryInterval=5).disconnect(SessionExpiryInterval=300)
    assert not client(client_id=ended, clean=False).session_present
    assert client(client_id=kept, clean=False).session_present


def test_an_unsubscribe_lasts(client, topic, name, version):
    reader = name()
    first = client(client_id=reader, **persistent(version))
    first.subscribe(topic, f"{topic}/end")
    first.unsubscribe(topic)
    first.disconnect()
    publisher = client()
    publisher.publish(topic, b"x")
    publisher.publish(f"{topic}/end", b"end")
    assert client(client_id=reader, **persistent(version)).receive_until(b"end") == []


def test_a_second_connection_takes_the_session_over(client, topic, name, version, own_broker):
    owner = name()
    old = client(client_id=owner, **persistent(version))
    old.subscribe(topic)
    new = client(client_id=owner, **persistent(version))
    reason, from_server, _ = old.await_disconnect()
    assert not from_server or reason in (0x8E, UNREAD)
    assert from_server == (version == "5") or not own_broker
    client().publish(topic, b"x")
    assert new.receive().payload == b"x"


def test_what_was_not_acknowledged_comes_again_marked_as_such(client, topic, name, version):
    reader = name()
    silent = client(client_id=reader, manual_ack=True, **persistent(version))
    silent.subscribe(topic, qos=1)
    client().publish(topic, b"again")
    first = silent.receive()
    assert (first.payload, first.dup) == (b"again", False)
    silent.vanish()
    second = client(client_id=reader, **persistent(version)).receive()
    assert (second.payload, second.dup, second.mid) == (b"again", True, first.mid)


def test_acknowledged_messages_do_not_come_again(client, topic, name, version, qos):
    reader = name()
    first = client(client_id=reader, **persistent(version))
    first.subscribe(topic, f"{topic}/end")
    publisher = client()
    publisher.publish(topic, b"once", qos=qos)
    publisher.publish(topic, b"last", qos=qos)
    first.receive_until(b"last")
    first.disconnect()
    publisher.publish(f"{topic}/end", b"end", qos=1)
    back = client(client_id=reader, **persistent(version))
    assert [m.payload for m in back.receive_until(b"end") if not m.dup] == []


def test_a_slow_reader_with_a_small_window_gets_all_in_order(client, topic, name):
    reader = name()
    first = client(client_id=reader, **KEPT)
    first.subscribe(topic, qos=1)
    first.disconnect()
    publisher = client()
    sent = [publisher.send(topic, str(n)) for n in range(300)]
    for mid in sent:
        publisher.await_published(mid)
    back = client(client_id=reader, ReceiveMaximum=3, **KEPT)
    assert back.receive_payloads(300) == [str(n).encode() for n in range(300)]


def test_no_more_than_the_receive_maximum_is_under_way(client, topic, name):
    reader = client(client_id=name(), manual_ack=True, ReceiveMaximum=5, **KEPT)
    reader.subscribe(topic, f"{topic}/end", qos=1)
    publisher = client()
    for n in range(20):
        publisher.publish(topic, str(n))
    publisher.publish(f"{topic}/end", b"end", qos=0)
    seen = []
    while (message := reader.receive()).payload != b"end":
        seen.append(message)
        if len(seen) == 5:
            break
    assert len(seen) == 5
    for message in seen:
        reader.paho.ack(message.mid, message.qos)
    assert [reader.receive().payload for _ in range(5)]


def test_sessions_of_many_clients_are_kept_apart(client, topic, name):
    names = [name() for _ in range(20)]
    for n, one in enumerate(names):
        reader = client(client_id=one, **KEPT)
        reader.subscribe(f"{topic}/{n}", qos=1)
        reader.disconnect()
    publisher = client()
    for n in range(20):
        publisher.publish(f"{topic}/{n}", str(n))
    for n, one in enumerate(names):
        assert client(client_id=one, **KEPT).receive().payload == str(n).encode()
