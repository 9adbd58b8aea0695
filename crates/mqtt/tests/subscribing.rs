//! SUBSCRIBE and UNSUBSCRIBE.

mod in_memory;

use ferrymq_engine::Limits;
use ferrymq_mqtt::MqttSettings;
use ferrymq_mqtt_proto::{Packet, Publish, QoS, Subscription, UserProperties, Version, encode_unsubscribe};
use in_memory::{Broker, Client};

const FILTERS: [Subscription<'static>; 3] = [
    Subscription::new("a", QoS::ExactlyOnce),
    Subscription::new("#/b", QoS::AtMostOnce),
    Subscription::new("c", QoS::AtLeastOnce),
];

fn unsubscribe(broker: &mut Broker, client: Client, filters: &[&'static str]) {
    let mut packet = Vec::new();
    encode_unsubscribe(11, UserProperties::NONE, filters.iter().copied(), client.version, &mut packet);
    broker.send_bytes(client, &packet);
}

/// The reasons at the end of a SUBACK or UNSUBACK.
fn reasons(broker: &mut Broker, client: Client, count: usize) -> Vec<u8> {
    let got = broker.take(client);
    got[got.len() - count..].to_vec()
}

#[test]
fn each_filter_is_answered_for_itself() {
    let mut broker = Broker::new();
    let (five, three) = (broker.client(Version::V5, "five"), broker.client(Version::V3_1_1, "three"));
    broker.subscribe(five, &FILTERS);
    assert_eq!(reasons(&mut broker, five, 3), [2, 0x8F, 1]);
    broker.subscribe(three, &FILTERS);
    assert_eq!(broker.take(three), [0x90, 5, 0, 10, 2, 0x80, 1]);
}

#[test]
fn a_subscription_too_many_is_refused() {
    let limits = Limits { subscriptions_per_session: 1, ..Limits::default() };
    let mut broker = Broker::within(MqttSettings::default(), limits);
    let client = broker.client(Version::V5, "c");
    broker.subscribe(client, &[FILTERS[0], FILTERS[2]]);
    assert_eq!(reasons(&mut broker, client, 2), [2, 0x97]);
}

#[test]
fn an_unsubscription_says_what_was_there() {
    let mut broker = Broker::new();
    for version in [Version::V5, Version::V3_1_1] {
        let client = broker.subscriber(version, "c", "a", QoS::AtMostOnce);
        unsubscribe(&mut broker, client, &["a", "b"]);
        match version.is_5() {
            true => assert_eq!(broker.take(client), [0xB0, 5, 0, 11, 0, 0, 0x11]),
            false => assert_eq!(broker.take(client), [0xB0, 2, 0, 11]),
        }
        let publish = Publish { topic: "a", payload: b"m", ..Publish::default() };
        broker.send(client, &Packet::Publish(publish));
        assert_eq!(broker.take(client), []);
    }
}

#[test]
fn no_local_and_retain_as_published_hold_as_asked() {
    let mut broker = Broker::new();
    let client = broker.client(Version::V5, "c");
    let plain = Subscription::new("t", QoS::AtMostOnce);
    broker.subscribe(client, &[Subscription { no_local: true, retain_as_published: true, ..plain }]);
    broker.take(client);
    let other = broker.subscriber(Version::V5, "other", "t", QoS::AtMostOnce);
    let sent = Publish { topic: "t", payload: b"m", retain: true, ..Publish::default() };
    broker.send(client, &Packet::Publish(sent));
    broker.expect(client, &[]);
    broker.expect(other, &[Packet::Publish(Publish { retain: false, ..sent })]);
    broker.send(other, &Packet::Publish(sent));
    broker.expect(client, &[Packet::Publish(sent)]);
}

#[test]
fn members_of_a_group_share_its_messages() {
    let mut broker = Broker::new();
    let members: Vec<Client> = [Version::V3_1_1, Version::V5, Version::V5]
        .into_iter()
        .enumerate()
        .map(|(n, version)| broker.subscriber(version, &format!("m{n}"), "$share/g/t", QoS::AtMostOnce))
        .collect();
    let publisher = broker.client(Version::V5, "p");
    for _ in 0..12 {
        broker.send(publisher, &Packet::Publish(Publish { topic: "t", ..Publish::default() }));
    }
    let counts: Vec<usize> = members
        .into_iter()
        .map(|member| broker.take(member).len() / if member.version.is_5() { 6 } else { 5 })
        .collect();
    assert_eq!(counts, [4, 4, 4]);
}
