//! Runs a queue manager: turn, log, release. The [`Engine`] is the single writer of its [`QueueManager`]: commands go
//! in, a turn applies them and appends their records, and effects come out: at once where nothing has to survive, and
//! otherwise when their records are durable.
//!
//! It never talks to a network, and does not know which protocol does.

mod engine;
pub mod file_disk;
mod idle_proof;
mod journal;
pub mod log_writer;
mod randomness;
pub mod scheduling;
mod settings;
mod shortage;

pub use engine::Engine;
pub use ferrymq_queue_manager::{
    CloseReason, Command, Connect, ConnectionId, DeliveryTag, Disconnect, Effect, Limits, Outbox, Outcome,
    Position, Publish, Refusal, RetainHandling, SESSION_NEVER_EXPIRES, Settlement, Stage, Statistics,
    Subscribe, SubscribeOutcome, SubscriptionRequest, Target, Unsubscribe, UnsubscribeOutcome, Will,
};
pub use settings::{Durability, EngineError, EngineSettings, LogSettings};
