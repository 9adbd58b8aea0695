//! Where records go.

/// A place in the recovery log: a logical byte offset. Later records have greater ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position(pub u64);

/// Takes the records of a turn. The log does not know what they mean.
pub trait Journal {
    /// Appends a record and says where it will stand. It is not durable yet.
    fn append(&mut self, record: &[u8]) -> Position;
}
