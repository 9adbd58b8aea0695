//! Tests of the records: every kind comes back as it was written, and no cut of one is understood.

use alloc::format;
use alloc::vec;

use ferrymq_message::{Descriptor, Encoding};

use super::*;

fn message() -> Message {
    let descriptor = Descriptor { encoding: Encoding::Mqtt5, qos: QoS::ExactlyOnce, ..Descriptor::default() };
    Message::from_parts(descriptor, "a/b", b"props", b"body")
}

fn one_of_each() -> Vec<Record<'static>> {
    let queue = QueueId(7);
    let (sequence, tag) = (Sequence(9), DeliveryTag(3));
    let delivery = DeliveryOptions { qos: QoS::ExactlyOnce, retain: true, shared: true, redelivered: true };
    let target = PutTarget {
        queue,
        sequence,
        delivery,
        tag: Some(tag),
        received: true,
        identifiers: Some(vec![1, 2].into()),
    };
    let plain = PutTarget { tag: None, received: false, identifiers: None, ..target.clone() };
    let subscription = SubscriptionRecord {
        filter: "a/+/#",
        qos: QoS::AtLeastOnce,
        no_local: true,
        retain_as_published: true,
        identifier: 268_435_455,
    };
    let session = SessionRecord {
        queue,
        expiry_s: u32::MAX,
        receive_maximum: 20,
        detached_at: Some(Timestamp(5)),
        client_id: "device-ü",
    };
    let targets = vec![target, plain];
    vec![
        Record::Session(session),
        Record::Session(SessionRecord { detached_at: None, ..session }),
        Record::SessionEnded { queue },
        Record::Subscribe { queue, subscription },
        Record::Unsubscribe { queue, filter: "a" },
        Record::Put(PutRecord { retained: true, incoming: Some((queue, tag)), targets, message: message() }),
        Record::Put(PutRecord { retained: false, incoming: None, targets: vec![], message: message() }),
        Record::Get { queue, sequence },
        Record::Released { queue, tag },
        Record::Assigned { queue, sequence, tag },
        Record::Received { queue, sequence, tag },
        Record::RetainedCleared { topic: "a/b" },
        Record::Incoming { queue, tag },
        Record::Will {
            queue,
            will: Box::new(Will { message: message(), delay_s: 5, message_expiry_s: Some(0) }),
        },
        Record::WillCleared { queue },
    ]
}

#[test]
fn every_record_comes_back_as_it_was_written() {
    let mut bytes = Vec::new();
    for record in one_of_each() {
        record.encode(&mut bytes);
        let back = Record::decode(&bytes).expect("a record of ours");
        assert_eq!(format!("{back:?}"), format!("{record:?}"));
    }
}

#[test]
fn a_record_cut_anywhere_is_malformed() {
    let mut bytes = Vec::new();
    for record in one_of_each() {
        record.encode(&mut bytes);
        for cut in 0..bytes.len() {
            assert!(Record::decode(&bytes[..cut]).is_err(), "{record:?} cut at {cut}");
        }
    }
}

#[test]
fn a_record_of_an_unknown_kind_is_named() {
    assert_eq!(Record::decode(&[99, 1]).map(|_| ()), Err(RecordError::UnknownKind { kind: 99 }));
}
