//! What can be configured: one table of keys, from which come the types that serde reads, the defaults, the checks
//! and the reference document.

mod check;
mod fault;
mod key;
mod load;
mod queue_manager;
mod reference;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

pub use fault::{Fault, Faults, Step};
pub use key::{Key, Section};
pub use queue_manager::{
    AnonymousFrom, Durability, Listener, Log, Mqtt, Protocol, QueueManager, QueueManagerLimits,
};
pub use reference::reference;

use key::section;

section! {
    /// The whole file. Every key may be left out, and so may the file: what then holds is one queue manager `QM1`
    /// that listens on 127.0.0.1:1883.
    Configuration at "" {
        /// The folder for all data, created when missing; each queue manager has a folder of its own in it. Relative
        /// to where the server is started.
        data_dir: PathBuf = PathBuf::from("data"), unit "path";
    }
    with {
        limits: Limits = Limits::default();
        queue_manager: Vec<QueueManager> = vec![QueueManager::default()];
    }
}

section! {
    /// Bounds on connections, for each queue manager.
    Limits at "limits" {
        /// Connections at a time; one that comes beyond is closed at once. The server raises its own limit on open
        /// files as far as the system lets it.
        connections: u32 = 1_000_000, unit "connections", range 1..=16_000_000;
        /// Connections accepted a second, the rest waits in the backlog; 0: as many as come.
        connect_rate_per_s: u32 = 0, unit "connections a second", range 0..=10_000_000;
        /// Connections that the system keeps waiting until they are accepted, for each listener; it may cap this
        /// (`net.core.somaxconn`).
        listen_backlog: u32 = 8_192, unit "connections", range 1..=1_000_000;
        /// Bytes that one connection may leave unread; beyond, it is aborted.
        output_per_connection: u64 = 64 << 20, unit "bytes", range 65_536..=4_294_967_296;
        /// Bytes of incomplete packets and of unread output of all connections of a queue manager together; beyond, one
        /// that has more than 64 KiB of that, and gets more, is aborted.
        connection_buffers: u64 = 1 << 30, unit "bytes", range 1_048_576..=1_099_511_627_776;
        /// Bytes of empty buffers kept for the next connections that need one.
        buffer_pool: u64 = 16 << 20, unit "bytes", range 0..=4_294_967_296;
        /// How long a connection that the server closes may take to read its last packets.
        linger_ms: u64 = 3_000, unit "milliseconds", range 0..=60_000;
    }
}

/// Every section, in the order of the file.
pub const SECTIONS: [&Section; 7] = [
    &Configuration::SECTION,
    &Limits::SECTION,
    &QueueManager::SECTION,
    &QueueManagerLimits::SECTION,
    &Mqtt::SECTION,
    &Log::SECTION,
    &Listener::SECTION,
];

#[cfg(test)]
mod tests;
