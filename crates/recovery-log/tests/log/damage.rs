//! Damage is refused and named, never skipped.

use crate::dice::Dice;
use crate::rig::{EXTENT, Rig, config, file, open};
use ferrymq_recovery_log::{Damage, Disk, ExtentIndex, MemoryDisk, OpenError, PAGE};

/// A log over four extents whose last block is an empty one that proves the rest.
fn rig() -> Rig {
    let mut dice = Dice::new(1);
    let mut rig = Rig::new(config());
    while rig.log.extent_of(rig.log.end()) < ExtentIndex(3) {
        let length = dice.roll(4_000) as usize;
        rig.append(dice.bytes(length));
        rig.take();
        if dice.roll(3) == 0 {
            rig.settle();
        }
    }
    rig.settle();
    rig.log.prove();
    rig.settle();
    rig
}

fn refusal(disk: &MemoryDisk) -> OpenError {
    match open(disk, &config()) {
        Err(error) => error,
        Ok((_, restart, _)) => panic!("opened: {restart:?}"),
    }
}

fn damage(disk: &MemoryDisk) -> Damage {
    match refusal(disk) {
        OpenError::Damaged(damage) => damage,
        other => panic!("{other}"),
    }
}

#[test]
fn a_flipped_bit_anywhere_is_refused_or_harmless() {
    let rig = rig();
    let last_block = rig.log.durable().0 - PAGE as u64;
    let mut dice = Dice::new(2);
    let mut refused = 0;
    let extents = rig.disk.extents().unwrap().len() as u64;
    // Every byte of the headers, which stand at pages, and a sample of the rest.
    let places = (0..extents * EXTENT).filter(|at| at % PAGE as u64 <= 64 || at % 211 == 0);
    for at in places {
        let (extent, offset) = (ExtentIndex(at / EXTENT), (at % EXTENT) as usize);
        let bit = 1 << dice.roll(8);
        rig.disk.damage(extent, &mut |bytes| bytes[offset] ^= bit);
        match open(&rig.disk, &config()) {
            Ok((_, _, found)) => assert!(found == rig.history && at >= last_block, "at {at:#x}"),
            Err(OpenError::Damaged(damage)) => {
                assert!(
                    damage.file == file(extent.0)
                        && (damage.offset <= offset as u64 || damage.offset == EXTENT)
                );
                refused += 1;
            }
            Err(OpenError::Version { file: named, .. }) => {
                assert_eq!(named, file(extent.0));
                refused += 1;
            }
            Err(other) => panic!("{other}"),
        }
        rig.disk.damage(extent, &mut |bytes| bytes[offset] ^= bit);
    }
    assert!(refused > 3_000, "{refused} refusals");
}

#[test]
fn a_refused_log_is_left_as_it_is() {
    let rig = rig();
    rig.disk.damage(ExtentIndex(1), &mut |bytes| bytes[100] ^= 1);
    let before = rig.disk.clone();
    damage(&rig.disk);
    for extent in 0..rig.disk.extents().unwrap().len() as u64 {
        let mut expected = Vec::new();
        before.damage(ExtentIndex(extent), &mut |bytes| expected.clone_from(bytes));
        rig.disk.damage(ExtentIndex(extent), &mut |bytes| assert!(*bytes == expected));
    }
}

#[test]
fn a_zeroed_stretch_of_any_length_is_refused() {
    for pages in [1, 3, 10, 16] {
        for start in (0..16 - pages + 1).step_by(3) {
            let rig = rig();
            rig.disk.damage(ExtentIndex(1), &mut |bytes| bytes[start * PAGE..(start + pages) * PAGE].fill(0));
            let damage = damage(&rig.disk);
            assert!(damage.file == file(1) && damage.offset <= (start * PAGE) as u64, "{damage}");
        }
    }
}

#[test]
fn a_missing_extent_is_named_wherever_it_was() {
    for lost in 0..4 {
        let rig = rig();
        assert_eq!(rig.disk.extents().unwrap().len(), 5, "four live, one spare");
        rig.disk.remove(ExtentIndex(lost)).unwrap();
        let damage = damage(&rig.disk);
        assert!(damage.file == file(lost) && damage.what.contains("missing"), "{damage}");
    }
}

#[test]
fn losing_all_extents_from_one_on_is_noticed_too() {
    for from in 1..4 {
        let rig = rig();
        (from..5).for_each(|extent| rig.disk.remove(ExtentIndex(extent)).unwrap());
        let damage = damage(&rig.disk);
        assert!(damage.file == file(from) && damage.what.contains("missing"), "{damage}");
    }
}

#[test]
fn an_extent_that_was_cut_short_is_named() {
    for length in [0, 100, PAGE, EXTENT as usize / 2] {
        for extent in 0..4 {
            let rig = rig();
            rig.disk.damage(ExtentIndex(extent), &mut |bytes| bytes.truncate(length));
            assert_eq!(damage(&rig.disk).file, file(extent));
        }
    }
}

#[test]
fn an_extent_of_another_log_is_refused() {
    let mut other = Rig::new(ferrymq_recovery_log::Config { new_log_id: 78, ..config() });
    while other.log.extent_of(other.log.end()) < ExtentIndex(3) {
        other.append(vec![1; 2_000]);
        other.settle();
    }
    let mut foreign = Vec::new();
    other.disk.damage(ExtentIndex(2), &mut |bytes| foreign.clone_from(bytes));
    let rig = rig();
    rig.disk.damage(ExtentIndex(2), &mut |bytes| bytes.clone_from(&foreign));
    let damage = damage(&rig.disk);
    assert!(damage.file == file(2) && damage.what.contains("another log"), "{damage}");
}

/// The disk said that it wrote and did not: the old bytes are there.
#[test]
fn a_lost_write_is_refused() {
    let mut rig = Rig::new(config());
    rig.settle();
    for i in 0..5 {
        rig.append(vec![i; 300]);
        rig.take();
        let task = rig.out.pop_front().unwrap();
        if i != 2 {
            task.perform(&rig.disk).unwrap();
        }
        rig.log.completed(task, Ok(())).unwrap();
    }
    let damage = damage(&rig.disk);
    assert_eq!((damage.file, damage.offset), (file(0), 2 * PAGE as u64));
}

#[test]
fn blocks_in_the_wrong_place_are_refused() {
    let mut rig = Rig::new(config());
    for i in 0..6 {
        rig.append(vec![i; 300]);
        rig.settle();
    }
    rig.disk.damage(ExtentIndex(0), &mut |bytes| {
        let (front, back) = bytes.split_at_mut(2 * PAGE);
        front[PAGE..].swap_with_slice(&mut back[..PAGE]);
    });
    assert_eq!(damage(&rig.disk).offset, PAGE as u64);
}

/// A copy of an extent from earlier, as an operator may bring back.
#[test]
fn an_older_copy_of_an_extent_is_refused() {
    let mut rig = Rig::new(config());
    rig.append(vec![1; 30_000]);
    rig.settle();
    let mut older = Vec::new();
    rig.disk.damage(ExtentIndex(0), &mut |bytes| older.clone_from(bytes));
    for _ in 0..4 {
        rig.append(vec![2; 30_000]);
        rig.settle();
    }
    rig.disk.damage(ExtentIndex(0), &mut |bytes| bytes.clone_from(&older));
    assert_eq!(damage(&rig.disk).file, file(0));
}

#[test]
fn a_format_of_the_future_is_refused_by_number() {
    let rig = rig();
    rig.disk.damage(ExtentIndex(0), &mut |bytes| bytes[4] = 9);
    let message = refusal(&rig.disk).to_string();
    assert_eq!(message, "00000000.extent offset 0: block format 9, this version reads format 1");
}

/// What a client puts into a record must not look like the log's own words, even where a stale copy of it comes to
/// stand where a block could.
#[test]
fn a_block_image_inside_a_record_is_only_bytes() {
    let mut source = Rig::new(ferrymq_recovery_log::Config { new_log_id: 1, ..config() });
    for i in 0..4 {
        source.append(vec![i; 300]);
        source.settle();
    }
    let mut image = Vec::new();
    source.disk.damage(ExtentIndex(0), &mut |bytes| image.clone_from(bytes));
    let mut rig = Rig::new(config());
    rig.append(vec![1; 10]);
    rig.settle();
    // Aligned so that the images stand at the pages that they name.
    rig.append([&[0; PAGE - 68][..], &image[2 * PAGE..4 * PAGE]].concat());
    rig.settle();
    let left = rig.disk.clone();
    left.damage(ExtentIndex(0), &mut |bytes| bytes[PAGE..PAGE + 64].fill(0));
    let (_, _, found) = open(&left, &config()).unwrap();
    assert_eq!(found.len(), 1, "the last block is torn, what was in it proves nothing");
    rig.check(&rig.disk.clone());
}
