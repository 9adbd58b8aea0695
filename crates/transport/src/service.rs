//! What a protocol implements to be driven by the loop.

use rustix::io::Errno;

use crate::{ConnectionToken, Io, ListenerId, ServiceTimer};

/// A protocol on top of the loop. Every call comes from the loop's one thread, one after the other.
///
/// For each connection: `accepted` or (client role) `connected` once, then `received` and `timer` as it happens, then
/// `closed` once. A connect that fails goes to `closed` without `connected`. After the service itself called
/// [`Io::close`] or [`Io::abort`], only `closed` still comes.
pub trait Service {
    /// A peer came in through `listener`. Nothing was read yet.
    fn accepted(&mut self, io: &mut Io, id: ConnectionToken, listener: ListenerId);

    /// A connection asked for with [`Io::connect`] is up.
    fn connected(&mut self, _io: &mut Io, _id: ConnectionToken) {}

    /// Bytes from the peer, in order. Returns how many were consumed: `0 <= consumed <= input.len()`.
    ///
    /// The rest is kept and comes again at the front of the next input: after more bytes have arrived, or after
    /// [`Io::resume`] or [`Io::read_again`]. So a service leaves a partial packet simply unconsumed; one that leaves
    /// whole packets, for it is full or waits for something, calls [`Io::read_again`] or [`Io::pause`] as well. More than
    /// [`crate::Settings::partial_bytes_max`] unconsumed closes the connection.
    fn received(&mut self, io: &mut Io, id: ConnectionToken, input: &[u8]) -> usize;

    /// The connection is over and its token names nothing any more.
    fn closed(&mut self, io: &mut Io, id: ConnectionToken, cause: Closed);

    /// The timer set with [`Io::set_timer`] is due. It is off now.
    fn timer(&mut self, _io: &mut Io, _id: ConnectionToken) {}

    /// A timer set with [`Io::set_service_timer`] is due. It is off now.
    fn service_timer(&mut self, _io: &mut Io, _timer: ServiceTimer) {}

    /// Somebody called [`crate::Waker::wake`], once or many times since the last turn.
    fn woken(&mut self, _io: &mut Io) {}

    /// Once a loop: after all reads, before what was put into outputs is sent. The first comes at once.
    fn turn(&mut self, _io: &mut Io) {}

    /// Asked before each read. While it says no, no socket is read (the peers' windows fill up) and the loop sleeps
    /// until a wake-up, a timer or room for output; it is asked again in each loop. Whoever says no makes sure that
    /// such a wake-up comes.
    fn may_read(&self) -> bool {
        true
    }
}

/// Why a connection ended, by culprit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Closed {
    /// The service asked for it.
    ByService,
    /// The peer ended its stream in order.
    ByPeer,
    /// The network or the peer broke it (reset, time-out of TCP …).
    Broken(Errno),
    /// A connect failed.
    ConnectFailed(Errno),
    /// The peer left more than [`crate::Settings::output_bytes_max`] unread.
    OutputLimit,
    /// The service left more than [`crate::Settings::partial_bytes_max`] unconsumed.
    InputLimit,
    /// All connections together buffer more than [`crate::Settings::buffered_bytes_max`], and this one has its part in
    /// that.
    MemoryLimit,
    /// The loop stops ([`Io::stop`]).
    Stopping,
}
