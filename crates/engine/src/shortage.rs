//! A disk without room for a further extent, from the first refusal to the extent that could be made after all.

use ferrymq_message::Timestamp;
use ferrymq_recovery_log::{DiskFault, Preparation, Task};

use crate::log_writer::Done;

/// How long until an extent is asked for again: each try writes what room there is before it fails.
const RETRY_MS: u64 = 5_000;

/// Whether the disk is short of room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Shortage {
    #[default]
    None,
    /// The disk refused an extent. It is asked again at this time.
    Until(Timestamp),
    /// It is being asked again.
    Asked,
}

impl Shortage {
    /// Takes note of what was done. Extents that come free (recycled ones) end a shortage like new ones.
    pub fn after(self, done: &Done, now: Timestamp) -> Shortage {
        match (&done.task, &done.result) {
            (Task::Prepare(Preparation::Create { .. }), Err(error)) if error.fault == DiskFault::Full => {
                Shortage::Until(now.plus_ms(RETRY_MS))
            }
            (Task::Prepare(Preparation::Create { .. } | Preparation::Recycle { .. }), Ok(())) => {
                Shortage::None
            }
            _ => self,
        }
    }

    /// Whether the disk is to be asked again now.
    pub fn asks_again(&mut self, now: Timestamp) -> bool {
        let is_due = self.next().is_some_and(|at| at <= now);
        if is_due {
            *self = Shortage::Asked;
        }
        is_due
    }

    /// When [`Shortage::asks_again`] says yes.
    pub fn next(self) -> Option<Timestamp> {
        match self {
            Shortage::Until(at) => Some(at),
            Shortage::None | Shortage::Asked => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use ferrymq_recovery_log::{DiskError, ExtentIndex};

    use super::*;

    fn created(result: Result<(), DiskFault>) -> Done {
        let task = Task::Prepare(Preparation::Create { extent: ExtentIndex(2), size: 1 << 20 });
        Done { task, result: result.map_err(|fault| DiskError { fault, what: "create".into() }) }
    }

    #[test]
    fn a_full_disk_is_asked_again_after_a_while_until_it_has_room() {
        let mut shortage = Shortage::None.after(&created(Err(DiskFault::Full)), Timestamp(1_000));
        assert!(!shortage.asks_again(Timestamp(999 + RETRY_MS)));
        assert!(shortage.asks_again(Timestamp(1_000 + RETRY_MS)));
        assert_eq!(shortage.next(), None, "while it is being asked");
        shortage = shortage.after(&created(Err(DiskFault::Full)), Timestamp(10_000));
        assert_eq!(shortage.next(), Some(Timestamp(10_000 + RETRY_MS)));
        assert_eq!(shortage.after(&created(Ok(())), Timestamp(11_000)), Shortage::None);
    }
}
