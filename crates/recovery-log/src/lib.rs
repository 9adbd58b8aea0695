//! The recovery log: extents, blocks, records as bytes, group commit and the restart scan.
//!
//! It never learns what a record means, never opens a file, starts a thread or reads a clock: whoever drives it takes
//! [`Task`]s from the [`RecoveryLog`], performs them on a [`Disk`] and hands them back. The byte format, each torn
//! write and the assumptions about the disk are in `docs/internals/recovery-log.md`.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod block;
mod buffer;
mod config;
mod disk;
mod error;
mod filling;
mod frame;
mod log;
mod lsn;
mod memory_disk;
mod reading;
mod restart;
mod space;
mod task;

pub use config::{Config, WriteOrder};
pub use disk::{Disk, DiskError, DiskFault, ExtentFile};
pub use error::{Damage, OpenError, ReadError, RecordRefused};
pub use log::RecoveryLog;
pub use lsn::{ExtentIndex, Lsn};
pub use memory_disk::MemoryDisk;
pub use restart::{LogEnd, Replay, Restart};
pub use task::{Preparation, Task, Write};

/// Every block starts and ends at a multiple of this, and so does every write.
pub const PAGE: usize = 4096;
/// A block is never longer: larger records are fragmented.
pub const MAX_BLOCK: usize = 1 << 20;
