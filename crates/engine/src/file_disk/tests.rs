//! On the real file system of the temporary directory.

use super::*;
use ferrymq_recovery_log::{Config, OpenError, RecoveryLog};
use std::sync::atomic::{AtomicU32, Ordering};

/// A directory of one test, removed with it.
pub(crate) struct Scratch(pub(crate) PathBuf);

impl Scratch {
    pub(crate) fn new() -> Scratch {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        Scratch(std::env::temp_dir().join(format!("ferrymq-log-{}-{number}", std::process::id())))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn small() -> Config {
    Config { new_log_id: 5, extent_size: 64 << 10, ..Config::default() }
}

fn write_some(log: &mut RecoveryLog, disk: &FileDisk, record: &[u8]) {
    log.append(record);
    while let Some(task) = log.take_task() {
        let result = task.perform(disk);
        log.completed(task, result).unwrap();
    }
}

#[test]
fn a_log_on_files_comes_back() {
    let scratch = Scratch::new();
    let mut written = Vec::new();
    {
        let disk = FileDisk::open(&scratch.0).unwrap();
        let (mut log, _) = RecoveryLog::open(&disk, &small(), &mut |_, _| Ok(())).unwrap();
        for i in 0..100u8 {
            written.push(vec![i; 40 * usize::from(i)]);
            write_some(&mut log, &disk, &written[usize::from(i)]);
            log.release(ExtentIndex(0));
        }
    }
    let disk = FileDisk::open(&scratch.0).unwrap();
    let mut found = Vec::new();
    let (log, _) = RecoveryLog::open(&disk, &small(), &mut |_, record| {
        found.push(record.to_vec());
        Ok(())
    })
    .unwrap();
    assert!(log.oldest_extent() == ExtentIndex(1) && !disk.path(ExtentIndex(0)).exists());
    assert!(found.len() > 50 && written.ends_with(&found));
}

#[test]
fn a_second_server_on_the_same_directory_is_refused_by_name() {
    let scratch = Scratch::new();
    let disk = FileDisk::open(&scratch.0).unwrap();
    let refused = FileDisk::open(&scratch.0).unwrap_err().to_string();
    assert!(refused.contains("is in use by another ferrymq process"), "{refused}");
    assert!(refused.contains(&std::process::id().to_string()), "{refused}");
    drop(disk);
    FileDisk::open(&scratch.0).unwrap();
}

#[test]
fn an_extent_that_was_being_created_is_removed() {
    let scratch = Scratch::new();
    let disk = FileDisk::open(&scratch.0).unwrap();
    fs::write(disk.path_of_new(ExtentIndex(3)), b"half").unwrap();
    fs::write(scratch.0.join("notes.txt"), b"an operator's").unwrap();
    disk.create(ExtentIndex(0), 64 << 10).unwrap();
    let extents = disk.extents().unwrap();
    assert_eq!(extents, [ExtentFile { extent: ExtentIndex(0), size: 64 << 10 }]);
    assert!(!disk.path_of_new(ExtentIndex(3)).exists());
    assert!(scratch.0.join("notes.txt").exists());
}

#[test]
fn damage_names_the_file_and_the_offset() {
    let scratch = Scratch::new();
    let disk = FileDisk::open(&scratch.0).unwrap();
    let (mut log, _) = RecoveryLog::open(&disk, &small(), &mut |_, _| Ok(())).unwrap();
    for i in 0..3 {
        write_some(&mut log, &disk, &[i; 100]);
    }
    let path = disk.path(ExtentIndex(0));
    let mut bytes = fs::read(&path).unwrap();
    bytes[PAGE + 100] ^= 1;
    fs::write(&path, bytes).unwrap();
    let refused = RecoveryLog::open(&disk, &small(), &mut |_, _| Ok(())).map(|_| ()).unwrap_err();
    let OpenError::Damaged(damage) = refused else { panic!("{refused}") };
    assert_eq!((damage.file, damage.offset), (path.display().to_string(), PAGE as u64));
}

#[test]
fn a_buffered_disk_keeps_the_same_promises() {
    let scratch = Scratch::new();
    let mut disk = FileDisk::open(&scratch.0).unwrap();
    disk.way = WriteWay::Buffered;
    let (mut log, _) = RecoveryLog::open(&disk, &small(), &mut |_, _| Ok(())).unwrap();
    write_some(&mut log, &disk, b"kept");
    let mut found = Vec::new();
    RecoveryLog::open(&disk, &small(), &mut |_, record| {
        found.push(record.to_vec());
        Ok(())
    })
    .unwrap();
    assert_eq!(found, [b"kept"]);
}

#[test]
fn a_missing_file_is_an_error_that_names_it() {
    let scratch = Scratch::new();
    let disk = FileDisk::open(&scratch.0).unwrap();
    let error = disk.read(ExtentIndex(9), 0, &mut [0; 8]).unwrap_err();
    assert!(error.what.contains("00000009.extent") && error.fault == DiskFault::Failed, "{error}");
}
