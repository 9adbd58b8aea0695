//! The block that takes appends, and the block that is done with them.

use crate::PAGE;
use crate::block::{HEADER, Header};
use crate::buffer::AlignedBuffer;
use crate::frame::{FRAME, Frame, Part};
use crate::lsn::Lsn;
use core::fmt;

/// A block in memory that frames are appended to. Its place is known from the start.
pub(crate) struct Filling {
    buffer: AlignedBuffer,
    /// `HEADER <= used <= capacity`; bytes below hold the header's room and whole frames.
    used: usize,
    /// Whole pages, at most the buffer's length and the rest of the extent.
    capacity: usize,
    frames: u32,
    lsn: Lsn,
}

impl Filling {
    pub(crate) fn new(buffer: AlignedBuffer, lsn: Lsn, capacity: usize) -> Filling {
        assert!(capacity <= buffer.len() && capacity >= PAGE && capacity.is_multiple_of(PAGE));
        Filling { buffer, used: HEADER, capacity, frames: 0, lsn }
    }

    /// Bytes left, the frame's word included.
    #[inline]
    pub(crate) fn room(&self) -> usize {
        self.capacity - self.used
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.frames == 0
    }

    /// Where it starts.
    pub(crate) fn lsn(&self) -> Lsn {
        self.lsn
    }

    /// Where the block after it starts if it is sealed now.
    pub(crate) fn end(&self) -> Lsn {
        Lsn(self.lsn.0 + self.used.next_multiple_of(PAGE) as u64)
    }

    /// Everything appended so far, behind room for the header.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.buffer.bytes()[..self.used]
    }

    /// Appends `length` bytes, which `parts` hold together, as one frame and says where it stands. There is room.
    #[inline]
    pub(crate) fn push(&mut self, part: Part, parts: &[&[u8]], length: usize) -> Lsn {
        let start = self.used;
        let frame = &mut self.buffer.bytes_mut()[start..start + FRAME + length];
        frame[..FRAME].copy_from_slice(&Frame::new(part, length, start).encode());
        let mut rest = &mut frame[FRAME..];
        for bytes in parts {
            let (here, after) = rest.split_at_mut(bytes.len());
            here.copy_from_slice(bytes);
            rest = after;
        }
        self.used = start + FRAME + length;
        self.frames += 1;
        Lsn(self.lsn.0 + start as u64)
    }

    /// Takes no more: completes the header with this block's own fields and checks it in. Returns its checksum too.
    pub(crate) fn seal(mut self, mut header: Header) -> (Sealed, u32) {
        header.lsn = self.lsn;
        header.length = self.used;
        header.frames = self.frames;
        let size = header.size();
        let block = &mut self.buffer.bytes_mut()[..size];
        block[self.used..].fill(0);
        let checksum = header.seal(block);
        (Sealed { buffer: self.buffer, header }, checksum)
    }
}

/// A block ready to be written. Immutable.
pub(crate) struct Sealed {
    buffer: AlignedBuffer,
    header: Header,
}

impl Sealed {
    pub(crate) fn header(&self) -> &Header {
        &self.header
    }

    /// Whole pages.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.buffer.bytes()[..self.header.size()]
    }

    /// Where the next block starts.
    pub(crate) fn end(&self) -> Lsn {
        Lsn(self.header.lsn.0 + self.header.size() as u64)
    }

    pub(crate) fn into_buffer(self) -> AlignedBuffer {
        self.buffer
    }
}

impl fmt::Debug for Sealed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sealed").field("header", &self.header).finish_non_exhaustive()
    }
}
