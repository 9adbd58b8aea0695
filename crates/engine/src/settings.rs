//! How an engine runs, and why it may not.

use std::path::PathBuf;

use ferrymq_queue_manager::Limits;
use ferrymq_recovery_log::{DiskError, OpenError, ReadError};

use crate::file_disk::OpenDiskError;

/// What an acknowledged persistent message survives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// Nothing: the queue manager lives in memory.
    Memory,
    /// `kill -9` and power loss: acknowledged after the record is on the disk.
    #[default]
    Fsync,
}

/// The recovery log of a queue manager.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogSettings {
    /// Bytes of an extent, a power of two from 64 KiB to 4 GiB; of a log that exists already its own counts.
    pub extent_size: u64,
    /// Bytes appended and not yet durable beyond which sockets are not read.
    pub unwritten_max: u64,
    /// Bytes of log beyond the live data at which the oldest extent is rolled forward; beyond as much again as the
    /// live data takes it is rolled forward in any case.
    pub reclaim_after: u64,
}

impl Default for LogSettings {
    fn default() -> LogSettings {
        LogSettings { extent_size: 64 << 20, unwritten_max: 64 << 20, reclaim_after: 512 << 20 }
    }
}

/// Everything that an engine needs to know.
#[derive(Clone, Debug)]
pub struct EngineSettings {
    /// Of the queue manager, for messages to the operator.
    pub name: String,
    /// Where its log lives; not used with [`Durability::Memory`].
    pub directory: PathBuf,
    /// What persistent messages survive.
    pub durability: Durability,
    /// Bounds of the queue manager.
    pub limits: Limits,
    /// The log.
    pub log: LogSettings,
}

/// Why a queue manager cannot start or go on. Each is for the operator and names what is wrong where.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The directory cannot be used, or another server uses it.
    #[error("queue manager {name}: {source}")]
    Directory {
        /// The queue manager.
        name: String,
        /// What is wrong.
        source: OpenDiskError,
    },
    /// The log is damaged, of another version, or unreadable.
    #[error("queue manager {name}: {source}")]
    Open {
        /// The queue manager.
        name: String,
        /// What the log says.
        source: OpenError,
    },
    /// A write failed: nothing more may be acknowledged.
    #[error("queue manager {name} stops: {source}; nothing that was not yet durable has been acknowledged")]
    Write {
        /// The queue manager.
        name: String,
        /// What the disk says.
        source: DiskError,
    },
    /// The disk is full, and so is what the log had.
    #[error(
        "queue manager {name} stops: its log cannot grow ({source}): make room on that disk and start it again; \
         nothing that was not yet durable has been acknowledged"
    )]
    NoSpace {
        /// The queue manager.
        name: String,
        /// What the disk says.
        source: DiskError,
    },
    /// A record that is needed cannot be read back.
    #[error("queue manager {name} stops: {source}")]
    Read {
        /// The queue manager.
        name: String,
        /// What the log says.
        source: ReadError,
    },
    /// The system gives no random numbers.
    #[error("queue manager {name}: no random numbers: {source}")]
    Random {
        /// The queue manager.
        name: String,
        /// What the system says.
        source: std::io::Error,
    },
    /// A thread could not be started.
    #[error("queue manager {name}: cannot start the log writer: {source}")]
    Thread {
        /// The queue manager.
        name: String,
        /// What the system says.
        source: std::io::Error,
    },
}
