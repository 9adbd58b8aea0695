//! What goes in comes out, across restarts, extents and sizes.

use crate::rig::{self, config, settle};
use ferrymq_recovery_log::{
    Config, Disk, DiskFault, ExtentIndex, LogEnd, Lsn, MemoryDisk, RecoveryLog, Restart, Task,
};

type Records = Vec<(Lsn, Vec<u8>)>;

fn open(disk: &MemoryDisk) -> (RecoveryLog, Restart, Records) {
    let (log, restart, records) = rig::open(disk, &config()).unwrap();
    (log, restart, records.into_iter().map(|record| (record.lsn, record.bytes)).collect())
}

#[test]
fn a_new_log_is_empty_and_stays_so() {
    let disk = MemoryDisk::default();
    let (mut log, restart, _) = open(&disk);
    assert_eq!((restart.log_end, restart.term, restart.records), (LogEnd::New, 1, 0));
    assert_eq!(log.durable(), log.end());
    settle(&mut log, &disk);
    assert_eq!(disk.extents().unwrap().len(), 2, "the next extent is made ahead of need");
    let (_, restart, records) = open(&disk);
    assert_eq!((restart.log_end, restart.term), (LogEnd::Clean, 1));
    assert!(records.is_empty());
}

#[test]
fn records_of_every_size_come_back_in_order() {
    let disk = MemoryDisk::default();
    let (mut log, ..) = open(&disk);
    let mut expected = Records::new();
    for (i, size) in
        [0, 1, 300, 4028, 4029, 4030, 16_000, 16_384, 40_000, 70_000, 3_000_000, 5].into_iter().enumerate()
    {
        let record = vec![i as u8; size];
        expected.push((log.append(&record), record));
        if i % 3 == 0 {
            settle(&mut log, &disk);
        }
    }
    let end = log.end();
    assert!(log.durable() < end);
    settle(&mut log, &disk);
    assert!(log.durable() >= end && log.unwritten_bytes() == 0);
    let (mut log, restart, records) = open(&disk);
    assert_eq!(records, expected);
    assert_eq!((restart.records, restart.log_end, restart.term), (12, LogEnd::Clean, 2));
    let mut read = Vec::new();
    for (lsn, record) in expected.iter().rev() {
        log.read(&disk, *lsn, &mut read).unwrap();
        assert_eq!(&read, record);
    }
}

#[test]
fn a_record_in_pieces_is_one_record() {
    let disk = MemoryDisk::default();
    let (mut log, ..) = open(&disk);
    let large = vec![7; 50_000];
    log.append_parts(&[b"ab", b"", b"cd"]);
    log.append_parts(&[b"head", &large, b"tail"]);
    settle(&mut log, &disk);
    let (_, _, records) = open(&disk);
    assert_eq!(records[0].1, b"abcd");
    assert_eq!(records[1].1, [b"head", &large[..], b"tail"].concat());
}

#[test]
fn a_record_can_be_read_before_while_and_after_it_is_written() {
    let disk = MemoryDisk::default();
    let (mut log, ..) = open(&disk);
    let large: Vec<u8> = (0..100_000u32).map(|i| i as u8).collect();
    let (a, b, c) = (log.append(b"first"), log.append(&large), log.append(b"last"));
    let check = |log: &mut RecoveryLog| {
        let mut read = Vec::new();
        for (lsn, record) in [(a, &b"first"[..]), (b, &large), (c, b"last")] {
            log.read(&disk, lsn, &mut read).unwrap();
            assert_eq!(read, record);
        }
        assert!(log.read(&disk, log.end(), &mut read).is_err());
    };
    check(&mut log);
    while let Some(task) = log.take_task() {
        check(&mut log);
        let result = task.perform(&disk);
        log.completed(task, result).unwrap();
        check(&mut log);
    }
}

#[test]
fn two_writes_may_be_in_flight_and_no_more() {
    let disk = MemoryDisk::default();
    let (mut log, ..) = open(&disk);
    settle(&mut log, &disk);
    let mut out = Vec::new();
    for i in 0..5u8 {
        log.append(&[i; 10]);
        out.extend(log.take_task());
    }
    assert_eq!(out.len(), 2);
    for task in out {
        let result = task.perform(&disk);
        log.completed(task, result).unwrap();
    }
    assert_eq!(log.unwritten_bytes(), 64 + 3 * 14, "the rest became one block");
}

#[test]
fn a_failed_write_ends_the_log() {
    let disk = MemoryDisk::default();
    let (mut log, ..) = open(&disk);
    settle(&mut log, &disk);
    log.append(b"lost");
    let durable = log.durable();
    let task = log.take_task().unwrap();
    disk.refuses.set(Some(DiskFault::Failed));
    let result = task.perform(&disk);
    assert!(log.completed(task, result).is_err());
    disk.refuses.set(None);
    log.append(b"more");
    assert!(log.take_task().is_none() && log.failure().is_some());
    assert_eq!(log.durable(), durable);
}

#[test]
fn a_full_disk_is_told_and_waits_for_room() {
    let disk = MemoryDisk::default();
    let (mut log, ..) = open(&disk);
    disk.refuses.set(Some(DiskFault::Full));
    let task = log.take_task().unwrap();
    assert!(matches!(task, Task::Prepare(_)));
    let result = task.perform(&disk);
    log.completed(task, result).unwrap();
    assert!(log.no_space().is_some());
    disk.refuses.set(None);
    // What fits is written; the block that would fill the extent waits, since the one after it is missing.
    log.append(&vec![1; 30_000]);
    log.append(&vec![2; 60_000]);
    settle(&mut log, &disk);
    assert!(log.unwritten_bytes() > 0);
    log.retry_space();
    settle(&mut log, &disk);
    assert_eq!(log.unwritten_bytes(), 0);
}

#[test]
fn released_extents_are_recycled_and_the_rest_removed() {
    let disk = MemoryDisk::default();
    let (mut log, ..) = open(&disk);
    let mut kept = Records::new();
    for round in 0..200u32 {
        let record = vec![round as u8; 5_000];
        let lsn = log.append(&record);
        kept.push((lsn, record));
        settle(&mut log, &disk);
        if round > 100 {
            let oldest = log.oldest_extent();
            if log.release(oldest) {
                kept.retain(|(lsn, _)| log.extent_of(*lsn) > oldest);
            }
        }
        settle(&mut log, &disk);
    }
    let live = log.extents().count() as u64;
    assert!(disk.extents().unwrap().len() as u64 <= live + 2);
    assert!(!log.release(ExtentIndex(*log.extents().end())), "the extent being filled stays");
    assert!(log.read(&disk, Lsn(64), &mut Vec::new()).is_err(), "a released record is gone");
    let (log, restart, records) = open(&disk);
    assert_eq!(records, kept);
    assert_eq!(log.oldest_extent(), log.extent_of(kept[0].0));
    assert_eq!(restart.log_end, LogEnd::Clean);
}

#[test]
fn an_extents_records_are_those_that_start_in_it() {
    let disk = MemoryDisk::default();
    let (mut log, ..) = open(&disk);
    let mut expected = Records::new();
    for i in 0..60u8 {
        let record = vec![i; 100 + 900 * usize::from(i)];
        expected.push((log.append(&record), record));
        if i < 50 {
            settle(&mut log, &disk);
        }
    }
    let mut found = Records::new();
    for extent in log.extents() {
        log.read_extent(&disk, ExtentIndex(extent), &mut |lsn, record| found.push((lsn, record.to_vec())))
            .unwrap();
    }
    assert_eq!(found, expected);
}

#[test]
fn a_record_of_300_mib_is_one_record() {
    let disk = MemoryDisk::default();
    let config = Config { new_log_id: 1, ..Config::default() };
    let (mut log, _) = RecoveryLog::open(&disk, &config, &mut |_, _| Ok(())).unwrap();
    let record: Vec<u8> = (0..300u32 << 20).map(|i| (i >> 8) as u8).collect();
    log.append(b"before");
    log.append(&record);
    log.append(b"after");
    settle(&mut log, &disk);
    drop(log);
    let mut sizes = Vec::new();
    RecoveryLog::open(&disk, &config, &mut |_, found| {
        sizes.push(found.len());
        assert!(found.len() < 100 || found == record);
        Ok(())
    })
    .unwrap();
    assert_eq!(sizes, [6, 300 << 20, 5]);
}
