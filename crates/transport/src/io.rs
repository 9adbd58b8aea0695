//! What a service may do with its connections.

use std::net::SocketAddr;

use rustix::io::Errno;

use crate::buffers::Pool;
use crate::connection::{Connection, Connections, Phase};
use crate::poller::Poller;
use crate::timer_wheel::TimerWheel;
use crate::{Clock, Closed, ConnectionToken, Output, ServiceTimer, Settings, Statistics};

/// The connections, timers and buffers of one loop, as its service sees them.
#[derive(Debug)]
pub struct Io {
    pub(crate) settings: Settings,
    pub(crate) poller: Poller,
    pub(crate) connections: Connections,
    /// Keys: the service's own timers first, then one for each slot of `connections`.
    pub(crate) timers: TimerWheel,
    pub(crate) pool: Pool,
    /// Connections with output to send; `Connection::dirty` says which are in it.
    pub(crate) dirty: Vec<ConnectionToken>,
    /// Connections to read; `Connection::queued` says which are in it.
    pub(crate) ready: Vec<ConnectionToken>,
    /// Connections of whose end the service is still to be told.
    pub(crate) ended: Vec<(ConnectionToken, Closed)>,
    /// When the service wants its next turn; `u64::MAX`: whenever.
    pub(crate) wake_at_us: u64,
    pub(crate) stopping: bool,
    pub(crate) statistics: Statistics,
    clock: Clock,
    now_us: u64,
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
    pub(crate) fn new(settings: Settings) -> Result<Io, Errno> {
        let clock = Clock::start();
        let now_us = clock.now_us();
        Ok(Io {
            poller: Poller::new()?,
            connections: Connections::default(),
            timers: TimerWheel::new(now_us / 1_000),
            pool: Pool::new(settings.pool_bytes_max),
            dirty: Vec::new(),
            ready: Vec::new(),
            ended: Vec::new(),
            // The first turn comes at once: a service may have to begin something.
            wake_at_us: 0,
            stopping: false,
            statistics: Statistics::default(),
            clock,
            now_us,
            settings,
        })
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

    pub(crate) fn read_clock(&mut self) {
        self.now_us = self.clock.now_us();
    }

    /// Where to append what `id` shall be sent; it leaves at the end of the turn, or once connected. `None` once it is
    /// closed.
    pub fn output(&mut self, id: ConnectionToken) -> Option<&mut Output> {
        let connection = self.connections.live_mut(id)?;
        if !connection.dirty {
            connection.dirty = true;
            self.dirty.push(id);
        }
        Some(&mut connection.buffers.get_or_insert_with(|| self.pool.take()).output)
    }

    /// Bytes appended for `id` and not yet taken by the kernel; 0 if there is no such connection.
    pub fn buffered(&self, id: ConnectionToken) -> usize {
        self.connections.get(id).map_or(0, Connection::buffered)
    }

    /// Whether the service may still use `id`.
    pub fn is_open(&self, id: ConnectionToken) -> bool {
        self.connections.live(id).is_some()
    }

    /// The other end of `id`; also in [`crate::Service::closed`].
    pub fn peer(&self, id: ConnectionToken) -> Option<SocketAddr> {
        self.connections.get(id).map(|connection| connection.peer.into())
    }

    /// Arms the one timer of `id` for `at_ms` (of [`Io::now_ms`]'s time), in place of what it was armed for. Cheap
    /// enough for every packet: a later time only overwrites a number. Without effect before it is connected.
    pub fn set_timer(&mut self, id: ConnectionToken, at_ms: u64) {
        if self.connections.live(id).is_some_and(|connection| connection.phase == Phase::Open) {
            self.timers.set(self.timer_key(id), at_ms);
        }
    }

    /// Disarms the timer of `id`.
    pub fn clear_timer(&mut self, id: ConnectionToken) {
        if self.connections.live(id).is_some_and(|connection| connection.phase == Phase::Open) {
            self.timers.clear(self.timer_key(id));
        }
    }

    pub(crate) fn timer_key(&self, id: ConnectionToken) -> u32 {
        u32::from(self.settings.service_timers) + id.slot() as u32
    }

    /// Arms a timer of the service, in place of what it was armed for. Panics if `timer` is not below
    /// [`Settings::service_timers`].
    pub fn set_service_timer(&mut self, timer: ServiceTimer, at_ms: u64) {
        assert!(timer.0 < self.settings.service_timers, "no such service timer");
        self.timers.set(u32::from(timer.0), at_ms);
    }

    /// Disarms a timer of the service.
    pub fn clear_service_timer(&mut self, timer: ServiceTimer) {
        assert!(timer.0 < self.settings.service_timers, "no such service timer");
        self.timers.clear(u32::from(timer.0));
    }

    /// The loop takes its next turn at `at_us` (of [`Io::now_us`]'s time) if nothing happens earlier; the earliest
    /// such time since the last turn began counts. Once: each turn asks anew. Microseconds, for load generators, by
    /// epoll_pwait2; [`crate::IoThread::run`] lowers the thread's timer slack to 1 µs for it.
    pub fn wake_at_us(&mut self, at_us: u64) {
        self.wake_at_us = self.wake_at_us.min(at_us);
    }

    /// Reads nothing more from `id` until [`Io::resume`]; bytes that the service leaves unconsumed stay. While it is
    /// paused the end of the peer's stream is not noticed either, but a failing write is.
    pub fn pause(&mut self, id: ConnectionToken) {
        if let Some(connection) = self.connections.live_mut(id) {
            connection.paused = true;
            connection.again = false;
        }
    }

    /// Ends a [`Io::pause`]: unconsumed bytes come to [`crate::Service::received`] again, then new ones.
    pub fn resume(&mut self, id: ConnectionToken) {
        let Some(connection) = self.connections.live_mut(id).filter(|connection| connection.paused) else {
            return;
        };
        connection.paused = false;
        connection.again = connection.buffers.as_ref().is_some_and(|buffers| !buffers.input.is_empty());
        if connection.again || connection.readable {
            self.queue_read(id);
        }
    }

    /// Has what the service leaves unconsumed now come to [`crate::Service::received`] again without new input, as soon as
    /// [`crate::Service::may_read`] allows: for a service that had to stop between two packets because it is full.
    pub fn read_again(&mut self, id: ConnectionToken) {
        if let Some(connection) = self.connections.live_mut(id) {
            connection.again = true;
            self.queue_read(id);
        }
    }

    /// Puts `id` into the list of connections to read, once.
    pub(crate) fn queue_read(&mut self, id: ConnectionToken) {
        let Some(connection) = self.connections.get_mut(id).filter(|connection| !connection.queued) else {
            return;
        };
        connection.queued = true;
        self.ready.push(id);
    }

    /// Puts `id` into the list of connections to flush, once.
    pub(crate) fn queue_flush(&mut self, id: ConnectionToken) {
        let Some(connection) = self.connections.get_mut(id).filter(|connection| !connection.dirty) else {
            return;
        };
        connection.dirty = true;
        self.dirty.push(id);
    }

    /// What was counted so far.
    pub fn statistics(&self) -> &Statistics {
        &self.statistics
    }
}
