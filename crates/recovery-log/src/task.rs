//! What the log wants done on a disk.

use crate::disk::{Disk, DiskError};
use crate::filling::Sealed;
use crate::lsn::{ExtentIndex, Lsn};
use alloc::sync::Arc;

/// Work for a disk, in the order in which the log handed it out. Hand each back with its result
/// ([`RecoveryLog::completed`](crate::RecoveryLog::completed)). Writes and preparations may be performed by two
/// threads, each in order.
#[derive(Debug)]
pub enum Task {
    /// Write a block. At most `writes_in_flight` are out.
    Write(Write),
    /// Make or unmake an extent. At most one is out.
    Prepare(Preparation),
}

impl Task {
    /// Performs it. Returns when it is durable.
    pub fn perform(&self, disk: &(impl Disk + ?Sized)) -> Result<(), DiskError> {
        match self {
            Task::Write(write) => write.perform(disk),
            Task::Prepare(preparation) => preparation.perform(disk),
        }
    }
}

/// A sealed block to be written. Shares its memory with the log, which reads from it until it is durable.
#[derive(Debug)]
pub struct Write {
    pub(crate) block: Arc<Sealed>,
    pub(crate) extent: ExtentIndex,
    pub(crate) offset: u64,
}

impl Write {
    /// The extent, which exists.
    pub fn extent(&self) -> ExtentIndex {
        self.extent
    }

    /// Where in the extent, a multiple of a page.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Whole pages at an aligned address.
    pub fn bytes(&self) -> &[u8] {
        self.block.bytes()
    }

    /// Once this block and all before are durable, everything below this is.
    pub fn end(&self) -> Lsn {
        self.block.end()
    }

    /// Performs it. Returns when it is durable.
    pub fn perform(&self, disk: &(impl Disk + ?Sized)) -> Result<(), DiskError> {
        disk.write(self.extent, self.offset, self.bytes())
    }
}

/// A change of the set of extents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preparation {
    /// Create an extent filled with zeros: slow, so it is asked for ahead of need.
    Create {
        /// Its number.
        extent: ExtentIndex,
        /// Its size in bytes.
        size: u64,
    },
    /// Give a released extent the number of a coming one.
    Recycle {
        /// The released one.
        from: ExtentIndex,
        /// The coming one.
        to: ExtentIndex,
    },
    /// Remove a released extent: there are spare ones enough.
    Remove {
        /// The released one.
        extent: ExtentIndex,
    },
}

impl Preparation {
    /// Performs it. Returns when it is durable.
    pub fn perform(self, disk: &(impl Disk + ?Sized)) -> Result<(), DiskError> {
        match self {
            Preparation::Create { extent, size } => disk.create(extent, size),
            Preparation::Recycle { from, to } => disk.rename(from, to),
            Preparation::Remove { extent } => disk.remove(extent),
        }
    }
}
