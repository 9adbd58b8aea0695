//! The load engine: one readiness loop that plays all clients of a run.
//!
//! It keeps no thread, lock or allocation per message: a PUBLISH is a template patched in the output buffer, arrivals
//! are read where they lie, acknowledgements of one read leave in one write.

mod arrivals;
mod books;
mod connect_burst;
mod fleet;
mod forgetting;
mod packets;
mod publishers;
mod traffic;

use std::fmt;
use std::time::Duration;

use ferrymq_mqtt_proto::{DecodeError, PacketKind};
use ferrymq_transport::{Closed, ConnectError, IoThread, Service, Settings, StartError};

pub use connect_burst::run_connect_burst;
pub use fleet::Destination;
pub use forgetting::forget_sessions;
pub use traffic::run_traffic;

use crate::latency::Percentiles;
use crate::meter::Reading;
use crate::sequence::Totals;

/// What a connection is for, with its number within that purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Sends stream n.
    Publisher(u32),
    /// Receives.
    Subscriber(u32),
    /// Only is there.
    Idle(u32),
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Publisher(n) => write!(f, "publisher {n}"),
            Self::Subscriber(n) => write!(f, "subscriber {n}"),
            Self::Idle(n) => write!(f, "connection {n}"),
        }
    }
}

/// Why a run ended without figures.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The loop could not start or broke.
    #[error("the load engine: {0}")]
    Loop(#[from] StartError),
    /// A connect could not be started.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// CONNACK or SUBACK with a refusal.
    #[error("the server refused {role}: {packet:?} with code {code:#04x}")]
    Refused {
        /// Whom.
        role: Role,
        /// CONNACK or SUBACK.
        packet: PacketKind,
        /// The code.
        code: u8,
    },
    /// Bytes that are not MQTT.
    #[error("the server sent what is not MQTT 3.1.1: {0}")]
    Malformed(#[from] DecodeError),
    /// A packet that has no place there.
    #[error("the server sent {packet:?} to {role}, where it has no place")]
    OutOfPlace {
        /// Whose connection.
        role: Role,
        /// What it sent.
        packet: PacketKind,
    },
    /// A connection ended in the middle of the run.
    #[error("{role} was closed while {phase}: {cause:?}{}", if *.server_gone { "; the server's process is gone" } else { "" })]
    Closed {
        /// Whose connection.
        role: Role,
        /// By whom and how.
        cause: Closed,
        /// What the run was doing.
        phase: &'static str,
        /// Whether the server was found dead.
        server_gone: bool,
    },
    /// Nothing moved for too long.
    #[error(
        "nothing moved for {seconds} s while {phase}: {ready} of {wanted} connections ready, {missing} copies still to arrive"
    )]
    Stalled {
        /// How long.
        seconds: u64,
        /// What the run was doing.
        phase: &'static str,
        /// Connections ready.
        ready: u32,
        /// Connections wanted.
        wanted: u32,
        /// Copies sent for and not arrived.
        missing: u64,
    },
    /// The server's process ended.
    #[error("the server's process is gone while {phase}")]
    ServerGone {
        /// What the run was doing.
        phase: &'static str,
    },
}

/// What a run found.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Connections that became ready a second.
    pub connects_per_s: f64,
    /// From connect to CONNACK (or SUBACK).
    pub connect_latency: Option<Percentiles>,
    /// Connections (of CONNBURST: in the measured time).
    pub connects: u64,
    /// The measured time as it really was.
    pub measured: Duration,
    /// Messages sent and copies arrived within it.
    pub measured_sent: u64,
    /// Copies arrived within the measured time, duplicates not counted.
    pub measured_received: u64,
    /// Messages sent from first to last, warm-up included.
    pub sent: u64,
    /// Copies that should have arrived, from first to last.
    pub expected: u64,
    /// What became of them.
    pub totals: Totals,
    /// Messages due and never sent, because the server did not take them in time.
    pub unsent: u64,
    /// Messages of the measured time that an open loop sent more than 10 ms late because the harness itself was late.
    pub late: u64,
    /// How often a closed loop at QoS 0 gave up waiting for dropped messages.
    pub stalls: u64,
    /// Payloads that were not of this run, or for another subscriber.
    pub foreign: u64,
    /// From intended sending to arrival.
    pub latency: Option<Percentiles>,
    /// From intended sending to the last copy, of broadcasts.
    pub complete: Option<Percentiles>,
    /// How long after the last message sent the last copy arrived.
    pub drain: Duration,
    /// Whether a backlog was left at the end of the measured time, so that all `measured` figures, `start` and `end`
    /// are those of the whole test until the last arrival.
    pub backlogged: bool,
    /// Whether copies were still missing when waiting ended.
    pub drain_timed_out: bool,
    /// Meters before the first connection.
    pub before: Reading,
    /// Meters at the start of the measured time.
    pub start: Reading,
    /// Meters at its end.
    pub end: Reading,
}

/// How a run stands, about once a second.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// What it is doing.
    pub phase: &'static str,
    /// Since the run began.
    pub elapsed: Duration,
    /// Connections ready and wanted.
    pub connections: (u32, u32),
    /// Copies arrived (of CONNBURST: connects) a second since the last report.
    pub rate: f64,
    /// Of the measured time so far.
    pub latency: Option<Percentiles>,
    /// Processors the server kept busy since the last report, 1.0 = one.
    pub server_busy: Option<f64>,
    /// Processors the load engine kept busy.
    pub client_busy: f64,
}

/// Whoever wants to see the progress.
pub type Observer<'a> = &'a mut dyn FnMut(&Progress);

/// A service that may let its input gather for a while.
trait Player: Service {
    /// How long to sleep now before looking at the sockets again.
    fn rest(&mut self) -> Option<Duration>;
}

/// Runs the loop until `service` stops it.
fn play<S: Player>(service: S) -> Result<S, LoadError> {
    precise_timers();
    let mut clients = IoThread::new(settings(), service)?;
    // The first turn would otherwise wait for something to happen.
    clients.waker().wake();
    while !clients.is_over() {
        clients.turn()?;
        if let Some(rest) = clients.service().rest() {
            std::thread::sleep(rest);
        }
    }
    // Over already: gives the service back.
    Ok(clients.run()?)
}

/// Lets this thread's sleeps end when they should: the kernel may prolong them by 50 us otherwise.
fn precise_timers() {
    // SAFETY: takes numbers; a refusal only leaves sleeps as long as they were.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong) };
}

fn settings() -> Settings {
    Settings {
        linger_ms: 1_000,
        connect_timeout_ms: 30_000,
        output_bytes_max: 1 << 30,
        ..Settings::default()
    }
}
