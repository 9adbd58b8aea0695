//! Runs a queue manager: turn, log, release
