//! What a loop has counted since it started.

/// Plain counters of one loop; only ever grow, except where it says gauge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Connections accepted.
    pub accepted: u64,
    /// Connections closed at once because of [`crate::Settings::connections_max`].
    pub refused: u64,
    /// Connects that came up (client role).
    pub connected: u64,
    /// Connections ended, for whatever cause; failed connects count here too.
    pub closed: u64,
    /// How often accepting paused because the process was out of file descriptors or the kernel of memory.
    pub accept_exhausted: u64,
    /// Bytes received.
    pub bytes_in: u64,
    /// Bytes sent.
    pub bytes_out: u64,
    /// Calls of recv.
    pub reads: u64,
    /// Calls of send and sendmsg.
    pub writes: u64,
    /// Writes that sent less than there was: the peer is slower than we.
    pub short_writes: u64,
    /// Times around the loop.
    pub loops: u64,
    /// Gauge: bytes of unconsumed input and unsent output of all connections, as they were counted last.
    pub buffered: u64,
    /// Gauge: connections now, lingering ones included.
    pub connections: u64,
}
