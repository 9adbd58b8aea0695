//! The loop.

use std::net::SocketAddr;
use std::num::NonZeroU64;
use std::time::Duration;

use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use rustix::thread::set_current_timer_slack;

use crate::accepting::{Accepted, Acceptor};
use crate::connection::Phase;
use crate::{
    Closed, ConnectionToken, Io, ListenerId, ListenerSettings, Service, ServiceTimer, Settings, Waker,
};

/// Event data of the waker; listeners have their number, connections (generation 1 or more) are above both.
const WAKER_DATA: u64 = u32::MAX as u64;

/// A readiness loop, its connections and the service that it drives. It runs on the thread that calls [`IoThread::run`].
#[derive(Debug)]
pub struct IoThread<S> {
    pub(crate) io: Io,
    pub(crate) service: S,
    /// Every read of a connection without a large rest goes here.
    pub(crate) scratch: Vec<u8>,
    /// The list of connections to read while it is worked off; empty otherwise.
    pub(crate) reading: Vec<ConnectionToken>,
    acceptor: Acceptor,
    waker: Waker,
    /// Timers that have fired in this turn.
    fired: Vec<u32>,
}

/// Why a loop or a listener could not start, or go on.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// epoll or eventfd.
    #[error("cannot set up the readiness loop: {0}")]
    Loop(Errno),
    /// A listener.
    #[error("cannot listen on {address}: {errno}")]
    Listen {
        /// Where.
        address: SocketAddr,
        /// What the kernel says.
        errno: Errno,
    },
    /// The loop broke while it ran.
    #[error("cannot wait for events: {0}")]
    Wait(Errno),
}

impl<S: Service> IoThread<S> {
    /// A loop without listeners.
    pub fn new(settings: Settings, service: S) -> Result<IoThread<S>, StartError> {
        let waker = Waker::new().map_err(StartError::Loop)?;
        let scratch = vec![0; settings.scratch_bytes.max(4 << 10)];
        let io = Io::new(settings).map_err(StartError::Loop)?;
        // Edge-triggered, so that the counter never has to be read.
        io.poller.add(&waker, WAKER_DATA, EventFlags::IN | EventFlags::ET).map_err(StartError::Loop)?;
        let acceptor = Acceptor::new(&io.settings, io.now_ms());
        Ok(IoThread { io, service, scratch, reading: Vec::new(), acceptor, waker, fired: Vec::new() })
    }

    /// Opens a listener; connections are accepted once the loop runs. Listeners are numbered in the order of calls.
    pub fn listen(&mut self, settings: ListenerSettings) -> Result<ListenerId, StartError> {
        let address = settings.address;
        let listen = self.acceptor.listen(&settings, &self.io.poller);
        listen.map_err(|errno| StartError::Listen { address, errno })
    }

    /// The address that a listener is bound to.
    pub fn local_addr(&self, listener: ListenerId) -> Option<SocketAddr> {
        self.acceptor.local_addr(listener)
    }

    /// A way to wake this loop from elsewhere.
    pub fn waker(&self) -> Waker {
        self.waker.clone()
    }

    /// The service.
    pub fn service(&mut self) -> &mut S {
        &mut self.service
    }

    /// Service and connections together, to prepare something before the loop runs.
    pub fn parts(&mut self) -> (&mut S, &mut Io) {
        (&mut self.service, &mut self.io)
    }

    /// Runs until [`Io::stop`] was called and every connection is gone; gives the service back.
    pub fn run(mut self) -> Result<S, StartError> {
        be_punctual();
        while !self.is_over() {
            self.turn()?;
        }
        Ok(self.service)
    }

    /// Whether the loop was stopped and every connection is gone.
    pub fn is_over(&self) -> bool {
        self.io.stopping && self.io.connections.len() == 0
    }

    /// Once around, for who has a loop of their own: sleeps until there is something to do, and does it.
    pub fn turn(&mut self) -> Result<(), StartError> {
        let woken = self.wait().map_err(StartError::Wait)?;
        self.io.read_clock();
        self.io.statistics.loops += 1;
        self.io.wake_at_us = u64::MAX;
        if woken {
            self.service.woken(&mut self.io);
        }
        self.acceptor.resume_if_due(&self.io);
        self.take_events();
        self.fire_timers();
        self.read_ready();
        self.report_ended();
        self.service.turn(&mut self.io);
        self.io.flush_dirty();
        if self.io.stopping {
            self.acceptor.close();
        }
        Ok(())
    }

    /// Sleeps if nothing is left to do; says whether somebody called the waker.
    fn wait(&mut self) -> Result<bool, Errno> {
        let limit = if self.has_work() || !self.waker.fall_asleep() {
            Some(Duration::ZERO)
        } else {
            self.sleep_limit()
        };
        let waited = self.io.poller.wait(limit);
        let woken = self.waker.awake();
        waited.map(|()| woken)
    }

    fn has_work(&self) -> bool {
        let io = &self.io;
        let readable = !io.ready.is_empty() && self.service.may_read();
        readable || !io.dirty.is_empty() || !io.ended.is_empty()
    }

    fn sleep_limit(&self) -> Option<Duration> {
        let next_ms = [self.io.timers.next_ms(), self.acceptor.resume_at_ms()].into_iter().flatten().min();
        let next_us = next_ms.map_or(u64::MAX, |at| at.saturating_mul(1_000)).min(self.io.wake_at_us);
        let left = |at: u64| Duration::from_micros(at.saturating_sub(self.io.clock().now_us()));
        Some(next_us).filter(|at| *at != u64::MAX).map(left)
    }

    /// Notes which connections have something to do; accepts at once.
    fn take_events(&mut self) {
        let mut index = 0;
        while let Some((data, flags)) = self.io.poller.event(index) {
            index += 1;
            match data {
                WAKER_DATA => {}
                0..WAKER_DATA => self.accept(ListenerId(data as u16)),
                token => self.io.note_event(ConnectionToken(token), flags),
            }
        }
    }

    fn accept(&mut self, listener: ListenerId) {
        for _ in 0..self.io.settings.accepts_per_loop {
            match self.acceptor.accept(listener, &mut self.io) {
                Accepted::Connection(id) => self.service.accepted(&mut self.io, id, listener),
                Accepted::Nobody => {}
                Accepted::Done => return,
            }
        }
    }

    fn fire_timers(&mut self) {
        let mut fired = std::mem::take(&mut self.fired);
        self.io.timers.expire(self.io.now_ms(), &mut fired);
        for key in fired.drain(..) {
            if self.io.timers.take_fired(key) {
                self.fire(key);
            }
        }
        self.fired = fired;
    }

    fn fire(&mut self, key: u32) {
        let Some(slot) = key.checked_sub(u32::from(self.io.settings.service_timers)) else {
            return self.service.service_timer(&mut self.io, ServiceTimer(key as u16));
        };
        let Some(id) = self.io.connections.token_at(slot) else { return };
        match self.io.connections.get(id).map(|connection| connection.phase) {
            Some(Phase::Open) => self.service.timer(&mut self.io, id),
            Some(Phase::Connecting) => self.io.die(id, Closed::ConnectFailed(Errno::TIMEDOUT)),
            Some(Phase::Flushing | Phase::Lingering) => self.io.linger_expired(id),
            Some(Phase::Dead) | None => {}
        }
    }

    fn report_ended(&mut self) {
        let mut index = 0;
        while let Some((id, cause)) = self.io.ended.get(index).copied() {
            index += 1;
            self.service.closed(&mut self.io, id, cause);
            self.io.reported(id);
        }
        self.io.ended.clear();
    }
}

/// Lowers this thread's timer slack from 50 µs to 1: [`Io::wake_at_us`] is meant.
fn be_punctual() {
    if let Err(errno) = set_current_timer_slack(NonZeroU64::new(1_000)) {
        tracing::debug!(%errno, "timer slack stays as it is");
    }
}

impl Io {
    /// Notes what epoll says of a connection; the work is done when its list is worked off.
    fn note_event(&mut self, id: ConnectionToken, flags: EventFlags) {
        let Some(connection) = self.connections.get_mut(id) else { return };
        let over = flags.intersects(EventFlags::RDHUP | EventFlags::HUP | EventFlags::ERR);
        let to_write = flags.contains(EventFlags::OUT) && connection.blocked;
        let to_read = over || flags.contains(EventFlags::IN);
        if connection.phase == Phase::Connecting {
            return if over || to_write {
                self.queue_read(id)
            };
        }
        connection.readable |= to_read;
        connection.ending |= over;
        if to_write {
            connection.blocked = false;
        }
        let to_read = to_read && !connection.paused;
        if to_write {
            self.queue_flush(id);
        }
        if to_read {
            self.queue_read(id);
        }
    }
}
