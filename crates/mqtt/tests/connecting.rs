//! From CONNECT to the end of a connection.

mod in_memory;

use ferrymq_engine::{CloseReason, ConnectionId, Effect, Limits};
use ferrymq_mqtt::{AnonymousFrom, MqttSettings, Redirect};
use ferrymq_mqtt_proto::{
    Connack, Connect, Diagnostics, Disconnect, Packet, Publish, QoS, ReasonCode, Subscription, Version, Will,
    server,
};
use in_memory::{Broker, encoded};

/// What a 5.0 client is told by default.
fn connack() -> Connack<'static> {
    Connack { receive_maximum: 1_000, topic_alias_maximum: 32, ..Connack::new(ReasonCode::Success) }
}

fn disconnect(reason: ReasonCode) -> Packet<'static> {
    Packet::Disconnect(Disconnect::new(reason))
}

fn refusal(reason: ReasonCode, text: &'static str) -> Packet<'static> {
    let diagnostics = Diagnostics { reason_string: Some(text), ..Diagnostics::NONE };
    Packet::Connack(Connack { diagnostics, ..Connack::new(reason) })
}

fn farewell(reason: ReasonCode, text: &'static str) -> Packet<'static> {
    let diagnostics = Diagnostics { reason_string: Some(text), ..Diagnostics::NONE };
    Packet::Disconnect(Disconnect { diagnostics, ..Disconnect::new(reason) })
}

#[test]
fn each_version_gets_its_connack() {
    let mut broker = Broker::new();
    for version in [Version::V3_1, Version::V3_1_1] {
        let client = broker.accept(version);
        broker.send(client, &Packet::Connect(Connect::new(version, "c")));
        assert_eq!(broker.take(client), [0x20, 2, 0, 0]);
    }
    let client = broker.accept(Version::V5);
    broker.send(client, &Packet::Connect(Connect::new(Version::V5, "d")));
    broker.expect(client, &[Packet::Connack(connack())]);
}

#[test]
fn a_client_without_a_name_is_given_one() {
    let mut broker = Broker::new();
    let client = broker.accept(Version::V5);
    broker.send(client, &Packet::Connect(Connect::new(Version::V5, "")));
    let got = broker.take(client);
    let Ok(Some((Packet::Connack(told), _))) = ferrymq_mqtt_proto::decode(&got, Version::V5, 1000) else {
        panic!("no CONNACK: {got:02X?}")
    };
    assert!(told.assigned_client_id.is_some_and(|id| id.starts_with("auto-") && id.len() == 37));
    let old = broker.accept(Version::V3_1_1);
    broker.send(old, &Packet::Connect(Connect::new(Version::V3_1_1, "")));
    assert_eq!(broker.take(old), [0x20, 2, 0, 0]);
}

#[test]
fn a_nameless_client_of_3_1_1_may_not_keep_its_session() {
    let mut broker = Broker::new();
    let client = broker.accept(Version::V3_1_1);
    let connect = Connect { clean_start: false, ..Connect::new(Version::V3_1_1, "") };
    broker.send(client, &Packet::Connect(connect));
    assert_eq!(broker.take(client), [0x20, 2, 0, 2]);
    assert!(!broker.is_open(client));
}

#[test]
fn a_session_is_present_when_its_client_comes_back() {
    let mut broker = Broker::new();
    for version in [Version::V3_1_1, Version::V5] {
        let id = if version.is_5() { "five" } else { "three" };
        let stays = Connect {
            clean_start: false,
            session_expiry_s: if version.is_5() { 60 } else { 0 },
            ..Connect::new(version, id)
        };
        let first = broker.accept(version);
        broker.send(first, &Packet::Connect(stays));
        assert_eq!(broker.take(first)[2], 0, "{version:?}");
        broker.send(first, &disconnect(ReasonCode::Success));
        let second = broker.accept(version);
        broker.send(second, &Packet::Connect(stays));
        assert_eq!(broker.take(second)[2], 1, "{version:?}");
        broker.send(second, &disconnect(ReasonCode::Success));
        let clean = broker.accept(version);
        broker.send(clean, &Packet::Connect(Connect::new(version, id)));
        assert_eq!(broker.take(clean)[2], 0, "{version:?}");
    }
}

#[test]
fn a_limited_session_expiry_is_told() {
    let limits = Limits { session_expiry_s: 100, ..Limits::default() };
    let mut broker = Broker::within(MqttSettings::default(), limits);
    let client = broker.accept(Version::V5);
    let connect = Connect { session_expiry_s: 101, ..Connect::new(Version::V5, "c") };
    broker.send(client, &Packet::Connect(connect));
    broker.expect(client, &[Packet::Connack(Connack { session_expiry_s: Some(100), ..connack() })]);
}

#[test]
fn what_the_server_limits_is_told() {
    let connection = server::Settings {
        maximum_packet_size: 5_000,
        receive_maximum: 7,
        topic_alias_maximum: 0,
        keep_alive_maximum_s: 30,
        maximum_qos: ferrymq_mqtt_proto::QoS::AtLeastOnce,
        retain_available: false,
        ..server::Settings::default()
    };
    let mut broker = Broker::with(MqttSettings { connection, ..MqttSettings::default() });
    let client = broker.accept(Version::V5);
    broker.send(client, &Packet::Connect(Connect::new(Version::V5, "c")));
    let told = Connack {
        maximum_packet_size: Some(5_000),
        receive_maximum: 7,
        server_keep_alive_s: Some(30),
        maximum_qos: QoS::AtLeastOnce,
        retain_available: false,
        ..Connack::new(ReasonCode::Success)
    };
    broker.expect(client, &[Packet::Connack(told)]);
    broker.subscribe(client, &[Subscription::new("a", QoS::ExactlyOnce)]);
    assert_eq!(broker.take(client), [0x90, 4, 0, 10, 0, 1]);
}

#[test]
fn response_information_is_for_clients_that_ask() {
    let mut broker = Broker::new();
    let client = broker.accept(Version::V5);
    let connect = Connect { request_response_information: true, ..Connect::new(Version::V5, "asks") };
    broker.send(client, &Packet::Connect(connect));
    let told = Connack { response_information: Some("response/asks"), ..connack() };
    broker.expect(client, &[Packet::Connack(told)]);
}

#[test]
fn a_second_connection_of_a_client_ends_the_first() {
    let mut broker = Broker::new();
    let (first, old) = (broker.client(Version::V5, "c"), broker.client(Version::V3_1_1, "d"));
    broker.client(Version::V5, "c");
    broker.expect_closed(first, &[disconnect(ReasonCode::SessionTakenOver)]);
    broker.client(Version::V3_1_1, "d");
    broker.expect_closed(old, &[]);
    assert_eq!(broker.service.statistics().connected, 2);
}

#[test]
fn clients_are_sent_to_another_server() {
    for (moved, reason) in [(false, ReasonCode::UseAnotherServer), (true, ReasonCode::ServerMoved)] {
        let redirect = Some(Redirect { server_reference: "b.example:1883".into(), moved });
        let mut broker = Broker::with(MqttSettings { redirect, ..MqttSettings::default() });
        let client = broker.accept(Version::V5);
        broker.send(client, &Packet::Connect(Connect::new(Version::V5, "c")));
        let told = Connack { server_reference: Some("b.example:1883"), ..Connack::new(reason) };
        broker.expect_closed(client, &[Packet::Connack(told)]);
        let old = broker.accept(Version::V3_1_1);
        broker.send(old, &Packet::Connect(Connect::new(Version::V3_1_1, "c")));
        assert_eq!(broker.take(old), [0x20, 2, 0, 3]);
    }
}

#[test]
fn anonymous_clients_come_from_this_machine_only() {
    let mut broker = Broker::new();
    broker.peers_come_from("192.0.2.1:4000");
    let (client, old) = (broker.accept(Version::V5), broker.accept(Version::V3_1_1));
    broker.send(client, &Packet::Connect(Connect::new(Version::V5, "c")));
    let text = "clients from other machines have to prove who they are";
    broker.expect_closed(client, &[refusal(ReasonCode::NotAuthorized, text)]);
    broker.send(old, &Packet::Connect(Connect::new(Version::V3_1_1, "c")));
    assert_eq!(broker.take(old), [0x20, 2, 0, 5]);
    for local in ["[::1]:1", "[::ffff:127.0.0.1]:1", "127.9.9.9:1"] {
        broker.peers_come_from(local);
        broker.client(Version::V5, "c");
    }
    assert_eq!(broker.service.statistics().refused, 2);
}

#[test]
fn anonymous_clients_come_from_anywhere_if_that_is_allowed() {
    let settings = MqttSettings { anonymous_from: AnonymousFrom::Any, ..MqttSettings::default() };
    let mut broker = Broker::with(settings);
    broker.peers_come_from("192.0.2.1:4000");
    broker.client(Version::V3_1_1, "c");
}

#[test]
fn a_refusal_of_the_queue_manager_is_told() {
    let limits = Limits { sessions: 1, client_id_length: 23, ..Limits::default() };
    let mut broker = Broker::within(MqttSettings::default(), limits);
    let client = broker.accept(Version::V5);
    broker.send(client, &Packet::Connect(Connect::new(Version::V5, "a-name-of-24-characters-")));
    let reason = ReasonCode::ClientIdentifierNotValid;
    broker.expect_closed(client, &[refusal(reason, "the client identifier is too long")]);
    broker.client(Version::V5, "one");
    let client = broker.accept(Version::V5);
    broker.send(client, &Packet::Connect(Connect::new(Version::V5, "two")));
    broker.expect_closed(client, &[refusal(ReasonCode::QuotaExceeded, "the limit on sessions is reached")]);
}

#[test]
fn packets_sent_with_connect_are_handled_after_it_in_order() {
    let mut broker = Broker::new();
    let watcher = broker.subscriber(Version::V3_1_1, "watcher", "t", QoS::AtMostOnce);
    let client = broker.accept(Version::V3_1_1);
    let publish =
        Publish { topic: "t", payload: b"p", qos: QoS::AtLeastOnce, packet_id: 1, ..Publish::default() };
    let mut bytes = encoded(&Packet::Connect(Connect::new(Version::V3_1_1, "c")), Version::V3_1_1);
    bytes.extend(encoded(&Packet::Publish(publish), Version::V3_1_1));
    bytes.extend(encoded(&Packet::Pingreq, Version::V3_1_1));
    bytes.extend(encoded(&Packet::Disconnect(Disconnect::default()), Version::V3_1_1));
    broker.send_bytes(client, &bytes);
    // The client's end comes before its answers are due, which are of the next turn.
    assert_eq!(broker.take(client), [0x20, 2, 0, 0]);
    assert!(!broker.is_open(client));
    assert_eq!(broker.take(watcher), [0x30, 4, 0, 1, b't', b'p']);
}

#[test]
fn bytes_may_come_one_by_one() {
    let mut broker = Broker::new();
    let client = broker.accept(Version::V5);
    let mut bytes = encoded(&Packet::Connect(Connect::new(Version::V5, "c")), Version::V5);
    bytes.extend(encoded(&Packet::Pingreq, Version::V5));
    bytes.iter().for_each(|byte| broker.send_bytes(client, &[*byte]));
    broker.expect(client, &[Packet::Connack(connack()), Packet::Pingresp]);
}

#[test]
fn who_does_not_connect_in_time_is_closed() {
    let mut broker = Broker::new();
    let client = broker.accept(Version::V5);
    broker.pass_ms(9_999);
    assert!(broker.is_open(client));
    broker.pass_ms(1);
    broker.expect_closed(client, &[]);
    assert_eq!(broker.service.statistics().connect_timeouts, 1);
}

#[test]
fn silence_for_one_and_a_half_keep_alives_ends_the_connection() {
    let mut broker = Broker::new();
    let client = broker.connect(&Connect { keep_alive_s: 10, ..Connect::new(Version::V5, "c") });
    broker.pass_ms(10_000);
    broker.send(client, &Packet::Pingreq);
    broker.expect(client, &[Packet::Pingresp]);
    broker.pass_ms(14_999);
    assert!(broker.is_open(client));
    broker.pass_ms(1);
    broker.expect_closed(client, &[disconnect(ReasonCode::KeepAliveTimeout)]);
    let lasting = broker.client(Version::V5, "lasting");
    broker.pass_ms(100_000_000);
    assert!(broker.is_open(lasting));
}

fn with_will(version: Version) -> Connect<'static> {
    let will = Will { topic: "will", payload: b"w", ..Will::default() };
    Connect { will: Some(will), ..Connect::new(version, "mortal") }
}

#[test]
fn a_will_is_published_when_its_client_is_lost_and_not_when_it_leaves() {
    let mut broker = Broker::new();
    let watcher = broker.subscriber(Version::V3_1_1, "watcher", "will", QoS::AtMostOnce);
    let published = [0x30, 7, 0, 4, b'w', b'i', b'l', b'l', b'w'];
    for version in [Version::V3_1_1, Version::V5] {
        let client = broker.connect(&with_will(version));
        broker.send(client, &disconnect(ReasonCode::Success));
        assert!(!broker.is_open(client));
        assert_eq!(broker.take(watcher), []);
        let client = broker.connect(&with_will(version));
        broker.lose(client);
        assert_eq!(broker.take(watcher), published);
    }
    let client = broker.connect(&with_will(Version::V5));
    broker.send(client, &disconnect(ReasonCode::DisconnectWithWill));
    assert_eq!(broker.take(watcher), published);
}

#[test]
fn a_broken_rule_ends_the_connection_with_its_reason_and_publishes_the_will() {
    let mut broker = Broker::new();
    let watcher = broker.subscriber(Version::V3_1_1, "watcher", "will", QoS::AtMostOnce);
    let client = broker.connect(&with_will(Version::V5));
    broker.send(client, &Packet::Connect(Connect::new(Version::V5, "again")));
    broker.expect_closed(client, &[farewell(ReasonCode::ProtocolError, "MQTT-3.1.0-2")]);
    assert!(!broker.take(watcher).is_empty());
    assert_eq!(broker.service.statistics().violations, 1);
}

#[test]
fn a_will_to_a_topic_of_the_server_is_refused() {
    let mut broker = Broker::new();
    let will = Will { topic: "$SYS/x", payload: b"w", ..Will::default() };
    let client = broker.accept(Version::V3_1_1);
    let connect = Connect { will: Some(will), ..Connect::new(Version::V3_1_1, "c") };
    broker.send(client, &Packet::Connect(connect));
    assert_eq!(broker.take(client), [0x20, 2, 0, 5]);
    assert!(!broker.is_open(client));
}

#[test]
fn a_server_that_ends_says_so() {
    let mut broker = Broker::new();
    let (five, three) = (broker.client(Version::V5, "five"), broker.client(Version::V3_1_1, "three"));
    broker.service.shutdown(&mut broker.net, &mut broker.commands);
    broker.settle();
    broker.expect_closed(five, &[disconnect(ReasonCode::ServerShuttingDown)]);
    broker.expect_closed(three, &[]);
    assert_eq!(broker.service.statistics().connected, 0);
}

#[test]
fn the_queue_manager_closes_with_its_reason() {
    for (reason, code) in [
        (CloseReason::TakenOver, ReasonCode::SessionTakenOver),
        (CloseReason::Ending, ReasonCode::ServerShuttingDown),
        (CloseReason::Administrative, ReasonCode::AdministrativeAction),
    ] {
        let mut broker = Broker::new();
        let client = broker.client(Version::V5, "c");
        broker.perform(Effect::Close { connection: ConnectionId(client.token.0), reason });
        broker.expect_closed(client, &[disconnect(code)]);
        assert!(broker.commands.is_empty(), "the queue manager knows");
    }
}

#[test]
fn a_client_that_takes_no_connack_is_closed() {
    let mut broker = Broker::new();
    let client = broker.accept(Version::V5);
    let connect = Connect { maximum_packet_size: Some(6), ..Connect::new(Version::V5, "tiny") };
    broker.send(client, &Packet::Connect(connect));
    broker.expect_closed(client, &[Packet::Connack(Connack::new(ReasonCode::PacketTooLarge))]);
    assert_eq!(broker.service.statistics().connected, 0);
}
