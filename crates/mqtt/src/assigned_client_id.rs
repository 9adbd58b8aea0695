//! Client identifiers for clients that come without one (MQTT-3.1.3-6).

use std::fmt::Write;
use std::hash::{DefaultHasher, Hasher};

/// Makes identifiers that are unique while the seed is, and that can't be guessed without it.
#[derive(Debug)]
pub(crate) struct AssignedClientIds {
    seed: [u64; 2],
    counter: u64,
}

impl AssignedClientIds {
    pub fn new(seed: [u64; 2]) -> AssignedClientIds {
        AssignedClientIds { seed, counter: 0 }
    }

    /// `auto-` and 32 hexadecimal digits.
    pub fn next(&mut self) -> Box<str> {
        self.counter += 1;
        let mut id = String::with_capacity(37);
        // Writing to a String cannot fail.
        let _ = write!(id, "auto-{:016x}{:016x}", self.hash(0), self.hash(1));
        id.into()
    }

    fn hash(&self, half: u8) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.seed.iter().for_each(|word| hasher.write_u64(*word));
        hasher.write_u64(self.counter);
        hasher.write_u8(half);
        hasher.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_differ_from_each_other_and_between_seeds() {
        let mut ids = AssignedClientIds::new([1, 2]);
        let (first, second) = (ids.next(), ids.next());
        assert_ne!(first, second);
        assert_ne!(AssignedClientIds::new([1, 3]).next(), first);
        assert_eq!(first.len(), 37);
    }
}
