//! Packets that break the specification, each with the reason and the statement that it breaks.

use ferrymq_mqtt_proto::ReasonCode::{
    MalformedPacket as Malformed, PacketTooLarge, ProtocolError as Protocol, TopicAliasInvalid,
    TopicNameInvalid, UnsupportedProtocolVersion,
};
use ferrymq_mqtt_proto::Version::{V3_1_1 as V4, V5};
use ferrymq_mqtt_proto::{ReasonCode, Version, decode};

type Case = (&'static str, Version, &'static [u8], ReasonCode, &'static str);

fn refuses_each(cases: &[Case]) {
    for (what, version, bytes, reason, clause) in cases {
        match decode(bytes, *version, 1000) {
            Err(error) => assert_eq!((error.reason, error.clause), (*reason, *clause), "{what}"),
            Ok(decoded) => panic!("{what} was not refused: {decoded:?}"),
        }
    }
}

#[test]
fn a_broken_fixed_header_is_refused() {
    refuses_each(&[
        ("packet type 0", V5, b"\x00\x00", Malformed, "MQTT-5 2.1.2"),
        ("a length of five bytes", V5, b"\x30\x80\x80\x80\x80\x01", Malformed, "MQTT-5 1.5.5"),
        ("a length of four bytes that go on", V5, b"\x30\xff\xff\xff\xff", Malformed, "MQTT-5 1.5.5"),
        ("a length longer than needed", V5, b"\x30\x81\x00", Malformed, "MQTT-1.5.5-1"),
        ("a packet over the limit", V5, b"\x30\xe6\x07", PacketTooLarge, "MQTT-3.2.2-15"),
        ("flags of CONNECT", V4, b"\x11\x0c\x00\x04MQTT\x04\x02\x00\x00\x00\x00", Malformed, "MQTT-2.1.3-1"),
        ("flags of CONNACK", V4, b"\x21\x02\x00\x00", Malformed, "MQTT-2.1.3-1"),
        ("flags of PUBACK", V4, b"\x41\x02\x00\x01", Malformed, "MQTT-2.1.3-1"),
        ("flags of PUBREC", V4, b"\x52\x02\x00\x01", Malformed, "MQTT-2.1.3-1"),
        ("flags of PUBREL", V4, b"\x60\x02\x00\x01", Malformed, "MQTT-3.6.1-1"),
        ("flags of PUBCOMP", V4, b"\x74\x02\x00\x01", Malformed, "MQTT-2.1.3-1"),
        ("flags of SUBSCRIBE", V4, b"\x80\x06\x00\x01\x00\x01a\x00", Malformed, "MQTT-3.8.1-1"),
        ("flags of SUBACK", V4, b"\x91\x03\x00\x01\x00", Malformed, "MQTT-2.1.3-1"),
        ("flags of UNSUBSCRIBE", V4, b"\xa0\x05\x00\x01\x00\x01a", Malformed, "MQTT-3.10.1-1"),
        ("flags of UNSUBACK", V4, b"\xb1\x02\x00\x01", Malformed, "MQTT-2.1.3-1"),
        ("flags of PINGREQ", V4, b"\xc1\x00", Malformed, "MQTT-2.1.3-1"),
        ("flags of PINGRESP", V4, b"\xd8\x00", Malformed, "MQTT-2.1.3-1"),
        ("flags of DISCONNECT", V4, b"\xe1\x00", Malformed, "MQTT-3.14.1-1"),
        ("flags of AUTH", V5, b"\xf1\x06\x18\x04\x15\x00\x01m", Malformed, "MQTT-3.15.1-1"),
        ("AUTH in 3.1.1", V4, b"\xf0\x00", Malformed, "MQTT-3.1.1 2.2.1"),
    ]);
}

#[test]
fn a_broken_connect_is_refused() {
    let name = "MQTT-3.1.2-1";
    refuses_each(&[
        (
            "another protocol",
            V5,
            b"\x10\x0c\x00\x04MQTs\x04\x02\x00\x00\x00\x00",
            UnsupportedProtocolVersion,
            name,
        ),
        ("level 6", V5, b"\x10\x07\x00\x04MQTT\x06", UnsupportedProtocolVersion, "MQTT-3.1.2-2"),
        ("level 3 of MQTT", V5, b"\x10\x07\x00\x04MQTT\x03", UnsupportedProtocolVersion, "MQTT-3.1.2-2"),
        ("reserved flag", V5, b"\x10\x0d\x00\x04MQTT\x05\x03\x00\x00\x00\x00\x00", Malformed, "MQTT-3.1.2-3"),
        (
            "will QoS without will",
            V4,
            b"\x10\x0c\x00\x04MQTT\x04\x0a\x00\x00\x00\x00",
            Malformed,
            "MQTT-3.1.2-11",
        ),
        (
            "will QoS 3",
            V4,
            b"\x10\x11\x00\x04MQTT\x04\x1e\x00\x00\x00\x00\x00\x01w\x00\x00",
            Malformed,
            "MQTT-3.1.2-12",
        ),
        (
            "will retain without will",
            V4,
            b"\x10\x0c\x00\x04MQTT\x04\x22\x00\x00\x00\x00",
            Malformed,
            "MQTT-3.1.2-13",
        ),
        (
            "password without user name in 3.1.1",
            V4,
            b"\x10\x0f\x00\x04MQTT\x04\x42\x00\x00\x00\x00\x00\x01p",
            Malformed,
            "MQTT-3.1.1 3.1.2.9",
        ),
        ("no client identifier", V4, b"\x10\x0a\x00\x04MQTT\x04\x02\x00\x00", Malformed, "MQTT-4.13.1-1"),
        (
            "client identifier not UTF-8",
            V4,
            b"\x10\x0d\x00\x04MQTT\x04\x02\x00\x00\x00\x01\xff",
            Malformed,
            "MQTT-1.5.4-1",
        ),
        (
            "client identifier with U+0000",
            V4,
            b"\x10\x0d\x00\x04MQTT\x04\x02\x00\x00\x00\x01\x00",
            Malformed,
            "MQTT-1.5.4-2",
        ),
        (
            "will topic with a wildcard",
            V4,
            b"\x10\x11\x00\x04MQTT\x04\x06\x00\x00\x00\x00\x00\x01#\x00\x00",
            TopicNameInvalid,
            "MQTT-3.3.2-2",
        ),
        (
            "empty will topic",
            V4,
            b"\x10\x10\x00\x04MQTT\x04\x06\x00\x00\x00\x00\x00\x00\x00\x00",
            Protocol,
            "MQTT-4.7.3-1",
        ),
        ("bytes behind", V4, b"\x10\x0d\x00\x04MQTT\x04\x02\x00\x00\x00\x00\x00", Malformed, "MQTT-4.13.1-1"),
        (
            "authentication data without method",
            V5,
            b"\x10\x11\x00\x04MQTT\x05\x02\x00\x00\x04\x16\x00\x01d\x00\x00",
            Protocol,
            "MQTT-5 3.1.2.11.10",
        ),
    ]);
}

#[test]
fn a_broken_publish_is_refused() {
    refuses_each(&[
        ("QoS 3", V5, b"\x36\x07\x00\x01t\x00\x01\x00x", Malformed, "MQTT-3.3.1-4"),
        ("DUP at QoS 0", V5, b"\x38\x04\x00\x01t\x00", Malformed, "MQTT-3.3.1-2"),
        ("packet identifier 0", V5, b"\x32\x06\x00\x01t\x00\x00\x00", Protocol, "MQTT-2.2.1-3"),
        ("packet identifier cut", V4, b"\x32\x04\x00\x01t\x01", Malformed, "MQTT-4.13.1-1"),
        ("#", V5, b"\x30\x04\x00\x01#\x00", TopicNameInvalid, "MQTT-3.3.2-2"),
        ("+", V4, b"\x30\x05\x00\x03a/+", TopicNameInvalid, "MQTT-3.3.2-2"),
        ("U+0000", V4, b"\x30\x05\x00\x03a\x00b", Malformed, "MQTT-1.5.4-2"),
        ("a surrogate", V4, b"\x30\x05\x00\x03\xed\xa0\x80", Malformed, "MQTT-1.5.4-1"),
        ("an overlong form", V4, b"\x30\x04\x00\x02\xc0\x80", Malformed, "MQTT-1.5.4-1"),
        ("no topic in 3.1.1", V4, b"\x30\x02\x00\x00", Malformed, "MQTT-4.7.3-1"),
        ("neither topic nor alias", V5, b"\x30\x03\x00\x00\x00", Protocol, "MQTT-5 3.3.2.1"),
        ("a topic cut", V5, b"\x30\x03\x00\x02t", Malformed, "MQTT-4.13.1-1"),
        ("no property length", V5, b"\x30\x03\x00\x01t", Malformed, "MQTT-4.13.1-1"),
        ("properties longer than the packet", V5, b"\x30\x05\x00\x01t\x02\x01", Malformed, "MQTT-4.13.1-1"),
        ("alias 0", V5, b"\x30\x07\x00\x01t\x03\x23\x00\x00", TopicAliasInvalid, "MQTT-3.3.2-8"),
        ("format 2", V5, b"\x30\x06\x00\x01t\x02\x01\x02", Protocol, "MQTT-5 3.3.2.3.2"),
        ("an alias twice", V5, b"\x30\x0a\x00\x01t\x06\x23\x00\x01\x23\x00\x01", Protocol, "MQTT-5 2.2.2"),
        ("response topic #", V5, b"\x30\x08\x00\x01t\x04\x08\x00\x01#", Protocol, "MQTT-3.3.2-14"),
        ("empty response topic", V5, b"\x30\x07\x00\x01t\x03\x08\x00\x00", Protocol, "MQTT-4.7.3-1"),
        ("subscription identifier 0", V5, b"\x30\x06\x00\x01t\x02\x0b\x00", Protocol, "MQTT-5 3.8.2.1.2"),
        ("a property of CONNECT", V5, b"\x30\x07\x00\x01t\x03\x21\x00\x01", Malformed, "MQTT-5 table 2-4"),
        ("an unknown property", V5, b"\x30\x06\x00\x01t\x02\x04\x00", Malformed, "MQTT-5 2.2.2.2"),
        ("a property past 63", V5, b"\x30\x06\x00\x01t\x02\x7f\x00", Malformed, "MQTT-5 2.2.2.2"),
        ("user property value cut", V5, b"\x30\x08\x00\x01t\x04\x26\x00\x01n", Malformed, "MQTT-4.13.1-1"),
        (
            "U+0000 in a user property",
            V5,
            b"\x30\x0a\x00\x01t\x06\x26\x00\x01\x00\x00\x00",
            Malformed,
            "MQTT-1.5.4-2",
        ),
    ]);
}

#[test]
fn a_broken_acknowledgement_is_refused() {
    refuses_each(&[
        ("packet identifier 0", V4, b"\x40\x02\x00\x00", Protocol, "MQTT-2.2.1-3"),
        ("a length of 1", V4, b"\x40\x01\x00", Malformed, "MQTT-4.13.1-1"),
        ("a reason in 3.1.1", V4, b"\x40\x03\x00\x01\x00", Malformed, "MQTT-4.13.1-1"),
        ("a foreign reason", V5, b"\x40\x03\x00\x01\x92", Protocol, "MQTT-3.4.2-1"),
        ("an unknown reason", V5, b"\x62\x03\x00\x01\x55", Protocol, "MQTT-3.6.2-1"),
        ("a foreign property", V5, b"\x50\x07\x00\x01\x00\x03\x23\x00\x01", Malformed, "MQTT-5 table 2-4"),
        (
            "two reason strings",
            V5,
            b"\x70\x0a\x00\x01\x00\x06\x1f\x00\x00\x1f\x00\x00",
            Protocol,
            "MQTT-5 2.2.2",
        ),
        ("bytes behind", V5, b"\x40\x05\x00\x01\x00\x00\x00", Malformed, "MQTT-4.13.1-1"),
    ]);
}

#[test]
fn a_broken_subscription_is_refused() {
    refuses_each(&[
        ("packet identifier 0", V5, b"\x82\x07\x00\x00\x00\x00\x01a\x00", Protocol, "MQTT-2.2.1-3"),
        ("no filter", V5, b"\x82\x03\x00\x01\x00", Protocol, "MQTT-3.8.3-2"),
        ("no filter in 3.1.1", V4, b"\x82\x02\x00\x01", Protocol, "MQTT-3.8.3-2"),
        ("an empty filter", V5, b"\x82\x06\x00\x01\x00\x00\x00\x00", Protocol, "MQTT-4.7.3-1"),
        ("no options", V5, b"\x82\x06\x00\x01\x00\x00\x01a", Malformed, "MQTT-4.13.1-1"),
        ("QoS 3", V5, b"\x82\x07\x00\x01\x00\x00\x01a\x03", Protocol, "MQTT-5 3.8.3.1"),
        ("retain handling 3", V5, b"\x82\x07\x00\x01\x00\x00\x01a\x30", Protocol, "MQTT-5 3.8.3.1"),
        ("reserved options", V5, b"\x82\x07\x00\x01\x00\x00\x01a\x40", Malformed, "MQTT-3.8.3-5"),
        ("options of 5.0 in 3.1.1", V4, b"\x82\x06\x00\x01\x00\x01a\x04", Malformed, "MQTT-3.8.3-5"),
        (
            "a shared one without local",
            V5,
            b"\x82\x10\x00\x01\x00\x00\x0a$share/g/a\x04",
            Protocol,
            "MQTT-3.8.3-4",
        ),
        ("identifier 0", V5, b"\x82\x09\x00\x01\x02\x0b\x00\x00\x01a\x00", Protocol, "MQTT-5 3.8.2.1.2"),
        (
            "two identifiers",
            V5,
            b"\x82\x0b\x00\x01\x04\x0b\x01\x0b\x02\x00\x01a\x00",
            Protocol,
            "MQTT-5 2.2.2",
        ),
        ("a filter not UTF-8", V5, b"\x82\x07\x00\x01\x00\x00\x01\xfe\x00", Malformed, "MQTT-1.5.4-1"),
        ("nothing to unsubscribe", V5, b"\xa2\x03\x00\x01\x00", Protocol, "MQTT-3.10.3-2"),
        ("unsubscribe identifier 0", V4, b"\xa2\x05\x00\x00\x00\x01a", Protocol, "MQTT-2.2.1-3"),
        ("unsubscribe an empty filter", V4, b"\xa2\x04\x00\x01\x00\x00", Protocol, "MQTT-4.7.3-1"),
        ("no answer in SUBACK", V5, b"\x90\x03\x00\x01\x00", Protocol, "MQTT-3.8.4-6"),
        ("a 5.0 answer in 3.1.1", V4, b"\x90\x03\x00\x01\x87", Protocol, "MQTT-3.9.3-2"),
        ("a foreign answer", V5, b"\xb0\x04\x00\x01\x00\x02", Protocol, "MQTT-3.11.3-2"),
    ]);
}

#[test]
fn a_broken_farewell_or_handshake_is_refused() {
    refuses_each(&[
        ("a body of PINGREQ", V5, b"\xc0\x01\x00", Malformed, "MQTT-4.13.1-1"),
        ("a body of DISCONNECT in 3.1.1", V4, b"\xe0\x01\x00", Malformed, "MQTT-4.13.1-1"),
        ("a reason of CONNACK in DISCONNECT", V5, b"\xe0\x01\x85", Protocol, "MQTT-3.14.2-1"),
        (
            "two expiry intervals",
            V5,
            b"\xe0\x0c\x00\x0a\x11\x00\x00\x00\x00\x11\x00\x00\x00\x00",
            Protocol,
            "MQTT-5 2.2.2",
        ),
        ("AUTH without a method", V5, b"\xf0\x00", Protocol, "MQTT-5 3.15.2.2.2"),
        ("AUTH with a foreign reason", V5, b"\xf0\x06\x87\x04\x15\x00\x01m", Protocol, "MQTT-3.15.2-1"),
        ("reserved flags of CONNACK", V5, b"\x20\x03\x02\x00\x00", Malformed, "MQTT-3.2.2-1"),
        ("a refused session that is present", V5, b"\x20\x03\x01\x87\x00", Protocol, "MQTT-3.2.2-6"),
        ("return code 6", V4, b"\x20\x02\x00\x06", Malformed, "MQTT-3.2.2-8"),
    ]);
}

#[test]
fn values_out_of_range_are_refused() {
    let connect = |property: &[u8]| {
        let mut body = b"\x00\x04MQTT\x05\x02\x00\x00".to_vec();
        body.push(property.len() as u8);
        body.extend_from_slice(property);
        body.extend_from_slice(&[0, 0]);
        [&[0x10, body.len() as u8][..], &body].concat()
    };
    let cases: [(&[u8], &str); 6] = [
        (&[0x21, 0, 0], "MQTT-5 3.1.2.11.3"),
        (&[0x27, 0, 0, 0, 0], "MQTT-5 3.1.2.11.4"),
        (&[0x17, 2], "MQTT-5 3.1.2.11.7"),
        (&[0x19, 2], "MQTT-5 3.1.2.11.6"),
        (&[0x17, 1, 0x17, 1], "MQTT-5 2.2.2"),
        (&[0x11, 0, 0, 0, 1, 0x11, 0, 0, 0, 1], "MQTT-5 2.2.2"),
    ];
    for (property, clause) in cases {
        let error = decode(&connect(property), V5, 1000).expect_err("refused");
        assert_eq!((error.reason, error.clause), (Protocol, clause), "{property:02x?}");
    }
}
