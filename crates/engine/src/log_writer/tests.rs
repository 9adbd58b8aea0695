//! The threads, on real files and on a disk that fails; and what they reach.

use super::*;
use crate::file_disk::{FileDisk, Scratch};
use ferrymq_recovery_log::{Config, ExtentFile, ExtentIndex, Lsn, RecoveryLog};
use std::collections::VecDeque;
use std::sync::Condvar;
use std::time::{Duration, Instant};

/// Wakes the test as an event descriptor wakes an engine.
#[derive(Default)]
struct Bell {
    rung: Mutex<bool>,
    changed: Condvar,
}

impl Bell {
    fn ring(&self) {
        *self.rung.lock().unwrap() = true;
        self.changed.notify_one();
    }

    fn wait(&self) {
        let mut rung = self.changed.wait_while(self.rung.lock().unwrap(), |rung| !*rung).unwrap();
        *rung = false;
    }
}

/// An engine's half of the log.
struct Driver {
    log: RecoveryLog,
    writer: LogWriter,
    bell: Arc<Bell>,
    done: Vec<Done>,
}

impl Driver {
    fn start<D: Disk + Send + Sync + 'static>(disk: D, config: &Config) -> Driver {
        crate::scheduling::prefer_short_slice("driver");
        let disk = Arc::new(disk);
        let (log, _) = RecoveryLog::open(&*disk, config, &mut |_, _| Ok(())).unwrap();
        let bell = Arc::new(Bell::default());
        let ringer = bell.clone();
        let writer = LogWriter::start(disk, "test", Box::new(move || ringer.ring())).unwrap();
        Driver { log, writer, bell, done: Vec::new() }
    }

    fn submit(&mut self) {
        while let Some(task) = self.log.take_task() {
            self.writer.submit(task);
        }
    }

    fn wait(&mut self) -> Result<(), DiskError> {
        self.bell.wait();
        self.writer.take_done(&mut self.done);
        self.done.drain(..).try_for_each(|done| self.log.completed(done.task, done.result))
    }

    fn settle(&mut self) -> Result<(), DiskError> {
        let end = self.log.end();
        self.submit();
        while self.log.durable() < end {
            self.wait()?;
            self.submit();
        }
        Ok(())
    }
}

#[test]
fn what_the_writer_reports_durable_is_on_the_disk() {
    let scratch = Scratch::new();
    let config = Config { extent_size: 64 << 10, ..Config::default() };
    let mut driver = Driver::start(FileDisk::open(&scratch.0).unwrap(), &config);
    for i in 0..200u8 {
        driver.log.append(&vec![i; 1000 * usize::from(i % 7)]);
        driver.settle().unwrap();
    }
    drop(driver);
    let disk = FileDisk::open(&scratch.0).unwrap();
    let mut count = 0;
    RecoveryLog::open(&disk, &config, &mut |_, record| {
        assert!(record.len() == 1000 * (count % 7) && record.iter().all(|&byte| usize::from(byte) == count));
        count += 1;
        Ok(())
    })
    .unwrap();
    assert_eq!(count, 200);
}

/// Takes extents and one write; the next write fails, later ones would work.
#[derive(Default)]
struct FailsOnce {
    writes: Mutex<u32>,
}

impl Disk for FailsOnce {
    fn extents(&self) -> Result<Vec<ExtentFile>, DiskError> {
        Ok(Vec::new())
    }

    fn create(&self, _: ExtentIndex, _: u64) -> Result<(), DiskError> {
        Ok(())
    }

    fn read(&self, _: ExtentIndex, _: u64, _: &mut [u8]) -> Result<(), DiskError> {
        Ok(())
    }

    fn write(&self, _: ExtentIndex, _: u64, _: &[u8]) -> Result<(), DiskError> {
        let mut writes = self.writes.lock().unwrap();
        *writes += 1;
        if *writes == 2 {
            return Err(DiskError { fault: DiskFault::Failed, what: "input/output error".into() });
        }
        Ok(())
    }

    fn rename(&self, _: ExtentIndex, _: ExtentIndex) -> Result<(), DiskError> {
        Ok(())
    }

    fn remove(&self, _: ExtentIndex) -> Result<(), DiskError> {
        Ok(())
    }

    fn name(&self, extent: ExtentIndex) -> String {
        extent.to_string()
    }
}

#[test]
fn after_a_failed_write_nothing_is_written_any_more() {
    let mut driver = Driver::start(FailsOnce::default(), &Config::default());
    driver.log.append(b"kept");
    driver.settle().unwrap();
    let durable = driver.log.durable();
    driver.log.append(b"lost");
    let first = driver.log.take_task().unwrap();
    driver.log.append(b"also lost");
    let second = driver.log.take_task().unwrap();
    driver.writer.submit(first);
    driver.writer.submit(second);
    let mut done = Vec::new();
    while done.len() < 2 {
        driver.bell.wait();
        driver.writer.take_done(&mut done);
        // The extent that the log asked for before may come only now.
        done.retain(|done| matches!(done.task, Task::Write(_)));
    }
    let faults: Vec<_> = done.iter().map(|done| done.result.as_ref().unwrap_err().fault).collect();
    assert_eq!(faults, [DiskFault::Failed, DiskFault::Stopped]);
    for done in done {
        assert!(driver.log.completed(done.task, done.result).is_err());
    }
    assert!(driver.log.take_task().is_none() && driver.log.durable() == durable);
}

/// What the log and its writer reach: `cargo test --release -p ferrymq-engine -- --ignored --nocapture puts`.
/// Closed loop: each of `clients` puts its next 256 bytes when its last one is durable.
#[test]
#[ignore = "a measurement of some seconds"]
fn puts_per_second_with_group_commit() {
    for writes_in_flight in [1, 2] {
        for clients in [1, 30, 300, 3000] {
            let scratch = Scratch::new();
            let config = Config { writes_in_flight, ..Config::default() };
            let mut driver = Driver::start(FileDisk::open(&scratch.0).unwrap(), &config);
            let (puts, mean) = closed_loop(&mut driver, clients, Duration::from_secs(2));
            println!(
                "in flight {writes_in_flight}, clients {clients:4}: {puts:9.0} puts/s, {mean:6.0} us mean"
            );
        }
    }
}

fn closed_loop(driver: &mut Driver, clients: usize, duration: Duration) -> (f64, f64) {
    let record = [7; 256];
    let start = Instant::now();
    let mut waiting: VecDeque<(Lsn, Instant, usize)> = VecDeque::new();
    let (mut ready, mut puts, mut total) = (clients, 0u64, Duration::ZERO);
    while start.elapsed() < duration {
        let now = Instant::now();
        (0..ready).for_each(|_| {
            driver.log.append(&record);
        });
        if ready > 0 {
            waiting.push_back((driver.log.end(), now, ready));
        }
        while driver.log.oldest_extent() < driver.log.extent_of(driver.log.end()) {
            driver.log.release(driver.log.oldest_extent());
        }
        driver.submit();
        driver.wait().unwrap();
        ready = 0;
        while let Some(&(end, since, count)) =
            waiting.front().filter(|(end, ..)| *end <= driver.log.durable())
        {
            debug_assert!(end > Lsn(0));
            total += since.elapsed() * count as u32;
            (ready, puts) = (ready + count, puts + count as u64);
            waiting.pop_front();
        }
    }
    (puts as f64 / start.elapsed().as_secs_f64(), total.as_micros() as f64 / puts as f64)
}

/// What appending and sealing cost on one core, without a disk.
#[test]
#[ignore = "a measurement of some seconds"]
fn puts_appended_per_second_on_one_core() {
    for size in [64, 300, 2_000] {
        let disk = ferrymq_recovery_log::MemoryDisk::default();
        let (mut log, _) = RecoveryLog::open(&disk, &Config::default(), &mut |_, _| Ok(())).unwrap();
        let record = vec![7; size];
        let start = Instant::now();
        let turns = 100_000u32;
        for _ in 0..turns {
            (0..100).for_each(|_| {
                log.append(&record);
            });
            while let Some(task) = log.take_task() {
                log.completed(task, Ok(())).unwrap();
            }
        }
        let seconds = start.elapsed().as_secs_f64();
        println!(
            "{size:5} bytes, sealed every 100: {:6.1} M appends/s",
            f64::from(turns) * 100.0 / seconds / 1e6
        );
    }
}

/// How long a restart takes over 1 GiB of 300-byte records in blocks of 100, and reading them back one by one.
#[test]
#[ignore = "a measurement of some seconds, and 1 GiB of disk"]
fn puts_replayed_after_a_restart() {
    let scratch = Scratch::new();
    let config = Config::default();
    let mut driver = Driver::start(FileDisk::open(&scratch.0).unwrap(), &config);
    while driver.log.end() < Lsn(1 << 30) {
        (0..100).for_each(|_| {
            driver.log.append(&[7; 300]);
        });
        driver.submit();
        driver.wait().unwrap();
    }
    driver.settle().unwrap();
    drop(driver);
    let start = Instant::now();
    let disk = FileDisk::open(&scratch.0).unwrap();
    let mut places = Vec::new();
    let (mut log, restart) = RecoveryLog::open(&disk, &config, &mut |lsn, _| {
        places.push(lsn);
        Ok(())
    })
    .unwrap();
    println!("{} records in {} blocks replayed in {:?}", restart.records, restart.blocks, start.elapsed());
    let start = Instant::now();
    let mut record = Vec::new();
    for lsn in &places {
        log.read(&disk, *lsn, &mut record).unwrap();
    }
    println!("read back one by one in {:?}", start.elapsed());
}
