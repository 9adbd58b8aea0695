//! Page-aligned memory, reused.

use crate::PAGE;
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

/// Memory for a block whose address is a multiple of [`PAGE`], as direct writes need. Untouched pages cost nothing:
/// the allocator maps them zero on first use.
pub(crate) struct AlignedBuffer {
    /// Never reallocated, so that `start` keeps its meaning; one page longer than asked.
    storage: Box<[u8]>,
    /// First byte with an aligned address, `0 <= start < PAGE`.
    start: usize,
}

impl AlignedBuffer {
    pub(crate) fn new(length: usize) -> AlignedBuffer {
        let storage = vec![0; length + PAGE].into_boxed_slice();
        let start = storage.as_ptr().align_offset(PAGE);
        assert!(start < PAGE, "bytes can be aligned at run time");
        AlignedBuffer { storage, start }
    }

    pub(crate) fn len(&self) -> usize {
        self.storage.len() - PAGE
    }

    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.storage[self.start..]
    }

    #[inline]
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.storage[self.start..]
    }
}

/// Buffers between two uses.
#[derive(Default)]
pub(crate) struct Spares {
    buffers: Vec<AlignedBuffer>,
}

impl Spares {
    /// Two in flight, one filling, one waiting; beyond, a burst is over and the memory goes back.
    const KEPT: usize = 4;

    pub(crate) fn take(&mut self, length: usize) -> AlignedBuffer {
        self.buffers
            .pop()
            .filter(|buffer| buffer.len() == length)
            .unwrap_or_else(|| AlignedBuffer::new(length))
    }

    pub(crate) fn give(&mut self, buffer: AlignedBuffer) {
        if self.buffers.len() < Self::KEPT {
            self.buffers.push(buffer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_starts_at_a_page_wherever_it_was_allocated() {
        for length in [PAGE, 3 * PAGE, 1 << 20] {
            let mut buffer = AlignedBuffer::new(length);
            assert_eq!(buffer.bytes().as_ptr().align_offset(PAGE), 0);
            assert!(buffer.bytes_mut().len() >= length);
            assert_eq!(buffer.len(), length);
        }
    }
}
