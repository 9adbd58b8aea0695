//! The recovery table: what a place where no block follows means.

use super::LogEnd;
use crate::block::Header;
use crate::lsn::Lsn;
use alloc::format;
use alloc::string::String;

/// What stands where the next block is expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// The next block, and its checksum: the log goes on.
    Live(Header, u32),
    /// Nothing of this place: zeros, or stale bytes of a recycled extent.
    Nothing,
    /// A header of this place whose block is not whole.
    Torn,
    /// A whole block of this place that does not follow the one before, and why.
    Foreign(&'static str),
}

/// What stands further on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Later {
    /// No whole block of its place.
    Nothing,
    /// Whole blocks that were in flight together with the missing one; they end here.
    Unproven(Lsn),
    /// A whole block here that was sealed, or sent, after the missing one was durable.
    Proof(Lsn),
}

/// What follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Decision {
    End(LogEnd),
    Refuse(String),
}

/// The whole table, enumerated in the tests and printed in `docs/internals/recovery-log.md`.
pub(super) fn decide(place: Place, later: Later) -> Decision {
    match (place, later) {
        (Place::Live(..), _) => unreachable!("the log goes on where a block follows"),
        // Erasing what was in flight comes before the next write, so a whole block that does not follow is no crash.
        (Place::Foreign(why), _) => Decision::Refuse(why.into()),
        (Place::Nothing, Later::Nothing) => Decision::End(LogEnd::Clean),
        (Place::Torn, Later::Nothing) => Decision::End(LogEnd::Torn),
        (Place::Nothing | Place::Torn, Later::Unproven(_)) => Decision::End(LogEnd::Overtaken),
        (Place::Nothing, Later::Proof(at)) => {
            Decision::Refuse(format!("a block is missing, the block at {at} is later"))
        }
        (Place::Torn, Later::Proof(at)) => Decision::Refuse(format!(
            "the block's checksum is wrong, the block at {at} proves that it was written"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FOREIGN: Place = Place::Foreign("why");
    const UNPROVEN: Later = Later::Unproven(Lsn(8192));
    const PROOF: Later = Later::Proof(Lsn(8192));

    /// `None` is a refusal.
    const TABLE: [(Place, Later, Option<LogEnd>); 9] = [
        (Place::Nothing, Later::Nothing, Some(LogEnd::Clean)),
        (Place::Nothing, UNPROVEN, Some(LogEnd::Overtaken)),
        (Place::Nothing, PROOF, None),
        (Place::Torn, Later::Nothing, Some(LogEnd::Torn)),
        (Place::Torn, UNPROVEN, Some(LogEnd::Overtaken)),
        (Place::Torn, PROOF, None),
        (FOREIGN, Later::Nothing, None),
        (FOREIGN, UNPROVEN, None),
        (FOREIGN, PROOF, None),
    ];

    #[test]
    fn every_row_of_the_recovery_table_decides_as_documented() {
        for (place, later, end) in TABLE {
            match (decide(place, later), end) {
                (Decision::End(found), Some(expected)) => assert_eq!(found, expected, "{place:?} {later:?}"),
                (Decision::Refuse(what), None) => assert!(!what.is_empty()),
                (decision, _) => panic!("{place:?} {later:?} gave {decision:?}"),
            }
        }
    }
}
