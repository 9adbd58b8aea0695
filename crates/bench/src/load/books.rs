//! The books of a run: every arrival entered once, per subscriber and stream.

use std::collections::VecDeque;
use std::ops::Range;

use crate::latency::Latency;
use crate::scenario::Shape;
use crate::sequence::{Arrival, StreamLedger, Totals};
use crate::stamp::Stamp;

/// What arrived, and how late.
#[derive(Debug)]
pub struct Books {
    shape: Shape,
    run: u32,
    streams: u32,
    subscribers: u32,
    /// One for each (subscriber, stream) that belong together.
    ledgers: Vec<StreamLedger>,
    /// Times from intended sending to arrival of messages meant to leave within `window_us`.
    pub latency: Latency,
    /// The measured time; empty until it is known.
    pub window_us: Range<u64>,
    /// Arrivals so far, duplicates not counted.
    pub delivered: u64,
    /// Payloads of other runs or in other forms.
    pub foreign: u64,
    /// Messages of this run at a subscriber they were not meant for.
    pub misdirected: u64,
    /// Kept for rated fan-outs only.
    pub broadcasts: Option<Broadcasts>,
}

impl Books {
    /// Empty books of run `run`.
    pub fn new(run: u32, shape: Shape, streams: u32, subscribers: u32) -> Self {
        let pairs =
            if shape == Shape::Everyone { streams as usize * subscribers as usize } else { streams as usize };
        Self {
            shape,
            run,
            streams,
            subscribers,
            ledgers: vec![StreamLedger::default(); pairs],
            latency: Latency::default(),
            window_us: 0..0,
            delivered: 0,
            foreign: 0,
            misdirected: 0,
            broadcasts: None,
        }
    }

    /// Enters the arrival of `payload` at `subscriber`. Returns the stream and by how many numbers it went on there,
    /// numbers passed over included; `None` for what is not this run's.
    #[inline]
    pub fn enter(&mut self, subscriber: u32, payload: &[u8], now_us: u64) -> Option<(u32, u64)> {
        let stamp = Stamp::read(payload).filter(|s| s.run == self.run && s.stream < self.streams);
        let Some(stamp) = stamp else {
            self.foreign += 1;
            return None;
        };
        let Some(place) = self.place(subscriber, stamp.stream) else {
            self.misdirected += 1;
            return None;
        };
        let advanced = match self.ledgers[place].arrived(stamp.sequence) {
            Arrival::Advanced { skipped } => skipped + 1,
            Arrival::Late => 0,
            Arrival::Duplicate => return Some((stamp.stream, 0)),
        };
        self.delivered += 1;
        if self.window_us.contains(&stamp.intended_us) {
            self.time(&stamp, now_us);
        }
        Some((stamp.stream, advanced))
    }

    #[inline]
    fn time(&mut self, stamp: &Stamp, now_us: u64) {
        let took_us = now_us.saturating_sub(stamp.intended_us);
        self.latency.record(took_us);
        if let Some(broadcasts) = &mut self.broadcasts {
            broadcasts.copy_arrived(stamp.sequence, took_us);
        }
    }

    #[inline]
    fn place(&self, subscriber: u32, stream: u32) -> Option<usize> {
        if self.shape == Shape::Everyone {
            return Some(subscriber as usize * self.streams as usize + stream as usize);
        }
        (stream % self.subscribers == subscriber).then_some(stream as usize)
    }

    /// Sums over all books, given how many messages each stream has sent.
    pub fn totals(&self, sent: impl Fn(u32) -> u64) -> Totals {
        let mut totals = Totals::default();
        for (place, ledger) in self.ledgers.iter().enumerate() {
            totals += ledger.totals(sent((place % self.streams as usize) as u32));
        }
        totals
    }
}

/// How long each broadcast took until its last copy had arrived.
#[derive(Debug)]
pub struct Broadcasts {
    copies: u32,
    first: Option<u64>,
    /// Copies still out, of the broadcasts from `first` on.
    out: VecDeque<u32>,
    /// From intended sending to the last arrival.
    pub complete: Latency,
}

impl Broadcasts {
    /// For broadcasts to `copies` subscribers.
    pub fn new(copies: u32) -> Self {
        Self { copies, first: None, out: VecDeque::new(), complete: Latency::default() }
    }

    fn copy_arrived(&mut self, sequence: u64, took_us: u64) {
        let first = *self.first.get_or_insert(sequence);
        let Some(index) = sequence.checked_sub(first).map(|i| i as usize) else { return };
        if index >= self.out.len() {
            self.out.resize(index + 1, self.copies);
        }
        self.out[index] = self.out[index].saturating_sub(1);
        if self.out[index] == 0 {
            self.complete.record(took_us);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn payload(stream: u32, sequence: u64, intended_us: u64) -> [u8; 24] {
        Stamp { run: 9, stream, sequence, intended_us }.to_bytes()
    }

    #[test]
    fn each_subscriber_of_a_fan_out_has_its_own_books() {
        let mut books = Books::new(9, Shape::Everyone, 1, 3);
        assert_eq!(books.enter(0, &payload(0, 0, 5), 10), Some((0, 1)));
        assert_eq!(books.enter(2, &payload(0, 1, 5), 10), Some((0, 2)));
        assert_eq!(books.enter(2, &payload(0, 0, 5), 10), Some((0, 0)));
        assert_eq!(books.enter(2, &payload(0, 0, 5), 10), Some((0, 0)));
        let totals = books.totals(|_| 2);
        assert_eq!(totals, Totals { received: 3, lost: 3, duplicated: 1, reordered: 1 });
        assert_eq!(books.delivered, 3);
    }

    #[test]
    fn what_is_not_this_runs_or_this_subscribers_is_counted_apart() {
        let mut books = Books::new(9, Shape::Topics(2), 4, 2);
        assert_eq!(books.enter(0, b"short", 10), None);
        assert_eq!(books.enter(0, &payload(4, 0, 0), 10), None);
        assert_eq!(books.enter(0, &payload(3, 0, 0), 10), None);
        assert_eq!(books.enter(1, &payload(3, 0, 0), 10), Some((3, 1)));
        assert_eq!((books.foreign, books.misdirected, books.delivered), (2, 1, 1));
    }

    #[test]
    fn only_messages_meant_for_the_measured_time_are_timed() {
        let mut books = Books::new(9, Shape::Pairs, 1, 1);
        books.window_us = 100..200;
        for (sequence, intended) in [99, 100, 199, 200].into_iter().enumerate() {
            books.enter(0, &payload(0, sequence as u64, intended), 1_000);
        }
        let times = books.latency.percentiles().expect("two times");
        assert_eq!((times.p50, times.max), (801, 900));
    }

    #[test]
    fn a_broadcast_is_complete_with_its_last_copy() {
        let mut broadcasts = Broadcasts::new(2);
        broadcasts.copy_arrived(5, 10);
        broadcasts.copy_arrived(6, 11);
        broadcasts.copy_arrived(5, 30);
        assert_eq!(broadcasts.complete.percentiles().map(|p| p.max), Some(30));
        assert_eq!(broadcasts.out, [0, 1]);
    }
}
