"""Packets of the server, parsed strictly: what the specification does not allow raises `Unlawful`.

So each test also shows, of every packet that it receives, that its flags, reason codes, properties and strings
are lawful.
"""

from dataclasses import dataclass, field

from wire import (
    AUTH, CONNACK, DISCONNECT, KIND_NAMES, PINGRESP, PROPERTIES, PUBACK, PUBCOMP, PUBLISH, PUBREC, PUBREL, SUBACK,
    UNSUBACK, V5, varint,
)

NAMED = {identifier: (name, kind) for name, (identifier, kind) in PROPERTIES.items()}

EXPLAINED = {"reason_string", "user_property"}
# Which properties each packet of a server may have (5.0 table 2-4).
ALLOWED_PROPERTIES = {
    CONNACK: EXPLAINED | {
        "session_expiry", "assigned_client_id", "server_keep_alive", "authentication_method", "authentication_data",
        "response_information", "server_reference", "receive_maximum", "topic_alias_maximum", "maximum_qos",
        "retain_available", "maximum_packet_size", "wildcard_available", "subscription_identifiers_available",
        "shared_available"},
    PUBLISH: {"payload_format", "message_expiry", "content_type", "response_topic", "correlation_data",
              "subscription_identifier", "topic_alias", "user_property"},
    PUBACK: EXPLAINED, PUBREC: EXPLAINED, PUBREL: EXPLAINED, PUBCOMP: EXPLAINED, SUBACK: EXPLAINED,
    UNSUBACK: EXPLAINED,
    DISCONNECT: EXPLAINED | {"server_reference"},
    AUTH: EXPLAINED | {"authentication_method", "authentication_data"},
}
REPEATABLE = {"user_property", "subscription_identifier"}

# The reason codes that a server may put into each packet (5.0 section 2.4 and the tables of chapter 3).
ALLOWED_REASONS = {
    CONNACK: {0x00, *range(0x80, 0x8B), 0x8C, 0x90, 0x95, 0x97, 0x99, 0x9A, 0x9B, 0x9C, 0x9D, 0x9F},
    PUBACK: {0x00, 0x10, 0x80, 0x83, 0x87, 0x90, 0x91, 0x97, 0x99},
    PUBREC: {0x00, 0x10, 0x80, 0x83, 0x87, 0x90, 0x91, 0x97, 0x99},
    PUBREL: {0x00, 0x92},
    PUBCOMP: {0x00, 0x92},
    SUBACK: {0x00, 0x01, 0x02, 0x80, 0x83, 0x87, 0x8F, 0x91, 0x97, 0x9E, 0xA1, 0xA2},
    UNSUBACK: {0x00, 0x11, 0x80, 0x83, 0x87, 0x8F, 0x91},
    DISCONNECT: {0x00, 0x80, 0x81, 0x82, 0x83, 0x87, 0x89, 0x8B, 0x8D, 0x8E, 0x8F, 0x90, *range(0x93, 0xA3)},
    AUTH: {0x00, 0x18},
}
CONNACK_CODES_311 = {0, 1, 2, 3, 4, 5}
SUBACK_CODES_311 = {0, 1, 2, 0x80}


class Unlawful(AssertionError):
    """The server sent what the specification does not allow."""


@dataclass
class Packet:
    """A packet of the server; which fields mean something depends on its kind."""

    kind: int
    flags: int
    size: int
    packet_id: int = 0
    reason: int = 0
    reasons: list = field(default_factory=list)
    properties: list = field(default_factory=list)
    topic: str = ""
    payload: bytes = b""
    session_present: bool = False

    @property
    def qos(self):
        return self.flags >> 1 & 3

    @property
    def dup(self):
        return bool(self.flags & 8)

    @property
    def retain(self):
        return bool(self.flags & 1)

    def property(self, name, default=None):
        """The value of a property, or the default; the first one where it is repeated."""
        return next((value for key, value in self.properties if key == name), default)

    def all(self, name):
        return [value for key, value in self.properties if key == name]

    def __repr__(self):
        shown = {k: v for k, v in vars(self).items() if v and k not in ("kind", "flags", "size")}
        return f"{KIND_NAMES.get(self.kind, self.kind)}(flags={self.flags:04b}, {shown})"


class Fields:
    """Reads the fields of a packet's body in turn."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, count):
        if self.at + count > len(self.data):
            raise Unlawful(f"a packet of the server ends within a field: {self.data.hex()}")
        self.at += count
        return self.data[self.at - count:self.at]

    def left(self):
        return len(self.data) - self.at

    def number(self, width):
        return int.from_bytes(self.take(width), "big")

    def varint(self):
        start, value, shift = self.at, 0, 0
        while True:
            byte = self.number(1)
            value |= (byte & 0x7F) << shift
            shift += 7
            if not byte & 0x80:
                break
        if self.data[start:self.at] != varint(value):
            raise Unlawful("a variable byte integer of the server is longer than needed")
        return value

    def string(self):
        text = self.take(self.number(2)).decode("utf-8")
        if "\0" in text:
            raise Unlawful("a string of the server holds U+0000")
        return text

    def properties(self, kind):
        inner = Fields(self.take(self.varint()))
        found = []
        while inner.left():
            name, value_kind = NAMED.get(inner.varint(), ("unknown", ""))
            if name not in ALLOWED_PROPERTIES[kind]:
                raise Unlawful(f"property {name} in {KIND_NAMES[kind]} of the server")
            if name not in REPEATABLE and any(name == earlier for earlier, _ in found):
                raise Unlawful(f"property {name} twice in {KIND_NAMES[kind]}")
            found.append((name, inner.property_value(value_kind)))
        return found

    def property_value(self, kind):
        if kind == "pair":
            return self.string(), self.string()
        read = {"byte": lambda: self.number(1), "two": lambda: self.number(2), "four": lambda: self.number(4),
                "varint": self.varint, "string": self.string, "binary": lambda: self.take(self.number(2))}
        return read[kind]()


def split(data):
    """The first whole packet of the data as (first byte, body, total length), or None."""
    length, shift = 0, 0
    for at in range(1, min(len(data), 5)):
        length |= (data[at] & 0x7F) << shift
        shift += 7
        if not data[at] & 0x80:
            total = at + 1 + length
            if data[1:at + 1] != varint(length):
                raise Unlawful("a remaining length of the server is longer than needed")
            return (data[0], data[at + 1:total], total) if len(data) >= total else None
    if len(data) >= 5:
        raise Unlawful(f"a remaining length of the server does not end: {data[:5].hex()}")
    return None


def parse(first, body, size, version):
    """A packet of the server out of its first byte and its body."""
    kind, flags = first >> 4, first & 0x0F
    found = Packet(kind, flags, size)
    read = READERS.get(kind)
    if read is None:
        raise Unlawful(f"a server does not send {KIND_NAMES.get(kind, kind)}")
    if kind != PUBLISH and flags != (0b0010 if kind == PUBREL else 0):
        raise Unlawful(f"flags {flags:04b} in {KIND_NAMES[kind]}")
    fields = Fields(body)
    read(found, fields, version)
    if fields.left():
        raise Unlawful(f"{fields.left()} bytes too many in {found}")
    check_reasons(found, version)
    return found


def check_reasons(found, version):
    if version != V5:
        allowed = {CONNACK: CONNACK_CODES_311, SUBACK: SUBACK_CODES_311}.get(found.kind, {0})
    else:
        # A CONNACK that refuses the version itself may be in the old form: return code 1.
        allowed = ALLOWED_REASONS.get(found.kind, {0})
    for reason in [found.reason, *found.reasons] if found.kind not in (SUBACK, UNSUBACK) else found.reasons:
        if reason not in allowed:
            raise Unlawful(f"reason 0x{reason:02X} in {found}")


def read_connack(found, fields, version):
    acknowledge_flags = fields.number(1)
    if acknowledge_flags > 1:
        raise Unlawful("bits 7 to 1 of the acknowledge flags of CONNACK are not 0")
    found.session_present = bool(acknowledge_flags)
    found.reason = fields.number(1)
    if version == V5:
        found.properties = fields.properties(CONNACK)
    if found.reason and found.session_present:
        raise Unlawful("a refusing CONNACK says Session Present")


def read_publish(found, fields, version):
    if found.qos == 3:
        raise Unlawful("PUBLISH of QoS 3")
    if found.qos == 0 and found.dup:
        raise Unlawful("DUP on QoS 0")
    found.topic = fields.string()
    if "+" in found.topic or "#" in found.topic:
        raise Unlawful(f"a wildcard in the topic name {found.topic!r}")
    if found.qos:
        found.packet_id = fields.number(2)
        if found.packet_id == 0:
            raise Unlawful("PUBLISH with packet identifier 0")
    if version == V5:
        found.properties = fields.properties(PUBLISH)
        if found.property("topic_alias") == 0:
            raise Unlawful("topic alias 0")
    found.payload = fields.take(fields.left())


def read_acknowledgement(found, fields, version):
    found.packet_id = fields.number(2)
    if version == V5 and fields.left():
        found.reason = fields.number(1)
        found.properties = fields.properties(found.kind) if fields.left() else []


def read_suback(found, fields, version):
    found.packet_id = fields.number(2)
    if version == V5:
        found.properties = fields.properties(found.kind)
    if found.kind == SUBACK or version == V5:
        found.reasons = list(fields.take(fields.left()))


def read_disconnect(found, fields, version):
    if version != V5 and found.kind in (DISCONNECT, AUTH):
        raise Unlawful(f"{KIND_NAMES[found.kind]} from a server to a client of MQTT 3.1.1")
    if fields.left():
        found.reason = fields.number(1)
        found.properties = fields.properties(found.kind) if fields.left() else []


READERS = {
    CONNACK: read_connack, PUBLISH: read_publish, PUBACK: read_acknowledgement, PUBREC: read_acknowledgement,
    PUBREL: read_acknowledgement, PUBCOMP: read_acknowledgement, SUBACK: read_suback, UNSUBACK: read_suback,
    PINGRESP: lambda found, fields, version: None, DISCONNECT: read_disconnect, AUTH: read_disconnect,
}
