//! A record, or a fragment of one, inside a block: one little-endian word before its bytes.
//!
//! ```text
//! bit  0..20  length of the bytes that follow
//! bit 20..28  pages between the block's start and this word, so that a reader finds the block from an LSN alone
//! bit 28..30  kind: 0 whole, 1 first, 2 middle, 3 last fragment
//! bit 30..32  zero
//! ```

use crate::{MAX_BLOCK, PAGE};

/// Bytes of the word.
pub(crate) const FRAME: usize = 4;

const LENGTH_BITS: u32 = 20;
const PAGE_BITS: u32 = 8;
const _: () = assert!(MAX_BLOCK <= 1 << LENGTH_BITS && MAX_BLOCK / PAGE <= 1 << PAGE_BITS);

/// Which part of its record a frame holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Whole = 0,
    First = 1,
    Middle = 2,
    Last = 3,
}

/// The word, decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) part: Part,
    /// Bytes that follow the word, `< MAX_BLOCK`.
    pub(crate) length: usize,
    /// Pages from the block's start to the word's first byte, `< 256`.
    pub(crate) page: usize,
}

impl Frame {
    /// The frame of `length` bytes whose word stands `at` bytes into its block.
    #[inline]
    pub(crate) fn new(part: Part, length: usize, at: usize) -> Frame {
        debug_assert!(length < MAX_BLOCK && at < MAX_BLOCK);
        Frame { part, length, page: at / PAGE }
    }

    #[inline]
    pub(crate) fn encode(self) -> [u8; FRAME] {
        let word = self.length | self.page << LENGTH_BITS | (self.part as usize) << (LENGTH_BITS + PAGE_BITS);
        (word as u32).to_le_bytes()
    }

    /// `None` where the unused bits are set.
    pub(crate) fn decode(bytes: [u8; FRAME]) -> Option<Frame> {
        let word = u32::from_le_bytes(bytes);
        let part = match word >> (LENGTH_BITS + PAGE_BITS) {
            0 => Part::Whole,
            1 => Part::First,
            2 => Part::Middle,
            3 => Part::Last,
            _ => return None,
        };
        let length = (word & ((1 << LENGTH_BITS) - 1)) as usize;
        let page = (word >> LENGTH_BITS & ((1 << PAGE_BITS) - 1)) as usize;
        Some(Frame { part, length, page })
    }
}

/// Reads the frame `at` bytes into a block of which `used` bytes are written. `None` where it does not fit, lies about
/// its place or is not a frame.
pub(crate) fn frame_at(block: &[u8], at: usize, used: usize) -> Option<Frame> {
    let word = block.get(at..at.checked_add(FRAME)?)?;
    let frame = Frame::decode(word.try_into().ok()?)?;
    let end = at + FRAME + frame.length;
    (end <= used && used <= block.len() && frame.page == at / PAGE).then_some(frame)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_survives_its_word() {
        for part in [Part::Whole, Part::First, Part::Middle, Part::Last] {
            for (length, at) in [(0, 64), (1, 4095), (MAX_BLOCK - 68, 64), (300, MAX_BLOCK - 304)] {
                let frame = Frame::new(part, length, at);
                assert_eq!(Frame::decode(frame.encode()), Some(frame));
            }
        }
    }

    #[test]
    fn a_word_with_unused_bits_is_no_frame() {
        assert_eq!(Frame::decode([0, 0, 0, 0x40]), None);
        assert_eq!(Frame::decode([0, 0, 0, 0x80]), None);
    }

    #[test]
    fn a_frame_that_leaves_its_block_or_lies_about_its_page_is_refused() {
        let mut block = [0; 2 * PAGE];
        block[100..104].copy_from_slice(&Frame::new(Part::Whole, 50, 100).encode());
        assert!(frame_at(&block, 100, 154).is_some());
        assert!(frame_at(&block, 100, 153).is_none());
        block[100..104].copy_from_slice(&Frame::new(Part::Whole, 50, PAGE).encode());
        assert!(frame_at(&block, 100, 154).is_none());
        assert!(frame_at(&block, 2 * PAGE - 2, 2 * PAGE).is_none());
    }
}
