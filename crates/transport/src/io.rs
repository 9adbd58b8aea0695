//! What a service may do with its connections.

use std::net::SocketAddr;

use rustix::io::Errno;

use crate::{Clock, ConnectionToken, Output, ServiceTimer, Settings, Statistics};

/// The connections, timers and buffers of one loop, as its service sees them.
#[derive(Debug)]
pub struct Io {
    clock: Clock,
    now_us: u64,
    statistics: Statistics,
}

/// Why a connect could not even be started.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// [`Settings::connections_max`] is reached, or the loop is stopping.
    #[error("no room for another connection")]
    Full,
    /// The kernel refused the socket, the source address or the target.
    #[error("cannot connect to {to}: {errno}")]
    System {
        /// The target.
        to: SocketAddr,
        /// What the kernel says.
        errno: Errno,
    },
}

impl Io {
    pub(crate) fn new(_settings: &Settings) -> Io {
        let clock = Clock::start();
        Io { clock, now_us: clock.now_us(), statistics: Statistics::default() }
    }

    /// Milliseconds since the Unix epoch as this turn of the loop began; never goes back.
    pub fn now_ms(&self) -> u64 {
        self.now_us / 1_000
    }

    /// Microseconds since the Unix epoch as this turn of the loop began; never goes back.
    pub fn now_us(&self) -> u64 {
        self.now_us
    }

    /// The clock itself, for a time in the middle of a turn.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// Where to append what `id` shall be sent; it leaves at the end of the turn. `None` once it is closed.
    pub fn output(&mut self, _id: ConnectionToken) -> Option<&mut Output> {
        None
    }

    /// Bytes appended for `id` and not yet taken by the kernel; 0 if there is no such connection.
    pub fn buffered(&self, _id: ConnectionToken) -> usize {
        0
    }

    /// Whether `id` is open.
    pub fn is_open(&self, _id: ConnectionToken) -> bool {
        false
    }

    /// The other end of `id`.
    pub fn peer(&self, _id: ConnectionToken) -> Option<SocketAddr> {
        None
    }

    /// Ends `id` for the service now; what was appended is still sent, then the stream is ended in order, for at most
    /// [`Settings::linger_ms`]. [`crate::Service::closed`] comes before the next turn.
    pub fn close(&mut self, _id: ConnectionToken) {}

    /// Ends `id` now with a reset, unsent output is lost. [`crate::Service::closed`] comes before the next turn.
    pub fn abort(&mut self, _id: ConnectionToken) {}

    /// Arms the one timer of `id` for `at_ms` (of [`Io::now_ms`]'s time), in place of what it was armed for. Cheap
    /// enough for every packet: a later time only overwrites a number.
    pub fn set_timer(&mut self, _id: ConnectionToken, _at_ms: u64) {}

    /// Disarms the timer of `id`.
    pub fn clear_timer(&mut self, _id: ConnectionToken) {}

    /// Arms a timer of the service, in place of what it was armed for.
    pub fn set_service_timer(&mut self, _timer: ServiceTimer, _at_ms: u64) {}

    /// Disarms a timer of the service.
    pub fn clear_service_timer(&mut self, _timer: ServiceTimer) {}

    /// The loop takes its next turn at `at_us` (of [`Io::now_us`]'s time) if nothing happens earlier; the earliest
    /// such time since the last turn counts. Once: each turn asks anew. Microseconds, for load generators.
    pub fn wake_at_us(&mut self, _at_us: u64) {}

    /// Reads nothing more from `id` until [`Io::resume`]; bytes that the service leaves unconsumed stay.
    pub fn pause(&mut self, _id: ConnectionToken) {}

    /// Ends a [`Io::pause`]: unconsumed bytes come to [`crate::Service::received`] again, then new ones.
    pub fn resume(&mut self, _id: ConnectionToken) {}

    /// Starts a connection to `to` (client role), from `source` if given (port 0: any). It is the same kind of
    /// connection from [`crate::Service::connected`] on; a failure comes to [`crate::Service::closed`].
    pub fn connect(
        &mut self,
        to: SocketAddr,
        _source: Option<SocketAddr>,
    ) -> Result<ConnectionToken, ConnectError> {
        Err(ConnectError::System { to, errno: Errno::NOSYS })
    }

    /// Ends the loop in order: no more accepts, every connection is closed as by [`Io::close`]
    /// ([`crate::Closed::Stopping`]), [`crate::IoThread::run`] returns when all are gone.
    pub fn stop(&mut self) {}

    /// What was counted so far.
    pub fn statistics(&self) -> &Statistics {
        &self.statistics
    }
}
