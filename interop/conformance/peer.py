"""One connection to the server, driven packet by packet over a plain socket."""

import socket
import time

import wire
from received import parse, split
from wire import (
    CONNACK, DISCONNECT, KIND_NAMES, PINGRESP, PUBACK, PUBCOMP, PUBLISH, PUBREC, PUBREL, SUBACK, UNSUBACK, V5,
)

# How long anything that must come may take, in seconds. Nothing waits for it unless the server is wrong.
PATIENCE_S = 3.0


HOUR_S = 3600


def kept(version, expiry=HOUR_S):
    """CONNECT options that ask for a session that outlives its connection, or resume one."""
    return {"clean": False, "props": {"session_expiry": expiry}} if version == V5 else {"clean": False}


class Ended(Exception):
    """The server closed the connection."""


class Silent(AssertionError):
    """The server did not send in time what it had to."""


class Peer:
    """A client of one version. `send` takes bytes; what is received was parsed strictly."""

    def __init__(self, address, version, strict=True, receive_buffer=None):
        self.version, self.strict, self.buffer, self.last_id = version, strict, b"", 0
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(PATIENCE_S)
        self.socket.connect(address)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.connack = None
        self.pending = []

    # Bytes out.

    def send(self, *packets):
        try:
            self.socket.sendall(b"".join(packets))
        except OSError as cause:
            raise Ended(str(cause)) from cause

    def try_send(self, *packets):
        """Sends to a server that may have closed already."""
        try:
            self.send(*packets)
        except Ended:
            pass

    def fresh_id(self):
        self.last_id = self.last_id % 65535 + 1
        return self.last_id

    # Packets in.

    def receive(self, within=PATIENCE_S):
        """The next packet; raises Ended at the end of the stream and Silent when none came in time."""
        if self.pending:
            return self.pending.pop(0)
        return self.read(within)

    def read(self, within):
        deadline = time.monotonic() + within
        while True:
            whole = split(self.buffer)
            if whole:
                first, body, total = whole
                self.buffer = self.buffer[total:]
                return parse(first, body, total, self.version)
            self.fill(deadline, within)

    def fill(self, deadline, within):
        left = deadline - time.monotonic()
        if left <= 0:
            raise Silent(f"nothing came within {within} s")
        self.socket.settimeout(left)
        try:
            data = self.socket.recv(65536)
        except socket.timeout as cause:
            raise Silent(f"nothing came within {within} s") from cause
        except OSError as cause:
            raise Ended(str(cause)) from cause
        if not data:
            raise Ended("end of stream")
        self.buffer += data

    def expect(self, kind, within=PATIENCE_S):
        """The next packet, which must be of this kind."""
        try:
            found = self.receive(within)
        except Ended as cause:
            raise AssertionError(f"the connection ended where {KIND_NAMES[kind]} had to come") from cause
        except Silent as cause:
            raise Silent(f"{cause}; {KIND_NAMES[kind]} had to come") from None
        assert found.kind == kind, f"{KIND_NAMES[kind]} had to come, not {found}"
        return found

    def answer(self, kind):
        """The next packet of this kind; what came before it waits for `receive` (deliveries may interleave)."""
        before = []
        while True:
            found = self.receive()
            if found.kind == kind:
                self.pending = before + self.pending
                return found
            before.append(found)

    def until_end(self, within=PATIENCE_S):
        """All packets up to the end of the stream, which must come."""
        found = []
        deadline = time.monotonic() + within
        while True:
            try:
                found.append(self.receive(max(deadline - time.monotonic(), 0.001)))
            except Ended:
                return found
            except Silent:
                raise Silent(f"the server did not close the connection within {within} s; it sent {found}") from None

    def fence(self):
        """PINGREQ; what came before its PINGRESP."""
        self.send(wire.pingreq())
        found = []
        while True:
            packet = self.receive()
            if packet.kind == PINGRESP:
                return found
            found.append(packet)

    def until(self, topic):
        """Everything before the marker: the next PUBLISH on this topic. Nothing is acknowledged."""
        found = []
        while True:
            packet = self.receive()
            if packet.kind == PUBLISH and packet.topic == topic:
                return found
            found.append(packet)

    def alive(self):
        """The connection stands and nothing else came."""
        assert self.fence() == []

    def receive_or_end(self):
        """The name of the next packet, or "end"."""
        try:
            return KIND_NAMES[self.receive().kind]
        except Ended:
            return "end"

    def receive_or_last_words(self):
        """The next packet; a DISCONNECT must be followed by the end; None if the connection ended without."""
        try:
            found = self.receive()
        except Ended:
            return None
        if found.kind == DISCONNECT:
            assert self.until_end() == []
        return found

    # Conversations.

    def handshake(self, client_id, **options):
        """CONNECT; the CONNACK, whatever it says."""
        self.send(wire.connect(self.version, client_id, **options))
        self.connack = self.expect(CONNACK)
        return self.connack

    def subscribe(self, *filters, qos=0, options=0, props=()):
        """Subscribes to filters, or to (filter, options byte) pairs; the codes of the SUBACK."""
        pairs = [f if isinstance(f, tuple) else (f, qos | options) for f in filters]
        packet_id = self.fresh_id()
        self.send(wire.subscribe(self.version, packet_id, pairs, props))
        suback = self.answer(SUBACK)
        assert suback.packet_id == packet_id
        assert len(suback.reasons) == len(pairs), suback
        return suback.reasons

    def unsubscribe(self, *filters):
        packet_id = self.fresh_id()
        self.send(wire.unsubscribe(self.version, packet_id, filters))
        unsuback = self.answer(UNSUBACK)
        assert unsuback.packet_id == packet_id
        return unsuback.reasons

    def publish(self, topic, payload=b"", qos=0, retain=False, props=(), dup=False):
        """Publishes and sees the acknowledgements through; the reason of the first."""
        packet_id = self.fresh_id() if qos else None
        self.send(wire.publish(self.version, topic, payload, qos, packet_id, retain, dup, props))
        if not qos:
            return None
        first = self.answer(PUBACK if qos == 1 else PUBREC)
        assert first.packet_id == packet_id, first
        if qos == 2 and first.reason < 0x80:
            self.send(wire.acknowledge(PUBREL, packet_id))
            assert self.answer(PUBCOMP).packet_id == packet_id
        return first.reason

    def delivery(self, within=PATIENCE_S):
        """The next PUBLISH, acknowledged to the end as its QoS asks."""
        found = self.expect(PUBLISH, within)
        if found.qos == 1:
            self.send(wire.acknowledge(PUBACK, found.packet_id))
        if found.qos == 2:
            self.send(wire.acknowledge(PUBREC, found.packet_id))
            assert self.answer(PUBREL).packet_id == found.packet_id
            self.send(wire.acknowledge(PUBCOMP, found.packet_id))
        return found

    def deliveries(self, count):
        return [self.delivery() for _ in range(count)]

    def aliased_deliveries(self, count):
        """The topics of the next deliveries, with aliases resolved as a client does, and the aliases seen."""
        known, topics, aliases = {}, [], []
        for found in self.deliveries(count):
            alias = found.property("topic_alias")
            if found.topic and alias:
                known[alias] = found.topic
            topics.append(found.topic or known[alias])
            aliases.append(alias)
        return topics, [alias for alias in aliases if alias]

    # Ends.

    def refused(self, *reasons):
        """The server closes; in MQTT 5 it first says one of the reasons, in 3.1.1 nothing."""
        said = self.until_end()
        self.check_last_words(said, reasons)

    def check_last_words(self, said, reasons):
        if self.version != V5:
            assert said == [], f"a plain close had to come, not {said}"
            return
        words = CONNACK if self.connack is None else DISCONNECT
        assert all(packet.kind == words for packet in said) and len(said) <= 1, f"{said} before the close"
        if self.strict and reasons:
            named = " or ".join(f"0x{reason:02X}" for reason in reasons)
            assert said, f"{KIND_NAMES[words]} {named} had to come before the close"
            assert said[0].reason in reasons, f"reason 0x{said[0].reason:02X} where {named} was right"

    def leave(self, reason=None, props=None):
        """DISCONNECT, and the server's end of it."""
        self.send(wire.disconnect(reason, props))
        return self.until_end()

    def drop(self):
        """Ends the stream without DISCONNECT and waits until the server saw it."""
        try:
            self.socket.shutdown(socket.SHUT_WR)
            self.until_end()
        except OSError:
            pass
        self.socket.close()

    def close(self):
        self.socket.close()
