//! Every state that a crash can leave.

use crate::dice::Dice;
use crate::rig::{EXTENT, Rig, config};
use ferrymq_recovery_log::{Config, LogEnd, MemoryDisk, Task, Write, WriteOrder};
use proptest::prelude::*;

const SECTOR: usize = 512;

fn overlapping() -> Config {
    Config { write_order: WriteOrder::Overlapping, writes_in_flight: 3, ..config() }
}

/// One step of a run. Large records span blocks and extents.
fn step(rig: &mut Rig, dice: &mut Dice) {
    match dice.roll(16) {
        0 => {
            let length = 20_000 + dice.roll(60_000) as usize;
            rig.append(dice.bytes(length));
        }
        1..=7 => {
            let length = dice.roll(3_000) as usize;
            rig.append(dice.bytes(length));
        }
        8..=10 => rig.take(),
        11..=14 => rig.perform_one(),
        _ => rig.release_oldest(),
    }
}

fn sectors(write: &Write) -> usize {
    write.bytes().len() / SECTOR
}

/// Performs `whole` of the writes that are out and `kept` sectors of the next.
fn state(rig: &Rig, whole: usize, kept: &mut dyn FnMut(usize) -> bool) -> MemoryDisk {
    let left = rig.disk.clone();
    for (i, write) in rig.writes_out().into_iter().enumerate() {
        if i < whole {
            write.perform(&left).unwrap();
        } else if i == whole {
            left.tear(write, kept);
        }
    }
    left
}

/// A state chosen by chance: what the order of writes allows, and a preparation that may have happened.
fn any_state(rig: &Rig, dice: &mut Dice) -> MemoryDisk {
    let left = rig.disk.clone();
    for task in &rig.out {
        if let Task::Prepare(preparation) = task
            && dice.roll(2) == 0
        {
            preparation.perform(&left).unwrap();
        }
    }
    for write in rig.writes_out() {
        let all = dice.roll(2) == 0;
        let odds = 1 + dice.roll(8);
        if all {
            write.perform(&left).unwrap();
        } else {
            left.tear(write, &mut |_| dice.roll(8) < odds);
        }
        if !all && !rig.overlapping() {
            break;
        }
    }
    left
}

#[test]
fn a_write_torn_at_any_sector_costs_nothing_that_was_durable() {
    let mut states = 0;
    for seed in 0..12 {
        let mut dice = Dice::new(seed);
        let mut rig = Rig::new(config());
        for _ in 0..40 {
            step(&mut rig, &mut dice);
            let sizes: Vec<usize> = rig.writes_out().into_iter().map(sectors).collect();
            for (whole, size) in sizes.into_iter().enumerate() {
                for cut in 0..=size {
                    rig.check(&state(&rig, whole, &mut |sector| sector < cut));
                    rig.check(&state(&rig, whole, &mut |sector| sector >= cut));
                    states += 2;
                }
            }
        }
    }
    assert!(states > 5_000, "{states} states");
}

/// Three runs, each ending in a crash; what the second finds of the first, the third must find too.
fn crash_again_and_again(config: &Config, seed: u64) {
    let mut dice = Dice::new(seed);
    let mut rig = Rig::new(config.clone());
    for _ in 0..3 {
        for _ in 0..10 + dice.roll(40) {
            step(&mut rig, &mut dice);
        }
        for _ in 0..8 {
            let left = any_state(&rig, &mut dice);
            rig.check(&left);
        }
        let left = any_state(&rig, &mut dice);
        rig = rig.restarted(left);
    }
}

#[test]
fn a_crash_after_a_crash_costs_nothing_either() {
    (0..400).for_each(|seed| crash_again_and_again(&config(), seed));
}

#[test]
fn writes_that_overtake_each_other_cost_nothing_that_was_durable() {
    (0..400).for_each(|seed| crash_again_and_again(&overlapping(), seed));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// The shadow model is a vector: whatever is settled is found again, and read back one by one.
    #[test]
    fn the_log_is_a_vector_that_survives(
        sizes in proptest::collection::vec(prop_oneof![9 => 0..2_000usize, 1 => 0..150_000usize], 1..60),
        restarts in proptest::collection::vec(any::<bool>(), 60),
    ) {
        let mut rig = Rig::new(config());
        for (i, (size, restart)) in sizes.iter().zip(restarts).enumerate() {
            rig.append(vec![i as u8; *size]);
            if restart {
                rig.settle();
                let left = rig.disk.clone();
                let before = rig.history.clone();
                rig = rig.restarted(left);
                prop_assert!(before == rig.history);
            }
        }
        let mut read = Vec::new();
        for record in &rig.history {
            rig.log.read(&rig.disk, record.lsn, &mut read).unwrap();
            prop_assert!(read == record.bytes);
        }
    }
}

/// Block 2 arrived, block 1 did not; then the same place is written anew with blocks of the same sizes.
#[test]
fn blocks_that_overtook_a_lost_one_never_come_back() {
    for size in [100, 5_000, 12_000] {
        let mut rig = Rig::new(overlapping());
        rig.settle();
        rig.append(vec![1; 50]);
        rig.settle();
        for i in 2..5 {
            rig.append(vec![i; size]);
            rig.take();
        }
        let left = rig.disk.clone();
        rig.writes_out()[1].perform(&left).unwrap();
        rig.writes_out()[2].perform(&left).unwrap();
        let (_, restart, found) = rig.check(&left);
        assert_eq!((restart.log_end, found.len()), (LogEnd::Overtaken, 1));
        let mut rig = rig.restarted(left);
        // The marker block takes a page; then one block of the old size.
        rig.append(vec![9; size]);
        rig.settle();
        let left = rig.disk.clone();
        let (_, restart, found) = rig.check(&left);
        assert_eq!((restart.log_end, found.len()), (LogEnd::Clean, 2));
    }
}

#[test]
fn a_restart_that_crashes_while_it_erases_is_repeated() {
    let mut rig = Rig::new(overlapping());
    rig.append(vec![1; 50]);
    rig.settle();
    for i in 2..5 {
        rig.append(vec![i; 9_000]);
        rig.take();
    }
    let left = rig.disk.clone();
    rig.writes_out()[1].perform(&left).unwrap();
    rig.writes_out()[2].perform(&left).unwrap();
    let erased = left.clone();
    let (_, restart, _) = crate::rig::open(&erased, &rig.config).unwrap();
    assert_eq!(restart.log_end, LogEnd::Overtaken);
    let extent = ferrymq_recovery_log::ExtentIndex(0);
    let (mut before, mut after) = (Vec::new(), Vec::new());
    left.damage(extent, &mut |bytes| before.clone_from(bytes));
    erased.damage(extent, &mut |bytes| after.clone_from(bytes));
    for seed in 0..200 {
        let mut dice = Dice::new(seed);
        let midway = left.clone();
        midway.damage(extent, &mut |bytes| {
            for (i, sector) in bytes.chunks_mut(SECTOR).enumerate() {
                let from = if dice.roll(2) == 0 { &before } else { &after };
                sector.copy_from_slice(&from[i * SECTOR..][..SECTOR]);
            }
        });
        let (_, _, found) = rig.check(&midway);
        assert_eq!(found.len(), 1);
    }
}

#[test]
fn a_record_whose_end_was_never_written_is_dropped_and_told() {
    let mut rig = Rig::new(config());
    rig.append(vec![1; 10]);
    rig.settle();
    rig.append(vec![2; 3 * EXTENT as usize]);
    rig.take();
    rig.perform_one();
    let begun = rig.history[1].lsn;
    let (_, restart, found) = rig.check(&rig.disk.clone());
    assert_eq!((found.len(), restart.unfinished), (1, Some(begun)));
    // Life goes on behind the stump, and so does the next restart.
    let left = rig.disk.clone();
    let mut rig = rig.restarted(left);
    rig.append(vec![3; 10]);
    rig.settle();
    let (_, restart, found) = rig.check(&rig.disk.clone());
    assert_eq!((found.len(), restart.unfinished), (2, None));
}
