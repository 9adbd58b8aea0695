//! The system's limit on open files: a connection is one.

use crate::configuration::Configuration;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// For logs, listeners, the standard streams.
const OTHER_FILES: u64 = 256;

/// Raises the limit for all connections that the configuration allows; says so if fewer fit.
pub fn make_room_for(configuration: &Configuration) {
    let wanted = u64::from(configuration.limits.connections) * configuration.queue_manager.len() as u64;
    if let Some(room) = raise(wanted) {
        tracing::info!(
            room,
            wanted,
            "fewer connections than configured fit: the system's limit on open files (ulimit -n)"
        );
    }
}

/// Raises the limit as far as needed and allowed, and says how many connections fit, if fewer than wanted.
fn raise(connections: u64) -> Option<u64> {
    let wanted = connections.saturating_add(OTHER_FILES);
    let limit = getrlimit(Resource::Nofile);
    let allowed = limit.maximum.unwrap_or(u64::MAX).min(wanted);
    let now = limit.current.unwrap_or(u64::MAX);
    let raised = now < allowed
        && setrlimit(Resource::Nofile, Rlimit { current: Some(allowed), maximum: limit.maximum }).is_ok();
    let room = if raised { allowed } else { now };
    (room < wanted).then(|| room.saturating_sub(OTHER_FILES))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_connections_always_fit_and_too_many_are_counted() {
        assert_eq!(raise(10), None);
        if let Some(room) = raise(u64::MAX) {
            assert!(room > 0);
        }
    }
}
