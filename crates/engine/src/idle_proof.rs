//! Proof of the last block. A damaged block is told from a torn write by what stands behind it; so a log that has been
//! idle for a moment gets an empty block behind its last record, and damage to any acknowledged record is refused.

use ferrymq_message::Timestamp;
use ferrymq_recovery_log::{Lsn, RecoveryLog};

/// How long a log is idle before its last block is proved.
const IDLE_MS: u64 = 100;

#[derive(Debug, Default)]
pub(crate) struct IdleProof {
    /// Where the log ended when it was last looked at.
    end: Lsn,
    /// Since when it has ended there.
    since: Timestamp,
    /// Everything before is proved: `proved <= end`.
    proved: Lsn,
}

impl IdleProof {
    /// Whether the log is to be asked for a proof in this turn. To be called each turn, before its tasks are taken.
    pub fn is_due(&mut self, log: &RecoveryLog, now: Timestamp) -> bool {
        if log.end() != self.end {
            (self.end, self.since) = (log.end(), now);
        }
        self.next().is_some_and(|due| due <= now) && log.durable() >= self.end
    }

    /// The block that proves is on its way; the log ends behind it.
    pub fn given(&mut self, log: &RecoveryLog) {
        (self.end, self.proved) = (log.end(), log.end());
    }

    /// When the log will have been idle for long enough; `None` while there is nothing to prove.
    pub fn next(&self) -> Option<Timestamp> {
        (self.proved < self.end).then(|| self.since.plus_ms(IDLE_MS))
    }
}
