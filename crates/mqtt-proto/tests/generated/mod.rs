//! Arbitrary packets that obey the specification.
#![allow(dead_code)] // Not every test uses all of it.

use ferrymq_mqtt_proto::{
    Ack, Auth, Connack, Connect, Diagnostics, Disconnect, Packet, PacketKind, Properties, Property, Publish,
    QoS, ReasonCode, RetainHandling, Subscription, UserProperties, Version, Will, decode, encode_suback,
    encode_subscribe, encode_unsubscribe,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

/// A packet as bytes, and the version that it is of.
#[derive(Clone, Debug)]
pub struct Bytes {
    pub version: Version,
    pub bytes: Vec<u8>,
}

fn version() -> impl Strategy<Value = Version> {
    prop_oneof![Just(Version::V3_1), Just(Version::V3_1_1), Just(Version::V5)]
}

fn qos() -> impl Strategy<Value = QoS> {
    prop_oneof![Just(QoS::AtMostOnce), Just(QoS::AtLeastOnce), Just(QoS::ExactlyOnce)]
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z/]{0,20}", "[^\\x00]{0,40}"]
}

fn topic() -> impl Strategy<Value = String> {
    "[^\\x00+#]{1,40}"
}

fn binary() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![vec(any::<u8>(), 0..20), vec(any::<u8>(), 0..400)]
}

fn user_properties() -> impl Strategy<Value = Vec<u8>> {
    vec((text(), text()), 0..4).prop_map(|pairs| {
        let mut raw = Vec::new();
        pairs.iter().for_each(|(name, value)| Property::UserProperty(name, value).encode(&mut raw));
        raw
    })
}

fn reason(kind: PacketKind) -> impl Strategy<Value = ReasonCode> {
    let legal: Vec<_> = ReasonCode::ALL.iter().copied().filter(|reason| reason.is_legal_in(kind)).collect();
    proptest::sample::select(legal)
}

/// Encodes a packet of parts that live only while it is made.
fn bytes_of(version: Version, packet: Packet<'_>) -> Bytes {
    let mut bytes = Vec::new();
    packet.encode(version, &mut bytes);
    Bytes { version, bytes }
}

fn message_properties(will: bool) -> impl Strategy<Value = Vec<u8>> {
    let head = (
        option::of(any::<bool>()),
        option::of(any::<u32>()),
        option::of(1..=u16::MAX),
        option::of(any::<u32>()),
    );
    let tail = (option::of(text()), option::of(topic()), option::of(binary()), user_properties());
    (head, tail).prop_map(move |((format, expiry, alias, delay), (content, response, correlation, user))| {
        let mut raw = Vec::new();
        let properties = [
            format.map(Property::PayloadFormatIndicator),
            expiry.map(Property::MessageExpiryInterval),
            alias.filter(|_| !will).map(Property::TopicAlias),
            delay.filter(|_| will).map(Property::WillDelayInterval),
            content.as_deref().map(Property::ContentType),
            response.as_deref().map(Property::ResponseTopic),
            correlation.as_deref().map(Property::CorrelationData),
        ];
        properties.iter().flatten().for_each(|property| property.encode(&mut raw));
        raw.extend_from_slice(&user);
        raw
    })
}

pub fn publish() -> impl Strategy<Value = Bytes> {
    let flags = (version(), qos(), any::<bool>(), any::<bool>(), 1..=u16::MAX);
    (flags, topic(), message_properties(false), binary()).prop_map(
        |((version, qos, dup, retain, id), topic, raw, body)| {
            let publish = Publish {
                topic: &topic,
                payload: &body,
                properties: Properties::from_raw(if version.is_5() { &raw } else { &[] }),
                packet_id: if qos == QoS::AtMostOnce { 0 } else { id },
                qos,
                dup: dup && qos != QoS::AtMostOnce,
                retain,
                ..Publish::default()
            };
            bytes_of(version, Packet::Publish(publish))
        },
    )
}

fn acks() -> impl Strategy<Value = Bytes> {
    let kinds = [PacketKind::Puback, PacketKind::Pubrec, PacketKind::Pubrel, PacketKind::Pubcomp];
    let kind = proptest::sample::select(kinds.to_vec()).prop_flat_map(|kind| (Just(kind), reason(kind)));
    (version(), kind, 1..=u16::MAX, option::of(text()), user_properties()).prop_map(
        |(version, (kind, reason), packet_id, reason_string, user)| {
            let user_properties = UserProperties::from_raw(&user);
            let diagnostics = Diagnostics { reason_string: reason_string.as_deref(), user_properties };
            let mut bytes = Vec::new();
            Ack { packet_id, reason, diagnostics }.encode(kind, version, &mut bytes);
            Bytes { version, bytes }
        },
    )
}

pub fn connect() -> impl Strategy<Value = Bytes> {
    let will = option::of((topic(), binary(), qos(), any::<bool>(), message_properties(true)));
    let numbers = (any::<u32>(), 1..=u16::MAX, option::of(1..=u32::MAX), any::<u16>(), any::<u16>());
    let flags = (any::<bool>(), any::<bool>(), any::<bool>());
    let names =
        (text(), option::of(text()), option::of(binary()), option::of((text(), binary())), user_properties());
    (version(), will, numbers, flags, names).prop_map(|(version, will, numbers, flags, names)| {
        let (client_id, user_name, password, authentication, user) = names;
        let connect = Connect {
            version,
            clean_start: flags.0,
            keep_alive_s: numbers.4,
            client_id: &client_id,
            will: will.as_ref().map(|(topic, payload, qos, retain, raw)| Will {
                topic,
                payload,
                qos: *qos,
                retain: *retain,
                properties: Properties::from_raw(if version.is_5() { raw } else { &[] }),
                ..Will::default()
            }),
            user_name: user_name.as_deref(),
            password: password.as_deref(),
            session_expiry_s: numbers.0,
            receive_maximum: numbers.1,
            maximum_packet_size: numbers.2,
            topic_alias_maximum: numbers.3,
            request_response_information: flags.1,
            request_problem_information: flags.2,
            user_properties: UserProperties::from_raw(&user),
            authentication_method: authentication.as_ref().map(|(method, _)| method.as_str()),
            authentication_data: authentication.as_ref().map(|(_, data)| data.as_slice()),
        };
        bytes_of(version, Packet::Connect(connect))
    })
}

fn connack() -> impl Strategy<Value = Bytes> {
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    let numbers = (option::of(any::<u32>()), 1..=u16::MAX, option::of(1..=u32::MAX), any::<u16>());
    let texts =
        (option::of(text()), option::of(text()), option::of(text()), option::of(text()), user_properties());
    (version(), flags, numbers, texts, reason(PacketKind::Connack)).prop_map(
        |(version, flags, numbers, texts, reason)| {
            let reason = if version.is_5() || reason.to_v3_return_code().is_some() {
                reason
            } else {
                ReasonCode::Success
            };
            let user_properties = UserProperties::from_raw(&texts.4);
            let connack = Connack {
                session_present: flags.0,
                session_expiry_s: numbers.0,
                receive_maximum: numbers.1,
                maximum_packet_size: numbers.2,
                topic_alias_maximum: numbers.3,
                maximum_qos: if flags.1 { QoS::AtLeastOnce } else { QoS::ExactlyOnce },
                retain_available: flags.2,
                wildcard_subscription_available: flags.3,
                shared_subscription_available: flags.4,
                assigned_client_id: texts.0.as_deref(),
                response_information: texts.1.as_deref(),
                server_reference: texts.2.as_deref(),
                diagnostics: Diagnostics { reason_string: texts.3.as_deref(), user_properties },
                ..Connack::new(reason)
            };
            bytes_of(version, Packet::Connack(connack))
        },
    )
}

fn subscription() -> impl Strategy<Value = (String, QoS, bool, bool, u8)> {
    ("[^\\x00]{1,40}", qos(), any::<bool>(), any::<bool>(), 0..3u8)
}

fn subscribe() -> impl Strategy<Value = Bytes> {
    let identifier = option::of(1..=268_435_455u32);
    (version(), 1..=u16::MAX, identifier, user_properties(), vec(subscription(), 1..5)).prop_map(
        |(version, id, identifier, user, subscriptions)| {
            let subscriptions =
                subscriptions.iter().map(|(filter, qos, no_local, retain_as_published, handling)| {
                    let retain_handling =
                        [RetainHandling::Send, RetainHandling::SendIfNew, RetainHandling::DoNotSend]
                            [usize::from(*handling)];
                    let no_local = *no_local && !filter.starts_with('$');
                    let retain_as_published = *retain_as_published;
                    Subscription { filter, qos: *qos, no_local, retain_as_published, retain_handling }
                });
            let mut bytes = Vec::new();
            encode_subscribe(
                id,
                identifier,
                UserProperties::from_raw(&user),
                subscriptions,
                version,
                &mut bytes,
            );
            Bytes { version, bytes }
        },
    )
}

fn unsubscribe() -> impl Strategy<Value = Bytes> {
    (version(), 1..=u16::MAX, user_properties(), vec("[^\\x00]{1,40}", 1..5)).prop_map(
        |(version, id, user, filters)| {
            let filters = filters.iter().map(String::as_str);
            let mut bytes = Vec::new();
            encode_unsubscribe(id, UserProperties::from_raw(&user), filters, version, &mut bytes);
            Bytes { version, bytes }
        },
    )
}

fn suback() -> impl Strategy<Value = Bytes> {
    let kind = prop_oneof![Just(PacketKind::Suback), Just(PacketKind::Unsuback)];
    let kind = kind.prop_flat_map(|kind| (Just(kind), vec(reason(kind), 1..6)));
    (version(), kind, 1..=u16::MAX, option::of(text()), user_properties()).prop_map(
        |(version, (kind, reasons), id, reason_string, user)| {
            let user_properties = UserProperties::from_raw(&user);
            let diagnostics = Diagnostics { reason_string: reason_string.as_deref(), user_properties };
            let mut bytes = Vec::new();
            encode_suback(kind, id, &diagnostics, reasons, version, &mut bytes);
            Bytes { version, bytes }
        },
    )
}

fn disconnect() -> impl Strategy<Value = Bytes> {
    let texts = (option::of(text()), option::of(text()), user_properties());
    (version(), reason(PacketKind::Disconnect), option::of(any::<u32>()), texts).prop_map(
        |(version, reason, session_expiry_s, texts)| {
            let user_properties = UserProperties::from_raw(&texts.2);
            let diagnostics = Diagnostics { reason_string: texts.0.as_deref(), user_properties };
            let server_reference = texts.1.as_deref();
            let disconnect = Disconnect { reason, session_expiry_s, diagnostics, server_reference };
            bytes_of(version, Packet::Disconnect(disconnect))
        },
    )
}

fn auth() -> impl Strategy<Value = Bytes> {
    (reason(PacketKind::Auth), text(), option::of(binary()), user_properties()).prop_map(
        |(reason, method, data, user)| {
            let user_properties = UserProperties::from_raw(&user);
            let diagnostics = Diagnostics { reason_string: None, user_properties };
            let auth = Auth { reason, method: Some(&method), data: data.as_deref(), diagnostics };
            bytes_of(Version::V5, Packet::Auth(auth))
        },
    )
}

fn ping() -> impl Strategy<Value = Bytes> {
    (version(), any::<bool>()).prop_map(|(version, answer)| {
        bytes_of(version, if answer { Packet::Pingresp } else { Packet::Pingreq })
    })
}

/// Any packet.
pub fn packet() -> impl Strategy<Value = Bytes> {
    prop_oneof![
        publish(),
        acks(),
        connect(),
        connack(),
        subscribe(),
        unsubscribe(),
        suback(),
        disconnect(),
        auth(),
        ping()
    ]
}

/// The packet in `bytes`, which must be one and nothing else.
pub fn read(bytes: &Bytes) -> Packet<'_> {
    match decode(&bytes.bytes, bytes.version, u32::MAX) {
        Ok(Some((packet, len))) if len == bytes.bytes.len() => packet,
        other => panic!("{other:?} of {bytes:02x?}"),
    }
}
