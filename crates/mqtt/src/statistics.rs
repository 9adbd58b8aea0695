//! What the service counts.

/// Plain counters of one service; only ever grow, except where it says gauge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Gauge: clients that got CONNACK with success and are still there.
    pub connected: u64,
    /// The most of them at a time.
    pub connected_maximum: u64,
    /// Clients that were refused: by configuration, limits, or for their CONNECT.
    pub refused: u64,
    /// Connections closed for what the client sent, after it was connected.
    pub violations: u64,
    /// Connections closed because the client kept silent for one and a half times its keep alive.
    pub keep_alive_timeouts: u64,
    /// Connections closed because no CONNECT came in time.
    pub connect_timeouts: u64,
    /// Packets of any kind from clients.
    pub packets_received: u64,
    /// Packets of any kind to clients.
    pub packets_sent: u64,
    /// PUBLISH from clients, refused ones included.
    pub publishes_received: u64,
    /// Bytes of their payloads.
    pub publish_bytes_received: u64,
    /// PUBLISH from clients that were refused: topic not allowed, or payload not what it was said to be.
    pub publishes_refused: u64,
    /// PUBLISH to clients.
    pub publishes_sent: u64,
    /// Bytes of their payloads.
    pub publish_bytes_sent: u64,
    /// QoS 0 messages not sent because their receiver is slower than they come.
    pub dropped_qos0: u64,
    /// Messages not sent because they are larger than their receiver takes.
    pub dropped_too_large: u64,
}
