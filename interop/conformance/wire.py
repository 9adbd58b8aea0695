"""MQTT packets as bytes, built field by field, so that a test can break any one of them.

Nothing here checks what it is given: a test that wants a PUBLISH of QoS 3 or a string of bad UTF-8 gets it.
What comes back is parsed, strictly, by `received.py`.
"""

V31, V311, V5 = 3, 4, 5

CONNECT, CONNACK, PUBLISH, PUBACK, PUBREC, PUBREL, PUBCOMP = 1, 2, 3, 4, 5, 6, 7
SUBSCRIBE, SUBACK, UNSUBSCRIBE, UNSUBACK, PINGREQ, PINGRESP, DISCONNECT, AUTH = 8, 9, 10, 11, 12, 13, 14, 15

KIND_NAMES = {
    CONNECT: "CONNECT", CONNACK: "CONNACK", PUBLISH: "PUBLISH", PUBACK: "PUBACK", PUBREC: "PUBREC",
    PUBREL: "PUBREL", PUBCOMP: "PUBCOMP", SUBSCRIBE: "SUBSCRIBE", SUBACK: "SUBACK",
    UNSUBSCRIBE: "UNSUBSCRIBE", UNSUBACK: "UNSUBACK", PINGREQ: "PINGREQ", PINGRESP: "PINGRESP",
    DISCONNECT: "DISCONNECT", AUTH: "AUTH",
}

# The flags that the fixed header of each packet must have (3.1.1 table 2.2, 5.0 table 2-2); PUBLISH has its own.
FLAGS = {PUBREL: 0b0010, SUBSCRIBE: 0b0010, UNSUBSCRIBE: 0b0010}

# MQTT 5 section 2.2.2.2: name -> (identifier, type). `pair` may repeat; so may subscription_identifier in PUBLISH.
PROPERTIES = {
    "payload_format": (0x01, "byte"),
    "message_expiry": (0x02, "four"),
    "content_type": (0x03, "string"),
    "response_topic": (0x08, "string"),
    "correlation_data": (0x09, "binary"),
    "subscription_identifier": (0x0B, "varint"),
    "session_expiry": (0x11, "four"),
    "assigned_client_id": (0x12, "string"),
    "server_keep_alive": (0x13, "two"),
    "authentication_method": (0x15, "string"),
    "authentication_data": (0x16, "binary"),
    "request_problem_information": (0x17, "byte"),
    "will_delay": (0x18, "four"),
    "request_response_information": (0x19, "byte"),
    "response_information": (0x1A, "string"),
    "server_reference": (0x1C, "string"),
    "reason_string": (0x1F, "string"),
    "receive_maximum": (0x21, "two"),
    "topic_alias_maximum": (0x22, "two"),
    "topic_alias": (0x23, "two"),
    "maximum_qos": (0x24, "byte"),
    "retain_available": (0x25, "byte"),
    "user_property": (0x26, "pair"),
    "maximum_packet_size": (0x27, "four"),
    "wildcard_available": (0x28, "byte"),
    "subscription_identifiers_available": (0x29, "byte"),
    "shared_available": (0x2A, "byte"),
}


def two(number):
    return number.to_bytes(2, "big")


def four(number):
    return number.to_bytes(4, "big")


def varint(number, width=1):
    """A variable byte integer; `width` above the needed one makes it longer than allowed."""
    out = bytearray()
    while True:
        number, low = divmod(number, 128)
        more = number > 0 or len(out) + 1 < width
        out.append(low | (0x80 if more else 0))
        if not more:
            return bytes(out)


def binary(data):
    return two(len(data)) + data


def string(text):
    """A string with its length; bytes pass through, so that a test can send what is no UTF-8."""
    return binary(text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass"))


def property_value(kind, value):
    if kind == "pair":
        return string(value[0]) + string(value[1])
    encode = {"byte": lambda v: bytes([v]), "two": two, "four": four, "varint": varint,
              "string": string, "binary": binary}
    return encode[kind](value)


def one_property(name, value):
    identifier, kind = PROPERTIES[name]
    return bytes([identifier]) + property_value(kind, value)


def properties(listed):
    """The properties with their length; `listed` is a dict, a list of (name, value) in wire order, or raw bytes."""
    if isinstance(listed, bytes):
        return varint(len(listed)) + listed
    items = listed.items() if isinstance(listed, dict) else listed or ()
    body = b"".join(one_property(name, value) for name, value in items)
    return varint(len(body)) + body


def packet(kind, body=b"", flags=None, length=None):
    """A packet with its fixed header; `flags` and `length` override what is right."""
    first = kind << 4 | (FLAGS.get(kind, 0) if flags is None else flags)
    return bytes([first]) + (varint(len(body)) if length is None else length) + body


class Will:
    """The will of a CONNECT."""

    def __init__(self, topic, payload=b"gone", qos=0, retain=False, properties=()):
        self.topic, self.payload, self.qos, self.retain, self.properties = topic, payload, qos, retain, properties

    def flags(self):
        return 0x04 | self.qos << 3 | (0x20 if self.retain else 0)

    def body(self, version):
        head = properties(self.properties) if version == V5 else b""
        return head + string(self.topic) + binary(self.payload)


def connect_flags(clean, will, username, password):
    flags = 0x02 if clean else 0
    flags |= will.flags() if will else 0
    return flags | (0x80 if username is not None else 0) | (0x40 if password is not None else 0)


def connect(version, client_id, clean=True, keep_alive=60, props=(), will=None, username=None, password=None,
            protocol=None, level=None, connect_flag_bits=None, payload=None, flags=None):
    """CONNECT; `protocol`, `level`, `connect_flag_bits` and `payload` override what follows from the rest."""
    name = protocol if protocol is not None else ("MQIsdp" if version == V31 else "MQTT")
    bits = connect_flags(clean, will, username, password) if connect_flag_bits is None else connect_flag_bits
    head = string(name) + bytes([version if level is None else level, bits]) + two(keep_alive)
    head += properties(props) if version == V5 else b""
    if payload is None:
        payload = string(client_id) + (will.body(version) if will else b"")
        payload += string(username) if username is not None else b""
        payload += string(password) if password is not None else b""
    return packet(CONNECT, head + payload, flags)


def publish(version, topic, payload=b"", qos=0, packet_id=None, retain=False, dup=False, props=(), flags=None):
    if isinstance(payload, str):
        payload = payload.encode()
    body = string(topic) + (two(packet_id) if packet_id is not None else b"")
    body += properties(props) if version == V5 else b""
    bits = (0x08 if dup else 0) | qos << 1 | (1 if retain else 0)
    return packet(PUBLISH, body + payload, bits if flags is None else flags)


def acknowledge(kind, packet_id, reason=None, props=None, flags=None):
    """PUBACK, PUBREC, PUBREL or PUBCOMP; the short form unless a reason or properties are given."""
    body = two(packet_id) + (bytes([reason]) if reason is not None else b"")
    body += properties(props) if props is not None else b""
    return packet(kind, body, flags)


def subscribe(version, packet_id, filters, props=(), flags=None):
    """`filters` is a list of (filter, options byte)."""
    body = two(packet_id) + (properties(props) if version == V5 else b"")
    return packet(SUBSCRIBE, body + b"".join(string(f) + bytes([o]) for f, o in filters), flags)


def unsubscribe(version, packet_id, filters, props=(), flags=None):
    body = two(packet_id) + (properties(props) if version == V5 else b"")
    return packet(UNSUBSCRIBE, body + b"".join(string(f) for f in filters), flags)


def pingreq(flags=None):
    return packet(PINGREQ, b"", flags)


def disconnect(reason=None, props=None, flags=None):
    body = (bytes([reason]) if reason is not None else b"") + (properties(props) if props is not None else b"")
    return packet(DISCONNECT, body, flags)


def auth(reason=None, props=None, flags=None):
    body = (bytes([reason]) if reason is not None else b"") + (properties(props) if props is not None else b"")
    return packet(AUTH, body, flags)
