//! Where the records of a queue manager go: its recovery log, the threads that write it, and roll-forward.

use std::collections::VecDeque;
use std::sync::Arc;

use ferrymq_message::Timestamp;
use ferrymq_queue_manager::{Journal, Position, QueueManager, Restart};
use ferrymq_recovery_log::{
    Config, ExtentIndex, LogEnd, Lsn, ReadError, RecordRefused, RecoveryLog, WriteOrder,
};

use crate::file_disk::FileDisk;
use crate::idle_proof::IdleProof;
use crate::log_writer::{Done, LogWriter};
use crate::randomness::random_bits;
use crate::settings::{EngineError, EngineSettings, LogSettings};
use crate::shortage::Shortage;

/// A record takes less than this beyond its own bytes, unless it is split over blocks: then it takes a block's header
/// of 64 bytes more.
const FRAMING_MAX: u64 = 32;

/// Blocks that one step of roll-forward reads at most. Several, so that small ones are packed into few: copied one by one
/// each would take a page again. Together with [`ROLL_BYTES`] it bounds what a step adds to a turn.
const ROLL_BLOCKS: u32 = 64;

/// Bytes of log that one step of roll-forward reads at most, the last block excepted.
const ROLL_BYTES: u64 = 1 << 20;

/// Every block takes a multiple of this.
const PAGE: u64 = 4096;

/// The journal of a queue manager that lives in memory.
#[derive(Debug)]
pub(crate) struct NoJournal;

impl Journal for NoJournal {
    fn append(&mut self, _record: &[u8]) -> Position {
        Position::default()
    }

    fn read(&mut self, _position: Position, _into: &mut Vec<u8>) -> bool {
        false
    }
}

/// The journal of a queue manager whose records are kept.
pub(crate) struct LogJournal {
    name: String,
    log: RecoveryLog,
    disk: Arc<FileDisk>,
    writer: LogWriter,
    settings: LogSettings,
    /// Start and end of records that are split over blocks and not known to be durable: their start may be durable
    /// before their end is.
    split: VecDeque<(Lsn, Lsn)>,
    /// Tasks out at the writer.
    outstanding: usize,
    done: Vec<Done>,
    /// Where roll-forward stands in the oldest extent.
    rolling: Option<Rolling>,
    /// What was appended behind here may be spent on roll-forward. It copies no more than traffic has brought since, and
    /// no more than one whole log without traffic: where all is live it would go on for ever and gain nothing.
    rolled_for: u64,
    shortage: Shortage,
    proof: IdleProof,
    read_failure: Option<ReadError>,
}

#[derive(Clone, Copy, Debug)]
enum Rolling {
    /// The next block to look through.
    At(Lsn),
    /// Everything that matters was appended again; the extent goes when all up to here is durable.
    Copied(Lsn),
}

impl LogJournal {
    /// Opens the log, or creates it, and makes the queue manager from its records. `seed`: of its topic trees.
    pub fn open(
        settings: &EngineSettings,
        now: Timestamp,
        seed: u64,
        wake: Arc<dyn Fn() + Send + Sync>,
    ) -> Result<(QueueManager, LogJournal), EngineError> {
        let name = settings.name.clone();
        let disk = FileDisk::open(&settings.directory)
            .map_err(|source| EngineError::Directory { name: name.clone(), source })?;
        let mut restart = Restart::new(settings.limits.clone(), seed);
        let mut replay = |lsn: Lsn, record: &[u8]| {
            restart.restore(record, Position(lsn.0)).map_err(|error| RecordRefused(error.to_string()))
        };
        let config = Config {
            new_log_id: random_bits().map_err(|source| EngineError::Random { name: name.clone(), source })?,
            extent_size: settings.log.extent_size,
            write_order: WriteOrder::OneAtATime,
            ..Config::default()
        };
        let (log, found) = RecoveryLog::open(&disk, &config, &mut replay)
            .map_err(|source| EngineError::Open { name: name.clone(), source })?;
        if found.log_end != LogEnd::Clean && found.log_end != LogEnd::New {
            tracing::warn!(
                queue_manager = %name, at = %found.end, what = ?found.log_end,
                "the last run ended in the middle of a write, which was cut off: it was not acknowledged"
            );
        }
        tracing::info!(
            queue_manager = %name, records = found.records, blocks = found.blocks, end = ?found.log_end,
            "recovery log replayed"
        );
        let disk = Arc::new(disk);
        let writer = LogWriter::start(disk.clone(), &name, Box::new(move || wake()))
            .map_err(|source| EngineError::Thread { name: name.clone(), source })?;
        let journal = LogJournal {
            name,
            log,
            disk,
            writer,
            settings: settings.log.clone(),
            split: VecDeque::new(),
            outstanding: 0,
            done: Vec::new(),
            rolling: None,
            rolled_for: 0,
            shortage: Shortage::None,
            proof: IdleProof::default(),
            read_failure: None,
        };
        Ok((restart.finish(now), journal))
    }

    /// Takes note of what the writer has done.
    pub fn take_completions(&mut self, now: Timestamp) -> Result<(), EngineError> {
        self.writer.take_done(&mut self.done);
        self.outstanding -= self.done.len();
        let before = self.shortage;
        for done in self.done.drain(..) {
            self.shortage = self.shortage.after(&done, now);
            let Done { task, result } = done;
            self.log
                .completed(task, result)
                .map_err(|source| EngineError::Write { name: self.name.clone(), source })?;
        }
        while self.split.front().is_some_and(|(_, end)| *end <= self.log.durable()) {
            self.split.pop_front();
        }
        self.tell_shortage(before);
        if self.shortage.asks_again(now) {
            self.log.retry_space();
        }
        Ok(())
    }

    fn tell_shortage(&self, before: Shortage) {
        let queue_manager = &*self.name;
        match (before == Shortage::None, self.log.no_space()) {
            (true, Some(error)) => tracing::error!(
                queue_manager, %error,
                "the disk is full: messages that have to be kept are refused until there is room"
            ),
            (false, _) if self.shortage == Shortage::None => {
                tracing::info!(queue_manager, "the disk has room again");
            }
            _ => {}
        }
    }

    /// Whether the disk is full: what room the log still has is for the records that make messages go away.
    pub fn is_short(&self) -> bool {
        self.shortage != Shortage::None
    }

    /// When the disk is asked for room again, or the last block is to be proved.
    pub fn next_timeout(&self) -> Option<Timestamp> {
        self.shortage.next().into_iter().chain(self.proof.next()).min()
    }

    /// Every record that starts here or before is durable to its last byte.
    pub fn durable(&self) -> Position {
        let durable = self.log.durable();
        let complete = self.split.front().map_or(durable, |(start, _)| durable.min(*start));
        Position(complete.0.saturating_sub(1))
    }

    /// Hands to the writer what it can take, and proves the last block when nothing has come for a while.
    pub fn flush(&mut self, now: Timestamp) -> Result<(), EngineError> {
        if self.proof.is_due(&self.log, now) {
            self.log.prove();
            self.submit();
            self.proof.given(&self.log);
        }
        self.submit();
        self.check()
    }

    fn submit(&mut self) {
        while let Some(task) = self.log.take_task() {
            self.outstanding += 1;
            self.writer.submit(task);
        }
    }

    fn check(&mut self) -> Result<(), EngineError> {
        // Nothing is under way and nothing may go: no completion would ever wake anybody.
        if let Some(source) = self.log.no_space()
            && self.outstanding == 0
            && self.log.unwritten_bytes() > 0
        {
            return Err(EngineError::NoSpace { name: self.name.clone(), source: source.clone() });
        }
        match self.read_failure.take() {
            Some(source) => Err(EngineError::Read { name: self.name.clone(), source }),
            None => Ok(()),
        }
    }

    pub fn is_full(&self) -> bool {
        self.log.unwritten_bytes() > self.settings.unwritten_max
    }

    /// Live extents.
    pub fn bytes(&self) -> u64 {
        let extents = self.log.extents();
        (extents.end() - extents.start() + 1) * self.log.extent_size()
    }

    /// Does one step of roll-forward if the log has grown far beyond what is live in it: a block of the oldest extent
    /// at a time, so that traffic never waits.
    pub fn reclaim(&mut self, queue_manager: &mut QueueManager) -> Result<(), EngineError> {
        match self.rolling {
            None if self.rolled_for < self.log.end().0 && self.is_reclaim_due(queue_manager) => {
                let extents = self.log.extents();
                self.rolling = Some(Rolling::At(Lsn(extents.start() * self.log.extent_size())));
                Ok(())
            }
            None => Ok(()),
            Some(Rolling::At(at)) => self.roll_step(at, queue_manager),
            Some(Rolling::Copied(end)) => {
                if self.log.durable() >= end {
                    let oldest = self.log.oldest_extent();
                    self.log.release(oldest);
                    // If nothing else is appended an empty block says so.
                    self.rolled_for += PAGE;
                    self.rolling = None;
                }
                Ok(())
            }
        }
    }

    fn is_reclaim_due(&self, queue_manager: &QueueManager) -> bool {
        let live = queue_manager.statistics().live_log_bytes;
        let extents = self.log.extents();
        let is_due = match self.is_short() {
            // On a full disk what is copied must fit into the last extent, with room left for what makes messages go.
            true => live + self.log.extent_size() / 8 < self.room(),
            false => self.bytes() > live.saturating_mul(2) + self.settings.reclaim_after,
        };
        extents.start() < extents.end() && is_due
    }

    /// Bytes left in the extent that is being filled.
    fn room(&self) -> u64 {
        self.log.extent_size() - self.log.end().0 % self.log.extent_size()
    }

    /// Looks through some blocks of the extent; what it copies is paid for by as much traffic.
    fn roll_step(&mut self, from: Lsn, queue_manager: &mut QueueManager) -> Result<(), EngineError> {
        let end = self.log.end().0;
        let mut at = from;
        for _ in 0..ROLL_BLOCKS {
            self.roll_block(at, queue_manager)?;
            match self.rolling {
                Some(Rolling::At(next)) if next.0 - from.0 < ROLL_BYTES => at = next,
                _ => break,
            }
        }
        let copied = self.log.end().0 - end;
        self.rolled_for = self.rolled_for.max(end.saturating_sub(self.bytes()));
        // Once for itself and once for the traffic that it uses up; its last page may stay empty but for it.
        self.rolled_for += if copied > 0 { 2 * copied + PAGE } else { 0 };
        Ok(())
    }

    fn roll_block(&mut self, at: Lsn, queue_manager: &mut QueueManager) -> Result<(), EngineError> {
        let extent = ExtentIndex(at.0 / self.log.extent_size());
        let mut records = Vec::new();
        let next = self
            .log
            .read_block(&*self.disk, at, &mut |lsn, record| records.push((lsn, record.to_vec())))
            .map_err(|source| EngineError::Read { name: self.name.clone(), source })?;
        for (lsn, record) in &records {
            queue_manager.roll_forward(record, Position(lsn.0), self).map_err(|error| EngineError::Read {
                name: self.name.clone(),
                source: ReadError::Damaged(ferrymq_recovery_log::Damage {
                    file: format!("extent {}", extent.0),
                    offset: lsn.0 % self.log.extent_size(),
                    what: error.to_string(),
                }),
            })?;
        }
        let is_through = next.0 / self.log.extent_size() > extent.0;
        self.rolling = Some(if is_through { Rolling::Copied(self.log.end()) } else { Rolling::At(next) });
        Ok(())
    }

    /// Waits until everything appended is durable, then lets go of the files.
    pub fn close(mut self) -> Result<(), EngineError> {
        self.log.prove();
        self.submit();
        while self.outstanding > 0 {
            std::thread::park_timeout(std::time::Duration::from_millis(1));
            // Nobody asks for more room any more.
            self.take_completions(Timestamp::default())?;
            self.submit();
            self.check()?;
        }
        Ok(())
    }
}

impl Journal for LogJournal {
    fn append(&mut self, record: &[u8]) -> Position {
        let start = self.log.append(record);
        let end = self.log.end();
        if end.0 - start.0 > record.len() as u64 + FRAMING_MAX {
            self.split.push_back((start, end));
        }
        Position(start.0)
    }

    fn read(&mut self, position: Position, into: &mut Vec<u8>) -> bool {
        match self.log.read(&*self.disk, Lsn(position.0), into) {
            Ok(()) => true,
            Err(error) => {
                self.read_failure.get_or_insert(error);
                false
            }
        }
    }
}
