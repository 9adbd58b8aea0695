//! What protocol services and administration ask of a queue manager.

use alloc::boxed::Box;
use alloc::vec::Vec;

use ferrymq_message::{Message, QoS};

/// A live connection, numbered by whoever owns the sockets; the queue manager only hands it back in effects.
/// A number is never used for a second connection while commands or effects of the first may be under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(pub u64);

impl ConnectionId {
    /// The server itself, as publisher of `$SYS` topics: it gets no confirmations.
    pub const SERVER: ConnectionId = ConnectionId(u64::MAX);
}

/// Names one delivery between a client session and the queue manager, in one direction, until it is settled.
/// MQTT's packet identifier; never 0 where a settlement is expected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeliveryTag(pub u16);

/// A session expiry interval that means never (MQTT-5 3.1.2.11.2).
pub const SESSION_NEVER_EXPIRES: u32 = u32::MAX;

/// A request to the queue manager.
#[derive(Clone, Debug)]
pub enum Command {
    /// A client is there; answered by [`crate::Effect::Connected`] or [`crate::Effect::Refused`].
    Connect(Box<Connect>),
    /// A message to its topic; answered by [`crate::Effect::Confirm`] unless it is QoS 0.
    Publish(Publish),
    /// The publisher of a QoS 2 message releases it (PUBREL); answered by [`crate::Effect::Confirm`].
    Release {
        /// Whose.
        connection: ConnectionId,
        /// The tag of the message.
        tag: DeliveryTag,
    },
    /// The receiver of a delivery settles it.
    Settle {
        /// Whose.
        connection: ConnectionId,
        /// The tag of the delivery.
        tag: DeliveryTag,
        /// What it says of it.
        settlement: Settlement,
    },
    /// Answered by [`crate::Effect::Subscribed`], then the retained messages.
    Subscribe(Box<Subscribe>),
    /// Answered by [`crate::Effect::Unsubscribed`].
    Unsubscribe(Box<Unsubscribe>),
    /// The client takes its leave.
    Disconnect(Disconnect),
    /// The client is behind with reading what it was sent, or has caught up: meanwhile what can wait is kept here.
    Flow {
        /// Whose.
        connection: ConnectionId,
        /// True when it has caught up; so it is at first.
        open: bool,
    },
    /// The connection broke, or was closed for an error: the will is due.
    Lost {
        /// Which.
        connection: ConnectionId,
    },
}

/// The start of a connection (MQTT 3.1).
#[derive(Clone, Debug)]
pub struct Connect {
    /// The connection that speaks for the client from now on; one that did before is closed (MQTT-3.1.4-3).
    pub connection: ConnectionId,
    /// Not empty: whoever lets clients come without one assigns it.
    pub client_id: Box<str>,
    /// Forget the session that there may be.
    pub clean_start: bool,
    /// Seconds that the session outlives the connection; 0: not at all; [`SESSION_NEVER_EXPIRES`]: for ever.
    pub session_expiry_s: u32,
    /// How many QoS 1 and 2 deliveries may be unsettled at a time; at least 1.
    pub receive_maximum: u16,
    /// To be published when the connection is lost.
    pub will: Option<Box<Will>>,
}

/// A message to publish on behalf of a client that was lost (MQTT 3.1.2.5).
#[derive(Clone, Debug)]
pub struct Will {
    /// With `put_time` and `expires` unset: they count from its publication.
    pub message: Message,
    /// Seconds between the loss and the publication.
    pub delay_s: u32,
    /// Seconds that the message lives from its publication.
    pub message_expiry_s: Option<u32>,
}

/// A message to its topic.
#[derive(Clone, Debug)]
pub struct Publish {
    /// By whom.
    pub connection: ConnectionId,
    /// What; the QoS is in its descriptor.
    pub message: Message,
    /// 0 at QoS 0.
    pub tag: DeliveryTag,
}

/// What a receiver says of a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settlement {
    /// QoS 1: it has the message (PUBACK). Ends the delivery.
    Accepted,
    /// QoS 2: it has the message (PUBREC); answered by [`crate::Effect::Release`].
    Received,
    /// QoS 2: it has forgotten the tag (PUBCOMP). Ends the delivery.
    Completed,
    /// It does not want the message (a PUBACK or PUBREC with an error), or it can't be sent to it (larger than its
    /// maximum packet size). Ends the delivery; the message counts as consumed.
    Refused,
}

/// Subscriptions to make or to change.
#[derive(Clone, Debug)]
pub struct Subscribe {
    /// Whose.
    pub connection: ConnectionId,
    /// Comes back in the answer.
    pub request: u16,
    /// Sent with each message that matches (MQTT-5 3.8.2.1.2).
    pub identifier: Option<u32>,
    /// In the order of the request.
    pub subscriptions: Vec<SubscriptionRequest>,
}

/// One filter of a [`Subscribe`] with its options.
#[derive(Clone, Debug)]
pub struct SubscriptionRequest {
    /// As the client wrote it, `$share/<group>/<filter>` included. A malformed one is refused, not a protocol error.
    pub filter: Box<str>,
    /// The highest QoS that the subscriber takes.
    pub qos: QoS,
    /// Nothing that the same client session published.
    pub no_local: bool,
    /// Keep the retain flag as it was published.
    pub retain_as_published: bool,
    /// When to send retained messages.
    pub retain_handling: RetainHandling,
}

/// When a subscription is answered with retained messages (MQTT-5 3.8.3.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum RetainHandling {
    /// At every subscribe.
    #[default]
    Send = 0,
    /// Only where the subscription did not exist.
    SendIfNew = 1,
    /// Never.
    DoNotSend = 2,
}

impl RetainHandling {
    /// Whether a subscription, new or replaced, gets the retained messages (MQTT-3.3.1-9 to -11).
    pub(crate) fn wants_retained(self, is_new: bool) -> bool {
        match self {
            RetainHandling::Send => true,
            RetainHandling::SendIfNew => is_new,
            RetainHandling::DoNotSend => false,
        }
    }
}

/// Subscriptions to end.
#[derive(Clone, Debug)]
pub struct Unsubscribe {
    /// Whose.
    pub connection: ConnectionId,
    /// Comes back in the answer.
    pub request: u16,
    /// As written when they were made.
    pub filters: Vec<Box<str>>,
}

/// A connection's orderly end.
#[derive(Clone, Copy, Debug)]
pub struct Disconnect {
    /// Whose.
    pub connection: ConnectionId,
    /// Publish the will all the same (reason 0x04).
    pub with_will: bool,
    /// Replaces the session expiry interval given at connect, in seconds.
    pub session_expiry_s: Option<u32>,
}
