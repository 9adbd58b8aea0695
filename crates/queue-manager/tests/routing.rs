//! Messages find their receivers: QoS, overlaps, retained messages, shared subscriptions, wills.

mod driver;

use driver::{Driver, message, request, retained};
use ferrymq_message::{QoS, Timestamp};
use ferrymq_queue_manager::{
    CloseReason, Effect, Limits, Outcome, RetainHandling, Settlement, Stage, SubscriptionRequest, Will,
};

const Q0: QoS = QoS::AtMostOnce;
const Q1: QoS = QoS::AtLeastOnce;
const Q2: QoS = QoS::ExactlyOnce;

#[test]
fn a_message_reaches_every_matching_subscriber_with_the_lower_qos() {
    let mut d = Driver::in_memory();
    for (connection, filter, qos) in [(1, "a/+", Q0), (2, "a/b", Q1), (3, "#", Q2), (4, "b", Q2)] {
        d.connect(connection, &format!("c{connection}"));
        d.subscribe(connection, filter, qos);
    }
    d.connect(9, "publisher");
    d.publish(9, "a/b", "x", Q1, 7);
    let got: Vec<_> = d.take_delivered().iter().map(|m| (m.to, m.qos)).collect();
    assert_eq!(got, [(1, Q0), (2, Q1), (3, Q1)]);
    assert_eq!(d.confirms(), [(9, 7, Stage::Accepted, Outcome::Done)]);
}

#[test]
fn a_publisher_learns_that_nobody_subscribes() {
    let mut d = Driver::logged();
    d.connect(1, "publisher");
    d.publish(1, "a", "x", Q1, 1);
    d.publish(1, "a", "x", Q2, 2);
    let none = Outcome::NoMatchingSubscribers;
    assert_eq!(d.confirms(), [(1, 1, Stage::Accepted, none), (1, 2, Stage::Received, none)]);
}

#[test]
fn overlapping_subscriptions_give_one_copy_with_the_highest_qos_and_all_identifiers() {
    let mut d = Driver::in_memory();
    d.connect(1, "c");
    d.subscribe_with(1, request("a/#", Q0), Some(5));
    d.subscribe_with(1, request("a/b", Q1), Some(6));
    d.subscribe_with(1, request("+/b", Q0), None);
    d.publish(1, "a/b", "x", Q2, 1);
    let got = d.take_delivered();
    assert_eq!(got.len(), 1);
    assert_eq!(got[0].qos, Q1);
    let mut identifiers = got[0].identifiers.clone();
    identifiers.sort_unstable();
    assert_eq!(identifiers, [5, 6]);
}

#[test]
fn no_local_keeps_a_clients_own_messages_from_it() {
    let mut d = Driver::in_memory();
    d.connect(1, "c");
    d.connect(2, "other");
    d.subscribe_with(1, SubscriptionRequest { no_local: true, ..request("a", Q0) }, None);
    d.publish(1, "a", "own", Q0, 0);
    d.publish(2, "a", "other", Q0, 0);
    assert_eq!(d.bodies(), [(1, "other".into())]);
}

#[test]
fn a_retained_message_meets_new_subscribers_until_it_is_cleared() {
    let mut d = Driver::logged();
    d.connect(1, "c");
    d.publish_message(1, retained("a/b", "first", Q0), 0);
    d.publish_message(1, retained("a/b", "second", Q1), 1);
    d.subscribe(1, "a/+", Q1);
    let got = d.take_delivered();
    assert_eq!((got.len(), got[0].body.as_str(), got[0].retain, got[0].qos), (1, "second", true, Q1));
    d.publish_message(1, retained("a/b", "", Q0), 0);
    assert_eq!(d.take_delivered().len(), 1, "the clearing message itself is delivered as a normal one");
    d.subscribe(1, "a/+", Q1);
    assert!(d.take_delivered().is_empty());
}

#[test]
fn retain_handling_is_obeyed() {
    let mut d = Driver::in_memory();
    d.connect(1, "c");
    d.publish_message(1, retained("a", "x", Q0), 0);
    let with = |handling| SubscriptionRequest { retain_handling: handling, ..request("a", Q0) };
    d.subscribe_with(1, with(RetainHandling::DoNotSend), None);
    assert_eq!(d.take_delivered().len(), 0);
    d.subscribe_with(1, with(RetainHandling::SendIfNew), None);
    assert_eq!(d.take_delivered().len(), 0, "the subscription existed");
    d.subscribe_with(1, with(RetainHandling::Send), None);
    assert_eq!(d.take_delivered().len(), 1);
}

#[test]
fn the_retain_flag_is_kept_only_for_those_who_asked() {
    let mut d = Driver::in_memory();
    d.connect(1, "c1");
    d.connect(2, "c2");
    d.subscribe(1, "a", Q0);
    d.subscribe_with(2, SubscriptionRequest { retain_as_published: true, ..request("a", Q0) }, None);
    d.publish_message(1, retained("a", "x", Q0), 0);
    let got: Vec<_> = d.take_delivered().iter().map(|m| (m.to, m.retain)).collect();
    assert_eq!(got, [(1, false), (2, true)]);
}

#[test]
fn members_of_a_group_take_turns() {
    let mut d = Driver::in_memory();
    for connection in 1..=3 {
        d.connect(connection, &format!("c{connection}"));
        d.subscribe(connection, "$share/g/a", Q1);
    }
    d.connect(9, "publisher");
    for n in 0..12 {
        d.publish(9, "a", &n.to_string(), Q1, n + 1);
    }
    let got = d.bodies();
    assert_eq!(got.len(), 12);
    for connection in 1..=3 {
        assert_eq!(got.iter().filter(|(to, _)| *to == connection).count(), 4);
    }
}

#[test]
fn when_a_member_leaves_for_good_its_unacknowledged_messages_go_to_another() {
    let mut d = Driver::logged();
    d.connect(1, "c1");
    d.subscribe(1, "$share/g/a", Q1);
    d.connect(9, "publisher");
    for n in 0..20 {
        d.publish(9, "a", &n.to_string(), Q1, n + 1);
    }
    assert_eq!(d.take_delivered().len(), 10, "its receive maximum");
    d.connect(2, "c2");
    d.subscribe(2, "$share/g/a", Q1);
    d.lose(1);
    let mut got = 0;
    loop {
        let delivered = d.take_delivered();
        if delivered.is_empty() {
            break;
        }
        got += delivered.len();
        delivered.iter().for_each(|m| d.settle(m.to, m.tag, Settlement::Accepted));
    }
    assert_eq!(got, 20);
}

#[test]
fn a_persistent_member_that_is_away_hands_its_queue_to_one_that_is_there() {
    let mut d = Driver::logged();
    d.resume(1, "c1");
    d.subscribe(1, "$share/g/a", Q1);
    d.connect(9, "publisher");
    for n in 0..15 {
        d.publish(9, "a", &n.to_string(), Q1, n + 1);
    }
    d.take_delivered();
    d.resume(2, "c2");
    d.subscribe(2, "$share/g/a", Q1);
    d.lose(1);
    assert_eq!(d.bodies(), (10..15).map(|n| (2, n.to_string())).collect::<Vec<_>>());
    d.resume(3, "c1");
    assert_eq!(d.take_delivered().len(), 10, "what was in flight stays with the member that was sent it");
}

fn will(delay_s: u32) -> Will {
    Will { message: message("will", "gone", Q0), delay_s, message_expiry_s: None }
}

#[test]
fn a_will_is_published_when_the_connection_is_lost_but_not_when_the_client_leaves() {
    let mut d = Driver::in_memory();
    d.connect(1, "watcher");
    d.subscribe(1, "will", Q0);
    d.connect_with(2, "c", true, 0, Some(will(0)));
    d.lose(2);
    assert_eq!(d.bodies(), [(1, "gone".into())]);
    d.connect_with(3, "c", true, 0, Some(will(0)));
    d.disconnect(3);
    assert!(d.bodies().is_empty());
}

#[test]
fn a_delayed_will_waits_and_is_cancelled_by_the_clients_return() {
    let mut d = Driver::in_memory();
    d.connect(1, "watcher");
    d.subscribe(1, "will", Q0);
    d.connect_with(2, "c", false, 100, Some(will(10)));
    d.lose(2);
    d.pass(9);
    assert!(d.bodies().is_empty());
    d.connect_with(3, "c", false, 100, Some(will(10)));
    d.pass(5);
    assert!(d.bodies().is_empty(), "cancelled");
    d.lose(3);
    d.pass(10);
    assert_eq!(d.bodies(), [(1, "gone".into())]);
    d.pass(100);
    assert!(d.bodies().is_empty(), "once only");
}

#[test]
fn the_end_of_the_session_publishes_a_will_that_is_still_delayed() {
    let mut d = Driver::in_memory();
    d.connect(1, "watcher");
    d.subscribe(1, "will", Q0);
    d.connect_with(2, "c", false, 5, Some(will(60)));
    d.lose(2);
    d.pass(5);
    assert_eq!(d.bodies(), [(1, "gone".into())]);
    assert_eq!(d.queue_manager.statistics().sessions, 1);
}

#[test]
fn a_second_connection_of_a_client_takes_over() {
    let mut d = Driver::logged();
    d.resume(1, "c");
    d.subscribe(1, "a", Q1);
    d.resume(2, "c");
    assert!(d.saw(|effect| matches!(effect, Effect::Close { connection, reason: CloseReason::TakenOver } if connection.0 == 1)));
    d.publish(2, "a", "x", Q1, 1);
    assert_eq!(d.bodies(), [(2, "x".into())]);
}

#[test]
fn an_expired_message_is_not_delivered() {
    let mut d = Driver::logged();
    d.resume(1, "c");
    d.subscribe(1, "a", Q1);
    d.lose(1);
    d.connect(2, "publisher");
    let expires = Timestamp(d.now.0 + 5_000);
    d.publish_message(2, message("a", "old", Q1).with_descriptor(|m| m.expires = expires), 1);
    d.publish(2, "a", "fresh", Q1, 2);
    d.pass(5);
    d.resume(3, "c");
    assert_eq!(d.bodies(), [(3, "fresh".into())]);
    assert_eq!(d.queue_manager.statistics().expired, 1);
}

#[test]
fn a_full_persistent_queue_refuses_the_publisher_and_a_volatile_one_discards() {
    let limits = Limits { queue_depth: 2, volatile_queue_depth: 2, ..Limits::default() };
    let mut d = Driver::new(limits, true);
    d.resume(1, "persistent");
    d.subscribe(1, "p", Q1);
    d.lose(1);
    d.connect(2, "publisher");
    for n in 0..3 {
        d.publish(2, "p", &n.to_string(), Q1, n + 1);
    }
    let outcomes: Vec<_> = d.confirms().into_iter().map(|(_, _, _, outcome)| outcome).collect();
    assert_eq!(outcomes, [Outcome::Done, Outcome::Done, Outcome::QueueFull]);
    d.connect(3, "volatile");
    d.subscribe(3, "v", Q1);
    for n in 0..15 {
        d.publish(2, "v", &n.to_string(), Q1, n + 1);
    }
    assert_eq!(d.queue_manager.statistics().discarded_queue_full, 3);
}

#[test]
fn all_figures_return_to_zero_when_everything_is_consumed() {
    let mut d = Driver::logged();
    for (connection, client) in [(1, "c1"), (2, "c2")] {
        d.resume(connection, client);
        d.subscribe(connection, "a", Q2);
        d.subscribe(connection, "$share/g/a", Q1);
    }
    d.connect(9, "publisher");
    let with_both = d.queue_manager.statistics().live_log_bytes;
    for n in 0..50 {
        d.publish(9, "a", "x", if n % 2 == 0 { Q1 } else { Q2 }, n + 1);
    }
    d.connect_with(3, "c1", true, 0, None);
    loop {
        let delivered = d.take_delivered();
        if delivered.is_empty() {
            break;
        }
        for m in delivered.iter().filter(|m| m.to == 2) {
            let settlement = if m.qos == Q2 { Settlement::Received } else { Settlement::Accepted };
            d.settle(2, m.tag, settlement);
            if m.qos == Q2 {
                d.settle(2, m.tag, Settlement::Completed);
            }
        }
    }
    let figures = d.queue_manager.statistics();
    assert_eq!((figures.queued, figures.resident_bytes), (0, 0));
    assert_eq!(figures.live_log_bytes, with_both / 2, "one of two sessions with their subscriptions is left");
}

#[test]
fn a_shared_message_that_has_expired_goes_to_nobody_when_its_member_leaves() {
    let mut d = Driver::in_memory();
    d.resume(1, "away");
    d.subscribe(1, "$share/g/a", Q1);
    d.lose(1);
    d.connect(9, "publisher");
    let expires = d.now.plus_seconds(5);
    d.publish_message(9, message("a", "x", Q1).with_descriptor(|m| m.expires = expires), 1);
    d.pass(6);
    d.connect(2, "member");
    d.subscribe(2, "$share/g/a", Q1);
    d.connect(3, "away");
    assert!(d.take_delivered().is_empty());
    assert_eq!(d.queue_manager.statistics().expired, 1);
}

#[test]
fn without_memory_left_a_volatile_queue_of_many_bytes_discards_and_a_short_one_does_not() {
    let limits = Limits { memory_budget: 100_000, inflight_bytes: 2_000, ..Limits::default() };
    let mut d = Driver::new(limits, true);
    for (connection, client) in [(1, "deaf"), (2, "slow")] {
        d.connect(connection, client);
        d.subscribe(connection, client, Q1);
    }
    d.connect(9, "publisher");
    let body = "x".repeat(1_000);
    for n in 0..300 {
        d.publish(9, "deaf", &body, Q1, n + 1);
        let figures = d.queue_manager.statistics();
        assert!(figures.resident_bytes < 110_000, "{figures:?}");
    }
    assert!(d.queue_manager.statistics().discarded_queue_full > 150);
    let discarded = d.queue_manager.statistics().discarded_queue_full;
    for n in 0..5 {
        d.publish(9, "slow", &n.to_string(), Q1, 1_000 + n);
    }
    assert_eq!(d.queue_manager.statistics().discarded_queue_full, discarded);
}

#[test]
fn a_group_passes_over_members_that_cannot_keep_the_message() {
    let mut d = Driver::new(Limits { queue_depth: 1, ..Limits::default() }, true);
    for (connection, client, qos) in [(1, "full", Q1), (2, "at most once", Q0), (3, "room", Q1)] {
        d.resume(connection, client);
        d.subscribe(connection, "$share/g/a", qos);
        d.subscribe(connection, client, qos);
        d.lose(connection);
    }
    d.connect(9, "publisher");
    d.publish(9, "full", "x", Q1, 1);
    d.publish(9, "a", "for the one with room", Q1, 2);
    d.resume(4, "room");
    assert_eq!(d.bodies(), [(4, "for the one with room".into())]);
}
