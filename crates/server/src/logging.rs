//! Where log lines go: to stderr, so that stdout is for people.

use std::io::{self, IsTerminal};

use tracing_subscriber::EnvFilter;

/// A `--log` that can't be understood.
#[derive(Debug, thiserror::Error)]
#[error("--log {filter}: {reason}; write it as info, or as warn,ferrymq_mqtt=debug")]
pub struct FilterError {
    filter: String,
    reason: String,
}

/// Starts logging what passes the filter.
///
/// # Errors
/// When the filter can't be understood.
pub fn start(filter: &str) -> Result<(), FilterError> {
    let parsed = EnvFilter::try_new(filter)
        .map_err(|error| FilterError { filter: filter.into(), reason: error.to_string() })?;
    tracing_subscriber::fmt()
        .with_env_filter(parsed)
        .with_ansi(io::stderr().is_terminal())
        .with_writer(io::stderr)
        .with_target(false)
        // What cannot be logged is not worth the server: its own report goes to the same stderr and would panic.
        .log_internal_errors(false)
        .init();
    Ok(())
}
