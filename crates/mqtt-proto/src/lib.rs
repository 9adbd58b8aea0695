//! MQTT 3.1, 3.1.1 and 5.0 as bytes and state machines, client and server roles. It never touches a socket or
//! a clock, knows no sessions and no topic tree, and decodes without copying: [`decode`] gives a [`Packet`] that
//! borrows the input; [`server::Connection`] turns a client's bytes into events and checks what a packet alone does
//! not show.
//!
//! Clauses are those of MQTT 5.0 (`MQTT-2.2.1-3`), which demands everything that 3.1.1 does; `MQTT-5 <section>` names
//! a section where the statement has no number.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod ack;
mod auth;
pub mod client;
mod connack;
mod connect;
mod delivery;
mod diagnostics;
mod disconnect;
mod error;
mod frame;
mod packet;
mod property;
mod publish;
mod reader;
mod reason;
pub mod server;
mod suback;
mod subscribe;
mod text;
mod topic_alias;
mod unsubscribe;
mod user_properties;
mod version;
mod will;
mod writer;

pub use ack::Ack;
pub use auth::Auth;
pub use connack::Connack;
pub use connect::{Connect, SESSION_NEVER_EXPIRES};
pub use delivery::{Delivery, FanOut, TooLarge};
pub use diagnostics::Diagnostics;
pub use disconnect::Disconnect;
pub use error::{DecodeError, Violation};
pub use frame::PacketKind;
pub use packet::{Packet, decode};
pub use property::{Properties, Property};
pub use publish::{Publish, Spans};
pub use reader::MAX_VARIABLE_BYTE_INTEGER;
pub use reason::ReasonCode;
pub use suback::{Suback, encode_suback};
pub use subscribe::{Filters, RetainHandling, Subscribe, Subscription, encode_subscribe};
pub use topic_alias::TopicAliasUse;
pub use unsubscribe::{Unsubscribe, UnsubscribeFilters, encode_unsubscribe};
pub use user_properties::UserProperties;
pub use version::{QoS, Version};
pub use will::Will;
