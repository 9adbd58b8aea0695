//! Random lives of a queue manager against a naive shadow model.
//!
//! `FERRYMQ_MODEL_CASES` sets how many, `FERRYMQ_MODEL_SEED` runs one case and prints what happened.

#[path = "model/crash.rs"]
mod crash;
#[path = "model/device.rs"]
mod device;
#[path = "model/disk.rs"]
mod disk;
#[path = "model/rng.rs"]
mod rng;
#[path = "model/shadow.rs"]
mod shadow;
#[path = "model/steps.rs"]
mod steps;
#[path = "model/world.rs"]
mod world;

use std::panic::{AssertUnwindSafe, catch_unwind};

use disk::Fault;
use world::World;

/// Enough to find each of the bugs that this has found, in a few seconds.
const CASES: u64 = 3_000;

fn run(seed: u64, fault: Fault, traced: bool) -> Result<(), String> {
    let mut world = World::new(seed, fault, traced);
    let lived = catch_unwind(AssertUnwindSafe(|| live(&mut world)));
    for line in world.trace.iter().flatten() {
        println!("{line}");
    }
    match (lived, world.violation) {
        (Err(_), _) => Err("it panicked".into()),
        (Ok(()), Some(violation)) => Err(violation),
        (Ok(()), None) => Ok(()),
    }
}

fn live(world: &mut World) {
    let steps = 20 + world.rng.below(250);
    for _ in 0..steps {
        world.step();
        world.check_figures();
        if world.violation.is_some() {
            break;
        }
    }
    if world.violation.is_none() {
        world.finish();
    }
}

fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn a_queue_manager_does_what_a_naive_model_of_it_does() {
    if let Some(seed) = setting("FERRYMQ_MODEL_SEED") {
        return assert_eq!(run(seed, Fault::None, true), Ok(()));
    }
    let cases = setting("FERRYMQ_MODEL_CASES").unwrap_or(CASES);
    let first = setting("FERRYMQ_MODEL_FIRST").unwrap_or(1);
    let failures: Vec<_> = (first..first + cases)
        .filter_map(|seed| run(seed, Fault::None, false).err().map(|what| (seed, what)))
        .collect();
    for (seed, what) in failures.iter().take(20) {
        println!("FERRYMQ_MODEL_SEED={seed}: {what}");
    }
    assert!(failures.is_empty(), "{} of {cases} cases failed", failures.len());
}

/// A checker that cannot fail proves nothing: each fault must be seen in some case.
#[test]
fn a_broken_journal_or_driver_is_noticed() {
    let faults =
        [Fault::DropsGets, Fault::LosesPuts, Fault::Hurries, Fault::DropsTags, Fault::RecyclesUncopied];
    for fault in faults {
        let noticed = (1..=400).filter(|seed| run(*seed, fault, false).is_err()).count();
        assert!(noticed >= 5, "{fault:?} was noticed in {noticed} of 400 cases");
    }
}
