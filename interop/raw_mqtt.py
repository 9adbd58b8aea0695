"""A small, fast MQTT 3.1.1 client without threads, for load under which Paho is too slow. It frames packets; what they
mean is its user's business, and so is the session's state, which outlives the connection."""

import socket
import struct

CONNECT, CONNACK, PUBLISH, PUBACK, PUBREC, PUBREL, PUBCOMP, SUBSCRIBE, SUBACK = 1, 2, 3, 4, 5, 6, 7, 8, 9
READ_SIZE = 1 << 18


def packet(kind, flags, body):
    """A packet with its fixed header."""
    length, size = len(body), bytearray()
    while True:
        length, seven = length >> 7, length & 0x7F
        size.append(seven | (0x80 if length else 0))
        if not length:
            return bytes([kind << 4 | flags]) + size + body


def text(value):
    """A length-prefixed string."""
    data = value.encode()
    return struct.pack("!H", len(data)) + data


def connect(client_id, clean):
    return packet(CONNECT, 0, text("MQTT") + bytes([4, 2 if clean else 0, 0, 0]) + text(client_id))


def publish(topic, payload, qos, mid, dup=False):
    body = text(topic) + (struct.pack("!H", mid) if qos else b"") + payload
    return packet(PUBLISH, (8 if dup else 0) | qos << 1, body)


def subscribe(mid, topic_filter, qos):
    return packet(SUBSCRIBE, 2, struct.pack("!H", mid) + text(topic_filter) + bytes([qos]))


def acknowledgement(kind, mid):
    """PUBACK, PUBREC, PUBREL or PUBCOMP."""
    return bytes([kind << 4 | (2 if kind == PUBREL else 0), 2, mid >> 8, mid & 0xFF])


def split_publish(flags, body):
    """(topic, mid, payload) of a PUBLISH; mid is 0 at QoS 0."""
    end = 2 + (body[0] << 8 | body[1])
    topic = body[2:end].decode()
    if not flags & 6:
        return topic, 0, body[end:]
    return topic, body[end] << 8 | body[end + 1], body[end + 2:]


class Connection:
    """A connected socket. `received()` gives whole packets; `closed` once the peer is gone and everything was read."""

    def __init__(self, host, port):
        self.socket = socket.create_connection((host, port), timeout=5)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.setblocking(False)
        self.input, self.output, self.closed = bytearray(), bytearray(), False

    def fileno(self):
        return self.socket.fileno()

    def flush(self):
        """Writes as much as goes. What can't be written because the peer is gone is dropped: it never was sent."""
        try:
            while self.output:
                del self.output[:self.socket.send(self.output)]
        except BlockingIOError:
            pass
        except OSError:
            self.output.clear()

    def received(self):
        """The whole packets that are there, as (kind, flags, body)."""
        self._read()
        out, at = [], 0
        while (found := self._frame(at)) is not None:
            start, end = found
            head = self.input[at]
            out.append((head >> 4, head & 15, bytes(self.input[start:end])))
            at = end
        del self.input[:at]
        return out

    def _read(self):
        try:
            data = self.socket.recv(READ_SIZE)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if data:
            self.input += data
        else:
            self.closed = True

    def _frame(self, at):
        """Where the body of the packet at `at` starts and ends, or None if it is not all there."""
        length, shift, start = 0, 0, at + 1
        while start < len(self.input):
            length |= (self.input[start] & 0x7F) << shift
            start += 1
            if not self.input[start - 1] & 0x80:
                return (start, start + length) if start + length <= len(self.input) else None
            shift += 7
        return None

    def close(self):
        self.socket.close()
