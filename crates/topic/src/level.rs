//! The levels of a name or filter, hashed once for all lookups on the way through a tree.

use smallvec::SmallVec;

/// One level of a text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Level<'a> {
    pub(crate) text: &'a str,
    /// Of the text alone; a lookup mixes the parent in.
    pub(crate) hash: u64,
}

/// In place up to 16 levels, so that matching allocates for deeper topics only.
pub(crate) type Levels<'a> = SmallVec<[Level<'a>; 16]>;

/// Takes a text apart. (Levels are short: a plain loop over bytes beats a search for each separator.)
pub(crate) fn levels(text: &str, seed: u64) -> Levels<'_> {
    let mut levels = Levels::new();
    let mut start = 0;
    for (at, byte) in text.bytes().enumerate() {
        if byte == b'/' {
            levels.push(Level::new(&text[start..at], seed));
            start = at + 1;
        }
    }
    levels.push(Level::new(&text[start..], seed));
    levels
}

impl<'a> Level<'a> {
    fn new(text: &'a str, seed: u64) -> Level<'a> {
        Level { text, hash: hash(text.as_bytes(), seed) }
    }
}

/// Whose bits are well spread, from the fractional part of pi.
const SPREAD: u64 = 0x243F_6A88_85A3_08D3 | 1;

/// Multiplies to 128 bits and folds the halves, so that every bit of the input reaches every bit of the result.
pub(crate) fn fold(left: u64, right: u64) -> u64 {
    let product = u128::from(left) * u128::from(right);
    (product as u64) ^ ((product >> 64) as u64)
}

/// Not cryptographic: the seed, unknown to peers, is what keeps them from choosing names that collide.
fn hash(bytes: &[u8], seed: u64) -> u64 {
    let mut state = seed ^ (bytes.len() as u64);
    let (words, tail) = bytes.as_chunks::<8>();
    for word in words {
        state = fold(state ^ u64::from_le_bytes(*word), SPREAD ^ seed);
    }
    fold(state ^ last_word(tail), SPREAD ^ seed)
}

/// Up to seven bytes in two overlapping reads: no loop, and with the length known no two tails give the same word.
fn last_word(tail: &[u8]) -> u64 {
    match (tail.first_chunk::<4>(), tail.last_chunk::<4>(), tail) {
        (Some(first), Some(last), _) => {
            u64::from(u32::from_le_bytes(*first)) | u64::from(u32::from_le_bytes(*last)) << 32
        }
        (_, _, [first, .., last]) => {
            u64::from(*first) | u64::from(tail[tail.len() / 2]) << 8 | u64::from(*last) << 16
        }
        (_, _, [only]) => u64::from(*only),
        _ => 0,
    }
}

/// The hash of an edge from a parent to the level below it, in the form that the table keeps: 32 bits.
pub(crate) fn edge_hash(parent: u32, level: u64) -> u32 {
    (fold(level ^ (u64::from(parent) << 1), SPREAD) >> 16) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    fn texts(text: &str) -> Vec<&str> {
        levels(text, 0).iter().map(|level| level.text).collect()
    }

    #[test]
    fn empty_levels_count() {
        assert_eq!(texts("a/b"), ["a", "b"]);
        assert_eq!(texts("/a"), ["", "a"]);
        assert_eq!(texts("a//"), ["a", "", ""]);
        assert_eq!(texts("/"), ["", ""]);
    }

    #[test]
    fn a_seed_changes_every_hash() {
        for text in ["", "a", "sensors", "a longer name of some 30 bytes"] {
            assert_ne!(hash(text.as_bytes(), 1), hash(text.as_bytes(), 2), "{text}");
        }
    }
}
