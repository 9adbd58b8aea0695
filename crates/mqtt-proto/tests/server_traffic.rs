//! Messages both ways over a connected connection: limits, aliases, sizes, forms.

use ferrymq_mqtt_proto::server::{Accept, Connection, Event, Settings};
use ferrymq_mqtt_proto::{
    Delivery, Diagnostics, FanOut, Packet, Properties, Property, QoS, ReasonCode, TooLarge, UserProperties,
    Version, Violation, decode,
};

fn connect(properties: &[Property<'_>]) -> Vec<u8> {
    let mut raw = Vec::new();
    properties.iter().for_each(|property| property.encode(&mut raw));
    let mut body = b"\x00\x04MQTT\x05\x02\x00\x0a".to_vec();
    body.push(raw.len() as u8);
    body.extend_from_slice(&raw);
    body.extend_from_slice(&[0, 0]);
    [&[0x10, body.len() as u8][..], &body].concat()
}

fn connected(settings: &Settings, properties: &[Property<'_>]) -> Connection {
    let mut connection = Connection::new(settings, 0);
    assert!(matches!(connection.handle_input(0, &connect(properties)), Ok(Some((Event::Connect(_), _)))));
    connection.accept(0, &Accept::default(), &mut Vec::new());
    connection
}

fn connected_3_1_1() -> Connection {
    let mut connection = Connection::new(&Settings::default(), 0);
    let connect = b"\x10\x0c\x00\x04MQTT\x04\x02\x00\x0a\x00\x00";
    assert!(matches!(connection.handle_input(0, connect), Ok(Some((Event::Connect(_), _)))));
    connection.accept(0, &Accept::default(), &mut Vec::new());
    connection
}

fn topic_of(connection: &mut Connection, input: &[u8]) -> Result<String, Violation> {
    match connection.handle_input(0, input)? {
        Some((Event::Publish(publish), _)) => Ok(publish.topic.to_owned()),
        other => panic!("{other:?}"),
    }
}

fn reason(result: Result<String, Violation>) -> Option<(ReasonCode, &'static str)> {
    result.err().map(|violation| (violation.reason, violation.clause))
}

#[test]
fn an_alias_of_the_client_stands_for_its_topic() {
    let mut connection = connected(&Settings::default(), &[]);
    assert_eq!(topic_of(&mut connection, b"\x30\x07\x00\x01t\x03\x23\x00\x05").as_deref(), Ok("t"));
    assert_eq!(topic_of(&mut connection, b"\x30\x06\x00\x00\x03\x23\x00\x05").as_deref(), Ok("t"));
    let unknown = topic_of(&mut connection, b"\x30\x06\x00\x00\x03\x23\x00\x06");
    assert_eq!(reason(unknown), Some((ReasonCode::ProtocolError, "MQTT-5 3.3.2.3.4")));
    let beyond = topic_of(&mut connection, b"\x30\x07\x00\x01t\x03\x23\x00\x21");
    assert_eq!(reason(beyond), Some((ReasonCode::TopicAliasInvalid, "MQTT-3.3.2-9")));
}

#[test]
fn a_client_keeps_within_the_receive_maximum() {
    let settings = Settings { receive_maximum: 2, ..Settings::default() };
    let mut connection = connected(&settings, &[]);
    let none = Diagnostics::NONE;
    let mut out = Vec::new();
    let qos_1 = b"\x32\x06\x00\x01t\x00\x01\x00";
    let qos_2 = b"\x34\x06\x00\x01t\x00\x02\x00";
    for input in [qos_1, qos_2] {
        assert!(topic_of(&mut connection, input).is_ok());
    }
    // A PUBREC without error does not end a QoS 2 message.
    connection.pubrec(2, ReasonCode::Success, &none, &mut out);
    let third = topic_of(&mut connection, qos_1);
    assert_eq!(reason(third), Some((ReasonCode::ReceiveMaximumExceeded, "MQTT-3.3.4-7")));
    connection.puback(1, ReasonCode::Success, &none, &mut out);
    assert!(topic_of(&mut connection, qos_1).is_ok());
    connection.pubcomp(2, ReasonCode::Success, &none, &mut out);
    assert!(topic_of(&mut connection, qos_2).is_ok());
    connection.pubrec(2, ReasonCode::QuotaExceeded, &none, &mut out);
    assert_eq!(connection.unacknowledged(), 1);
    assert_eq!(out, b"\x50\x02\x00\x02\x40\x02\x00\x01\x70\x02\x00\x02\x50\x03\x00\x02\x97");
}

#[test]
fn messages_beyond_what_is_offered_are_refused() {
    let settings = Settings { maximum_qos: QoS::AtLeastOnce, retain_available: false, ..Settings::default() };
    let over = topic_of(&mut connected(&settings, &[]), b"\x34\x06\x00\x01t\x00\x02\x00");
    assert_eq!(reason(over), Some((ReasonCode::QoSNotSupported, "MQTT-3.2.2-11")));
    let retained = topic_of(&mut connected(&settings, &[]), b"\x31\x04\x00\x01t\x00");
    assert_eq!(reason(retained), Some((ReasonCode::RetainNotSupported, "MQTT-3.2.2-14")));
    let with_id = topic_of(&mut connected(&settings, &[]), b"\x30\x06\x00\x01t\x02\x0b\x01");
    assert_eq!(reason(with_id), Some((ReasonCode::ProtocolError, "MQTT-3.3.4-6")));
}

#[test]
fn subscriptions_beyond_what_is_offered_are_refused() {
    let settings = Settings {
        wildcard_subscription_available: false,
        subscription_identifier_available: false,
        shared_subscription_available: false,
        ..Settings::default()
    };
    for (input, reason) in [
        (&b"\x82\x07\x00\x01\x00\x00\x01#\x00"[..], ReasonCode::WildcardSubscriptionsNotSupported),
        (b"\x82\x10\x00\x01\x00\x00\x0a$share/g/a\x00", ReasonCode::SharedSubscriptionsNotSupported),
        (b"\x82\x09\x00\x01\x02\x0b\x01\x00\x01a\x00", ReasonCode::SubscriptionIdentifiersNotSupported),
    ] {
        let mut connection = connected(&settings, &[]);
        assert_eq!(connection.handle_input(0, input).map_err(|violation| violation.reason), Err(reason));
    }
}

#[test]
fn what_only_servers_send_is_a_protocol_error() {
    for input in
        [&b"\x20\x03\x00\x00\x00"[..], b"\x90\x04\x00\x01\x00\x00", b"\xb0\x04\x00\x01\x00\x00", b"\xd0\x00"]
    {
        let mut connection = connected(&Settings::default(), &[]);
        assert_eq!(connection.handle_input(0, input).map_err(|v| v.clause), Err("MQTT-5 2.1.2"));
    }
}

#[test]
fn a_topic_of_the_server_gets_an_alias_where_the_client_takes_one() {
    let mut connection = connected(&Settings::default(), &[Property::TopicAliasMaximum(1)]);
    let delivery = Delivery { topic: "topic/1", payload: b"x", ..Delivery::default() };
    let mut out = Vec::new();
    connection.publish(&delivery, &mut out).expect("small");
    assert_eq!(out, b"\x30\x0e\x00\x07topic/1\x03\x23\x00\x01x");
    out.clear();
    connection.publish(&delivery, &mut out).expect("small");
    assert_eq!(out, b"\x30\x07\x00\x00\x03\x23\x00\x01x");
    out.clear();
    connection.publish_shared(&delivery, &mut FanOut::new(), &mut out).expect("small");
    assert_eq!(out, b"\x30\x07\x00\x00\x03\x23\x00\x01x");
    out.clear();
    connected(&Settings::default(), &[]).publish(&delivery, &mut out).expect("small");
    assert_eq!(out, b"\x30\x0b\x00\x07topic/1\x00x");
}

#[test]
fn a_delivery_too_large_for_its_receiver_is_not_written_and_defines_no_alias() {
    let limits = [Property::MaximumPacketSize(20), Property::TopicAliasMaximum(4)];
    let mut connection = connected(&Settings::default(), &limits);
    let small = Delivery { topic: "topic/1", payload: b"xxx", ..Delivery::default() };
    let large = Delivery { payload: &[0; 20], ..small };
    let mut out = Vec::new();
    assert_eq!(connection.publish(&large, &mut out), Err(TooLarge { packet: 32, maximum: 20 }));
    assert_eq!(connection.publish_head(&large, &mut out), Err(TooLarge { packet: 32, maximum: 20 }));
    assert_eq!(out, []);
    connection.publish(&small, &mut out).expect("small");
    assert_eq!(out.len(), 18);
    let mut plain = connected(&Settings::default(), &limits[..1]);
    assert!(plain.publish_shared(&large, &mut FanOut::new(), &mut out).is_err());
}

#[test]
fn diagnostics_give_way_to_the_maximum_packet_size() {
    let mut user = Vec::new();
    Property::UserProperty("name", "value").encode(&mut user);
    let diagnostics =
        Diagnostics { reason_string: Some("why"), user_properties: UserProperties::from_raw(&user) };
    for (maximum, len) in [(26, 26), (25, 12), (12, 12), (11, 5), (4, 0)] {
        let mut connection = connected(&Settings::default(), &[Property::MaximumPacketSize(maximum)]);
        let mut out = Vec::new();
        connection.puback(1, ReasonCode::QuotaExceeded, &diagnostics, &mut out);
        assert_eq!(out.len(), len, "at most {maximum}");
    }
}

#[test]
fn only_what_a_server_must_pass_on_is_passed_on() {
    let mut raw = Vec::new();
    let passed = [
        Property::UserProperty("a", "1"),
        Property::PayloadFormatIndicator(true),
        Property::ContentType("text"),
        Property::UserProperty("a", "2"),
        Property::ResponseTopic("r"),
        Property::CorrelationData(b"c"),
    ];
    for (at, property) in passed.iter().enumerate() {
        property.encode(&mut raw);
        let own =
            [Property::TopicAlias(9), Property::MessageExpiryInterval(100), Property::WillDelayInterval(3)];
        own.get(at).iter().for_each(|property| property.encode(&mut raw));
    }
    let delivery = Delivery {
        topic: "t",
        properties: Properties::from_raw(&raw),
        payload: b"body",
        qos: QoS::ExactlyOnce,
        packet_id: 7,
        message_expiry_s: Some(60),
        subscription_identifiers: &[1, 300],
        ..Delivery::default()
    };
    let mut out = Vec::new();
    connected(&Settings::default(), &[]).publish(&delivery, &mut out).expect("small");
    let Ok(Some((Packet::Publish(publish), _))) = decode(&out, Version::V5, 1000) else { panic!("not read") };
    let own = [
        Property::MessageExpiryInterval(60),
        Property::SubscriptionIdentifier(1),
        Property::SubscriptionIdentifier(300),
    ];
    assert!(publish.properties.iter().eq(own.into_iter().chain(passed)));
    assert_eq!((publish.topic, publish.payload, publish.packet_id), ("t", &b"body"[..], 7));
    out.clear();
    connected_3_1_1().publish(&delivery, &mut out).expect("small");
    assert_eq!(out, b"\x34\x09\x00\x01t\x00\x07body");
}

#[test]
fn a_fan_out_writes_what_each_receiver_would_get_alone() {
    let mut raw = Vec::new();
    Property::ContentType("text").encode(&mut raw);
    let mut fan_out = FanOut::new();
    for payload in [&b"one"[..], &[0; 300]] {
        fan_out.clear();
        for round in 0..24u16 {
            let qos = QoS::from_bits((round % 3) as u8).unwrap_or_default();
            let delivery = Delivery {
                topic: "a/topic",
                properties: Properties::from_raw(&raw),
                payload,
                qos,
                dup: round > 12 && qos != QoS::AtMostOnce,
                retain: round % 2 == 0,
                packet_id: if qos == QoS::AtMostOnce { 0 } else { round + 1 },
                message_expiry_s: Some(5),
                subscription_identifiers: if round % 5 == 0 { &[3] } else { &[] },
            };
            for mut connection in [connected(&Settings::default(), &[]), connected_3_1_1()] {
                let (mut alone, mut shared, mut head) = (vec![1], vec![1], vec![1]);
                connection.publish(&delivery, &mut alone).expect("small");
                connection.publish_shared(&delivery, &mut fan_out, &mut shared).expect("small");
                connection.publish_head(&delivery, &mut head).expect("small");
                head.extend_from_slice(payload);
                assert_eq!((&alone, &alone), (&shared, &head));
            }
        }
    }
}

#[test]
fn answers_take_the_form_of_the_version() {
    let none = Diagnostics::NONE;
    let reasons = [ReasonCode::GrantedQoS1, ReasonCode::NotAuthorized];
    let mut out = Vec::new();
    let mut old = connected_3_1_1();
    old.suback(1, reasons, &none, &mut out);
    old.unsuback(2, [ReasonCode::NoSubscriptionExisted], &none, &mut out);
    old.puback(3, ReasonCode::QuotaExceeded, &none, &mut out);
    old.pubrel(4, ReasonCode::PacketIdentifierNotFound, &none, &mut out);
    old.pingresp(&mut out);
    assert_eq!(out, b"\x90\x04\x00\x01\x01\x80\xb0\x02\x00\x02\x40\x02\x00\x03\x62\x02\x00\x04\xd0\x00");
    out.clear();
    let mut new = connected(&Settings::default(), &[]);
    new.suback(1, reasons, &none, &mut out);
    new.unsuback(2, [ReasonCode::NoSubscriptionExisted], &none, &mut out);
    new.puback(3, ReasonCode::QuotaExceeded, &none, &mut out);
    new.pubrel(4, ReasonCode::PacketIdentifierNotFound, &none, &mut out);
    assert_eq!(
        out,
        b"\x90\x05\x00\x01\x00\x01\x87\xb0\x04\x00\x02\x00\x11\x40\x03\x00\x03\x97\x62\x03\x00\x04\x92"
    );
}
