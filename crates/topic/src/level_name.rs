//! The text of one level, kept small.

use alloc::boxed::Box;

/// So that a name takes 24 bytes in all: enough for nearly every level, without a pointer to follow.
const INLINE: usize = 22;

/// A level's text: in place up to 22 bytes, else on the heap.
#[derive(Clone, Debug)]
pub(crate) enum LevelName {
    Short { length: u8, bytes: [u8; INLINE] },
    Long(Box<str>),
}

const _: () = assert!(size_of::<LevelName>() == 24);

impl LevelName {
    pub(crate) const EMPTY: LevelName = LevelName::Short { length: 0, bytes: [0; INLINE] };

    pub(crate) fn new(text: &str) -> LevelName {
        if text.len() > INLINE {
            return LevelName::Long(text.into());
        }
        let mut bytes = [0; INLINE];
        bytes[..text.len()].copy_from_slice(text.as_bytes());
        LevelName::Short { length: text.len() as u8, bytes }
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        match self {
            LevelName::Short { length, bytes } => &bytes[..usize::from(*length)],
            LevelName::Long(text) => text.as_bytes(),
        }
    }

    /// The bytes are those of a `&str`, so that the check can't fail.
    pub(crate) fn as_str(&self) -> &str {
        match self {
            LevelName::Short { .. } => core::str::from_utf8(self.as_bytes()).unwrap_or_default(),
            LevelName::Long(text) => text,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_kept_whether_it_fits_in_place_or_not() {
        for text in
            ["", "a", "exactly-22-bytes-long-", "23-bytes-are-one-more--", "ä much longer name than fits"]
        {
            assert_eq!(LevelName::new(text).as_str(), text);
            assert_eq!(LevelName::new(text).as_bytes(), text.as_bytes());
        }
    }
}
