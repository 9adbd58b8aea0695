//! Every limit of a queue manager by name (DESIGN.md section 7).

/// Bounds that keep one client, or many, from taking the queue manager down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Client sessions, connected or not.
    pub sessions: u32,
    /// Longest client identifier in bytes.
    pub client_id_length: u16,
    /// Longest time in seconds that a session may outlive its connection; asked for more, it gets this.
    pub session_expiry_s: u32,
    /// Subscriptions of one session.
    pub subscriptions_per_session: u32,
    /// Longest topic name or filter in bytes.
    pub topic_length: u16,
    /// Levels of a topic name or filter.
    pub topic_levels: u16,
    /// Messages that wait for one persistent session; the next publisher is refused (0x97) and nothing is lost.
    pub queue_depth: u32,
    /// Messages that wait in memory for one session that ends with its connection; the next one discards the oldest
    /// that was not sent yet, and is counted.
    pub volatile_queue_depth: u32,
    /// Bytes of QoS 1 and 2 messages sent to one client and not acknowledged, one message excepted, whatever its
    /// receive maximum: what a client that does not read can make the server buffer.
    pub inflight_bytes: u32,
    /// Messages that wait in memory for one session beyond which publishers to it are slowed down: their
    /// acknowledgements come when it has caught up.
    pub pacing_depth: u32,
    /// Milliseconds that an acknowledgement is delayed by that at most; 0 switches it off.
    pub pacing_ms: u32,
    /// Retained messages.
    pub retained_messages: u32,
    /// Bytes of retained messages.
    pub retained_bytes: u64,
    /// Bytes of message bodies kept in memory; beyond, bodies of waiting persistent messages live in the log only, and
    /// sessions that end with their connection lose their oldest if more than `inflight_bytes` wait for them.
    pub memory_budget: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            sessions: 1_000_000,
            client_id_length: 256,
            session_expiry_s: u32::MAX,
            subscriptions_per_session: 10_000,
            topic_length: 4_096,
            topic_levels: 128,
            queue_depth: 10_000_000,
            volatile_queue_depth: 1_000_000,
            inflight_bytes: 8 << 20,
            pacing_depth: 2_000,
            pacing_ms: 200,
            retained_messages: 1_000_000,
            retained_bytes: 1 << 30,
            memory_budget: 1 << 30,
        }
    }
}
