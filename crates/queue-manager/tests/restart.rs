//! What a restart makes of the records, beyond losing nothing: figures, timers, marks, tags.

mod driver;

use driver::{Driver, retained};
use ferrymq_message::QoS;
use ferrymq_queue_manager::{Command, ConnectionId, Disconnect, Effect, Limits, Outcome, Settlement, Stage};

const Q1: QoS = QoS::AtLeastOnce;
const Q2: QoS = QoS::ExactlyOnce;

/// A persistent subscriber of `a` (connection 1) and a persistent publisher (connection 9).
fn pair(qos: QoS) -> Driver {
    let mut d = Driver::logged();
    d.resume(1, "subscriber");
    d.subscribe(1, "a", qos);
    d.resume(9, "publisher");
    d.effects.clear();
    d
}

#[test]
fn memory_of_consumed_messages_does_not_count_after_a_restart() {
    let mut d = pair(Q1);
    for n in 1..=5 {
        d.publish(9, "a", "x", Q1, n);
    }
    d.take_delivered().iter().for_each(|m| d.settle(1, m.tag, Settlement::Accepted));
    d.publish(9, "a", "ended with its session", Q1, 6);
    d.connect(2, "subscriber");
    d.crash();
    assert_eq!(d.queue_manager.statistics().resident_bytes, 0);
}

#[test]
fn roll_forward_keeps_the_tag_of_a_message_that_cleared_a_retained_one() {
    let mut d = pair(Q1);
    d.publish_message(9, retained("r", "kept", Q1), 1);
    d.publish_message(9, retained("r", "", Q2), 2);
    d.confirms();
    let records = d.journal.records.len();
    d.roll_forward(records);
    d.crash();
    d.resume(8, "publisher");
    d.release(8, 2);
    assert_eq!(d.confirms(), [(8, 2, Stage::Completed, Outcome::Done)]);
}

#[test]
fn a_delivery_whose_body_is_in_the_log_only_is_sent_again_after_a_restart() {
    let mut d = pair(Q2);
    d.lose(1);
    for n in 1..=4 {
        d.publish(9, "a", &n.to_string(), Q2, n);
    }
    d.resume(2, "subscriber");
    assert_eq!(d.take_delivered().len(), 4);
    d.limits = Limits { memory_budget: 1, ..Limits::default() };
    d.crash();
    d.resume(3, "subscriber");
    let bodies: Vec<_> = d.take_delivered().into_iter().map(|m| m.body).collect();
    assert_eq!(bodies, ["1", "2", "3", "4"]);
}

#[test]
fn a_client_is_not_told_of_a_new_session_before_the_end_of_the_old_one_is_durable() {
    let mut d = pair(Q1);
    d.lose(1);
    d.effects.clear();
    d.syncs = false;
    d.connect(2, "subscriber");
    let durable = d.journal.records.len() - 1;
    d.sync_to(durable as u64);
    assert!(
        !d.saw(|effect| matches!(effect, Effect::Connected { .. })),
        "a crash now brings the old one back"
    );
    d.sync();
    assert!(d.saw(|effect| matches!(effect, Effect::Connected { session_present: false, .. })));
}

#[test]
fn a_session_that_expired_while_the_server_was_down_is_not_resumed_by_its_client() {
    let mut d = Driver::logged();
    d.connect_with(1, "c", false, 60, None);
    d.lose(1);
    d.now = d.now.plus_seconds(61);
    d.crash();
    d.effects.clear();
    d.connect_with(2, "c", false, 60, None);
    assert!(d.saw(|effect| matches!(effect, Effect::Connected { session_present: false, .. })));
    d.pass(0);
    assert_eq!(d.queue_manager.statistics().connections, 1, "no timer of the old session ends the new one");
}

#[test]
fn all_that_may_have_been_sent_is_marked_after_a_restart_and_nothing_else() {
    let mut d = pair(Q1);
    d.publish(9, "a", "0", Q1, 1);
    d.lose(1);
    for n in 1..=25 {
        d.publish(9, "a", &n.to_string(), Q1, n);
    }
    d.take_delivered();
    d.resume(2, "subscriber");
    let kept = d.journal.records.len();
    let sent = d.take_delivered();
    sent.iter().for_each(|m| d.settle(2, m.tag, Settlement::Accepted));
    assert_eq!(d.take_delivered().len(), 10, "beyond the first ten");
    // Nobody waits for the records of acknowledgements: the crash takes them all.
    d.crash_with(kept);
    d.resume(9, "publisher");
    d.publish(9, "a", "while away", Q1, 1);
    d.resume(3, "subscriber");
    let mut marks = Vec::new();
    loop {
        let some = d.take_delivered();
        if some.is_empty() {
            break;
        }
        marks.extend(some.iter().map(|m| m.redelivered));
        some.iter().for_each(|m| d.settle(3, m.tag, Settlement::Accepted));
    }
    assert_eq!(marks.len(), 27);
    assert!(marks[..26].iter().all(|marked| *marked), "there was a connection since they were put");
    assert!(!marks[26], "put when the client was away, it was never sent");
}

#[test]
fn neither_is_one_whose_session_ended_when_it_took_its_leave() {
    let mut d = pair(Q1);
    d.effects.clear();
    d.syncs = false;
    let leave = Disconnect { connection: ConnectionId(1), with_will: false, session_expiry_s: Some(0) };
    d.apply(Command::Disconnect(leave));
    d.connect(2, "subscriber");
    assert!(!d.saw(|effect| matches!(effect, Effect::Connected { .. })));
    d.sync();
    assert!(d.saw(|effect| matches!(effect, Effect::Connected { session_present: false, .. })));
}

#[test]
fn clearing_what_is_cleared_already_is_confirmed_when_that_is_durable() {
    let mut d = pair(Q1);
    d.publish_message(9, retained("r", "kept", Q1), 1);
    d.confirms();
    d.syncs = false;
    d.publish_message(9, retained("r", "", QoS::AtMostOnce), 0);
    d.publish_message(9, retained("r", "", Q1), 2);
    assert!(d.confirms().is_empty(), "a crash now brings the retained message back");
    d.sync();
    assert_eq!(d.confirms().len(), 1);
}
