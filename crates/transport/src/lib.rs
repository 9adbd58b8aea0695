//! Sockets, buffers and timers: the readiness loop that drives a protocol [`Service`].
//!
//! This crate never looks into the bytes it carries, keeps no buffer for an idle connection, starts no thread and
//! holds no queue without a named limit. One [`IoThread`] owns its connections alone; whoever lives on another
//! thread reaches it through a [`Waker`] only.
//!
//! The two types to know: [`Service`], what a protocol implements, and [`Io`], what it may do with its connections.
//!
//! One turn of the loop:
//! ```text
//! epoll → woken → timers → reads (accepted, received …) → closed → Service::turn → flush of every dirty connection
//! ```

mod accept_pace;
mod accepting;
mod buffers;
mod clock;
mod connecting;
mod connection;
mod ending;
mod flushing;
mod io;
mod io_thread;
mod output;
mod poller;
mod reading;
mod service;
mod settings;
mod statistics;
mod stream;
mod timer_wheel;
mod token;
mod waker;

pub use clock::Clock;
pub use io::{ConnectError, Io};
pub use io_thread::{IoThread, StartError};
pub use output::{Output, SHARED_BYTES_MIN};
pub use service::{Closed, Service};
pub use settings::{ListenerSettings, Settings};
pub use statistics::Statistics;
pub use token::{ConnectionToken, ListenerId, ServiceTimer};
pub use waker::Waker;
