//! Reads records back. `None` means that the record ends too early or holds a value that does not exist.

use alloc::boxed::Box;
use alloc::vec::Vec;

use ferrymq_message::{Message, QoS, Timestamp};

use crate::queue_entry::{DeliveryOptions, Sequence};
use crate::record::{PutRecord, PutTarget, QueueId, Record, SessionRecord, SubscriptionRecord};
use crate::{DeliveryTag, Will};

pub(crate) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub fn new(rest: &'a [u8]) -> Reader<'a> {
        Reader { rest }
    }

    /// The record of this kind that the bytes behind it make.
    pub fn record(&mut self, kind: u8) -> Option<Record<'a>> {
        Some(match kind {
            1 => Record::Session(self.session()?),
            2 => Record::SessionEnded { queue: self.queue()? },
            3 => Record::Subscribe { queue: self.queue()?, subscription: self.subscription()? },
            4 => Record::Unsubscribe { queue: self.queue()?, filter: self.text()? },
            5 => Record::Put(self.put()?),
            6 => Record::Get { queue: self.queue()?, sequence: self.sequence()? },
            7 => Record::Released { queue: self.queue()?, tag: self.tag()? },
            8 => Record::Assigned { queue: self.queue()?, sequence: self.sequence()?, tag: self.tag()? },
            9 => Record::Received { queue: self.queue()?, sequence: self.sequence()?, tag: self.tag()? },
            10 => Record::RetainedCleared { topic: self.text()? },
            11 => Record::Incoming { queue: self.queue()?, tag: self.tag()? },
            12 => Record::Will { queue: self.queue()?, will: self.will()? },
            13 => Record::WillCleared { queue: self.queue()? },
            _ => return None,
        })
    }

    fn session(&mut self) -> Option<SessionRecord<'a>> {
        Some(SessionRecord {
            queue: self.queue()?,
            expiry_s: self.u32()?,
            receive_maximum: self.u16()?,
            detached_at: Some(self.u64()?).filter(|at| *at != 0).map(Timestamp),
            client_id: self.text()?,
        })
    }

    fn subscription(&mut self) -> Option<SubscriptionRecord<'a>> {
        let options = self.u8()?;
        Some(SubscriptionRecord {
            qos: QoS::from_bits(options & 3)?,
            no_local: options & 4 != 0,
            retain_as_published: options & 8 != 0,
            identifier: self.u32()?,
            filter: self.text()?,
        })
    }

    fn put(&mut self) -> Option<PutRecord> {
        let flags = self.u8()?;
        let incoming = if flags & 2 != 0 { Some((self.queue()?, self.tag()?)) } else { None };
        let count = self.u32()?;
        let mut targets = Vec::with_capacity((count as usize).min(self.rest.len() / 21));
        for _ in 0..count {
            targets.push(self.target()?);
        }
        Some(PutRecord { retained: flags & 1 != 0, incoming, targets, message: self.message()? })
    }

    fn target(&mut self) -> Option<PutTarget> {
        let (queue, sequence, options) = (self.queue()?, self.sequence()?, self.u8()?);
        let received = self.u8()? != 0;
        let tag = Some(self.tag()?).filter(|tag| tag.0 != 0);
        let count = self.u8()?;
        let identifiers: Option<Vec<u32>> = (0..count).map(|_| self.u32()).collect();
        let delivery = DeliveryOptions {
            qos: QoS::from_bits(options & 3)?,
            retain: options & 4 != 0,
            shared: options & 8 != 0,
            redelivered: options & 16 != 0,
        };
        let identifiers = identifiers.filter(|all| !all.is_empty()).map(Vec::into_boxed_slice);
        Some(PutTarget { queue, sequence, delivery, tag, received, identifiers })
    }

    fn will(&mut self) -> Option<Box<Will>> {
        let (delay_s, has_expiry, expiry_s) = (self.u32()?, self.u8()?, self.u32()?);
        let message_expiry_s = (has_expiry != 0).then_some(expiry_s);
        Some(Box::new(Will { message: self.message()?, delay_s, message_expiry_s }))
    }

    fn message(&mut self) -> Option<Message> {
        let (message, rest) = ferrymq_message::decode(self.rest).ok()?;
        self.rest = rest;
        Some(message)
    }

    fn queue(&mut self) -> Option<QueueId> {
        self.u64().map(QueueId)
    }

    fn sequence(&mut self) -> Option<Sequence> {
        self.u64().map(Sequence)
    }

    fn tag(&mut self) -> Option<DeliveryTag> {
        self.u16().map(DeliveryTag)
    }

    fn text(&mut self) -> Option<&'a str> {
        let length = self.u16()?;
        core::str::from_utf8(self.take(usize::from(length))?).ok()
    }

    fn u8(&mut self) -> Option<u8> {
        self.array().map(u8::from_le_bytes)
    }

    fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.rest.split_first_chunk::<N>()?;
        self.rest = rest;
        Some(*head)
    }

    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (head, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(head)
    }
}
