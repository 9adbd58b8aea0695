//! Reading the log in large pieces, and erasing.

use crate::MAX_BLOCK;
use crate::buffer::AlignedBuffer;
use crate::disk::{Disk, DiskError};
use crate::lsn::{Geometry, Lsn};

/// Bytes read at once: four of the longest blocks, so that at most a quarter is read twice.
const PIECE: usize = 4 * MAX_BLOCK;

/// A window on the log that moves forward.
pub(super) struct Scan<'a, D: Disk + ?Sized> {
    disk: &'a D,
    geometry: Geometry,
    piece: AlignedBuffer,
    /// Where the piece was read from; `length` bytes of it, all in one extent.
    start: Lsn,
    length: usize,
}

impl<'a, D: Disk + ?Sized> Scan<'a, D> {
    pub(super) fn new(disk: &'a D, geometry: Geometry) -> Self {
        let piece = AlignedBuffer::new(PIECE.min(geometry.extent_size() as usize));
        Scan { disk, geometry, piece, start: Lsn(0), length: 0 }
    }

    pub(super) fn disk(&self) -> &'a D {
        self.disk
    }

    /// `length` bytes at `at`, which do not leave the extent and are no more than a block.
    pub(super) fn bytes(&mut self, at: Lsn, length: usize) -> Result<&[u8], DiskError> {
        let loaded = self.start <= at && at.0 + length as u64 <= self.start.0 + self.length as u64;
        if !loaded {
            self.load(at)?;
        }
        let from = (at.0 - self.start.0) as usize;
        Ok(&self.piece.bytes()[from..from + length])
    }

    fn load(&mut self, at: Lsn) -> Result<(), DiskError> {
        self.length = 0;
        let length = self.geometry.rest(at).min(self.piece.len() as u64) as usize;
        let into = &mut self.piece.bytes_mut()[..length];
        self.disk.read(self.geometry.extent(at), self.geometry.offset(at), into)?;
        (self.start, self.length) = (at, length);
        Ok(())
    }

    /// Overwrites `from..to` (whole pages) with zeros. A crash midway leaves less of what is decided the same way.
    pub(super) fn erase(&mut self, from: Lsn, to: Lsn) -> Result<(), DiskError> {
        self.length = 0;
        self.piece.bytes_mut().fill(0);
        let mut at = from;
        while at < to {
            let length = self.geometry.rest(at).min(to.0 - at.0).min(self.piece.len() as u64);
            let zeros = &self.piece.bytes()[..length as usize];
            self.disk.write(self.geometry.extent(at), self.geometry.offset(at), zeros)?;
            at = Lsn(at.0 + length);
        }
        Ok(())
    }
}
