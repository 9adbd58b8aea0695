//! Exact accounting of one stream at one subscriber: what came, what came twice, what came late, what never came.
//!
//! A stream is what one publisher sends, numbered 0, 1, 2 … without holes. Nothing here is a difference of totals:
//! each number's fate is known.

use std::collections::BTreeMap;

/// What became of one arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// The next number, or one past a gap of `skipped` numbers (now counted as missing).
    Advanced {
        /// How many numbers were passed over to get here.
        skipped: u64,
    },
    /// A number missing until now, after a later one of its stream: reordered, not lost.
    Late,
    /// A number that had come before.
    Duplicate,
}

/// Numbers of one stream seen by one subscriber. 48 bytes while nothing is missing.
#[derive(Clone, Debug, Default)]
pub struct StreamLedger {
    /// Every number below this came, is in `missing`, or was skipped into it.
    next: u64,
    duplicated: u64,
    reordered: u64,
    /// Holes below `next`: first number → one past the last; ranges neither touch nor overlap.
    missing: BTreeMap<u64, u64>,
}

impl StreamLedger {
    /// Records the arrival of number `sequence`.
    #[inline]
    pub fn arrived(&mut self, sequence: u64) -> Arrival {
        if sequence == self.next {
            self.next += 1;
            return Arrival::Advanced { skipped: 0 };
        }
        self.out_of_step(sequence)
    }

    #[cold]
    fn out_of_step(&mut self, sequence: u64) -> Arrival {
        if sequence > self.next {
            let skipped = sequence - self.next;
            self.missing.insert(self.next, sequence);
            self.next = sequence + 1;
            return Arrival::Advanced { skipped };
        }
        if self.fill(sequence) {
            self.reordered += 1;
            Arrival::Late
        } else {
            self.duplicated += 1;
            Arrival::Duplicate
        }
    }

    /// Takes `sequence` out of the hole it lies in; false when it lies in none.
    fn fill(&mut self, sequence: u64) -> bool {
        let Some((&start, &end)) = self.missing.range(..=sequence).next_back() else { return false };
        if sequence >= end {
            return false;
        }
        self.missing.remove(&start);
        if start < sequence {
            self.missing.insert(start, sequence);
        }
        if sequence + 1 < end {
            self.missing.insert(sequence + 1, end);
        }
        true
    }

    /// Totals, given that the publisher sent numbers `0..sent`.
    pub fn totals(&self, sent: u64) -> Totals {
        let holes: u64 = self.missing.iter().map(|(start, end)| end - start).sum();
        Totals {
            received: self.next - holes,
            lost: holes + sent.saturating_sub(self.next),
            duplicated: self.duplicated,
            reordered: self.reordered,
        }
    }
}

/// Sums over streams and subscribers, in messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Distinct messages that arrived.
    pub received: u64,
    /// Messages that never arrived.
    pub lost: u64,
    /// Arrivals beyond the first of a message.
    pub duplicated: u64,
    /// Messages that arrived after a later one of their stream.
    pub reordered: u64,
}

impl std::ops::AddAssign for Totals {
    fn add_assign(&mut self, other: Self) {
        self.received += other.received;
        self.lost += other.lost;
        self.duplicated += other.duplicated;
        self.reordered += other.reordered;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ledger(arrivals: &[u64]) -> StreamLedger {
        let mut ledger = StreamLedger::default();
        arrivals.iter().for_each(|&n| {
            ledger.arrived(n);
        });
        ledger
    }

    fn totals(received: u64, lost: u64, duplicated: u64, reordered: u64) -> Totals {
        Totals { received, lost, duplicated, reordered }
    }

    #[test]
    fn a_stream_in_order_is_received_whole() {
        assert_eq!(ledger(&[0, 1, 2, 3]).totals(4), totals(4, 0, 0, 0));
    }

    #[test]
    fn what_was_sent_last_and_never_came_is_lost() {
        assert_eq!(ledger(&[0, 1]).totals(5), totals(2, 3, 0, 0));
        assert_eq!(ledger(&[]).totals(3), totals(0, 3, 0, 0));
    }

    #[test]
    fn a_hole_is_lost_and_reported_when_skipped() {
        let mut ledger = ledger(&[0]);
        assert_eq!(ledger.arrived(4), Arrival::Advanced { skipped: 3 });
        assert_eq!(ledger.totals(5), totals(2, 3, 0, 0));
    }

    #[test]
    fn a_late_message_is_reordered_and_not_lost() {
        let mut ledger = ledger(&[0, 2, 3]);
        assert_eq!(ledger.arrived(1), Arrival::Late);
        assert_eq!(ledger.totals(4), totals(4, 0, 0, 1));
    }

    #[test]
    fn a_message_that_comes_again_is_a_duplicate_wherever_it_lies() {
        assert_eq!(ledger(&[0, 0, 1, 2, 1]).totals(3), totals(3, 0, 2, 0));
        assert_eq!(ledger(&[0, 3, 1, 1]).totals(4), totals(3, 1, 1, 1));
    }

    #[test]
    fn holes_split_from_the_middle_keep_both_ends() {
        let mut ledger = ledger(&[10]);
        assert_eq!(ledger.arrived(5), Arrival::Late);
        assert_eq!(ledger.arrived(0), Arrival::Late);
        assert_eq!(ledger.arrived(9), Arrival::Late);
        assert_eq!(ledger.totals(11), totals(4, 7, 0, 3));
        (1..5).chain(6..9).for_each(|n| assert_eq!(ledger.arrived(n), Arrival::Late));
        assert_eq!(ledger.totals(11), totals(11, 0, 0, 10));
    }

    /// A naive shadow (a count per number) agrees on a long pseudo-random sequence.
    #[test]
    fn accounting_agrees_with_a_count_per_number() {
        let (mut ledger, mut seen, mut highest, mut late) = (StreamLedger::default(), [0u64; 512], None, 0);
        let mut random = 0x9e37_79b9_7f4a_7c15u64;
        for step in 0..2_000u64 {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let n = (step / 5 + random % 64).min(511);
            late += u64::from(seen[n as usize] == 0 && highest.is_some_and(|h| n < h));
            seen[n as usize] += 1;
            highest = highest.max(Some(n));
            ledger.arrived(n);
        }
        let received = seen.iter().filter(|&&c| c > 0).count() as u64;
        let duplicated = seen.iter().map(|c| c.saturating_sub(1)).sum();
        assert_eq!(ledger.totals(512), totals(received, 512 - received, duplicated, late));
    }
}
