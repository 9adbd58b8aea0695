//! Messages from clients, and what they are told of them.

mod in_memory;

use ferrymq_engine::{ConnectionId, DeliveryTag, Effect, Outcome, Stage};
use ferrymq_mqtt::MqttSettings;
use ferrymq_mqtt_proto::{
    Ack, Diagnostics, Disconnect, Packet, Properties, Property, Publish, QoS, ReasonCode, Version, server,
};
use in_memory::{Broker, Client};

fn publish(topic: &'static str, qos: QoS) -> Publish<'static> {
    let packet_id = if qos == QoS::AtMostOnce { 0 } else { 7 };
    Publish { topic, payload: b"p", qos, packet_id, ..Publish::default() }
}

fn ack(reason: ReasonCode) -> Ack<'static> {
    Ack { packet_id: 7, reason, diagnostics: Diagnostics::NONE }
}

fn explained(reason: ReasonCode, text: &'static str) -> Ack<'static> {
    Ack { diagnostics: Diagnostics { reason_string: Some(text), ..Diagnostics::NONE }, ..ack(reason) }
}

fn raw(properties: &[Property<'_>]) -> Vec<u8> {
    let mut raw = Vec::new();
    properties.iter().for_each(|property| property.encode(&mut raw));
    raw
}

const SYS: &str = "topics below $SYS are the server's own";
const DEEP: &str = "the topic name is longer or deeper than this server accepts";
const NOT_TEXT: &str = "the payload is not UTF-8, as its format indicator says";

fn limited() -> Broker {
    Broker::with(MqttSettings { topic_levels: 2, ..MqttSettings::default() })
}

#[test]
fn qos_1_and_2_are_acknowledged_step_by_step() {
    for version in [Version::V3_1, Version::V3_1_1, Version::V5] {
        let mut broker = Broker::new();
        broker.subscriber(version, "watcher", "t", QoS::AtMostOnce);
        let client = broker.client(version, "c");
        broker.send(client, &Packet::Publish(publish("t", QoS::AtLeastOnce)));
        broker.expect(client, &[Packet::Puback(Ack::success(7))]);
        broker.send(client, &Packet::Publish(publish("t", QoS::ExactlyOnce)));
        broker.expect(client, &[Packet::Pubrec(Ack::success(7))]);
        broker.send(client, &Packet::Pubrel(Ack::success(7)));
        broker.expect(client, &[Packet::Pubcomp(Ack::success(7))]);
    }
}

#[test]
fn a_message_for_nobody_is_acknowledged_as_such() {
    let mut broker = Broker::new();
    let client = broker.client(Version::V5, "c");
    broker.send(client, &Packet::Publish(publish("t", QoS::AtLeastOnce)));
    broker.expect(client, &[Packet::Puback(ack(ReasonCode::NoMatchingSubscribers))]);
    broker.send(client, &Packet::Publish(publish("t", QoS::ExactlyOnce)));
    broker.expect(client, &[Packet::Pubrec(ack(ReasonCode::NoMatchingSubscribers))]);
    let old = broker.client(Version::V3_1_1, "d");
    broker.send(old, &Packet::Publish(publish("t", QoS::AtLeastOnce)));
    assert_eq!(broker.take(old), [0x40, 2, 0, 7]);
}

#[test]
fn the_release_of_an_unknown_message_is_answered_by_not_found() {
    let mut broker = Broker::new();
    let client = broker.client(Version::V5, "c");
    broker.send(client, &Packet::Pubrel(Ack::success(7)));
    broker.expect(client, &[Packet::Pubcomp(ack(ReasonCode::PacketIdentifierNotFound))]);
    let old = broker.client(Version::V3_1_1, "d");
    broker.send(old, &Packet::Pubrel(Ack::success(7)));
    assert_eq!(broker.take(old), [0x70, 2, 0, 7]);
}

fn confirm(broker: &mut Broker, client: Client, stage: Stage, outcome: Outcome) {
    let connection = ConnectionId(client.token.0);
    broker.perform(Effect::Confirm { connection, tag: DeliveryTag(7), stage, outcome });
}

#[test]
fn every_outcome_has_its_reason_code() {
    let full = explained(ReasonCode::QuotaExceeded, "the queue of a subscriber is full");
    let invalid = explained(ReasonCode::TopicNameInvalid, "the topic name is not accepted");
    for (stage, outcome, packet) in [
        (Stage::Accepted, Outcome::Done, Packet::Puback(Ack::success(7))),
        (Stage::Accepted, Outcome::QueueFull, Packet::Puback(full)),
        (Stage::Accepted, Outcome::TopicNameInvalid, Packet::Puback(invalid)),
        (Stage::Received, Outcome::Done, Packet::Pubrec(Ack::success(7))),
        (Stage::Received, Outcome::QueueFull, Packet::Pubrec(full)),
        (Stage::Received, Outcome::TopicNameInvalid, Packet::Pubrec(invalid)),
        (Stage::Completed, Outcome::Done, Packet::Pubcomp(Ack::success(7))),
        (Stage::Completed, Outcome::TagNotFound, Packet::Pubcomp(ack(ReasonCode::PacketIdentifierNotFound))),
    ] {
        let mut broker = Broker::new();
        let client = broker.client(Version::V5, "c");
        confirm(&mut broker, client, stage, outcome);
        broker.expect(client, &[packet]);
        assert!(broker.is_open(client));
    }
}

#[test]
fn a_publisher_of_3_x_is_closed_without_an_answer_when_a_queue_is_full() {
    for stage in [Stage::Accepted, Stage::Received] {
        let mut broker = Broker::new();
        let client = broker.client(Version::V3_1_1, "c");
        confirm(&mut broker, client, stage, Outcome::QueueFull);
        broker.expect_closed(client, &[]);
    }
}

#[test]
fn topics_of_the_server_are_refused_but_end_no_connection() {
    let mut broker = Broker::new();
    let watcher = broker.subscriber(Version::V5, "watcher", "$SYS/#", QoS::AtMostOnce);
    let (client, old) = (broker.client(Version::V5, "c"), broker.client(Version::V3_1_1, "d"));
    let refused = explained(ReasonCode::NotAuthorized, SYS);
    broker.send(client, &Packet::Publish(publish("$SYS/x", QoS::AtMostOnce)));
    broker.expect(client, &[]);
    broker.send(client, &Packet::Publish(publish("$SYS/x", QoS::AtLeastOnce)));
    broker.expect(client, &[Packet::Puback(refused)]);
    broker.send(client, &Packet::Publish(publish("$SYS/x", QoS::ExactlyOnce)));
    broker.expect(client, &[Packet::Pubrec(refused)]);
    broker.send(old, &Packet::Publish(publish("$SYS/x", QoS::AtLeastOnce)));
    assert_eq!(broker.take(old), [0x40, 2, 0, 7]);
    assert!(broker.is_open(client) && broker.is_open(old));
    assert_eq!(broker.take(watcher), []);
    assert_eq!(broker.service.statistics().publishes_refused, 4);
}

#[test]
fn a_topic_beyond_the_limits_is_invalid() {
    let mut broker = limited();
    let (client, old) = (broker.client(Version::V5, "c"), broker.client(Version::V3_1_1, "d"));
    let refused = explained(ReasonCode::TopicNameInvalid, DEEP);
    broker.send(client, &Packet::Publish(publish("a/b/c", QoS::AtLeastOnce)));
    broker.expect(client, &[Packet::Puback(refused)]);
    broker.send(client, &Packet::Publish(publish("a/b/c", QoS::AtMostOnce)));
    let diagnostics = Diagnostics { reason_string: Some(DEEP), ..Diagnostics::NONE };
    let farewell = Disconnect { diagnostics, ..Disconnect::new(ReasonCode::TopicNameInvalid) };
    broker.expect_closed(client, &[Packet::Disconnect(farewell)]);
    broker.send(old, &Packet::Publish(publish("a/b/c", QoS::AtLeastOnce)));
    broker.expect_closed(old, &[]);
}

#[test]
fn a_payload_that_is_not_the_text_it_claims_to_be_is_refused() {
    let list = raw(&[Property::PayloadFormatIndicator(true)]);
    let packet = |payload| Publish {
        payload,
        properties: Properties::from_raw(&list),
        ..publish("t", QoS::AtLeastOnce)
    };
    let mut broker = Broker::new();
    let client = broker.client(Version::V5, "c");
    broker.send(client, &Packet::Publish(packet(&[0xFF])));
    broker.expect(client, &[Packet::Puback(explained(ReasonCode::PayloadFormatInvalid, NOT_TEXT))]);
    broker.send(client, &Packet::Publish(packet("ü".as_bytes())));
    broker.expect(client, &[Packet::Puback(ack(ReasonCode::NoMatchingSubscribers))]);
    let settings = MqttSettings { payload_format_checked: false, ..MqttSettings::default() };
    let mut broker = Broker::with(settings);
    let client = broker.client(Version::V5, "c");
    broker.send(client, &Packet::Publish(packet(&[0xFF])));
    broker.expect(client, &[Packet::Puback(ack(ReasonCode::NoMatchingSubscribers))]);
}

#[test]
fn reason_strings_are_for_clients_that_want_them() {
    let mut broker = limited();
    let connect = ferrymq_mqtt_proto::Connect {
        request_problem_information: false,
        ..ferrymq_mqtt_proto::Connect::new(Version::V5, "c")
    };
    let client = broker.connect(&connect);
    broker.send(client, &Packet::Publish(publish("a/b/c", QoS::AtLeastOnce)));
    broker.expect(client, &[Packet::Puback(ack(ReasonCode::TopicNameInvalid))]);
}

#[test]
fn more_unacknowledged_messages_than_the_receive_maximum_end_the_connection() {
    let connection = server::Settings { receive_maximum: 2, ..server::Settings::default() };
    let mut broker = Broker::with(MqttSettings { connection, ..MqttSettings::default() });
    let client = broker.client(Version::V5, "c");
    for packet_id in [1, 2, 3] {
        let packet = Publish { packet_id, ..publish("t", QoS::ExactlyOnce) };
        broker.read(client, &in_memory::encoded(&Packet::Publish(packet), Version::V5));
    }
    let diagnostics = Diagnostics { reason_string: Some("MQTT-3.3.4-7"), ..Diagnostics::NONE };
    let farewell = Disconnect { diagnostics, ..Disconnect::new(ReasonCode::ReceiveMaximumExceeded) };
    broker.expect_closed(client, &[Packet::Disconnect(farewell)]);
}

#[test]
fn a_repeated_qos_2_message_is_published_once() {
    let mut broker = Broker::new();
    let watcher = broker.subscriber(Version::V3_1_1, "watcher", "t", QoS::AtMostOnce);
    let client = broker.client(Version::V5, "c");
    broker.send(client, &Packet::Publish(publish("t", QoS::ExactlyOnce)));
    broker.send(client, &Packet::Publish(Publish { dup: true, ..publish("t", QoS::ExactlyOnce) }));
    broker.expect(client, &[Packet::Pubrec(Ack::success(7)), Packet::Pubrec(Ack::success(7))]);
    assert_eq!(broker.take(watcher), [0x30, 4, 0, 1, b't', b'p']);
}

#[test]
fn an_alias_stands_for_its_topic() {
    let mut broker = Broker::new();
    let watcher = broker.subscriber(Version::V3_1_1, "watcher", "t", QoS::AtMostOnce);
    let client = broker.client(Version::V5, "c");
    let list = raw(&[Property::TopicAlias(3)]);
    let properties = Properties::from_raw(&list);
    broker.send(client, &Packet::Publish(Publish { properties, ..publish("t", QoS::AtMostOnce) }));
    broker.send(client, &Packet::Publish(Publish { properties, ..publish("", QoS::AtMostOnce) }));
    assert_eq!(broker.take(watcher), [0x30, 4, 0, 1, b't', b'p'].repeat(2));
}
