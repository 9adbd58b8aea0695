//! The queue manager: queues, subscriptions, client sessions, retained messages. A pure state machine that does not
//! know which protocol is talking to it, and never reads a clock, a file or a socket: a [`Command`] and `now` go in;
//! records (through [`Journal`]) and [`Effect`]s (through [`Outbox`]) come out. After a restart a [`Restart`] makes it
//! anew from its records.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod audit;
mod client_session;
mod command;
mod connect;
mod deliver;
mod delivery_window;
mod effect;
mod journal;
mod limits;
mod pacing;
mod publish;
mod queue_entry;
mod queue_manager;
mod record;
mod record_reader;
mod restart;
mod retained;
mod roll_forward;
mod route;
mod session_table;
mod shared_subscription;
mod statistics;
mod subscribe;
mod subscription_table;
mod timer_queue;

pub use audit::{Audit, SessionAudit};
pub use command::{
    Command, Connect, ConnectionId, DeliveryTag, Disconnect, Publish, RetainHandling, SESSION_NEVER_EXPIRES,
    Settlement, Subscribe, SubscriptionRequest, Unsubscribe, Will,
};
pub use effect::{
    CloseReason, Effect, Outbox, Outcome, Refusal, Stage, SubscribeOutcome, Target, UnsubscribeOutcome,
};
pub use journal::{Journal, Position};
pub use limits::Limits;
pub use queue_manager::QueueManager;
pub use record::RecordError;
pub use restart::Restart;
pub use statistics::Statistics;
