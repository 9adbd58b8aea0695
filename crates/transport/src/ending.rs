//! The ends of a connection: in order, at once, or by itself.
//!
//! ```text
//! close ─▶ Flushing ─ all sent ─▶ Lingering ─ peer's end ─▶ Dead ─ service told ─▶ gone
//!              └──── time-out, peer's reset, too much input ───▶┘
//! ```
//! A slot is free again only after both the socket is done with and the service was told.

use crate::connection::Phase;
use crate::{Closed, ConnectionToken, Io};

/// A stop does not wait longer for peers that do not close: what they were sent last is on its way by then.
const STOP_LINGER_MS: u64 = 500;

impl Io {
    /// Ends `id` for the service now; what was appended is still sent, then the stream is ended in order, for at most
    /// [`crate::Settings::linger_ms`]. [`crate::Service::closed`] comes before the next turn.
    pub fn close(&mut self, id: ConnectionToken) {
        self.close_for(id, Closed::ByService);
    }

    /// Ends `id` now with a reset, unsent output is lost. [`crate::Service::closed`] comes before the next turn.
    pub fn abort(&mut self, id: ConnectionToken) {
        self.abort_for(id, Closed::ByService);
    }

    /// However `id` ends, its peer sees a reset behind the bytes sent so far, and the kernel keeps no TIME_WAIT on either
    /// side: for who opens and ends connections by the thousand a second. Only for a protocol in which the peer ends
    /// first: bytes not yet on their way are lost.
    pub fn reset_at_end(&mut self, id: ConnectionToken) {
        if let Some(connection) = self.connections.live_mut(id) {
            connection.stream.reset_on_drop();
        }
    }

    /// Ends the loop in order: no more accepts, every connection is closed as by [`Io::close`]
    /// ([`crate::Closed::Stopping`]), [`crate::IoThread::run`] returns when all are gone.
    pub fn stop(&mut self) {
        self.stopping = true;
        for id in self.connections.tokens() {
            self.close_for(id, Closed::Stopping);
        }
    }

    pub(crate) fn close_for(&mut self, id: ConnectionToken, cause: Closed) {
        let linger_ms = self.settings.linger_ms.min(if self.stopping { STOP_LINGER_MS } else { u64::MAX });
        let linger_until = self.now_ms() + linger_ms;
        let timer = self.timer_key(id);
        let Some(connection) = self.connections.live_mut(id) else { return };
        if connection.phase == Phase::Connecting {
            return self.die(id, cause);
        }
        connection.phase = Phase::Flushing;
        if let Some(buffers) = &mut connection.buffers {
            buffers.input.clear();
        }
        if connection.readable {
            self.queue_read(id);
        }
        self.timers.set(timer, linger_until);
        self.ended.push((id, cause));
        self.queue_flush(id);
    }

    pub(crate) fn abort_for(&mut self, id: ConnectionToken, cause: Closed) {
        let Some(connection) = self.connections.live_mut(id) else { return };
        connection.stream.reset_on_drop();
        self.die(id, cause);
    }

    /// The peer has ended its stream: what is there for it is still sent.
    pub(crate) fn ended_by_peer(&mut self, id: ConnectionToken) {
        let Some(connection) = self.connections.get_mut(id) else { return };
        connection.peer_ended = true;
        match connection.phase {
            Phase::Lingering => self.die(id, Closed::ByPeer),
            Phase::Open if connection.buffered() == 0 => self.die(id, Closed::ByPeer),
            _ => self.close_for(id, Closed::ByPeer),
        }
    }

    /// All output of a closed connection is sent.
    pub(crate) fn linger(&mut self, id: ConnectionToken) {
        let Some(connection) = self.connections.get_mut(id) else { return };
        // A peer whose end is known to be behind its last bytes need not be told: reading on will find it.
        let told = connection.ending || connection.stream.end().is_ok();
        if connection.peer_ended || !told {
            return self.die(id, Closed::ByService);
        }
        connection.phase = Phase::Lingering;
        if connection.readable {
            self.queue_read(id);
        }
    }

    /// A closed connection's time is over.
    pub(crate) fn linger_expired(&mut self, id: ConnectionToken) {
        let Some(connection) = self.connections.get_mut(id) else { return };
        if connection.phase == Phase::Flushing {
            connection.stream.reset_on_drop();
        }
        self.die(id, Closed::ByService);
    }

    /// The socket is done with. `cause` counts only if the service does not yet know of an end.
    pub(crate) fn die(&mut self, id: ConnectionToken, cause: Closed) {
        let Some(connection) = self.connections.get_mut(id) else { return };
        let known = !matches!(connection.phase, Phase::Open | Phase::Connecting);
        connection.phase = Phase::Dead;
        if connection.reported {
            self.remove(id);
        } else if !known {
            self.ended.push((id, cause));
        }
    }

    /// The service was told of the end of `id`.
    pub(crate) fn reported(&mut self, id: ConnectionToken) {
        self.statistics.closed += 1;
        let Some(connection) = self.connections.get_mut(id) else { return };
        connection.reported = true;
        if connection.phase == Phase::Dead {
            self.remove(id);
        }
    }

    fn remove(&mut self, id: ConnectionToken) {
        self.timers.clear(self.timer_key(id));
        let Some(connection) = self.connections.remove(id) else { return };
        connection.buffers.into_iter().for_each(|buffers| self.pool.give(buffers));
        self.statistics.connections = self.connections.len() as u64;
    }
}
