"""A packet fuzzer: mutated conversations and random bytes. Nobody but the sender may notice.

`--fuzz-seconds` says how long (default 15), `--fuzz-seed` repeats a run; the seed is printed. The server may close a
connection or answer; it must not die, must not disturb others, and must send nothing unlawful to anybody else.
"""

import errno
import random
import socket
import time

import pytest
import wire
from peer import Ended, Peer, Silent
from statements import shows_311, shows_5
from wire import PUBACK, PUBCOMP, PUBREC, PUBREL, V5, V31, V311, Will

EDGES = [0, 1, 2, 0x0F, 0x10, 0x7F, 0x80, 0x81, 0xC0, 0xED, 0xF0, 0xFE, 0xFF]


def conversation(version, name, dice):
    """A valid conversation as a list of packets; what it publishes stays below the fuzzer's own topics."""
    will = Will(f"fuzz/{name}", b"gone", dice.randrange(3), dice.random() < 0.2) if dice.random() < 0.5 else None
    props = [("session_expiry", dice.randrange(3)), ("receive_maximum", 1 + dice.randrange(5)),
             ("topic_alias_maximum", dice.randrange(5)), ("user_property", ("a", "b"))] if version == V5 else ()
    packets = [wire.connect(version, f"fuzz-{name}"[:23], dice.random() < 0.5, 5, props, will,
                            dice.choice([None, "user"]), None)]
    for _ in range(dice.randrange(1, 12)):
        packets.append(dice.choice(REQUESTS)(version, name, dice))
    return packets + ([wire.disconnect()] if dice.random() < 0.5 else [])


PUBLISH_PROPERTIES = [("message_expiry", 1), ("content_type", "c"), ("response_topic", "r"), ("topic_alias", 1),
                      ("user_property", ("k", "v")), ("payload_format", 1)]


def some_publish(version, name, dice):
    qos = dice.randrange(3)
    props = dice.sample(PUBLISH_PROPERTIES, dice.randrange(5)) if version == V5 else ()
    return wire.publish(version, f"fuzz/{name}", dice.randbytes(dice.randrange(50)), qos,
                        dice.randrange(1, 20) if qos else None, dice.random() < 0.2, bool(qos) and dice.random() < 0.3,
                        props)


def some_subscribe(version, name, dice):
    pattern = dice.choice([f"fuzz/{name}", "fuzz/+", f"fuzz/{name}/#", f"$share/g/fuzz/{name}"])
    return wire.subscribe(version, dice.randrange(1, 20), [(pattern, dice.randrange(3))])


REQUESTS = [
    some_publish, some_publish, some_publish, some_subscribe,
    lambda v, name, dice: wire.unsubscribe(v, dice.randrange(1, 20), [f"fuzz/{name}"]),
    lambda v, name, dice: wire.acknowledge(dice.choice([PUBACK, PUBREC, PUBREL, PUBCOMP]), dice.randrange(20)),
    lambda v, name, dice: wire.pingreq(),
    lambda v, name, dice: wire.auth(0x18, {"authentication_method": "x"}),
    lambda v, name, dice: wire.packet(dice.randrange(16), dice.randbytes(dice.randrange(20)), dice.randrange(16)),
]


def mutated(data, dice):
    """The bytes with a few of them changed, lost, doubled or added."""
    data = bytearray(data)
    for _ in range(dice.choice([0, 1, 1, 1, 2, 3, 8])):
        at = dice.randrange(len(data)) if data else 0
        kind = dice.randrange(6)
        if kind == 0 and data:
            data[at] ^= 1 << dice.randrange(8)
        elif kind == 1 and data:
            data[at] = dice.choice(EDGES)
        elif kind == 2:
            data[at:at] = dice.randbytes(dice.randrange(1, 5))
        elif kind == 3:
            del data[at:at + dice.randrange(1, 5)]
        elif kind == 4:
            data[at:at] = data[at:at + dice.randrange(1, 30)]
        elif data:
            data[at:at + 2] = dice.choice([b"\xff\xff", b"\x00\x00", b"\x80\x80"])
    return bytes(data)


def throw(address, data, dice):
    """Sends the bytes in pieces and reads what comes, for a moment; some connections are aborted."""
    try:
        with socket.create_connection(address, 3) as thrower:
            cut = dice.randrange(len(data) + 1)
            thrower.sendall(data[:cut])
            thrower.sendall(data[cut:])
            if dice.random() < 0.2:
                abort(thrower)
                return
            thrower.shutdown(socket.SHUT_WR)
            thrower.settimeout(3)
            while thrower.recv(65_536):
                pass
    except TimeoutError:
        raise
    except OSError as cause:
        if cause.errno not in (errno.ECONNRESET, errno.EPIPE, errno.ENOTCONN):
            raise
        # The server closed first: its right.


def abort(thrower):
    """The next close sends RST."""
    thrower.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")


def mischief(dice, number):
    """One connection's worth of bytes."""
    version, name = dice.choice([V31, V311, V311, V5, V5, V5]), str(number % 7)
    kind = dice.randrange(10)
    if kind == 0:
        return dice.randbytes(dice.randrange(1, 300))
    packets = conversation(version, name, dice)
    if kind == 1:
        return packets[0] + dice.randbytes(dice.randrange(1, 300))
    if kind == 2:
        dice.shuffle(packets)
    if kind == 3:
        return mutated(b"".join(packets), dice)
    return b"".join(mutated(p, dice) if n and dice.random() < 0.4 else p for n, p in enumerate(packets))


@pytest.fixture
def witnesses(connect, name):
    """Well-behaved connections that were there before: a pair of subscriber and publisher of each version."""
    pairs = []
    for version in (V311, V5):
        subscriber, publisher = connect(version, keep_alive=0), connect(version, keep_alive=0)
        subscriber.subscribe(f"{name}/{version}", qos=2)
        pairs.append((subscriber, publisher, f"{name}/{version}"))
    return pairs


def undisturbed(pairs, number):
    for subscriber, publisher, topic in pairs:
        publisher.publish(topic, b"%d" % number, number % 3)
        assert subscriber.delivery().payload == b"%d" % number
        subscriber.alive()
        publisher.alive()


@shows_311("4.8.0-1")
@shows_5("4.13.1-1")
def test_a_storm_of_bad_packets_disturbs_nobody_else(broker, request, witnesses, connect, name):
    seconds = request.config.getoption("--fuzz-seconds", default=15.0)
    seed = request.config.getoption("--fuzz-seed", default=None)
    seed = random.randrange(1 << 32) if seed is None else seed
    print(f"\nfuzz seed {seed}: repeat with --fuzz-seed {seed}")
    dice, number, end = random.Random(seed), 0, time.monotonic() + seconds
    while time.monotonic() < end:
        data = mischief(dice, number)
        try:
            throw(broker, data, dice)
            if number % 25 == 0:
                undisturbed(witnesses, number)
        except (OSError, Ended, Silent, AssertionError) as cause:
            raise AssertionError(f"seed {seed}, connection {number}, bytes {data.hex()}: {cause!r}") from cause
        number += 1
    print(f"{number} connections of mischief")
    assert number > 0
    for version in (V31, V311, V5):
        peer = connect(version, f"after-{version}")
        peer.subscribe(f"{name}/after", qos=2)
        assert peer.publish(f"{name}/after", b"x", 2) == 0
        assert peer.delivery().payload == b"x"
        peer.leave()


@shows_311("4.8.0-1")
@shows_5("4.13.1-1")
def test_a_valid_conversation_cut_anywhere_disturbs_nobody_else(broker, witnesses):
    dice = random.Random(7)
    whole = (wire.connect(V5, "cut", will=Will("cut/will"), username="u", password="p",
                          props={"session_expiry": 0, "user_property": ("a", "b")})
             + wire.subscribe(V5, 1, [("cut/#", 2)], {"subscription_identifier": 200})
             + wire.publish(V5, "cut/t", b"payload", 2, 1, props={"topic_alias": 1, "correlation_data": b"x"})
             + wire.acknowledge(PUBREL, 1, 0, {}) + wire.unsubscribe(V5, 2, ["cut/#"]) + wire.disconnect(0x04, {}))
    for at in range(len(whole)):
        throw(broker, whole[:at], dice)
    undisturbed(witnesses, 2)


@shows_5("4.13.1-1")
def test_a_client_that_never_reads_disturbs_nobody_else(broker, name, witnesses, dial):
    deaf = dial(V5, receive_buffer=4096)
    deaf.handshake(f"{name}-deaf")
    deaf.subscribe(f"{name}/flood")
    flooder = Peer(broker, V5)
    flooder.handshake(f"{name}-flooder")
    for number in range(200):
        flooder.publish(f"{name}/flood", b"x" * 20_000)
        if number % 20 == 0:
            undisturbed(witnesses, number)
    flooder.alive()
    flooder.close()
