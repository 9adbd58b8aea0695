//! Packets byte by byte, as the specification lays them out: each is decoded and encoded again.

use ferrymq_mqtt_proto::{
    Ack, Auth, Connack, Connect, Diagnostics, Disconnect, Packet, Properties, Property, Publish, QoS,
    ReasonCode, RetainHandling, Subscription, UserProperties, Version, Will, decode,
};

fn raw(properties: &[Property<'_>]) -> Vec<u8> {
    let mut raw = Vec::new();
    properties.iter().for_each(|property| property.encode(&mut raw));
    raw
}

/// Decodes `bytes`, compares, encodes, compares.
fn agree(version: Version, bytes: &[u8], packet: Packet<'_>) {
    assert_eq!(decode(bytes, version, u32::MAX), Ok(Some((packet, bytes.len()))));
    let mut out = Vec::new();
    packet.encode(version, &mut out);
    assert_eq!(out, bytes, "{packet:?}");
}

/// Decodes `bytes`, which are not what we would send, and compares.
fn reads(version: Version, bytes: &[u8], packet: Packet<'_>) {
    assert_eq!(decode(bytes, version, u32::MAX), Ok(Some((packet, bytes.len()))));
}

#[test]
fn connect_names_each_of_the_three_versions() {
    let v3_1 = b"\x10\x0f\x00\x06MQIsdp\x03\x02\x00\x3c\x00\x01a";
    agree(
        Version::V5,
        v3_1,
        Packet::Connect(Connect { keep_alive_s: 60, ..Connect::new(Version::V3_1, "a") }),
    );
    let v3_1_1 = b"\x10\x0d\x00\x04MQTT\x04\x02\x00\x3c\x00\x01a";
    agree(
        Version::V5,
        v3_1_1,
        Packet::Connect(Connect { keep_alive_s: 60, ..Connect::new(Version::V3_1_1, "a") }),
    );
    let v5 = b"\x10\x0e\x00\x04MQTT\x05\x02\x00\x3c\x00\x00\x01a";
    agree(Version::V3_1, v5, Packet::Connect(Connect { keep_alive_s: 60, ..Connect::new(Version::V5, "a") }));
}

#[test]
fn connect_carries_will_user_and_password() {
    let bytes =
        b"\x10\x1d\x00\x04MQTT\x04\xee\x00\x0a\x00\x01a\x00\x03w/t\x00\x02by\x00\x01u\x00\x02\xff\x00";
    let will = Will { topic: "w/t", payload: b"by", qos: QoS::AtLeastOnce, retain: true, ..Will::default() };
    let connect = Connect {
        keep_alive_s: 10,
        will: Some(will),
        user_name: Some("u"),
        password: Some(&[0xff, 0]),
        ..Connect::new(Version::V3_1_1, "a")
    };
    agree(Version::V3_1_1, bytes, Packet::Connect(connect));
}

#[test]
fn a_3_x_session_that_is_not_clean_never_expires() {
    let bytes = b"\x10\x0d\x00\x04MQTT\x04\x00\x00\x00\x00\x01a";
    let connect =
        Connect { clean_start: false, session_expiry_s: u32::MAX, ..Connect::new(Version::V3_1_1, "a") };
    agree(Version::V5, bytes, Packet::Connect(connect));
}

#[test]
fn connect_has_all_its_properties() {
    let bytes = [
        &b"\x10\x38\x00\x04MQTT\x05\x00\x00\x00\x29"[..],
        b"\x11\x00\x00\x00\x0a\x21\x00\x14\x27\x00\x00\x01\x00\x22\x00\x0a\x19\x01\x17\x00",
        b"\x15\x00\x05SCRAM\x16\x00\x02d\x00\x26\x00\x01n\x00\x02va",
        b"\x00\x02id",
    ]
    .concat();
    let user = raw(&[Property::UserProperty("n", "va")]);
    let connect = Connect {
        clean_start: false,
        session_expiry_s: 10,
        receive_maximum: 20,
        maximum_packet_size: Some(256),
        topic_alias_maximum: 10,
        request_response_information: true,
        request_problem_information: false,
        authentication_method: Some("SCRAM"),
        authentication_data: Some(b"d\0"),
        user_properties: UserProperties::from_raw(&user),
        ..Connect::new(Version::V5, "id")
    };
    agree(Version::V5, &bytes, Packet::Connect(connect));
}

#[test]
fn a_will_has_properties_of_its_own() {
    let properties = raw(&[
        Property::WillDelayInterval(5),
        Property::PayloadFormatIndicator(true),
        Property::MessageExpiryInterval(9),
        Property::ContentType("text"),
        Property::ResponseTopic("r"),
        Property::CorrelationData(b"c"),
        Property::UserProperty("k", "v"),
    ]);
    let will = Will {
        topic: "w",
        payload: b"p",
        delay_s: 5,
        payload_is_text: true,
        message_expiry_s: Some(9),
        properties: Properties::from_raw(&properties),
        ..Will::default()
    };
    let connect = Connect { will: Some(will), ..Connect::new(Version::V5, "") };
    let mut out = Vec::new();
    connect.encode(&mut out);
    let Ok(Some((Packet::Connect(read), _))) = decode(&out, Version::V5, 1000) else { panic!("not read") };
    let will = read.will.expect("a will");
    assert_eq!((will.delay_s, will.payload_is_text, will.message_expiry_s), (5, true, Some(9)));
    assert_eq!(will.properties.iter().count(), 7);
}

#[test]
fn version_5_allows_a_password_without_a_user_name() {
    let bytes = b"\x10\x10\x00\x04MQTT\x05\x42\x00\x00\x00\x00\x00\x00\x01p";
    agree(
        Version::V5,
        bytes,
        Packet::Connect(Connect { password: Some(b"p"), ..Connect::new(Version::V5, "") }),
    );
}

#[test]
fn connack_is_four_bytes_in_3_x() {
    let present = Connack { session_present: true, ..Connack::new(ReasonCode::Success) };
    agree(Version::V3_1_1, b"\x20\x02\x01\x00", Packet::Connack(present));
    let refused = Connack::new(ReasonCode::NotAuthorized);
    agree(Version::V3_1, b"\x20\x02\x00\x05", Packet::Connack(refused));
}

#[test]
fn connack_has_all_its_properties() {
    let bytes = [
        &b"\x20\x53\x01\x00\x50\x11\x00\x00\x00\x01\x21\x00\x05\x24\x01\x25\x00\x27\x00\x00\x10\x00"[..],
        b"\x12\x00\x02id\x22\x00\x09\x28\x00\x29\x00\x2a\x00\x13\x00\x3c\x1a\x00\x04resp\x1c\x00\x05other",
        b"\x15\x00\x01m\x16\x00\x01d\x1f\x00\x06reason\x26\x00\x01n\x00\x01v\x26\x00\x01n\x00\x01w",
    ]
    .concat();
    let user = raw(&[Property::UserProperty("n", "v"), Property::UserProperty("n", "w")]);
    let connack = Connack {
        session_present: true,
        session_expiry_s: Some(1),
        receive_maximum: 5,
        maximum_qos: QoS::AtLeastOnce,
        retain_available: false,
        maximum_packet_size: Some(4096),
        assigned_client_id: Some("id"),
        topic_alias_maximum: 9,
        wildcard_subscription_available: false,
        subscription_identifier_available: false,
        shared_subscription_available: false,
        server_keep_alive_s: Some(60),
        response_information: Some("resp"),
        server_reference: Some("other"),
        authentication_method: Some("m"),
        authentication_data: Some(b"d"),
        diagnostics: Diagnostics {
            reason_string: Some("reason"),
            user_properties: UserProperties::from_raw(&user),
        },
        ..Connack::new(ReasonCode::Success)
    };
    agree(Version::V5, &bytes, Packet::Connack(connack));
}

#[test]
fn publish_has_an_identifier_at_qos_1_and_2_only() {
    let publish = Publish { topic: "a/b", payload: b"hi", ..Publish::default() };
    agree(Version::V3_1_1, b"\x30\x07\x00\x03a/bhi", Packet::Publish(publish));
    agree(Version::V5, b"\x30\x08\x00\x03a/b\x00hi", Packet::Publish(publish));
    let publish = Publish { qos: QoS::ExactlyOnce, packet_id: 10, dup: true, retain: true, ..publish };
    agree(Version::V3_1, b"\x3d\x09\x00\x03a/b\x00\x0ahi", Packet::Publish(publish));
    agree(Version::V5, b"\x3d\x0a\x00\x03a/b\x00\x0a\x00hi", Packet::Publish(publish));
}

#[test]
fn publish_shows_where_its_parts_lie() {
    let bytes = b"\x32\x14\x00\x03a/b\x00\x0a\x08\x01\x01\x02\x00\x00\x00\x07\x00body";
    // The eighth byte of the list would be a property 0x00, which does not exist.
    assert!(decode(bytes, Version::V5, 100).is_err());
    let bytes = b"\x32\x13\x00\x03a/b\x00\x0a\x07\x01\x01\x02\x00\x00\x00\x07body";
    let Ok(Some((Packet::Publish(publish), 21))) = decode(bytes, Version::V5, 100) else {
        panic!("not read")
    };
    let spans = publish.spans();
    assert_eq!((spans.topic, spans.properties, spans.payload), (Some(2..5), 8..15, 15..19));
    assert_eq!(publish.body, &bytes[2..]);
    assert_eq!((publish.payload_is_text, publish.message_expiry_s), (true, Some(7)));
}

#[test]
fn acknowledgements_are_as_short_as_they_can_be() {
    let ack = Ack::success(0x0102);
    for version in [Version::V3_1, Version::V3_1_1, Version::V5] {
        agree(version, b"\x40\x02\x01\x02", Packet::Puback(ack));
        agree(version, b"\x50\x02\x01\x02", Packet::Pubrec(ack));
        agree(version, b"\x62\x02\x01\x02", Packet::Pubrel(ack));
        agree(version, b"\x70\x02\x01\x02", Packet::Pubcomp(ack));
    }
    let unknown = Ack { reason: ReasonCode::PacketIdentifierNotFound, ..ack };
    agree(Version::V5, b"\x62\x03\x01\x02\x92", Packet::Pubrel(unknown));
    let diagnostics = Diagnostics { reason_string: Some("no"), ..Diagnostics::NONE };
    let told = Ack { reason: ReasonCode::QuotaExceeded, diagnostics, ..ack };
    agree(Version::V5, b"\x40\x09\x01\x02\x97\x05\x1f\x00\x02no", Packet::Puback(told));
    reads(Version::V5, b"\x40\x04\x01\x02\x00\x00", Packet::Puback(ack));
    reads(Version::V5, b"\x40\x03\x01\x02\x00", Packet::Puback(ack));
}

#[test]
fn version_3_1_repeats_pubrel_and_subscribe_with_dup() {
    reads(Version::V3_1, b"\x6a\x02\x00\x01", Packet::Pubrel(Ack::success(1)));
    assert!(decode(b"\x8a\x06\x00\x01\x00\x01a\x00", Version::V3_1, 100).is_ok());
    assert!(decode(b"\x8a\x06\x00\x01\x00\x01a\x00", Version::V3_1_1, 100).is_err());
}

#[test]
fn subscribe_has_options() {
    let bytes = b"\x82\x10\x00\x01\x03\x0b\x80\x01\x00\x01#\x2e\x00\x03a/+\x01";
    let Ok(Some((Packet::Subscribe(subscribe), 18))) = decode(bytes, Version::V5, 100) else {
        panic!("not read")
    };
    assert_eq!((subscribe.packet_id, subscribe.identifier), (1, Some(128)));
    let first = Subscription {
        filter: "#",
        qos: QoS::ExactlyOnce,
        no_local: true,
        retain_as_published: true,
        retain_handling: RetainHandling::DoNotSend,
    };
    let second = Subscription::new("a/+", QoS::AtLeastOnce);
    assert_eq!(subscribe.filters.iter().collect::<Vec<_>>(), [first, second]);
    agree(Version::V5, bytes, Packet::Subscribe(subscribe));
}

#[test]
fn suback_and_unsuback_answer_filter_by_filter() {
    let bytes = b"\x90\x06\x00\x01\x00\x00\x02\x8f";
    let Ok(Some((Packet::Suback(suback), 8))) = decode(bytes, Version::V5, 100) else { panic!("not read") };
    let reasons = [ReasonCode::Success, ReasonCode::GrantedQoS2, ReasonCode::TopicFilterInvalid];
    assert_eq!(suback.reasons().collect::<Vec<_>>(), reasons);
    agree(Version::V5, bytes, Packet::Suback(suback));
    let mut out = Vec::new();
    Packet::Suback(suback).encode(Version::V3_1_1, &mut out);
    assert_eq!(out, b"\x90\x05\x00\x01\x00\x02\x80");
    out.clear();
    Packet::Unsuback(suback).encode(Version::V3_1_1, &mut out);
    assert_eq!(out, b"\xb0\x02\x00\x01");
}

#[test]
fn unsubscribe_has_filters_alone() {
    let bytes = b"\xa2\x09\x00\x01\x00\x01a\x00\x02b/";
    let Ok(Some((Packet::Unsubscribe(unsubscribe), 11))) = decode(bytes, Version::V3_1_1, 100) else {
        panic!("not read")
    };
    assert_eq!(unsubscribe.filters.iter().collect::<Vec<_>>(), ["a", "b/"]);
    agree(Version::V3_1_1, bytes, Packet::Unsubscribe(unsubscribe));
}

#[test]
fn pings_are_two_bytes() {
    agree(Version::V3_1_1, b"\xc0\x00", Packet::Pingreq);
    agree(Version::V5, b"\xd0\x00", Packet::Pingresp);
}

#[test]
fn disconnect_leaves_out_what_it_can() {
    agree(Version::V5, b"\xe0\x00", Packet::Disconnect(Disconnect::default()));
    agree(Version::V3_1, b"\xe0\x00", Packet::Disconnect(Disconnect::default()));
    reads(Version::V5, b"\xe0\x02\x00\x00", Packet::Disconnect(Disconnect::default()));
    let with_will = Disconnect::new(ReasonCode::DisconnectWithWill);
    agree(Version::V5, b"\xe0\x01\x04", Packet::Disconnect(with_will));
    let all = Disconnect { session_expiry_s: Some(1), server_reference: Some("s"), ..with_will };
    agree(Version::V5, b"\xe0\x0b\x04\x09\x11\x00\x00\x00\x01\x1c\x00\x01s", Packet::Disconnect(all));
}

#[test]
fn auth_has_a_method() {
    let auth = Auth {
        reason: ReasonCode::ContinueAuthentication,
        method: Some("m"),
        data: Some(&[1]),
        ..Auth::default()
    };
    agree(Version::V5, b"\xf0\x0a\x18\x08\x15\x00\x01m\x16\x00\x01\x01", Packet::Auth(auth));
}
