//! What can be chosen about a log.

/// Configuration of a log. [`Config::default`] is right for a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Identifies a log that is created now; random, so that bytes which a client put into a record cannot pass for a
    /// block of this log. An existing log keeps its own.
    pub new_log_id: u64,
    /// Bytes of an extent, a power of two, 64 KiB to 4 GiB. An existing log keeps its own.
    pub extent_size: u64,
    /// A block is written once it has this many bytes, if not before; at most [`MAX_BLOCK`](crate::MAX_BLOCK), at
    /// least two pages.
    pub block_size: usize,
    /// Writes handed out and not yet completed, at least 1. Two let a writer start the next one without asking.
    pub writes_in_flight: usize,
    /// Extents kept ready beyond the one being filled when old ones are released; more are removed.
    pub spare_extents: u64,
    /// What the writer promises about the order of its writes.
    pub write_order: WriteOrder,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            new_log_id: 0,
            extent_size: 64 << 20,
            block_size: crate::MAX_BLOCK,
            writes_in_flight: 2,
            spare_extents: 2,
            write_order: WriteOrder::OneAtATime,
        }
    }
}

/// What a block proves about the blocks before it, when a restart finds a hole between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteOrder {
    /// A write starts only when the one before it is durable, so any block proves all before it. Writes handed out
    /// early wait in the writer.
    OneAtATime,
    /// Writes overlap and reach the disk in any order, so a block proves only what was durable when it was sealed.
    Overlapping,
}
