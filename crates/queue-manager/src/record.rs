//! The records of a queue manager: outcomes, never commands. Integers are little-endian.
//!
//! ```text
//! 1 Session       queue u64, expiry u32, receive maximum u16, detached at u64 (0: attached), client id str
//! 2 SessionEnded  queue u64
//! 3 Subscribe     queue u64, options u8, identifier u32, filter str
//! 4 Unsubscribe   queue u64, filter str
//! 5 Put           flags u8 (1 retained, 2 incoming), [queue u64, tag u16], targets u32, target ..., message
//!                 target: queue u64, sequence u64, options u8, stage u8, tag u16, identifiers u8, u32 ...
//! 6 Get           queue u64, sequence u64
//! 7 Released      queue u64, tag u16
//! 8 Assigned      queue u64, sequence u64, tag u16
//! 9 Received      queue u64, sequence u64, tag u16
//! 10 RetainedCleared  topic str
//! 11 Incoming     queue u64, tag u16
//! 12 Will         queue u64, delay u32, has expiry u8, expiry u32, message    13 WillCleared  queue u64
//! ```
//! `str` is a u16 length and UTF-8.

use alloc::boxed::Box;
use alloc::vec::Vec;

use ferrymq_message::{Message, QoS, Timestamp};

use crate::queue_entry::{DeliveryOptions, Sequence};
use crate::record_reader::Reader;
use crate::{DeliveryTag, Will};

/// Names a client session, and the queue that is its backlog, in records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct QueueId(pub u64);

/// What a record says.
#[derive(Clone, Debug)]
pub(crate) enum Record<'a> {
    Session(SessionRecord<'a>),
    SessionEnded { queue: QueueId },
    Subscribe { queue: QueueId, subscription: SubscriptionRecord<'a> },
    Unsubscribe { queue: QueueId, filter: &'a str },
    Put(PutRecord),
    Get { queue: QueueId, sequence: Sequence },
    Released { queue: QueueId, tag: DeliveryTag },
    Assigned { queue: QueueId, sequence: Sequence, tag: DeliveryTag },
    Received { queue: QueueId, sequence: Sequence, tag: DeliveryTag },
    RetainedCleared { topic: &'a str },
    Incoming { queue: QueueId, tag: DeliveryTag },
    Will { queue: QueueId, will: Box<Will> },
    WillCleared { queue: QueueId },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SessionRecord<'a> {
    pub queue: QueueId,
    pub expiry_s: u32,
    pub receive_maximum: u16,
    /// `None` while a connection is attached.
    pub detached_at: Option<Timestamp>,
    pub client_id: &'a str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SubscriptionRecord<'a> {
    pub filter: &'a str,
    pub qos: QoS,
    pub no_local: bool,
    pub retain_as_published: bool,
    /// 0 if it has none.
    pub identifier: u32,
}

/// A message and where it went.
#[derive(Clone, Debug)]
pub(crate) struct PutRecord {
    pub retained: bool,
    pub incoming: Option<(QueueId, DeliveryTag)>,
    pub targets: Vec<PutTarget>,
    pub message: Message,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PutTarget {
    pub queue: QueueId,
    pub sequence: Sequence,
    pub delivery: DeliveryOptions,
    /// The tag under which a QoS 2 delivery is known to its receiver.
    pub tag: Option<DeliveryTag>,
    /// The receiver has it; only its tag is still to be released.
    pub received: bool,
    pub identifiers: Option<Box<[u32]>>,
}

/// A record that cannot be understood: the log was written by a newer version, or is not a log of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// It ends too early, or one of its values is out of range.
    #[error("a record of kind {kind} is malformed")]
    Malformed {
        /// The first byte of the record.
        kind: u8,
    },
    /// There is no such kind.
    #[error("records of kind {kind} are unknown to this version")]
    UnknownKind {
        /// The first byte of the record.
        kind: u8,
    },
}

impl<'a> Record<'a> {
    pub fn decode(bytes: &'a [u8]) -> Result<Record<'a>, RecordError> {
        let (&kind, rest) = bytes.split_first().ok_or(RecordError::Malformed { kind: 0 })?;
        if !(1..=13).contains(&kind) {
            return Err(RecordError::UnknownKind { kind });
        }
        Reader::new(rest).record(kind).ok_or(RecordError::Malformed { kind })
    }

    /// Replaces the content of `out` by this record.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.clear();
        match self {
            Record::Session(session) => session.encode(out),
            Record::SessionEnded { queue } => kind_and_queue(out, 2, *queue),
            Record::Subscribe { queue, subscription } => subscription.encode(*queue, out),
            Record::Unsubscribe { queue, filter } => {
                kind_and_queue(out, 4, *queue);
                text(out, filter);
            }
            Record::Put(put) => {
                let head = PutHead { retained: put.retained, incoming: put.incoming };
                head.encode(&put.targets, &put.message, out);
            }
            Record::Get { queue, sequence } => {
                kind_and_queue(out, 6, *queue);
                out.extend_from_slice(&sequence.0.to_le_bytes());
            }
            Record::Released { queue, tag } => queue_and_tag(out, 7, *queue, *tag),
            Record::Assigned { queue, sequence, tag } => step(out, 8, *queue, *sequence, *tag),
            Record::Received { queue, sequence, tag } => step(out, 9, *queue, *sequence, *tag),
            Record::RetainedCleared { topic } => {
                out.push(10);
                text(out, topic);
            }
            Record::Incoming { queue, tag } => queue_and_tag(out, 11, *queue, *tag),
            Record::Will { queue, will } => encode_will(out, *queue, will),
            Record::WillCleared { queue } => kind_and_queue(out, 13, *queue),
        }
    }
}

impl SessionRecord<'_> {
    fn encode(&self, out: &mut Vec<u8>) {
        kind_and_queue(out, 1, self.queue);
        out.extend_from_slice(&self.expiry_s.to_le_bytes());
        out.extend_from_slice(&self.receive_maximum.to_le_bytes());
        out.extend_from_slice(&self.detached_at.map_or(0, |at| at.0).to_le_bytes());
        text(out, self.client_id);
    }
}

impl SubscriptionRecord<'_> {
    fn encode(&self, queue: QueueId, out: &mut Vec<u8>) {
        kind_and_queue(out, 3, queue);
        out.push(self.qos as u8 | u8::from(self.no_local) << 2 | u8::from(self.retain_as_published) << 3);
        out.extend_from_slice(&self.identifier.to_le_bytes());
        text(out, self.filter);
    }
}

/// The part of a put record before its targets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PutHead {
    pub retained: bool,
    pub incoming: Option<(QueueId, DeliveryTag)>,
}

impl PutHead {
    /// Replaces the content of `out` by a put record, without a [`PutRecord`] having been built.
    pub fn encode(self, targets: &[PutTarget], message: &Message, out: &mut Vec<u8>) {
        out.clear();
        out.extend_from_slice(&[5, u8::from(self.retained) | u8::from(self.incoming.is_some()) << 1]);
        if let Some((queue, tag)) = self.incoming {
            out.extend_from_slice(&queue.0.to_le_bytes());
            out.extend_from_slice(&tag.0.to_le_bytes());
        }
        out.extend_from_slice(&(targets.len() as u32).to_le_bytes());
        for target in targets {
            target.encode(out);
        }
        ferrymq_message::encode(message, out);
    }
}

impl PutTarget {
    fn encode(&self, out: &mut Vec<u8>) {
        let d = &self.delivery;
        let flags = u8::from(d.retain) << 2 | u8::from(d.shared) << 3 | u8::from(d.redelivered) << 4;
        let identifiers = self.identifiers.as_deref().unwrap_or_default();
        let tag = self.tag.unwrap_or_default().0.to_le_bytes();
        let mut head = [0; 21];
        head[..8].copy_from_slice(&self.queue.0.to_le_bytes());
        head[8..16].copy_from_slice(&self.sequence.0.to_le_bytes());
        head[16..].copy_from_slice(&[
            d.qos as u8 | flags,
            u8::from(self.received),
            tag[0],
            tag[1],
            identifiers.len() as u8,
        ]);
        out.extend_from_slice(&head);
        identifiers.iter().for_each(|identifier| out.extend_from_slice(&identifier.to_le_bytes()));
    }
}

fn encode_will(out: &mut Vec<u8>, queue: QueueId, will: &Will) {
    kind_and_queue(out, 12, queue);
    out.extend_from_slice(&will.delay_s.to_le_bytes());
    out.push(u8::from(will.message_expiry_s.is_some()));
    out.extend_from_slice(&will.message_expiry_s.unwrap_or(0).to_le_bytes());
    ferrymq_message::encode(&will.message, out);
}

fn kind_and_queue(out: &mut Vec<u8>, kind: u8, queue: QueueId) {
    out.push(kind);
    out.extend_from_slice(&queue.0.to_le_bytes());
}

fn queue_and_tag(out: &mut Vec<u8>, kind: u8, queue: QueueId, tag: DeliveryTag) {
    kind_and_queue(out, kind, queue);
    out.extend_from_slice(&tag.0.to_le_bytes());
}

fn step(out: &mut Vec<u8>, kind: u8, queue: QueueId, sequence: Sequence, tag: DeliveryTag) {
    kind_and_queue(out, kind, queue);
    out.extend_from_slice(&sequence.0.to_le_bytes());
    out.extend_from_slice(&tag.0.to_le_bytes());
}

/// Texts are topic names, filters and client identifiers: MQTT bounds them to 65,535 bytes.
fn text(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(&(text.len() as u16).to_le_bytes());
    out.extend_from_slice(text.as_bytes());
}

#[cfg(test)]
#[path = "record_tests.rs"]
mod tests;
