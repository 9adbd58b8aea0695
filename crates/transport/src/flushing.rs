//! Sending: one gathered write for each connection that has output, once a turn.

use rustix::io::Errno;

use crate::connection::Phase;
use crate::{Closed, ConnectionToken, Io};

/// What one connection may always buffer, however much all do.
pub const FAIR_BYTES: usize = 64 << 10;

impl Io {
    /// Writes once for every dirty connection. Those with more than one write takes stay dirty for the next turn.
    pub(crate) fn flush_dirty(&mut self) {
        let mut dirty = std::mem::take(&mut self.dirty);
        for id in dirty.drain(..) {
            self.flush(id);
        }
        if self.dirty.is_empty() {
            // Keep the larger allocation.
            self.dirty = dirty;
        }
    }

    fn flush(&mut self, id: ConnectionToken) {
        let Some(connection) = self.connections.get_mut(id) else { return };
        connection.dirty = false;
        if connection.phase == Phase::Dead {
            return;
        }
        if !connection.blocked && connection.buffered() > 0 {
            self.write(id);
        }
        self.after_flush(id);
    }

    fn write(&mut self, id: ConnectionToken) {
        let Some(connection) = self.connections.get_mut(id) else { return };
        let Some(buffers) = &mut connection.buffers else { return };
        self.statistics.writes += 1;
        match connection.stream.send(&buffers.output) {
            Ok((sent, offered)) => {
                buffers.output.advance(sent);
                connection.blocked = sent < offered;
                self.statistics.bytes_out += sent as u64;
                self.statistics.short_writes += u64::from(sent < offered);
            }
            Err(Errno::AGAIN) => {
                connection.blocked = true;
                self.statistics.short_writes += 1;
            }
            Err(errno) => self.write_failed(id, errno),
        }
    }

    /// The peer takes nothing more. What it sent before may still be there to be read (a last packet that says
    /// goodbye), so an open connection ends through its reading. Bytes are lost here, so nothing may follow them: the
    /// stream is ended, in case that it is we who are short of memory and the peer lives.
    fn write_failed(&mut self, id: ConnectionToken, errno: Errno) {
        let Some(connection) = self.connections.get_mut(id) else { return };
        if let Some(buffers) = &mut connection.buffers {
            buffers.output.clear();
        }
        if connection.phase == Phase::Open && !connection.paused {
            (connection.readable, connection.ending) = (true, true);
            let _ = connection.stream.end();
            return self.queue_read(id);
        }
        self.die(id, Closed::Broken(errno));
    }

    fn after_flush(&mut self, id: ConnectionToken) {
        let Some(connection) = self.connections.get_mut(id) else { return };
        let buffered = connection.buffered();
        if buffered == 0 {
            self.pool.give_if_empty(&mut connection.buffers);
            let phase = connection.phase;
            self.count_buffered(id);
            return if phase == Phase::Flushing {
                self.linger(id)
            };
        }
        if !connection.blocked {
            self.queue_flush(id);
        } else if buffered > self.settings.output_bytes_max && connection.phase == Phase::Open {
            let peer = self.peer(id);
            tracing::warn!(connection = %id, ?peer, buffered, "peer reads too slowly: output limit reached, connection aborted");
            self.abort_for(id, Closed::OutputLimit);
        } else {
            self.count_buffered(id);
        }
    }

    /// Counts what a connection holds, and ends it where all hold too much and it more than is fair.
    pub(crate) fn count_buffered(&mut self, id: ConnectionToken) {
        let Some(connection) = self.connections.get_mut(id) else { return };
        let Some(buffers) = &mut connection.buffers else { return };
        let buffered = self.pool.count(buffers);
        let all = self.pool.held();
        self.statistics.buffered = all as u64;
        if all > self.settings.buffered_bytes_max && buffered > FAIR_BYTES && connection.phase == Phase::Open
        {
            let peer = self.peer(id);
            tracing::warn!(connection = %id, ?peer, buffered, all, "all connections together buffer too much: connection aborted");
            self.abort_for(id, Closed::MemoryLimit);
        }
    }
}
