//! Names of the things a loop owns.

use std::fmt;

/// Names one connection for its whole life and no other one after it: a slot, and the generation of its use.
///
/// A token of a connection that is gone is harmless: every call with it finds nothing. `0` and `u64::MAX` are
/// never tokens.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionToken(pub u64);

impl ConnectionToken {
    /// The connection in `slot` in its `generation` (never 0).
    pub(crate) fn new(slot: u32, generation: u32) -> ConnectionToken {
        debug_assert!(generation != 0, "generation 0 is for what is not a connection");
        ConnectionToken(u64::from(generation) << 32 | u64::from(slot))
    }

    /// Small and dense, reused after the connection is gone: an index for tables of the service.
    pub fn slot(self) -> usize {
        self.0 as u32 as usize
    }

    /// Which use of the slot this is: at least 1.
    pub fn generation(self) -> u32 {
        (self.0 >> 32) as u32
    }
}

impl fmt::Debug for ConnectionToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl fmt::Display for ConnectionToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.slot(), self.generation())
    }
}

/// Which listener a connection came through, in the order of [`crate::IoThread::listen`] from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ListenerId(pub u16);

/// One of the service's own timers (will delay, `$SYS`, statistics): `0..Settings::service_timers`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServiceTimer(pub u16);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_holds_its_slot_and_generation() {
        let token = ConnectionToken::new(7, 3);
        assert_eq!((token.slot(), token.generation()), (7, 3));
        assert_eq!(token.to_string(), "7.3");
    }

    #[test]
    fn a_slot_in_another_generation_is_another_token() {
        assert_ne!(ConnectionToken::new(7, 3), ConnectionToken::new(7, 4));
    }
}
