//! Messages to clients.

mod in_memory;

use ferrymq_mqtt::MqttSettings;
use ferrymq_mqtt_proto::{
    Ack, Connect, Packet, Properties, Property, Publish, QoS, ReasonCode, RetainHandling, Subscription,
    Version,
};
use in_memory::{Broker, Client};

fn raw(properties: &[Property<'_>]) -> Vec<u8> {
    let mut raw = Vec::new();
    properties.iter().for_each(|property| property.encode(&mut raw));
    raw
}

fn message<'a>(topic: &'a str, payload: &'a [u8], qos: QoS) -> Publish<'a> {
    let packet_id = if qos == QoS::AtMostOnce { 0 } else { 1 };
    Publish { topic, payload, qos, packet_id, ..Publish::default() }
}

/// What all kinds of receivers got of one message, the packet identifiers being those of their first delivery.
fn expect_everywhere(broker: &mut Broker, receivers: &[(Client, QoS)], sent: Publish<'_>, passed_on: &[u8]) {
    for (client, qos) in receivers {
        let expected = Publish {
            properties: Properties::from_raw(passed_on),
            packet_id: u16::from(*qos != QoS::AtMostOnce),
            qos: *qos,
            ..sent
        };
        broker.expect(*client, &[Packet::Publish(expected)]);
    }
}

#[test]
fn one_message_reaches_receivers_of_every_version_and_qos_each_in_its_form() {
    for from in [Version::V3_1_1, Version::V5] {
        let mut broker = Broker::new();
        let mut receivers = Vec::new();
        for (round, version) in
            [Version::V3_1, Version::V3_1_1, Version::V5].repeat(2).into_iter().enumerate()
        {
            for qos in [QoS::AtMostOnce, QoS::AtLeastOnce, QoS::ExactlyOnce] {
                let name = format!("{version:?}{qos:?}{round}");
                receivers.push((broker.subscriber(version, &name, "topic/#", qos), qos));
            }
        }
        let publisher = broker.client(from, "publisher");
        let kept = [
            Property::PayloadFormatIndicator(true),
            Property::ContentType("text"),
            Property::ResponseTopic("answers"),
            Property::CorrelationData(b"7"),
            Property::UserProperty("b", "1"),
            Property::UserProperty("a", "2"),
        ];
        let list = if from.is_5() { raw(&kept) } else { Vec::new() };
        let sent = message("topic/x", b"payload", QoS::ExactlyOnce);
        let properties = Properties::from_raw(&list);
        broker.send(publisher, &Packet::Publish(Publish { properties, ..sent }));
        expect_everywhere(&mut broker, &receivers, sent, &list);
    }
}

#[test]
fn what_is_the_servers_own_is_not_passed_on() {
    let mut broker = Broker::new();
    let receiver = broker.subscriber(Version::V5, "r", "topic/x", QoS::AtMostOnce);
    let publisher = broker.client(Version::V5, "p");
    let list = raw(&[Property::TopicAlias(1), Property::UserProperty("k", "v")]);
    let sent = message("topic/x", b"m", QoS::AtMostOnce);
    broker.send(publisher, &Packet::Publish(Publish { properties: Properties::from_raw(&list), ..sent }));
    let kept = raw(&[Property::UserProperty("k", "v")]);
    broker.expect(receiver, &[Packet::Publish(Publish { properties: Properties::from_raw(&kept), ..sent })]);
}

#[test]
fn messages_of_one_turn_do_not_mix() {
    let mut broker = Broker::new();
    let receivers: Vec<Client> =
        (0..3).map(|n| broker.subscriber(Version::V3_1_1, &format!("r{n}"), "t", QoS::AtLeastOnce)).collect();
    let publisher = broker.client(Version::V3_1_1, "p");
    let (one, two) = (message("t", b"one", QoS::AtLeastOnce), message("t", b"two!", QoS::AtMostOnce));
    let mut bytes = in_memory::encoded(&Packet::Publish(one), Version::V3_1_1);
    bytes.extend(in_memory::encoded(&Packet::Publish(two), Version::V3_1_1));
    broker.send_bytes(publisher, &bytes);
    for receiver in receivers {
        broker.expect(receiver, &[Packet::Publish(one), Packet::Publish(two)]);
    }
}

#[test]
fn what_is_left_of_a_messages_life_is_sent_with_it() {
    let mut broker = Broker::new();
    let connect = Connect { session_expiry_s: 100, clean_start: false, ..Connect::new(Version::V5, "r") };
    let receiver = broker.connect(&connect);
    broker.subscribe(receiver, &[Subscription::new("t", QoS::AtLeastOnce)]);
    broker.lose(receiver);
    let publisher = broker.client(Version::V5, "p");
    let sent = message("t", b"m", QoS::AtLeastOnce);
    for expiry_s in [10, 4] {
        let list = raw(&[Property::MessageExpiryInterval(expiry_s)]);
        broker.send(publisher, &Packet::Publish(Publish { properties: Properties::from_raw(&list), ..sent }));
    }
    broker.pass_ms(4_500);
    let receiver = broker.connect_again(&connect);
    let left = raw(&[Property::MessageExpiryInterval(6)]);
    broker.expect(receiver, &[Packet::Publish(Publish { properties: Properties::from_raw(&left), ..sent })]);
}

#[test]
fn long_topics_are_named_once_to_clients_that_take_aliases() {
    let mut broker = Broker::new();
    let receiver = broker.connect(&Connect { topic_alias_maximum: 1, ..Connect::new(Version::V5, "r") });
    broker.subscribe(receiver, &[Subscription::new("#", QoS::AtMostOnce)]);
    broker.take(receiver);
    let publisher = broker.client(Version::V3_1_1, "p");
    let alias = raw(&[Property::TopicAlias(1)]);
    let properties = Properties::from_raw(&alias);
    let sent = message("long/topic", b"m", QoS::AtMostOnce);
    for expected in [Publish { properties, ..sent }, Publish { properties, topic: "", ..sent }] {
        broker.send(publisher, &Packet::Publish(sent));
        broker.expect(receiver, &[Packet::Publish(expected)]);
    }
    let other = message("another/topic", b"m", QoS::AtMostOnce);
    broker.send(publisher, &Packet::Publish(other));
    broker.expect(receiver, &[Packet::Publish(other)]);
}

#[test]
fn a_packet_larger_than_its_receiver_takes_is_passed_over() {
    let mut broker = Broker::new();
    let connect =
        Connect { maximum_packet_size: Some(30), receive_maximum: 1, ..Connect::new(Version::V5, "r") };
    let receiver = broker.accept(Version::V5);
    broker.send(receiver, &Packet::Connect(connect));
    broker.subscribe(receiver, &[Subscription::new("t", QoS::AtLeastOnce)]);
    broker.take(receiver);
    let publisher = broker.client(Version::V5, "p");
    broker.send(publisher, &Packet::Publish(message("t", &[0; 30], QoS::AtLeastOnce)));
    broker.expect(publisher, &[Packet::Puback(Ack::success(1))]);
    broker.expect(receiver, &[]);
    // It counts as delivered: with a receive maximum of 1 nothing else would come.
    broker.send(publisher, &Packet::Publish(message("t", b"m", QoS::AtLeastOnce)));
    assert_eq!(broker.take(receiver)[..4], [0x32, 7, 0, 1]);
    assert_eq!(broker.service.statistics().dropped_too_large, 1);
}

#[test]
fn a_slow_receiver_misses_qos_0_and_gets_the_rest_when_it_has_caught_up() {
    let settings = MqttSettings { qos0_buffer_bytes: 1_000, ..MqttSettings::default() };
    let mut broker = Broker::with(settings);
    let slow = broker.subscriber(Version::V3_1_1, "slow", "t", QoS::AtLeastOnce);
    let quick = broker.subscriber(Version::V3_1_1, "quick", "t", QoS::AtLeastOnce);
    let publisher = broker.client(Version::V3_1_1, "p");
    let (once, surely) = (message("t", b"m", QoS::AtMostOnce), message("t", b"m", QoS::AtLeastOnce));
    broker.line(slow).backlog = 1_001;
    broker.send(publisher, &Packet::Publish(once));
    broker.send(publisher, &Packet::Publish(surely));
    broker.expect(slow, &[]);
    broker.expect(quick, &[Packet::Publish(once), Packet::Publish(surely)]);
    assert!(broker.service.has_clogged());
    broker.line(slow).backlog = 0;
    broker.settle();
    broker.expect(slow, &[Packet::Publish(surely)]);
    assert!(!broker.service.has_clogged());
    broker.line(slow).backlog = 1_000;
    broker.send(publisher, &Packet::Publish(once));
    broker.expect(slow, &[Packet::Publish(once)]);
    assert_eq!(broker.service.statistics().dropped_qos0, 1);
}

#[test]
fn a_burst_of_one_turn_makes_no_receiver_slow_unless_it_is_huge() {
    let settings = MqttSettings { qos0_buffer_bytes: 1_000, ..MqttSettings::default() };
    for (count, arriving) in [(40, 40), (400, 161)] {
        let mut broker = Broker::with(settings.clone());
        let receiver = broker.subscriber(Version::V3_1_1, "r", "t", QoS::AtMostOnce);
        let publisher = broker.client(Version::V3_1_1, "p");
        let publish =
            in_memory::encoded(&Packet::Publish(message("t", &[0; 95], QoS::AtMostOnce)), Version::V3_1_1);
        assert_eq!(publish.len(), 100);
        broker.read(publisher, &publish.repeat(count));
        broker.settle();
        assert_eq!(broker.take(receiver).len(), 100 * arriving);
        assert_eq!(broker.service.statistics().dropped_qos0, (count - arriving) as u64);
    }
}

#[test]
fn a_turn_takes_in_no_more_than_it_can_do_soon() {
    let mut broker = Broker::new();
    let publisher = broker.client(Version::V3_1_1, "p");
    let publish =
        in_memory::encoded(&Packet::Publish(message("t", &[0; 1 << 19], QoS::AtMostOnce)), Version::V3_1_1);
    broker.read(publisher, &publish);
    assert!(broker.service.may_read());
    broker.read(publisher, &publish);
    assert!(!broker.service.may_read());
    broker.settle();
    assert!(broker.service.may_read());
}

#[test]
fn a_large_body_is_shared_not_copied() {
    let mut broker = Broker::new();
    let three = broker.subscriber(Version::V3_1_1, "three", "t", QoS::AtLeastOnce);
    let five = broker.subscriber(Version::V5, "five", "t", QoS::AtMostOnce);
    let publisher = broker.client(Version::V5, "p");
    let body: Vec<u8> = (0..20_000).map(|n| n as u8).collect();
    broker.send(publisher, &Packet::Publish(message("t", &body, QoS::AtLeastOnce)));
    broker.expect(three, &[Packet::Publish(message("t", &body, QoS::AtLeastOnce))]);
    broker.expect(five, &[Packet::Publish(message("t", &body, QoS::AtMostOnce))]);
    assert_eq!((broker.line(three).shared, broker.line(five).shared), (20_000, 20_000));
}

#[test]
fn qos_2_goes_out_step_by_step() {
    let mut broker = Broker::new();
    let receiver = broker.subscriber(Version::V5, "r", "t", QoS::ExactlyOnce);
    let publisher = broker.client(Version::V5, "p");
    let sent = message("t", b"m", QoS::ExactlyOnce);
    broker.send(publisher, &Packet::Publish(sent));
    broker.expect(receiver, &[Packet::Publish(sent)]);
    broker.send(receiver, &Packet::Pubrec(Ack::success(1)));
    broker.expect(receiver, &[Packet::Pubrel(Ack::success(1))]);
    broker.send(receiver, &Packet::Pubcomp(Ack::success(1)));
    broker.expect(receiver, &[]);
    broker.send(receiver, &Packet::Pubrec(Ack::success(1)));
    let unknown = Ack { reason: ReasonCode::PacketIdentifierNotFound, ..Ack::success(1) };
    broker.expect(receiver, &[Packet::Pubrel(unknown)]);
}

#[test]
fn the_window_of_a_client_is_kept_and_moves_on_with_acknowledgements() {
    let settings = MqttSettings { inflight_mqtt3: 2, inflight_mqtt5: 2, ..MqttSettings::default() };
    for version in [Version::V3_1_1, Version::V5] {
        let mut broker = Broker::with(settings.clone());
        let receiver = broker.subscriber(version, "r", "t", QoS::AtLeastOnce);
        let publisher = broker.client(version, "p");
        let with_id = |packet_id| Publish { packet_id, ..message("t", b"m", QoS::AtLeastOnce) };
        (1..=4).for_each(|id| broker.send(publisher, &Packet::Publish(with_id(id))));
        broker.expect(receiver, &[Packet::Publish(with_id(1)), Packet::Publish(with_id(2))]);
        let refused = Ack { reason: ReasonCode::UnspecifiedError, ..Ack::success(1) };
        broker.send(receiver, &Packet::Puback(refused));
        broker.expect(receiver, &[Packet::Publish(with_id(3))]);
    }
}

#[test]
fn an_unacknowledged_message_comes_again_marked_as_duplicate() {
    let mut broker = Broker::new();
    let connect =
        Connect { clean_start: false, session_expiry_s: u32::MAX, ..Connect::new(Version::V3_1_1, "r") };
    let receiver = broker.connect(&connect);
    broker.subscribe(receiver, &[Subscription::new("t", QoS::AtLeastOnce)]);
    broker.take(receiver);
    let publisher = broker.client(Version::V3_1_1, "p");
    let sent = message("t", b"m", QoS::AtLeastOnce);
    broker.send(publisher, &Packet::Publish(sent));
    broker.expect(receiver, &[Packet::Publish(sent)]);
    broker.lose(receiver);
    let receiver = broker.connect_again(&connect);
    broker.expect(receiver, &[Packet::Publish(Publish { dup: true, ..sent })]);
}

#[test]
fn subscription_identifiers_come_with_the_messages() {
    let mut broker = Broker::new();
    let receiver = broker.client(Version::V5, "r");
    broker.subscribe_as(receiver, Some(5), &[Subscription::new("t", QoS::AtMostOnce)]);
    broker.subscribe_as(receiver, Some(200), &[Subscription::new("+", QoS::AtMostOnce)]);
    broker.take(receiver);
    let plain = broker.subscriber(Version::V5, "plain", "t", QoS::AtMostOnce);
    let publisher = broker.client(Version::V5, "p");
    let sent = message("t", b"m", QoS::AtMostOnce);
    broker.send(publisher, &Packet::Publish(sent));
    broker.expect(plain, &[Packet::Publish(sent)]);
    let got = broker.take(receiver);
    let Ok(Some((Packet::Publish(got), _))) = ferrymq_mqtt_proto::decode(&got, Version::V5, 100) else {
        panic!("no PUBLISH: {got:02X?}")
    };
    let mut identifiers: Vec<_> = got
        .properties
        .iter()
        .map(|property| match property {
            Property::SubscriptionIdentifier(id) => id,
            other => panic!("{other:?}"),
        })
        .collect();
    identifiers.sort_unstable();
    assert_eq!(identifiers, [5, 200]);
}

#[test]
fn retained_messages_answer_a_subscription_as_it_asks() {
    let mut broker = Broker::new();
    let publisher = broker.client(Version::V5, "p");
    let sent = Publish { retain: true, ..message("t", b"m", QoS::AtMostOnce) };
    broker.send(publisher, &Packet::Publish(sent));
    let receiver = broker.client(Version::V5, "r");
    let plain = Subscription::new("t", QoS::AtMostOnce);
    let suback = [0x90, 4, 0, 10, 0, 0];
    let retained = in_memory::encoded(&Packet::Publish(sent), Version::V5);
    for (handling, comes) in
        [(RetainHandling::DoNotSend, false), (RetainHandling::SendIfNew, false), (RetainHandling::Send, true)]
    {
        broker.subscribe(receiver, &[Subscription { retain_handling: handling, ..plain }]);
        let expected = [&suback[..], if comes { &retained } else { &[] }].concat();
        assert_eq!(broker.take(receiver), expected, "{handling:?}");
    }
}
