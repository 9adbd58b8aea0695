//! Where records go.

use alloc::vec::Vec;

/// A place in the recovery log: a logical byte offset. Later records have greater ones; 0 is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position(pub u64);

impl Position {
    /// Behind everything: what is durable where nothing needs a log.
    pub const EVERYTHING: Position = Position(u64::MAX);
}

/// Takes the records of a turn. The log does not know what they mean.
pub trait Journal {
    /// Appends a record and says where it stands. It is not durable yet.
    fn append(&mut self, record: &[u8]) -> Position;

    /// Replaces the content of `into` by the record at this position, durable or not. False if it cannot be read;
    /// the journal has noted the failure and the queue manager is about to be stopped.
    fn read(&mut self, position: Position, into: &mut Vec<u8>) -> bool;
}
