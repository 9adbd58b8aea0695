//! What a message is. A [`Message`] keeps the bytes in which its publisher sent it and is never re-encoded in
//! place; whoever needs another encoding converts when it delivers. This crate never parses a protocol: it holds
//! the spans that the protocol crate found, and the [`Descriptor`] that every part of the queue manager understands.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod descriptor;
mod message;
mod record;

pub use descriptor::{Descriptor, Encoding, Persistence, QoS, Span, Timestamp};
pub use message::{Message, MessageError};
pub use record::{MAX_ENCODED_OVERHEAD, decode, encode};
