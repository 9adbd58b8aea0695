//! Receiving: one recv for each ready connection and turn, into a buffer that all share.

use rustix::io::Errno;

use crate::connection::{Connection, Phase};
use crate::{Closed, ConnectionToken, Io, IoThread, Service};

/// Up to this an unconsumed rest is copied to the front of the shared buffer, so that the connection keeps nothing
/// and the next packets are read at full width (16 KiB copy in about 1 µs, less than the recv); a larger one grows in
/// a buffer of its own, for then a big packet is under way.
const COPIED_REST_MAX: usize = 16 << 10;

/// Least room for a read behind a large rest; the rest's own length if that is more, so that copying stays linear.
const GROWTH_MIN: usize = 64 << 10;

impl<S: Service> IoThread<S> {
    /// Serves every connection in the list once. What has more to read comes again in the next turn: a busy peer gets
    /// one buffer a turn like everyone.
    pub(crate) fn read_ready(&mut self) {
        let mut ready = std::mem::take(&mut self.reading);
        std::mem::swap(&mut ready, &mut self.io.ready);
        let mut skipped = 0;
        for at in 0..ready.len() {
            let id = ready[at];
            if self.is_held_back(id) {
                ready[skipped] = id;
                skipped += 1;
            } else {
                self.serve(id);
            }
        }
        ready.truncate(skipped);
        // Who was skipped comes first in the next turn, before those that have had theirs.
        ready.append(&mut self.io.ready);
        std::mem::swap(&mut ready, &mut self.io.ready);
        self.reading = ready;
    }

    /// Whether the connection would be read if the service took anything now.
    fn is_held_back(&self, id: ConnectionToken) -> bool {
        let is_open = |connection: &Connection| connection.phase == Phase::Open && !connection.paused;
        self.io.connections.get(id).is_some_and(is_open) && !self.service.may_read()
    }

    fn serve(&mut self, id: ConnectionToken) {
        let Some(connection) = self.io.connections.get_mut(id) else { return };
        connection.queued = false;
        match connection.phase {
            Phase::Open if connection.paused => {}
            Phase::Open => self.read(id),
            Phase::Connecting => {
                if self.io.finish_connect(id) {
                    self.service.connected(&mut self.io, id);
                    self.read_on(id);
                }
            }
            Phase::Flushing | Phase::Lingering => self.drain(id),
            Phase::Dead => {}
        }
    }

    fn read(&mut self, id: ConnectionToken) {
        let Some(connection) = self.io.connections.get_mut(id) else { return };
        let rest =
            connection.buffers.as_mut().map(|buffers| std::mem::take(&mut buffers.input)).unwrap_or_default();
        if std::mem::take(&mut connection.again) {
            self.deliver_rest(id, rest);
        } else if rest.len() > COPIED_REST_MAX.min(self.scratch.len() / 2) {
            self.read_behind(id, rest);
        } else {
            self.read_into_scratch(id, rest);
        }
        self.read_on(id);
    }

    /// Gives what was left unconsumed once more.
    fn deliver_rest(&mut self, id: ConnectionToken, mut rest: Vec<u8>) {
        let consumed = self.service.received(&mut self.io, id, &rest);
        rest.drain(..consumed.min(rest.len()));
        self.io.keep_rest(id, rest);
    }

    /// The usual way.
    fn read_into_scratch(&mut self, id: ConnectionToken, mut rest: Vec<u8>) {
        let kept = rest.len();
        self.scratch[..kept].copy_from_slice(&rest);
        rest.clear();
        let Some(connection) = self.io.connections.get_mut(id) else { return };
        let room = &mut self.scratch[kept..];
        let (result, room) = (connection.stream.recv(room), room.len());
        let Some(n) = self.io.note_read(id, result, room) else { return };
        let input = &self.scratch[..kept + n];
        let consumed = self.service.received(&mut self.io, id, input);
        rest.extend_from_slice(input.get(consumed..).unwrap_or_default());
        self.io.keep_rest(id, rest);
    }

    /// The way of a packet that is too large to be copied about.
    fn read_behind(&mut self, id: ConnectionToken, mut rest: Vec<u8>) {
        rest.reserve(GROWTH_MIN);
        let Some(connection) = self.io.connections.get_mut(id) else { return };
        let room = rest.capacity() - rest.len();
        let result = connection.stream.recv_behind(&mut rest);
        if self.io.note_read(id, result, room).is_some() {
            self.deliver_rest(id, rest);
        } else {
            self.io.keep_rest(id, rest);
        }
    }

    /// Queues `id` again if there is more to read, and gives back a buffer that is not needed.
    fn read_on(&mut self, id: ConnectionToken) {
        let Some(connection) = self.io.connections.get_mut(id) else { return };
        self.io.pool.give_if_empty(&mut connection.buffers);
        if (connection.readable || connection.again) && !connection.paused {
            self.io.queue_read(id);
        }
    }

    /// Reads and forgets the input of a closed connection.
    fn drain(&mut self, id: ConnectionToken) {
        let Some(connection) = self.io.connections.get_mut(id) else { return };
        if connection.peer_ended {
            return;
        }
        let result = connection.stream.recv(&mut self.scratch);
        let Some(n) = self.io.note_read(id, result, self.scratch.len()) else { return };
        let Some(connection) = self.io.connections.get_mut(id) else { return };
        connection.drained = connection.drained.saturating_add(n as u32);
        if connection.drained > self.io.settings.linger_bytes_max {
            connection.stream.reset_on_drop();
            return self.io.die(id, Closed::ByService);
        }
        if connection.readable {
            self.io.queue_read(id);
        }
    }
}

impl Io {
    /// Counts a read and learns from it how the connection stands: the number of bytes if there are any.
    fn note_read(&mut self, id: ConnectionToken, result: Result<usize, Errno>, room: usize) -> Option<usize> {
        self.statistics.reads += 1;
        let connection = self.connections.get_mut(id)?;
        match result {
            Ok(0) => {
                connection.readable = false;
                self.ended_by_peer(id);
                None
            }
            Ok(n) => {
                connection.readable = n == room || connection.ending;
                self.statistics.bytes_in += n as u64;
                Some(n)
            }
            Err(Errno::AGAIN) if !connection.ending => {
                connection.readable = false;
                None
            }
            Err(errno) => {
                connection.readable = false;
                self.die(id, Closed::Broken(errno));
                None
            }
        }
    }

    /// Keeps what the service left unconsumed, within the limit.
    fn keep_rest(&mut self, id: ConnectionToken, rest: Vec<u8>) {
        let limit = self.settings.partial_bytes_max;
        let Some(connection) = self.connections.live_mut(id) else { return };
        if rest.len() > limit {
            let (peer, bytes) = (self.peer(id), rest.len());
            tracing::warn!(connection = %id, ?peer, bytes, "input limit reached, connection aborted");
            return self.abort_for(id, Closed::InputLimit);
        }
        if !rest.is_empty() {
            hold(connection, &mut self.pool).input = rest;
        } else if let Some(buffers) = &mut connection.buffers {
            buffers.input = rest;
        }
        self.count_buffered(id);
    }
}

fn hold<'a>(
    connection: &'a mut Connection,
    pool: &mut crate::buffers::Pool,
) -> &'a mut crate::buffers::Buffers {
    connection.buffers.get_or_insert_with(|| pool.take())
}
