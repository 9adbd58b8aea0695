//! Publishers are slowed down by a subscriber that is at work, and by no other.

mod driver;

use driver::Driver;
use ferrymq_message::QoS;
use ferrymq_queue_manager::{Limits, Settlement};

const Q1: QoS = QoS::AtLeastOnce;

/// A subscriber (connection 1, receive maximum 10) that has acknowledged something, and a publisher (connection 2).
fn driver() -> Driver {
    let limits = Limits { pacing_depth: 4, pacing_ms: 1_000, ..Limits::default() };
    let mut d = Driver::new(limits, false);
    d.connect(1, "subscriber");
    d.subscribe(1, "a", Q1);
    d.connect(2, "publisher");
    d.publish(2, "a", "x", Q1, 1);
    d.settle(1, 1, Settlement::Accepted);
    d.confirms();
    d
}

fn publish(d: &mut Driver, count: u16) -> usize {
    (0..count).for_each(|n| d.publish(2, "a", "x", Q1, n + 1));
    d.confirms().len()
}

#[test]
fn acknowledgements_wait_while_the_queue_of_a_working_subscriber_is_deep() {
    let mut d = driver();
    assert_eq!(publish(&mut d, 20), 14, "ten in flight and four queued");
    for tag in 2..=8 {
        d.settle(1, tag, Settlement::Accepted);
    }
    assert!(d.confirms().is_empty(), "three are queued, two must be left");
    d.settle(1, 9, Settlement::Accepted);
    assert_eq!(d.confirms().len(), 6);
}

#[test]
fn they_wait_no_longer_than_the_limit() {
    let mut d = driver();
    assert_eq!(publish(&mut d, 20), 14);
    assert_eq!(d.queue_manager.next_timeout(), Some(d.now.plus_seconds(1)));
    d.pass(1);
    assert_eq!(d.confirms().len(), 6);
}

#[test]
fn a_subscriber_that_acknowledges_nothing_slows_nobody_down() {
    let mut d = driver();
    d.pass(1);
    assert_eq!(publish(&mut d, 20), 20);
}

#[test]
fn acknowledgements_stay_in_order_and_those_for_other_topics_wait_behind() {
    let mut d = driver();
    publish(&mut d, 20);
    d.publish(2, "elsewhere", "x", Q1, 99);
    assert!(d.confirms().is_empty());
    d.lose(1);
    d.pass(0);
    let tags: Vec<u16> = d.confirms().iter().map(|confirm| confirm.1).collect();
    assert_eq!(tags, [15, 16, 17, 18, 19, 20, 99]);
}

#[test]
fn a_flood_of_retained_messages_is_sent_bit_by_bit_and_stops_while_the_client_does_not_read() {
    let mut d = Driver::new(Limits::default(), false);
    d.connect(1, "publisher");
    let body = "x".repeat(100_000);
    for n in 0..40 {
        d.publish_message(1, driver::retained(&format!("r/{n}"), &body, QoS::AtMostOnce), 0);
    }
    d.syncs = false;
    d.connect(2, "subscriber");
    d.subscribe(2, "r/+", Q1);
    let first = d.take_delivered().len();
    assert!((10..20).contains(&first), "{first} for a mebibyte");
    assert_eq!(d.queue_manager.next_timeout().map(|at| at.0), Some(0), "another turn at once");
    d.flow(2, false);
    d.sync();
    assert!(d.take_delivered().is_empty());
    d.flow(2, true);
    let mut rest = d.take_delivered().len();
    while d.queue_manager.next_timeout().is_some() {
        d.sync();
        rest += d.take_delivered().len();
    }
    assert_eq!(first + rest, 40);
}
