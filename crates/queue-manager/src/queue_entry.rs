//! An entry on a queue: a message's place there, and what its subscriptions say of this copy.

use alloc::boxed::Box;

use ferrymq_message::{Message, QoS};

use crate::Position;

/// Numbers the entries of one queue in the order of their arrival, from 1. Never used twice while a record names it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Sequence(pub u64);

/// One message on one queue.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub sequence: Sequence,
    pub content: Content,
    /// Of the record that holds it; 0 where it is in memory only.
    pub position: Position,
    pub delivery: DeliveryOptions,
    /// The subscription identifiers to send with it.
    pub identifiers: Option<Box<[u32]>>,
    /// Bytes that its message takes, in memory as in the log.
    pub size: u32,
}

/// How an entry is to be delivered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct DeliveryOptions {
    pub qos: QoS,
    pub retain: bool,
    /// Came by a shared subscription: another member may have it when this one leaves.
    pub shared: bool,
    /// It may have been delivered before the queue manager was restarted.
    pub redelivered: bool,
}

/// Where the message of an entry is.
#[derive(Clone, Debug)]
pub(crate) enum Content {
    Resident(Message),
    /// In the recovery log only, at the entry's position.
    Logged,
}

impl Entry {
    pub fn message(&self) -> Option<&Message> {
        match &self.content {
            Content::Resident(message) => Some(message),
            Content::Logged => None,
        }
    }

    /// Whether a put record of the log holds it. Retained messages of QoS 0 wait for the record of their subscription
    /// but have none of their own.
    pub fn is_logged(&self) -> bool {
        self.position != Position::default() && self.delivery.qos > QoS::AtMostOnce
    }

    /// Bytes of memory that its message takes.
    pub fn resident_bytes(&self) -> u64 {
        self.message().map_or(0, |_| u64::from(self.size))
    }
}
