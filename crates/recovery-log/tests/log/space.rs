//! Extents are released, recycled and found again.

use crate::rig::{EXTENT, Rig, config, open};
use ferrymq_recovery_log::{Disk, ExtentIndex, Task};

/// Released while its last blocks were still waiting to be written.
#[test]
fn an_extent_may_be_released_before_it_is_written() {
    let mut rig = Rig::new(config());
    for i in 0..40 {
        rig.append(vec![i; 5_000]);
    }
    rig.release_oldest();
    rig.release_oldest();
    rig.settle();
    let extents = rig.disk.extents().unwrap();
    assert_eq!(extents[0].extent, ExtentIndex(2));
    rig.check(&rig.disk.clone());
}

/// No record follows, so an empty block tells that the log starts later.
#[test]
fn a_release_needs_no_further_record_to_free_the_space() {
    let mut rig = Rig::new(config());
    for i in 0..20 {
        rig.append(vec![i; 5_000]);
        rig.settle();
    }
    rig.release_oldest();
    rig.settle();
    assert_eq!(rig.disk.extents().unwrap()[0].extent, ExtentIndex(1));
}

/// A crash between the block that tells and the recycling leaves an extent too many, which goes after the restart.
#[test]
fn a_released_extent_that_a_crash_left_is_recycled_later() {
    let mut rig = Rig::new(config());
    for i in 0..20 {
        rig.append(vec![i; 5_000]);
        rig.settle();
    }
    rig.release_oldest();
    while let Some(task) = rig.log.take_task() {
        if matches!(task, Task::Prepare(_)) {
            break;
        }
        let result = task.perform(&rig.disk);
        rig.log.completed(task, result).unwrap();
    }
    let left = rig.disk.clone();
    let mut rig = rig.restarted(left);
    assert_eq!(rig.log.oldest_extent(), ExtentIndex(1));
    rig.settle();
    assert_eq!(rig.disk.extents().unwrap()[0].extent, ExtentIndex(1));
    rig.check(&rig.disk.clone());
}

/// A record that begins in a released extent and ends in the oldest live one is passed over.
#[test]
fn the_rest_of_a_released_record_is_passed_over() {
    let mut rig = Rig::new(config());
    rig.append(vec![1; 2 * EXTENT as usize + 5_000]);
    rig.append(vec![2; 100]);
    rig.settle();
    rig.release_oldest();
    rig.release_oldest();
    rig.settle();
    let (_, restart, found) = open(&rig.disk, &rig.config).unwrap();
    assert_eq!((found.len(), restart.records), (1, 1));
    assert_eq!(found[0].bytes, [2; 100]);
}

/// The log runs far longer than its space: old blocks lie everywhere, and none is taken for a live one.
#[test]
fn stale_blocks_of_a_recycled_extent_never_come_back() {
    let mut rig = Rig::new(config());
    for i in 0..400u32 {
        rig.append(vec![i as u8; 100 + (i as usize * 37) % 3_000]);
        rig.settle();
        rig.release_oldest();
        rig.settle();
        rig.check(&rig.disk.clone());
    }
    assert!(rig.log.oldest_extent() > ExtentIndex(10));
    assert!(rig.disk.extents().unwrap().len() <= 4);
}
