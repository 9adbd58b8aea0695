//! The queue manager: queues, subscriptions, client sessions, retained messages. A pure state machine that does not
//! know which protocol is talking to it, and never reads a clock, a file or a socket: a [`Command`] and `now` go in;
//! records (through [`Journal`]) and [`Effect`]s (through [`Outbox`]) come out.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod command;
mod effect;
mod journal;
mod limits;

pub use command::{
    Command, Connect, ConnectionId, DeliveryTag, Disconnect, Publish, RetainHandling, SESSION_NEVER_EXPIRES,
    Settlement, Subscribe, SubscriptionRequest, Unsubscribe, Will,
};
pub use effect::{CloseReason, Effect, Outbox, Outcome, Refusal, Stage, SubscribeOutcome, Target, UnsubscribeOutcome};
pub use journal::{Journal, Position};
pub use limits::Limits;
