//! The recovery log against a disk in memory: what goes in, what a crash leaves, what damage is told.
#![allow(clippy::unwrap_used, reason = "tests")]

mod append;
mod crash;
mod damage;
mod dice;
mod rig;
mod space;
