//! What a queue manager counts, since it was started.

/// Counters and levels; the source of `$SYS` topics and metrics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Messages that publishers sent, repetitions of QoS 2 excepted.
    pub published: u64,
    /// Copies handed to connections, repetitions included.
    pub delivered: u64,
    /// Copies of QoS 0 that were not sent because their receiver was not ready.
    pub dropped: u64,
    /// Messages discarded because a queue in memory was full.
    pub discarded_queue_full: u64,
    /// Publishers that were refused because a persistent queue was full.
    pub refused_queue_full: u64,
    /// Publishers that were refused because the disk was full.
    pub refused_storage_full: u64,
    /// Retained messages that were not kept because a limit was reached.
    pub retained_refused: u64,
    /// Copies that expired before they were delivered.
    pub expired: u64,
    /// Messages with no matching subscription.
    pub unmatched: u64,
    /// Wills published.
    pub wills: u64,
    /// Sessions that ended because their client did not come back.
    pub sessions_expired: u64,
    /// Connections taken over by a new one of the same client.
    pub taken_over: u64,
    /// Client sessions, connected or not.
    pub sessions: u64,
    /// Sessions with a connection.
    pub connections: u64,
    /// Subscriptions of all sessions.
    pub subscriptions: u64,
    /// Retained messages.
    pub retained: u64,
    /// Bytes of retained messages.
    pub retained_bytes: u64,
    /// Messages that wait for a client or for its acknowledgement.
    pub queued: u64,
    /// Bytes of memory of the messages that wait; one that waits on several queues counts for each.
    pub resident_bytes: u64,
    /// Bytes of the log that live records take; of sessions and subscriptions an estimate.
    pub live_log_bytes: u64,
}
