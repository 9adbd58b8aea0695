//! What a queue manager wants done: the answer to commands, in the order in which it is to happen.

use alloc::boxed::Box;
use alloc::vec::Vec;

use ferrymq_message::{Message, QoS};

use crate::{ConnectionId, DeliveryTag, Position};

/// Something that a protocol service is to do.
#[derive(Clone, Debug)]
pub enum Effect {
    /// The client is connected.
    Connected {
        /// Which.
        connection: ConnectionId,
        /// Whether state of an earlier connection was found (MQTT-3.2.2-2).
        session_present: bool,
        /// Seconds that the session outlives the connection, after limits.
        session_expiry_s: u32,
    },
    /// The client may not connect; the connection is to be closed.
    Refused {
        /// Which.
        connection: ConnectionId,
        /// Why.
        reason: Refusal,
    },
    /// Send a message to one or more connections: body once, receivers as `count` entries of [`Outbox::targets`].
    Deliver {
        /// What.
        message: Message,
        /// Index of the first receiver in [`Outbox::targets`].
        first: u32,
        /// How many receivers.
        count: u32,
    },
    /// Tell the publisher how its message fares. Where durability was promised, the record is durable by now.
    Confirm {
        /// Whom.
        connection: ConnectionId,
        /// Which message.
        tag: DeliveryTag,
        /// Which step of the exchange.
        stage: Stage,
        /// With what result.
        outcome: Outcome,
    },
    /// The receiver of a QoS 2 delivery may forget its tag (PUBREL).
    Release {
        /// Whom to tell.
        connection: ConnectionId,
        /// Which delivery.
        tag: DeliveryTag,
        /// False if there is no such delivery (reason 0x92).
        found: bool,
    },
    /// The answer to a subscribe, an outcome per filter.
    Subscribed {
        /// Whom to tell.
        connection: ConnectionId,
        /// As in the request.
        request: u16,
        /// In the order of the request.
        outcomes: Box<[SubscribeOutcome]>,
    },
    /// The answer to an unsubscribe, an outcome per filter.
    Unsubscribed {
        /// Whom to tell.
        connection: ConnectionId,
        /// As in the request.
        request: u16,
        /// In the order of the request.
        outcomes: Box<[UnsubscribeOutcome]>,
    },
    /// Close a connection; the queue manager has forgotten it already.
    Close {
        /// Which.
        connection: ConnectionId,
        /// Why.
        reason: CloseReason,
    },
}

/// One receiver of a delivery.
#[derive(Clone, Debug)]
pub struct Target {
    /// Where to.
    pub connection: ConnectionId,
    /// 0 at QoS 0.
    pub tag: DeliveryTag,
    /// The lower of the message's and the subscription's.
    pub qos: QoS,
    /// The retain flag to send.
    pub retain: bool,
    /// It may have been sent before (MQTT's DUP).
    pub redelivered: bool,
    /// Of all the receiver's subscriptions that this copy stands for; `None` when there is none, which is usual.
    pub identifiers: Option<Box<[u32]>>,
}

/// A step in the exchange with a publisher.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// QoS 1: taken (PUBACK).
    Accepted,
    /// QoS 2: taken, tag kept until released (PUBREC).
    Received,
    /// QoS 2: tag forgotten (PUBCOMP).
    Completed,
}

/// How a published message fares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It went where it should.
    Done,
    /// It went nowhere: nobody subscribes to its topic (0x10).
    NoMatchingSubscribers,
    /// A queue that defines so is full and refused it (0x97).
    QueueFull,
    /// It would have to be kept, and the disk has no room for it (0x97).
    StorageFull,
    /// The topic name is not allowed (0x90).
    TopicNameInvalid,
    /// A release names a message that is not there (0x92).
    TagNotFound,
}

/// Why a client may not connect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The limit on sessions is reached.
    TooManySessions,
    /// The client identifier is longer than the limit.
    ClientIdTooLong,
    /// The queue manager is ending.
    Ending,
}

/// What became of one filter of a subscribe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubscribeOutcome {
    /// Made, with at most this QoS.
    Granted(QoS),
    /// The filter is malformed, too long or too deep (0x8F).
    FilterInvalid,
    /// The client has as many subscriptions as it may (0x97).
    QuotaExceeded,
}

/// What became of one filter of an unsubscribe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnsubscribeOutcome {
    /// Ended.
    Removed,
    /// There was none (0x11).
    NotFound,
    /// The filter is malformed (0x8F).
    FilterInvalid,
}

/// Why the queue manager closes a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CloseReason {
    /// The same client connected anew (0x8E).
    TakenOver,
    /// The queue manager is ending (0x8B).
    Ending,
    /// An operator said so (0x98).
    Administrative,
}

/// Where a turn leaves its effects.
#[derive(Debug, Default)]
pub struct Outbox {
    /// May be done at once.
    pub effects: Vec<Effect>,
    /// To be done, in order, each when the record at its position is durable. Positions never decrease.
    pub held: Vec<(Position, Effect)>,
    /// Receivers, pointed to by [`Effect::Deliver`] in `effects` (deliveries are never held).
    pub targets: Vec<Target>,
}
