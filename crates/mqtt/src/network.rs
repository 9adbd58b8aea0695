//! What the service needs of whoever owns the sockets; implemented by the transport, and by tests in memory.

use std::net::SocketAddr;

use bytes::Bytes;
use ferrymq_transport::{ConnectionToken, Io, Output};

/// Connections by token. A token of a connection that is gone finds nothing and does no harm.
pub trait Network {
    /// Where bytes for a peer go.
    type Output: Sink;

    /// What is appended is sent soon; `None` once the connection is closed.
    fn output(&mut self, token: ConnectionToken) -> Option<&mut Self::Output>;

    /// Ends the connection when what was appended has been sent.
    fn close(&mut self, token: ConnectionToken);

    /// [`crate::MqttService::timer`] is to be called at `at_ms`, in place of an earlier wish.
    fn set_timer(&mut self, token: ConnectionToken, at_ms: u64);

    /// No timer.
    fn clear_timer(&mut self, token: ConnectionToken);

    /// [`crate::MqttService::received`] is not to be called until [`Network::resume`]; what it left unconsumed comes
    /// again then.
    fn pause(&mut self, token: ConnectionToken);

    /// Ends a pause.
    fn resume(&mut self, token: ConnectionToken);

    /// Who is at the other end.
    fn peer(&self, token: ConnectionToken) -> Option<SocketAddr>;
}

/// Unsent bytes of one connection.
pub trait Sink {
    /// Bytes not yet sent.
    fn unsent(&self) -> usize;

    /// To append to; what is in it must stay as it is.
    fn buffer(&mut self) -> &mut Vec<u8>;

    /// Appends without copying where that pays.
    fn push_shared(&mut self, bytes: Bytes);
}

impl Network for Io {
    type Output = Output;

    #[inline]
    fn output(&mut self, token: ConnectionToken) -> Option<&mut Output> {
        Io::output(self, token)
    }

    fn close(&mut self, token: ConnectionToken) {
        Io::close(self, token);
    }

    fn set_timer(&mut self, token: ConnectionToken, at_ms: u64) {
        Io::set_timer(self, token, at_ms);
    }

    fn clear_timer(&mut self, token: ConnectionToken) {
        Io::clear_timer(self, token);
    }

    fn pause(&mut self, token: ConnectionToken) {
        Io::pause(self, token);
    }

    fn resume(&mut self, token: ConnectionToken) {
        Io::resume(self, token);
    }

    fn peer(&self, token: ConnectionToken) -> Option<SocketAddr> {
        Io::peer(self, token)
    }
}

impl Sink for Output {
    #[inline]
    fn unsent(&self) -> usize {
        self.len()
    }

    #[inline]
    fn buffer(&mut self) -> &mut Vec<u8> {
        Output::buffer(self)
    }

    fn push_shared(&mut self, bytes: Bytes) {
        Output::push_shared(self, bytes);
    }
}
