//! Readings of what server and client cost, taken at the edges of the measured time.

use std::time::Duration;

use crate::process::{self, Pid};

/// Reads the meters of one run.
#[derive(Clone, Copy, Debug)]
pub struct Meter {
    /// The server's process; `None` when it is not on this machine or not ours to look at.
    pub server: Option<Pid>,
}

/// What the meters showed at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Reading {
    /// Processor time of the server since it started.
    pub server_cpu: Option<Duration>,
    /// Processor time of this process.
    pub client_cpu: Duration,
    /// Resident memory of the server, in bytes.
    pub server_rss: Option<u64>,
}

impl Meter {
    /// Reads processor times and memory.
    pub fn read(&self) -> Reading {
        let mut reading = self.read_cpu();
        reading.server_rss = self.server.and_then(|pid| process::resident_bytes(pid).ok());
        reading
    }

    /// Reads processor times alone, which costs some microseconds whatever the server's size.
    pub fn read_cpu(&self) -> Reading {
        Reading {
            server_cpu: self.server.and_then(|pid| process::cpu_time(pid).ok()),
            client_cpu: process::own_cpu_time(),
            server_rss: None,
        }
    }

    /// Whether the server is known to be gone.
    pub fn server_is_gone(&self) -> bool {
        self.server.is_some_and(|pid| !process::is_running(pid))
    }
}

impl Reading {
    /// What was used since `earlier`: server, client.
    pub fn since(&self, earlier: &Reading) -> (Option<Duration>, Duration) {
        let server = self.server_cpu.zip(earlier.server_cpu).map(|(now, then)| now.saturating_sub(then));
        (server, self.client_cpu.saturating_sub(earlier.client_cpu))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cost_is_the_difference_of_two_readings() {
        let reading = |server, client| Reading {
            server_cpu: Some(Duration::from_millis(server)),
            client_cpu: Duration::from_millis(client),
            server_rss: None,
        };
        let (server, client) = reading(50, 70).since(&reading(20, 60));
        assert_eq!((server, client), (Some(Duration::from_millis(30)), Duration::from_millis(10)));
    }

    #[test]
    fn a_server_that_cannot_be_seen_costs_nothing_known() {
        let meter = Meter { server: None };
        assert_eq!(meter.read().since(&meter.read()).0, None);
        assert!(!meter.server_is_gone());
        assert!(Meter { server: Some(Pid::MAX) }.server_is_gone());
    }
}
