//! The MQTT service: what clients send becomes commands of the queue manager, what the queue manager wants done
//! becomes packets. It has no queue manager inside, keeps no session, reads no clock and starts no thread: its owner
//! calls it with what the transport reports, and carries commands and effects between it and an engine.
//!
//! The types to know: [`MqttService`], and [`Network`], what it needs of whoever owns the sockets.
#![forbid(unsafe_code)]

mod assigned_client_id;
mod authentication;
mod client_connection;
mod connecting;
mod delivering;
mod ending;
mod incoming;
mod message_in;
mod network;
mod outgoing;
mod request;
mod service;
mod settings;
mod statistics;
mod sys_topics;

pub use authentication::{Authenticator, Exchange, Verdict};
pub use network::{Network, Sink};
pub use service::MqttService;
pub use settings::{AnonymousFrom, MqttSettings, Redirect};
pub use statistics::Statistics;
pub use sys_topics::{Figures, SysTopics};

use ferrymq_engine as engine;
