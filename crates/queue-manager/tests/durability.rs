//! Acknowledged means durable; crashes and restarts lose nothing and repeat nothing that they must not.

mod driver;

use driver::{Driver, message, retained};
use ferrymq_message::QoS;
use ferrymq_queue_manager::{Effect, Limits, Outcome, Settlement, Stage};

const Q1: QoS = QoS::AtLeastOnce;
const Q2: QoS = QoS::ExactlyOnce;

/// A persistent subscriber (connection 1, away if `away`) and a publisher with a persistent session (connection 9).
fn pair(away: bool, qos: QoS) -> Driver {
    let mut d = Driver::logged();
    d.resume(1, "subscriber");
    d.subscribe(1, "a", qos);
    d.resume(9, "publisher");
    if away {
        d.lose(1);
    }
    d.effects.clear();
    d
}

#[test]
fn neither_confirmation_nor_delivery_leaves_before_the_record_is_durable() {
    let mut d = pair(false, Q1);
    d.syncs = false;
    d.publish(9, "a", "x", Q1, 5);
    assert!(d.confirms().is_empty() && d.take_delivered().is_empty());
    d.sync();
    assert_eq!(d.confirms(), [(9, 5, Stage::Accepted, Outcome::Done)]);
    assert_eq!(d.bodies(), [(1, "x".into())]);
}

#[test]
fn a_later_confirmation_does_not_overtake_one_that_waits() {
    let mut d = pair(true, Q1);
    d.syncs = false;
    d.publish(9, "a", "kept", Q1, 1);
    d.publish(9, "nobody", "x", Q1, 2);
    assert!(d.confirms().is_empty());
    d.sync();
    let tags: Vec<_> = d.confirms().iter().map(|confirm| confirm.1).collect();
    assert_eq!(tags, [1, 2]);
}

#[test]
fn a_message_for_volatile_sessions_only_waits_for_nothing() {
    let mut d = Driver::logged();
    d.connect(1, "subscriber");
    d.subscribe(1, "a", Q1);
    d.syncs = false;
    d.publish(1, "a", "x", Q1, 1);
    assert_eq!(d.confirms().len(), 1);
    assert_eq!(d.bodies().len(), 1);
}

#[test]
fn a_crash_keeps_sessions_subscriptions_retained_and_queued_messages() {
    let mut d = pair(true, Q1);
    for n in 0..30 {
        d.publish(9, "a", &n.to_string(), Q1, n + 1);
    }
    d.publish_message(9, retained("r", "kept", QoS::AtMostOnce), 0);
    d.crash();
    d.resume(2, "subscriber");
    assert!(d.saw(|effect| matches!(effect, Effect::Connected { session_present: true, .. })));
    let mut got = Vec::new();
    loop {
        let delivered = d.take_delivered();
        if delivered.is_empty() {
            break;
        }
        for m in delivered {
            d.settle(2, m.tag, Settlement::Accepted);
            got.push(m.body);
        }
    }
    assert_eq!(got, (0..30).map(|n| n.to_string()).collect::<Vec<_>>());
    d.subscribe(2, "r", Q1);
    assert_eq!(d.bodies(), [(2, "kept".into())]);
}

#[test]
fn what_was_acknowledged_by_its_receiver_does_not_come_back() {
    let mut d = pair(false, Q1);
    d.publish(9, "a", "x", Q1, 1);
    d.publish(9, "a", "y", Q1, 2);
    let tag = d.take_delivered()[0].tag;
    d.settle(1, tag, Settlement::Accepted);
    d.crash();
    d.resume(2, "subscriber");
    let got = d.take_delivered();
    assert_eq!((got.len(), got[0].body.as_str(), got[0].redelivered), (1, "y", true));
}

#[test]
fn a_repetition_of_an_unreleased_message_is_confirmed_but_not_published_again_even_after_a_crash() {
    let mut d = pair(true, Q2);
    d.publish(9, "a", "x", Q2, 1);
    d.crash();
    d.resume(8, "publisher");
    d.publish(8, "a", "x", Q2, 1);
    assert_eq!(d.confirms().len(), 2);
    d.release(8, 1);
    d.publish(8, "a", "another", Q2, 1);
    d.resume(2, "subscriber");
    assert_eq!(d.bodies(), [(2, "x".into()), (2, "another".into())]);
}

#[test]
fn exactly_once_delivery_goes_on_where_a_crash_interrupted_it() {
    // The whole exchange, with a crash after every record: the receiver keeps its own state as a client does.
    let total = exchange(usize::MAX).1;
    for crash_after in 1..=total {
        let (received, _) = exchange(crash_after);
        assert_eq!(received, ["x", "y"], "crash after record {crash_after}");
    }
}

/// Publishes two messages and receives them, crashing once so many records are durable. What was received, in order,
/// and how many records were written.
fn exchange(crash_after: usize) -> (Vec<String>, usize) {
    let mut d = pair(false, Q2);
    let mut crashed = false;
    let mut receiver = Receiver::default();
    let mut connection = 1;
    for (body, tag) in [("x", 1), ("y", 2)] {
        d.publish(9, "a", body, Q2, tag);
        if d.confirms().is_empty() {
            panic!("no confirmation");
        }
    }
    loop {
        if !crashed && d.journal.records.len() >= crash_after {
            crashed = true;
            connection += 1;
            d.take_delivered();
            d.effects.clear();
            d.crash();
            d.resume(connection, "subscriber");
        }
        let busy = receiver.step(&mut d, connection);
        if !busy && (crashed || crash_after == usize::MAX || d.journal.records.len() < crash_after) {
            return (receiver.received, d.journal.records.len());
        }
    }
}

/// An exactly-once receiver: publishes once per tag until the tag is released.
#[derive(Default)]
struct Receiver {
    held: Vec<u16>,
    received: Vec<String>,
}

impl Receiver {
    /// Answers one thing at a time, so that a crash may come between any two. False if there was nothing.
    fn step(&mut self, d: &mut Driver, connection: u64) -> bool {
        if !d.delivered.is_empty() {
            let m = d.delivered.remove(0);
            if !self.held.contains(&m.tag) {
                self.held.push(m.tag);
                self.received.push(m.body);
            }
            d.settle(connection, m.tag, Settlement::Received);
            return true;
        }
        let at = d.effects.iter().position(|effect| matches!(effect, Effect::Release { .. }));
        let Some(Effect::Release { tag, .. }) = at.map(|at| d.effects.remove(at)) else { return false };
        self.held.retain(|held| *held != tag.0);
        d.settle(connection, tag.0, Settlement::Completed);
        true
    }
}

#[test]
fn roll_forward_keeps_everything_that_matters_and_nothing_else() {
    let mut d = pair(true, Q2);
    d.publish_message(9, retained("r/1", "old", Q1), 1);
    d.publish_message(9, retained("r/1", "new", Q1), 2);
    for n in 0..20 {
        d.publish(9, "a", &n.to_string(), Q2, n + 10);
    }
    d.resume(2, "subscriber");
    for m in d.take_delivered().iter().take(3) {
        d.settle(2, m.tag, Settlement::Received);
        if m.tag == 1 {
            d.settle(2, m.tag, Settlement::Completed);
        }
    }
    let before = d.journal.records.len();
    d.roll_forward(before);
    assert!(d.journal.records.len() < 2 * before);
    d.effects.clear();
    d.take_delivered();
    d.crash();
    d.resume(3, "subscriber");
    let released = d.effects.iter().filter(|effect| matches!(effect, Effect::Release { .. })).count();
    assert_eq!(released, 2, "those that were received and not completed");
    let got = d.take_delivered();
    assert_eq!(got.iter().map(|m| m.tag).collect::<Vec<_>>(), (4..=11).collect::<Vec<_>>());
    assert!(got[..7].iter().all(|m| m.redelivered));
    d.subscribe(3, "r/+", Q1);
    d.publish(3, "x", "y", QoS::AtMostOnce, 0);
    let retained: Vec<_> = d.take_delivered().into_iter().filter(|m| m.retain).map(|m| m.body).collect();
    assert!(retained.is_empty(), "the window of ten is full");
    d.resume(8, "publisher");
    d.effects.clear();
    d.publish(8, "a", "again", Q2, 15);
    assert_eq!(d.confirms(), [(8, 15, Stage::Received, Outcome::Done)]);
    assert_eq!(d.queue_manager.statistics().queued, 20, "19 unfinished, 1 retained, no repetition");
}

#[test]
fn beyond_the_memory_budget_bodies_are_read_back_from_the_log() {
    let limits = Limits { memory_budget: 2_000, ..Limits::default() };
    let mut d = Driver::new(limits, true);
    d.resume(1, "subscriber");
    d.subscribe(1, "a", Q1);
    d.lose(1);
    d.resume(9, "publisher");
    let body = "x".repeat(200);
    for n in 0..100u16 {
        d.publish(9, "a", &format!("{body}{n}"), Q1, n + 1);
    }
    assert!(d.queue_manager.statistics().resident_bytes < 2_500);
    d.resume(2, "subscriber");
    let mut count = 0;
    loop {
        let delivered = d.take_delivered();
        if delivered.is_empty() {
            break;
        }
        for m in delivered {
            assert_eq!(m.body, format!("{body}{count}"));
            count += 1;
            d.settle(2, m.tag, Settlement::Accepted);
        }
    }
    assert_eq!(count, 100);
    assert_eq!(d.queue_manager.statistics().resident_bytes, 0);
}

#[test]
fn a_session_that_expired_while_the_server_was_down_is_gone() {
    let mut d = Driver::logged();
    d.connect_with(1, "c", false, 60, None);
    d.lose(1);
    d.now = d.now.plus_seconds(61);
    d.crash();
    d.pass(0);
    d.connect_with(2, "c", false, 60, None);
    assert!(d.saw(|effect| matches!(effect, Effect::Connected { session_present: false, .. })));
}

#[test]
fn a_full_disk_refuses_what_would_have_to_be_kept_and_nothing_else() {
    let mut d = Driver::logged();
    d.resume(1, "persistent");
    d.subscribe(1, "kept", Q1);
    d.connect(2, "volatile");
    d.subscribe(2, "passing", Q1);
    d.connect(3, "publisher");
    d.queue_manager.set_storage_full(true);
    let records = d.journal.records.len();
    for (n, topic) in ["kept", "passing", "nobody"].into_iter().enumerate() {
        d.publish(3, topic, "x", Q1, n as u16 + 1);
    }
    d.publish_message(3, message("state", "x", Q1).with_descriptor(|m| m.retain = true), 4);
    let outcomes: Vec<_> = d.confirms().into_iter().map(|(_, _, _, outcome)| outcome).collect();
    assert_eq!(
        outcomes,
        [Outcome::StorageFull, Outcome::Done, Outcome::NoMatchingSubscribers, Outcome::StorageFull]
    );
    assert_eq!(d.journal.records.len(), records);
    d.queue_manager.set_storage_full(false);
    d.publish(3, "kept", "again", Q1, 5);
    assert_eq!(d.bodies(), [(2, "x".into()), (1, "again".into())]);
}
