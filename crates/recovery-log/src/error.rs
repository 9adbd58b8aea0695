//! Why a log cannot be opened or read.

use crate::disk::DiskError;
use crate::lsn::Lsn;
use alloc::string::String;

/// Why a log was not opened. Nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// The disk refused.
    #[error("the recovery log cannot be read: {0}")]
    Disk(#[from] DiskError),
    /// Records that were durable are gone or changed. Going on would lose them silently.
    #[error("the recovery log is damaged: {0}")]
    Damaged(Damage),
    /// Written by another version of the software.
    #[error("{file} offset {offset}: block format {found}, this version reads format {known}")]
    Version {
        /// The extent's file.
        file: String,
        /// Where in it, in bytes.
        offset: u64,
        /// The format found.
        found: u16,
        /// The only format this version reads.
        known: u16,
    },
    /// The configuration asks for what the format cannot do.
    #[error("recovery log configuration: {0}")]
    Config(&'static str),
    /// The reader of the records did not accept one.
    #[error("record at {lsn} refused: {reason}")]
    Replay {
        /// The record.
        lsn: Lsn,
        /// The reader's words.
        reason: String,
    },
}

/// Damage, named so that an operator finds it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file} offset {offset}: {what}")]
pub struct Damage {
    /// The extent's file.
    pub file: String,
    /// Where in it, in bytes.
    pub offset: u64,
    /// What was found instead of what.
    pub what: String,
}

/// Why a record could not be read back.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// The disk refused.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// The place is outside the log, or no record starts there.
    #[error("no record starts at {0}")]
    NoRecord(Lsn),
    /// It is there but not as it was written.
    #[error(transparent)]
    Damaged(#[from] Damage),
}

/// A reader of records does not accept one; the reason is for the operator.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct RecordRefused(pub String);
