//! A journal in memory with a durable end, a part that roll-forward has been through, and faults on request.

use ferrymq_queue_manager::{Journal, Position};

/// What is broken on purpose: the checkers must see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    None,
    /// Records of consumed messages never arrive.
    DropsGets,
    /// One durable message in four is lost in a crash.
    LosesPuts,
    /// Effects leave before their records are durable.
    Hurries,
    /// Records that only note a tag never arrive.
    DropsTags,
    /// Everything is released although nothing was copied.
    RecyclesUncopied,
}

/// Record `n` stands at position `n + 1`.
pub struct Disk {
    records: Vec<Option<Vec<u8>>>,
    /// So many records are durable.
    pub durable: usize,
    /// So many records roll-forward has been through.
    pub rolled: usize,
    /// How far it had been, and how many records there were then.
    copied: Vec<(usize, usize)>,
    recycled: usize,
    pub fault: Fault,
    pub misread: bool,
}

/// A record that changes nothing.
const NOTHING: [u8; 7] = [10, 4, 0, b'n', b'o', b'n', b'e'];

impl Disk {
    pub fn new(fault: Fault) -> Disk {
        Disk {
            records: Vec::new(),
            durable: 0,
            rolled: 0,
            copied: Vec::new(),
            recycled: 0,
            fault,
            misread: false,
        }
    }

    pub fn len(&self) -> usize {
        self.records.len()
    }

    pub fn record(&self, index: usize) -> Option<&[u8]> {
        self.records[index].as_deref()
    }

    /// Roll-forward has been through all records before this one.
    pub fn mark_rolled(&mut self, to: usize) {
        self.rolled = to;
        self.copied.push((to, self.records.len()));
    }

    /// Recycles what was copied and whose copies are durable, to one of the ends there have been.
    pub fn recycle(&mut self, which: usize) {
        let durable = if self.fault == Fault::RecyclesUncopied { usize::MAX } else { self.durable };
        let ends: Vec<usize> =
            self.copied.iter().filter(|(_, end)| *end <= durable).map(|(to, _)| *to).collect();
        if let Some(to) = ends.get(which % ends.len().max(1)) {
            self.recycled = self.recycled.max(*to);
            self.records[..*to].iter_mut().for_each(|record| *record = None);
        }
    }

    /// What a crash leaves: all that is durable and `more` records.
    pub fn crash(&mut self, more: usize) {
        self.records.truncate(self.durable + more);
        self.durable = self.records.len();
        self.rolled = self.recycled;
        self.copied.clear();
        if self.fault == Fault::LosesPuts {
            let puts = self.records.iter_mut().filter(|r| r.as_ref().is_some_and(|r| r[0] == 5));
            puts.step_by(4).for_each(|record| *record = Some(NOTHING.to_vec()));
        }
    }

    fn is_swallowed(&self, kind: u8) -> bool {
        match self.fault {
            Fault::DropsGets => kind == 6,
            Fault::DropsTags => matches!(kind, 8 | 9 | 11),
            _ => false,
        }
    }
}

impl Journal for Disk {
    fn append(&mut self, record: &[u8]) -> Position {
        let record = if self.is_swallowed(record[0]) { &NOTHING[..] } else { record };
        self.records.push(Some(record.to_vec()));
        Position(self.records.len() as u64)
    }

    fn read(&mut self, position: Position, into: &mut Vec<u8>) -> bool {
        into.clear();
        let record = (position.0 as usize).checked_sub(1).and_then(|at| self.records.get(at)?.as_ref());
        match record {
            Some(record) => into.extend_from_slice(record),
            None => self.misread = true,
        }
        !self.misread
    }
}
