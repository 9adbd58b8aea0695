//! What the log asks of a disk.

use crate::lsn::ExtentIndex;
use alloc::{string::String, vec::Vec};

/// The disk under a log. Every change is durable when its call returns, survives power loss, and a call that failed
/// may have done any part of its work. Pages (512-byte sectors at least) that a write does not name keep their content
/// whatever happens.
pub trait Disk {
    /// All extents, in any order. Leftovers of an interrupted `create` are removed, not listed.
    fn extents(&self) -> Result<Vec<ExtentFile>, DiskError>;

    /// Creates an extent of `size` bytes, all zero and written out (not merely reserved). It appears whole or not at
    /// all.
    fn create(&self, extent: ExtentIndex, size: u64) -> Result<(), DiskError>;

    /// Reads exactly `into.len()` bytes at `offset`, which need no alignment.
    fn read(&self, extent: ExtentIndex, offset: u64, into: &mut [u8]) -> Result<(), DiskError>;

    /// Writes `bytes` at `offset`: both are multiples of [`PAGE`](crate::PAGE), and so is the address of `bytes`.
    fn write(&self, extent: ExtentIndex, offset: u64, bytes: &[u8]) -> Result<(), DiskError>;

    /// Gives an extent another number, atomically. No extent `to` exists.
    fn rename(&self, from: ExtentIndex, to: ExtentIndex) -> Result<(), DiskError>;

    /// Removes an extent.
    fn remove(&self, extent: ExtentIndex) -> Result<(), DiskError>;

    /// What an operator calls this extent: its file name.
    fn name(&self, extent: ExtentIndex) -> String;
}

/// An extent that a disk holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ExtentFile {
    /// Its number.
    pub extent: ExtentIndex,
    /// Its size in bytes.
    pub size: u64,
}

/// A disk did not do what was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct DiskError {
    /// What kind of failure it is.
    pub fault: DiskFault,
    /// The call, the file and the system's words, for the operator.
    pub what: String,
}

/// Whose fault a disk error is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskFault {
    /// No space, or a quota is used up: the operator can help.
    Full,
    /// An earlier write failed, so this one was not tried.
    Stopped,
    /// Anything else: the device, the file system or its permissions.
    Failed,
}
