//! A client against our server, in memory.

use ferrymq_mqtt_proto::client::{self, State};
use ferrymq_mqtt_proto::server::{self, Settings};
use ferrymq_mqtt_proto::{
    Connect, Delivery, Diagnostics, Publish, QoS, ReasonCode, Subscription, Version, Violation,
};

/// Both ends, connected.
fn pair(version: Version) -> (client::Connection, server::Connection) {
    let mut wire = Vec::new();
    let connect = Connect {
        receive_maximum: 1,
        topic_alias_maximum: 5,
        keep_alive_s: 10,
        ..Connect::new(version, "id")
    };
    let mut client = client::Connection::new(&connect, 0, &mut wire);
    let mut server = server::Connection::new(&Settings::default(), 0);
    assert!(matches!(server.handle_input(0, &wire), Ok(Some((server::Event::Connect(_), _)))));
    wire.clear();
    server.accept(0, &server::Accept::default(), &mut wire);
    assert!(matches!(client.handle_input(&wire), Ok(Some((client::Event::Connack(_), _)))));
    assert_eq!(client.state(), State::Connected);
    (client, server)
}

#[test]
fn a_client_publishes_with_every_qos_in_every_version() {
    for version in [Version::V3_1, Version::V3_1_1, Version::V5] {
        let (mut client, mut server) = pair(version);
        for (qos, packet_id) in [(QoS::AtMostOnce, 0), (QoS::AtLeastOnce, 1), (QoS::ExactlyOnce, 2)] {
            let mut wire = Vec::new();
            let sent = Publish { topic: "a/b", payload: b"hello", qos, packet_id, ..Publish::default() };
            client.publish(&sent, &mut wire).expect("small");
            let Ok(Some((server::Event::Publish(got), _))) = server.handle_input(0, &wire) else {
                panic!("no publish")
            };
            assert_eq!(got, sent);
        }
        let (none, mut wire) = (Diagnostics::NONE, Vec::new());
        server.puback(1, ReasonCode::Success, &none, &mut wire);
        assert!(
            matches!(client.handle_input(&wire), Ok(Some((client::Event::Puback(ack), 4))) if ack.packet_id == 1)
        );
        wire.clear();
        server.pubrec(2, ReasonCode::Success, &none, &mut wire);
        assert!(matches!(client.handle_input(&wire), Ok(Some((client::Event::Pubrec(_), 4)))));
        wire.clear();
        client.pubrel(2, &mut wire);
        assert!(matches!(server.handle_input(0, &wire), Ok(Some((server::Event::Pubrel(_), 4)))));
        wire.clear();
        server.pubcomp(2, ReasonCode::Success, &none, &mut wire);
        assert!(matches!(client.handle_input(&wire), Ok(Some((client::Event::Pubcomp(_), 4)))));
    }
}

#[test]
fn a_client_subscribes_and_gets_messages_by_alias() {
    let (mut client, mut server) = pair(Version::V5);
    let mut wire = Vec::new();
    client.subscribe(7, Some(3), [Subscription::new("a/#", QoS::AtLeastOnce)], &mut wire);
    let Ok(Some((server::Event::Subscribe(subscribe), _))) = server.handle_input(0, &wire) else {
        panic!("none")
    };
    assert_eq!((subscribe.packet_id, subscribe.identifier), (7, Some(3)));
    wire.clear();
    server.suback(7, [ReasonCode::GrantedQoS1], &Diagnostics::NONE, &mut wire);
    assert!(matches!(client.handle_input(&wire), Ok(Some((client::Event::Suback(_), _)))));
    for _ in 0..3 {
        wire.clear();
        let delivery = Delivery { topic: "a/topic", subscription_identifiers: &[3], ..Delivery::default() };
        server.publish(&delivery, &mut wire).expect("small");
        let Ok(Some((client::Event::Publish(publish), _))) = client.handle_input(&wire) else {
            panic!("none")
        };
        assert_eq!((publish.topic, publish.has_subscription_identifier), ("a/topic", true));
    }
    assert_eq!(wire.len(), 10);
}

#[test]
fn a_server_that_exceeds_the_receive_maximum_is_noticed() {
    let (mut client, mut server) = pair(Version::V5);
    let delivery = Delivery { topic: "t", qos: QoS::AtLeastOnce, packet_id: 1, ..Delivery::default() };
    let mut wire = Vec::new();
    server.publish(&delivery, &mut wire).expect("small");
    assert!(client.handle_input(&wire).is_ok());
    let over: Result<_, Violation> = client.handle_input(&wire);
    assert_eq!(over.map_err(|violation| violation.reason), Err(ReasonCode::ReceiveMaximumExceeded));
    client.puback(1, &mut Vec::new());
    assert!(client.handle_input(&wire).is_ok());
}

#[test]
fn a_client_pings_and_notices_a_dead_server() {
    let (mut client, server) = pair(Version::V3_1_1);
    let mut wire = Vec::new();
    assert_eq!(client.poll_timeout(), Some(9_000));
    assert_eq!(client.handle_timeout(8_999, &mut wire), Ok(()));
    assert_eq!(wire, []);
    assert_eq!(client.handle_timeout(9_000, &mut wire), Ok(()));
    assert_eq!(wire, b"\xc0\x00");
    wire.clear();
    server.pingresp(&mut wire);
    assert!(matches!(client.handle_input(&wire), Ok(Some((client::Event::Pingresp, 2)))));
    assert_eq!(client.handle_timeout(18_000, &mut wire), Ok(()));
    assert!(client.handle_timeout(27_000, &mut wire).is_err());
}

#[test]
fn a_client_keeps_to_the_order_of_packets() {
    let mut client = client::Connection::new(&Connect::new(Version::V5, ""), 0, &mut Vec::new());
    assert_eq!(client.handle_input(b"\xd0\x00").map_err(|v| v.clause), Err("MQTT-3.2.0-1"));
    assert!(matches!(client.handle_input(b"\x20\x03\x00\x87\x00"), Ok(Some((client::Event::Connack(_), 5)))));
    assert_eq!((client.state(), client.handle_input(b"\xd0\x00")), (State::Closed, Ok(None)));
    let (mut client, _) = pair(Version::V5);
    assert_eq!(client.handle_input(b"\x20\x03\x00\x00\x00").map_err(|v| v.clause), Err("MQTT-3.2.0-2"));
    assert_eq!(client.handle_input(b"\xc0\x00").map_err(|v| v.clause), Err("MQTT-5 2.1.2"));
    let expiry = b"\xe0\x07\x00\x05\x11\x00\x00\x00\x01";
    assert_eq!(client.handle_input(expiry).map_err(|v| v.clause), Err("MQTT-3.14.2-2"));
    let mut wire = Vec::new();
    client.leave(&mut wire);
    assert_eq!((wire.as_slice(), client.state()), (&b"\xe0\x00"[..], State::Closed));
}
