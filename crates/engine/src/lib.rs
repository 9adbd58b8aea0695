//! Runs a queue manager: turn, log, release

pub mod file_disk;
pub mod log_writer;
pub mod scheduling;
