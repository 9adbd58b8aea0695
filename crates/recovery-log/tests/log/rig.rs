//! A log on a disk in memory, with everything that was ever appended.

use ferrymq_recovery_log::{
    Config, ExtentIndex, Lsn, MemoryDisk, OpenError, RecoveryLog, Restart, Task, Write, WriteOrder,
};
use std::collections::VecDeque;

pub const EXTENT: u64 = 64 << 10;

pub fn config() -> Config {
    Config { new_log_id: 77, extent_size: EXTENT, block_size: 16 << 10, ..Config::default() }
}

/// A record and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    pub lsn: Lsn,
    pub bytes: Vec<u8>,
}

/// Opens what is on `disk` and returns what is replayed.
pub fn open(disk: &MemoryDisk, config: &Config) -> Result<(RecoveryLog, Restart, Vec<Record>), OpenError> {
    let mut records = Vec::new();
    let (log, restart) = RecoveryLog::open(disk, config, &mut |lsn, bytes| {
        records.push(Record { lsn, bytes: bytes.to_vec() });
        Ok(())
    })?;
    Ok((log, restart, records))
}

/// Performs everything that the log wants done.
pub fn settle(log: &mut RecoveryLog, disk: &MemoryDisk) {
    while let Some(task) = log.take_task() {
        let result = task.perform(disk);
        log.completed(task, result).unwrap();
    }
}

pub struct Rig {
    pub disk: MemoryDisk,
    pub log: RecoveryLog,
    pub config: Config,
    /// All that was appended and may be found, in order, released ones included.
    pub history: Vec<Record>,
    /// How many of them are durable for certain: their `end` was reached.
    ends: Vec<Lsn>,
    /// Handed out, not performed.
    pub out: VecDeque<Task>,
}

impl Rig {
    pub fn new(config: Config) -> Rig {
        let disk = MemoryDisk::default();
        let (log, ..) = open(&disk, &config).unwrap();
        Rig { disk, log, config, history: Vec::new(), ends: Vec::new(), out: VecDeque::new() }
    }

    pub fn append(&mut self, bytes: Vec<u8>) {
        let lsn = self.log.append(&bytes);
        self.history.push(Record { lsn, bytes });
        self.ends.push(self.log.end());
    }

    /// Takes whatever the log hands out.
    pub fn take(&mut self) {
        while let Some(task) = self.log.take_task() {
            self.out.push_back(task);
        }
    }

    /// Performs the oldest task that is out.
    pub fn perform_one(&mut self) {
        if let Some(task) = self.out.pop_front() {
            let result = task.perform(&self.disk);
            self.log.completed(task, result).unwrap();
        }
    }

    pub fn settle(&mut self) {
        self.take();
        while !self.out.is_empty() {
            self.perform_one();
            self.take();
        }
    }

    pub fn release_oldest(&mut self) {
        self.log.release(self.log.oldest_extent());
    }

    /// Records that must be found after a crash now.
    pub fn durable(&self) -> usize {
        self.ends.iter().take_while(|&&end| end <= self.log.durable()).count()
    }

    /// The first record of the live extents.
    pub fn first_live(&self) -> usize {
        let start = self.log.oldest_extent();
        self.history.iter().take_while(|record| self.log.extent_of(record.lsn) < start).count()
    }

    pub fn writes_out(&self) -> Vec<&Write> {
        self.out
            .iter()
            .filter_map(|task| if let Task::Write(write) = task { Some(write) } else { None })
            .collect()
    }

    pub fn overlapping(&self) -> bool {
        self.config.write_order == WriteOrder::Overlapping
    }

    /// Opens the log on what a crash left, and checks that nothing durable is gone and nothing foreign is there.
    pub fn check(&self, left: &MemoryDisk) -> (RecoveryLog, Restart, Vec<Record>) {
        let (log, restart, found) = open(left, &self.config).unwrap();
        let from = found.first().map_or(self.history.len(), |first| self.position(first));
        let to = from + found.len();
        assert!(
            self.history.get(from..to) == Some(&found[..]),
            "what is found was appended, in order, without a gap"
        );
        assert!(found.is_empty() || from <= self.first_live(), "the first live record is found");
        assert!(!found.is_empty() || self.durable() <= self.first_live(), "live durable records are found");
        assert!(found.is_empty() || to >= self.durable(), "everything durable is found");
        (log, restart, found)
    }

    fn position(&self, record: &Record) -> usize {
        self.history.iter().position(|known| known == record).expect("what is found was appended")
    }

    /// Goes on after a crash that left this disk.
    pub fn restarted(self, left: MemoryDisk) -> Rig {
        let (log, _, found) = self.check(&left);
        let mut rig = Rig {
            disk: left,
            log,
            config: self.config,
            history: found,
            ends: Vec::new(),
            out: VecDeque::new(),
        };
        rig.ends = vec![rig.log.durable(); rig.history.len()];
        rig
    }
}

pub fn file(extent: u64) -> String {
    format!("{:08}.extent", ExtentIndex(extent).0)
}
