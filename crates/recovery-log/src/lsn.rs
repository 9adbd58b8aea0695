//! Places in the log.

use core::fmt;

/// A place in the log: the logical byte offset since the log was created, `extent index × extent size + offset`.
/// Never 0 for a record, since the first block starts with its header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lsn(pub u64);

/// The number of an extent since the log was created. An extent's file is recycled under a later number; a number is
/// never used twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ExtentIndex(pub u64);

impl ExtentIndex {
    /// The extent that follows.
    pub fn next(self) -> ExtentIndex {
        ExtentIndex(self.0 + 1)
    }
}

impl fmt::Display for Lsn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

impl fmt::Display for ExtentIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// How logical offsets fall into extents: their size is a power of two, 64 KiB to 4 GiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Geometry {
    /// log2 of the extent size, `Geometry::SHIFTS`.
    shift: u8,
}

impl Geometry {
    const SHIFTS: core::ops::RangeInclusive<u8> = 16..=32;

    pub(crate) fn from_shift(shift: u8) -> Option<Geometry> {
        Self::SHIFTS.contains(&shift).then_some(Geometry { shift })
    }

    pub(crate) fn from_extent_size(bytes: u64) -> Option<Geometry> {
        if !bytes.is_power_of_two() {
            return None;
        }
        Self::from_shift(bytes.trailing_zeros() as u8)
    }

    pub(crate) fn shift(self) -> u8 {
        self.shift
    }

    pub(crate) fn extent_size(self) -> u64 {
        1 << self.shift
    }

    pub(crate) fn extent(self, lsn: Lsn) -> ExtentIndex {
        ExtentIndex(lsn.0 >> self.shift)
    }

    pub(crate) fn offset(self, lsn: Lsn) -> u64 {
        lsn.0 & (self.extent_size() - 1)
    }

    pub(crate) fn start(self, extent: ExtentIndex) -> Lsn {
        Lsn(extent.0 << self.shift)
    }

    /// Bytes from `lsn` to the end of its extent, 1 to the extent size.
    pub(crate) fn rest(self, lsn: Lsn) -> u64 {
        self.extent_size() - self.offset(lsn)
    }
}
