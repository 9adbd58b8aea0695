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
//!
//! A whole server:
//! ```no_run
//! use ferrymq_transport::{Closed, ConnectionToken, Io, IoThread, ListenerId, ListenerSettings, Service, Settings};
//!
//! struct Echo;
//!
//! impl Service for Echo {
//!     fn accepted(&mut self, io: &mut Io, id: ConnectionToken, _listener: ListenerId) {
//!         io.set_timer(id, io.now_ms() + 10_000);
//!     }
//!
//!     fn received(&mut self, io: &mut Io, id: ConnectionToken, input: &[u8]) -> usize {
//!         if let Some(output) = io.output(id) {
//!             output.extend_from_slice(input);
//!         }
//!         input.len()
//!     }
//!
//!     fn timer(&mut self, io: &mut Io, id: ConnectionToken) {
//!         io.close(id);
//!     }
//!
//!     fn closed(&mut self, _io: &mut Io, _id: ConnectionToken, _cause: Closed) {}
//! }
//!
//! let mut io_thread = IoThread::new(Settings::default(), Echo)?;
//! io_thread.listen(ListenerSettings::new(([127, 0, 0, 1], 7).into()))?;
//! io_thread.run()?;
//! # Ok::<(), ferrymq_transport::StartError>(())
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
pub use flushing::FAIR_BYTES;
pub use io::{ConnectError, Io};
pub use io_thread::{IoThread, StartError};
pub use output::{Output, SHARED_BYTES_MIN};
pub use service::{Closed, Service};
pub use settings::{ListenerSettings, Settings};
pub use statistics::Statistics;
pub use token::{ConnectionToken, ListenerId, ServiceTimer};
pub use waker::Waker;
