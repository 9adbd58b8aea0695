"""Chapters 3.15 and 4.12: AUTH and authentication methods. The server has no method yet, so all are refused."""

import pytest
import wire
from statements import shows_5
from wire import AUTH, V5


@pytest.mark.parametrize("reason", [0x00, 0x18, 0x19])
@shows_5("4.12.0-7", "4.13.1-1")
def test_auth_without_a_method_in_connect_ends_the_connection(connect, reason):
    peer = connect(V5)
    peer.send(wire.auth(reason, {"authentication_method": "SCRAM-SHA-1"}))
    peer.refused(0x82)


@pytest.mark.parametrize("packet", [wire.auth(), wire.auth(0x42, {}), wire.auth(0x18, {"session_expiry": 1}),
                                    wire.packet(AUTH, b"\x18\x09\x15")],
                         ids=["empty", "unknown-reason", "wrong-property", "cut-short"])
@shows_5("3.15.2-1", "4.13.1-1")
def test_a_bad_auth_ends_the_connection(connect, packet):
    peer = connect(V5)
    peer.send(packet)
    peer.refused(0x81, 0x82)


@shows_5("4.12.0-1", "4.12.0-4", "3.1.4-2", "3.2.2-6", "3.2.2-7", "3.14.0-1")
def test_an_unknown_authentication_method_is_refused(dial, name):
    peer = dial(V5)
    peer.send(wire.connect(V5, name, props={"authentication_method": "no such method"}))
    peer.refused(0x8C, 0x87)


@shows_5("3.1.2-30", "3.1.4-6")
def test_nothing_is_processed_after_a_refused_authentication_method(connect, dial, name):
    watcher = connect(V5)
    watcher.subscribe(f"{name}/#")
    peer = dial(V5)
    peer.send(wire.connect(V5, name, props={"authentication_method": "no such method"})
              + wire.publish(V5, f"{name}/sent", b"x"))
    peer.refused(0x8C, 0x87, 0x82)
    watcher.publish(f"{name}/end")
    assert watcher.until(f"{name}/end") == []


@shows_5("4.12.0-6")
def test_without_a_method_there_is_neither_auth_nor_a_method_in_connack(connect):
    peer = connect(V5)
    assert peer.connack.property("authentication_method") is None
    assert peer.connack.property("authentication_data") is None
    peer.alive()


@shows_5("4.13.1-1")
def test_an_authentication_method_twice_is_refused(dial, name):
    peer = dial(V5)
    peer.send(wire.connect(V5, name, props=[("authentication_method", "a"), ("authentication_method", "a")]))
    peer.refused(0x82)
