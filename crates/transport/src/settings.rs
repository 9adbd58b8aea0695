//! Every limit of the loop by name.

use std::net::SocketAddr;

/// Limits of one [`crate::IoThread`].
#[derive(Clone, Debug)]
pub struct Settings {
    /// Connections at a time, both roles; one that comes beyond is accepted and closed at once.
    pub connections_max: usize,
    /// Connections accepted a second over all listeners, the rest waits in the backlog; `None`: as many as come.
    pub accepts_per_s: Option<u32>,
    /// Accepts per listener and loop, so that a burst of connects leaves room for traffic.
    pub accepts_per_loop: usize,
    /// Unconsumed input of one connection: at least the largest packet of the protocol.
    pub partial_bytes_max: usize,
    /// Unsent output of one connection; beyond it the connection is aborted ([`crate::Closed::OutputLimit`]).
    pub output_bytes_max: usize,
    /// Unconsumed input and unsent output of all connections together; beyond it a connection that has more than
    /// [`crate::FAIR_BYTES`] of that, and gets more, is aborted ([`crate::Closed::MemoryLimit`]).
    pub buffered_bytes_max: usize,
    /// The read buffer that all connections share, and what one connection may read a loop.
    pub scratch_bytes: usize,
    /// Empty buffers kept for reuse, in bytes.
    pub pool_bytes_max: usize,
    /// How long a closed connection may take to send its rest and see the peer's end.
    pub linger_ms: u64,
    /// How many bytes of a closed connection are read and thrown away before it is aborted.
    pub linger_bytes_max: u32,
    /// How long a connect may take.
    pub connect_timeout_ms: u64,
    /// How many [`crate::ServiceTimer`]s there are.
    pub service_timers: u16,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            connections_max: 1_000_000,
            accepts_per_s: None,
            accepts_per_loop: 256,
            partial_bytes_max: 256 << 20,
            output_bytes_max: 64 << 20,
            buffered_bytes_max: 1 << 30,
            scratch_bytes: 256 << 10,
            pool_bytes_max: 16 << 20,
            linger_ms: 3_000,
            linger_bytes_max: 4 << 20,
            connect_timeout_ms: 10_000,
            service_timers: 16,
        }
    }
}

/// How a listener is opened. TCP_NODELAY is always on.
#[derive(Clone, Debug)]
pub struct ListenerSettings {
    /// Address and port; port 0 takes a free one ([`crate::IoThread::local_addr`] says which).
    pub address: SocketAddr,
    /// Connections that wait to be accepted; the kernel caps it at `net.core.somaxconn`.
    pub backlog: i32,
    /// SO_REUSEPORT: several loops may listen on one port, the kernel spreads connections over them.
    pub reuse_port: bool,
}

impl ListenerSettings {
    /// On `address`, with a backlog of 8,192, alone on the port.
    pub fn new(address: SocketAddr) -> ListenerSettings {
        ListenerSettings { address, backlog: 8_192, reuse_port: false }
    }
}
