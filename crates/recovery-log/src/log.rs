//! The log itself: append, hand out, complete, release.

use crate::block::Header;
use crate::buffer::Spares;
use crate::config::{Config, WriteOrder};
use crate::disk::{Disk, DiskError, DiskFault};
use crate::error::OpenError;
use crate::filling::{Filling, Sealed};
use crate::frame::{FRAME, Part};
use crate::lsn::{ExtentIndex, Geometry, Lsn};
use crate::reading::Reader;
use crate::restart::{self, Replay, Restart};
use crate::space::Space;
use crate::task::{Preparation, Task, Write};
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;

/// A record up to this size is not fragmented at a block's end: the block is closed early, at 16 KiB of a MiB.
const KEPT_WHOLE: usize = 16 << 10;

/// A log. Appends go to memory; [`RecoveryLog::take_task`] hands out what must happen on the disk, and
/// [`RecoveryLog::completed`] moves [`RecoveryLog::durable`] on.
pub struct RecoveryLog {
    pub(crate) geometry: Geometry,
    pub(crate) log_id: u64,
    block_size: usize,
    writes_in_flight: usize,
    write_order: WriteOrder,
    term: u64,
    /// Of the next block that is sealed.
    sequence: u64,
    /// Checksum of the last block that was sealed.
    previous: u32,
    pub(crate) filling: Filling,
    /// Full blocks in order, all before `filling`.
    pub(crate) full: VecDeque<Filling>,
    /// Handed out in order, all before `full`.
    pub(crate) in_flight: VecDeque<Arc<Sealed>>,
    pub(crate) durable: Lsn,
    pub(crate) space: Space,
    /// A released extent waits until a block tells the new start.
    start_moved: bool,
    /// An empty block is wanted behind everything appended.
    prove: bool,
    failed: Option<DiskError>,
    spares: Spares,
    pub(crate) reader: Reader,
}

/// Where a restart found the end, and what follows from it.
pub(crate) struct Foundation {
    pub(crate) geometry: Geometry,
    pub(crate) log_id: u64,
    pub(crate) term: u64,
    pub(crate) sequence: u64,
    pub(crate) previous: u32,
    pub(crate) end: Lsn,
    pub(crate) space: Space,
}

impl RecoveryLog {
    /// Opens the log on `disk`, or creates it there, and gives every durable record to `replay` in order. Extents that
    /// were released shortly before a crash may be replayed once more.
    ///
    /// # Errors
    /// See [`OpenError`]: damage is refused and named, never skipped. Only a write that was under way when the last
    /// run ended is cut off, which [`Restart::log_end`] tells.
    pub fn open(
        disk: &(impl Disk + ?Sized),
        config: &Config,
        replay: &mut Replay<'_>,
    ) -> Result<(RecoveryLog, Restart), OpenError> {
        let (foundation, restart) = restart::open(disk, config, replay)?;
        let mut log = RecoveryLog::on(foundation, config);
        // What stands there gets its proof now, not with the next record.
        log.prove = restart.blocks > 0;
        Ok((log, restart))
    }

    fn on(foundation: Foundation, config: &Config) -> RecoveryLog {
        let Foundation { geometry, log_id, term, sequence, previous, end, space } = foundation;
        let block_size = config.block_size.min(geometry.extent_size() as usize);
        let mut spares = Spares::default();
        RecoveryLog {
            geometry,
            log_id,
            block_size,
            writes_in_flight: config.writes_in_flight,
            write_order: config.write_order,
            term,
            sequence,
            previous,
            filling: empty_block(&mut spares, geometry, block_size, end),
            full: VecDeque::new(),
            in_flight: VecDeque::new(),
            durable: end,
            space,
            start_moved: false,
            prove: false,
            failed: None,
            spares,
            reader: Reader::default(),
        }
    }

    /// Appends a record and says where it stands. It is durable once [`durable`](Self::durable) has reached what
    /// [`end`](Self::end) returns now.
    #[inline]
    pub fn append(&mut self, record: &[u8]) -> Lsn {
        self.append_parts(&[record])
    }

    /// Appends one record that lies in several pieces.
    #[inline]
    pub fn append_parts(&mut self, parts: &[&[u8]]) -> Lsn {
        let length = parts.iter().map(|part| part.len()).sum();
        if FRAME + length <= self.filling.room() {
            return self.filling.push(Part::Whole, parts, length);
        }
        self.append_beyond(parts, length)
    }

    /// The record does not fit into the block being filled.
    #[cold]
    fn append_beyond(&mut self, parts: &[&[u8]], length: usize) -> Lsn {
        if length <= KEPT_WHOLE && !self.filling.is_empty() {
            self.turn_block();
            if FRAME + length <= self.filling.room() {
                return self.filling.push(Part::Whole, parts, length);
            }
        }
        self.append_fragments(parts, length)
    }

    fn append_fragments(&mut self, parts: &[&[u8]], length: usize) -> Lsn {
        let mut stands = None;
        let mut done = 0;
        loop {
            if self.filling.room() <= FRAME {
                self.turn_block();
            }
            let here = (self.filling.room() - FRAME).min(length - done);
            let part = match (done == 0, done + here == length) {
                (true, true) => Part::Whole,
                (true, false) => Part::First,
                (false, false) => Part::Middle,
                (false, true) => Part::Last,
            };
            let at = push_range(&mut self.filling, part, parts, done, here);
            let first = *stands.get_or_insert(at);
            done += here;
            if done == length {
                return first;
            }
        }
    }

    /// Closes the block being filled and starts the next.
    fn turn_block(&mut self) {
        let next = empty_block(&mut self.spares, self.geometry, self.block_size, self.filling.end());
        self.full.push_back(core::mem::replace(&mut self.filling, next));
    }

    /// Where the next byte goes. Take it after a turn's appends: they are durable once
    /// [`durable`](Self::durable) `>= end`.
    pub fn end(&self) -> Lsn {
        if self.filling.is_empty() {
            return self.filling.lsn();
        }
        Lsn(self.filling.lsn().0 + self.filling.bytes().len() as u64)
    }

    /// Everything below is durable. It only grows.
    pub fn durable(&self) -> Lsn {
        self.durable
    }

    /// Bytes appended and not yet durable: the measure for back-pressure.
    pub fn unwritten_bytes(&self) -> u64 {
        self.end().0 - self.durable.0
    }

    /// The next thing to do on the disk, if any may be done now. Ask after each turn and after each completion.
    pub fn take_task(&mut self) -> Option<Task> {
        if self.failed.is_some() {
            return None;
        }
        if let Some(write) = self.take_write() {
            return Some(Task::Write(write));
        }
        self.space.order(self.geometry.extent(self.filling.lsn())).map(Task::Prepare)
    }

    fn take_write(&mut self) -> Option<Write> {
        if self.in_flight.len() >= self.writes_in_flight || !self.next_block_may_go() {
            return None;
        }
        if self.full.is_empty() {
            self.prove &= !self.filling.is_empty();
            self.turn_block();
        }
        let block = Arc::new(self.seal_next()?);
        self.in_flight.push_back(block.clone());
        let lsn = block.header().lsn;
        Some(Write { extent: self.geometry.extent(lsn), offset: self.geometry.offset(lsn), block })
    }

    /// A block goes out when it has something to say and when the place after it exists. So a log that ends with its
    /// last extent has lost one, which a restart can tell.
    fn next_block_may_go(&self) -> bool {
        let next = self.full.front().unwrap_or(&self.filling);
        let marker_wanted = (self.start_moved || self.prove) && self.in_flight.is_empty();
        let worth_it = !next.is_empty() || marker_wanted;
        worth_it && self.geometry.extent(next.end()) < self.space.ready
    }

    fn seal_next(&mut self) -> Option<Sealed> {
        let block = self.full.pop_front()?;
        // An extent may be released before its last blocks went out; those cannot tell yet.
        let log_start = self.space.start.min(self.geometry.extent(block.lsn()));
        let header = Header {
            one_at_a_time: self.write_order == WriteOrder::OneAtATime,
            geometry: self.geometry,
            log_id: self.log_id,
            term: self.term,
            sequence: self.sequence,
            lsn: Lsn(0),
            durable: self.durable,
            log_start,
            length: 0,
            frames: 0,
            previous: self.previous,
        };
        let (sealed, checksum) = block.seal(header);
        self.sequence += 1;
        self.previous = checksum;
        self.start_moved &= log_start < self.space.start;
        Some(sealed)
    }

    /// Takes back a task with its result. Writes come back in the order in which they were handed out.
    ///
    /// # Errors
    /// The disk's, if it ends this log: nothing is handed out any more, and nothing further becomes durable. No space
    /// for a further extent does not end it, see [`no_space`](Self::no_space).
    pub fn completed(&mut self, task: Task, result: Result<(), DiskError>) -> Result<(), DiskError> {
        match (task, result) {
            (Task::Write(write), Ok(())) => self.written(write),
            (Task::Prepare(preparation), Ok(())) => self.space.prepared(preparation),
            (Task::Prepare(Preparation::Create { .. }), Err(error)) if error.fault == DiskFault::Full => {
                self.space.refused(error);
            }
            (_, Err(error)) => {
                self.failed.get_or_insert(error.clone());
                return Err(error);
            }
        }
        Ok(())
    }

    fn written(&mut self, write: Write) {
        let block = self.in_flight.pop_front().expect("a write that was handed out");
        assert!(Arc::ptr_eq(&block, &write.block), "writes complete in order");
        drop(write);
        self.durable = block.end();
        self.space.durable_start = block.header().log_start;
        if let Some(sealed) = Arc::into_inner(block) {
            self.spares.give(sealed.into_buffer());
        }
    }

    /// Why this log hands out nothing any more.
    pub fn failure(&self) -> Option<&DiskError> {
        self.failed.as_ref()
    }

    /// The disk had no room for another extent. What fits into the existing ones is still written; release extents,
    /// or call [`retry_space`](Self::retry_space) when there may be room.
    pub fn no_space(&self) -> Option<&DiskError> {
        self.space.full.as_ref()
    }

    /// Lets the log ask for an extent again.
    pub fn retry_space(&mut self) {
        self.space.full = None;
    }

    /// Wants an empty block behind everything appended, so that damage to the last records can be told from a torn
    /// write. For a controlled stop; a restart does it by itself.
    pub fn prove(&mut self) {
        self.prove = true;
    }

    /// Bytes of an extent.
    pub fn extent_size(&self) -> u64 {
        self.geometry.extent_size()
    }

    /// The extent in which a record starts.
    pub fn extent_of(&self, lsn: Lsn) -> ExtentIndex {
        self.geometry.extent(lsn)
    }

    /// The live extent that was written first. It can be released once it is closed.
    pub fn oldest_extent(&self) -> ExtentIndex {
        self.space.start
    }

    /// Live extents, from the oldest to the one being filled, which is not closed.
    pub fn extents(&self) -> core::ops::RangeInclusive<u64> {
        self.space.start.0..=self.geometry.extent(self.filling.lsn()).0
    }

    /// Gives up the oldest extent: every record that starts in it is dead or was appended again before this call. The
    /// file is recycled once those are durable, by a task. `false`, and nothing happens, where `extent` is not the
    /// oldest or is not closed.
    pub fn release(&mut self, extent: ExtentIndex) -> bool {
        let closed = extent < self.geometry.extent(self.filling.lsn());
        if extent != self.space.start || !closed {
            return false;
        }
        self.space.start = extent.next();
        self.start_moved = true;
        true
    }
}

fn empty_block(spares: &mut Spares, geometry: Geometry, block_size: usize, lsn: Lsn) -> Filling {
    let capacity = geometry.rest(lsn).min(block_size as u64) as usize;
    Filling::new(spares.take(block_size), lsn, capacity)
}

/// Appends bytes `from..from + length` of a record that lies in `parts`.
fn push_range(filling: &mut Filling, part: Part, parts: &[&[u8]], from: usize, length: usize) -> Lsn {
    let mut skip = from;
    let mut rest = length;
    let mut chosen = Vec::with_capacity(parts.len());
    for piece in parts {
        let start = skip.min(piece.len());
        let end = (start + rest).min(piece.len());
        chosen.push(&piece[start..end]);
        skip -= start;
        rest -= end - start;
    }
    filling.push(part, &chosen, length)
}
