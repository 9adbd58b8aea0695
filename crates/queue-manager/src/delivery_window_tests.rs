//! Tests of the delivery window.

use ferrymq_message::{Descriptor, Message};

use super::*;
use crate::queue_entry::{Content, DeliveryOptions};

fn entry(sequence: u64) -> Entry {
    Entry {
        sequence: Sequence(sequence),
        content: Content::Resident(Message::from_parts(Descriptor::default(), "t", &[], &[])),
        position: Position(0),
        delivery: DeliveryOptions::default(),
        identifiers: None,
        size: 1,
    }
}

fn send_all(window: &mut DeliveryWindow) -> alloc::vec::Vec<u16> {
    core::iter::from_fn(|| {
        window.next_to_send(Position(u64::MAX), 100, 100_000).map(|delivery| delivery.tag.0)
    })
    .collect()
}

#[test]
fn tags_are_given_in_sequence_and_never_zero() {
    let mut window = DeliveryWindow::default();
    for n in 0..70_000u64 {
        let tag = window.assign(entry(n), Position(0));
        assert_eq!(u64::from(tag.0), n % 65_535 + 1);
        assert!(window.settle(tag).is_some());
    }
}

#[test]
fn deliveries_may_be_settled_in_any_order() {
    let mut window = DeliveryWindow::default();
    for n in 0..5 {
        window.assign(entry(n), Position(0));
    }
    assert_eq!(send_all(&mut window), [1, 2, 3, 4, 5]);
    for (tag, sequence) in [(3, 2), (1, 0), (5, 4), (2, 1), (4, 3)] {
        assert_eq!(window.settle(DeliveryTag(tag)).map(|d| d.entry.sequence), Some(Sequence(sequence)));
        assert!(window.settle(DeliveryTag(tag)).is_none(), "settled twice");
    }
    assert_eq!(window.len(), 0);
    assert_eq!(window.next_tag(), DeliveryTag(6));
}

#[test]
fn a_delivery_waits_until_its_record_is_durable() {
    let mut window = DeliveryWindow::default();
    window.assign(entry(0), Position(10));
    window.assign(entry(1), Position(20));
    assert!(window.next_to_send(Position(9), 100, 1000).is_none());
    assert_eq!(window.next_to_send(Position(10), 100, 1000).map(|d| d.tag), Some(DeliveryTag(1)));
    assert!(window.next_to_send(Position(10), 100, 1000).is_none());
    assert!(window.next_to_send(Position(20), 100, 1000).is_some());
    assert!(!window.has_unsent());
}

#[test]
fn a_new_connection_gets_everything_unsettled_again_in_order_and_marked() {
    let mut window = DeliveryWindow::default();
    for n in 0..4 {
        window.assign(entry(n), Position(0));
    }
    send_all(&mut window);
    window.settle(DeliveryTag(2));
    window.rewind();
    assert!(window.iter().all(|delivery| delivery.repeated));
    assert_eq!(send_all(&mut window), [1, 3, 4]);
}

#[test]
fn what_was_received_is_not_sent_again() {
    let mut window = DeliveryWindow::default();
    window.assign(entry(0), Position(0));
    window.assign(entry(1), Position(0));
    send_all(&mut window);
    window.get_mut(DeliveryTag(1)).expect("sent").stage = DeliveryStage::Received;
    window.rewind();
    assert_eq!(send_all(&mut window), [2]);
}

#[test]
fn the_receive_maximum_bounds_the_window() {
    let mut window = DeliveryWindow::default();
    window.assign(entry(0), Position(0));
    window.assign(entry(1), Position(0));
    assert!(!window.has_room(2));
    window.settle(DeliveryTag(1));
    assert!(window.has_room(2));
}

#[test]
fn a_window_restored_with_gaps_goes_on_behind_its_last_tag() {
    let mut window = DeliveryWindow::default();
    for tag in [65_530u16, 65_535, 3] {
        let delivery = Unsettled {
            tag: DeliveryTag(tag),
            stage: DeliveryStage::Sent,
            repeated: true,
            entry: entry(u64::from(tag)),
        };
        assert!(window.restore(delivery).is_ok());
    }
    assert_eq!(window.len(), 3);
    assert_eq!(window.next_tag(), DeliveryTag(4));
    window.rewind();
    assert_eq!(send_all(&mut window), [65_530, 65_535, 3]);
    assert!(window.settle(DeliveryTag(65_530)).is_some());
    assert!(window.settle(DeliveryTag(3)).is_some());
    assert!(window.settle(DeliveryTag(65_535)).is_some());
    assert_eq!(window.len(), 0);
}

#[test]
fn after_a_reconnect_with_a_smaller_receive_maximum_the_rest_waits() {
    let mut window = DeliveryWindow::default();
    for n in 0..5 {
        window.assign(entry(n), Position(0));
    }
    send_all(&mut window);
    window.rewind();
    assert!(window.next_to_send(Position(0), 2, 1000).is_some());
    assert!(window.next_to_send(Position(0), 2, 1000).is_some());
    assert!(window.next_to_send(Position(0), 2, 1000).is_none());
    window.settle(DeliveryTag(1));
    assert_eq!(window.next_to_send(Position(0), 2, 1000).map(|delivery| delivery.tag), Some(DeliveryTag(3)));
}

#[test]
fn what_is_unacknowledged_is_bounded_in_bytes_but_one_message_always_goes() {
    let mut window = DeliveryWindow::default();
    for n in 0..3 {
        window.assign(Entry { size: 60, ..entry(n) }, Position(0));
    }
    assert!(window.next_to_send(Position(0), 100, 50).is_some());
    assert!(window.next_to_send(Position(0), 100, 50).is_none());
    assert!(window.next_to_send(Position(0), 100, 100).is_some());
    window.settle(DeliveryTag(1));
    window.settle(DeliveryTag(2));
    assert!(window.next_to_send(Position(0), 100, 50).is_some());
}

#[test]
fn nothing_is_received_before_it_was_sent_on_this_connection() {
    let mut window = DeliveryWindow::default();
    let mut exactly_once = entry(0);
    exactly_once.delivery.qos = QoS::ExactlyOnce;
    let tag = window.assign(exactly_once, Position(0));
    assert_eq!(window.receive(tag), None);
    send_all(&mut window);
    assert_eq!(window.receive(tag), Some((Sequence(0), true)));
    assert_eq!(window.receive(tag), Some((Sequence(0), false)));
    assert!(window.settle(tag).is_some() && window.is_consistent());
}
