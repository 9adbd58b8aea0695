//! The harness `ferrymq-bench`: named workloads, driven from one readiness loop, against our server or a peer.
//!
//! It never estimates: losses, duplicates and order are counted message by message ([`sequence`]), processor time is
//! the server's own clock ([`process`]), and a rated test measures from the time a message was *meant* to leave.
//! The two types to know: [`scenario::Plan`], what is run, and [`report::Report`], what was found.

pub mod command_line;
pub mod comparison;
pub mod latency;
pub mod load;
pub mod meter;
pub mod private_server;
pub mod process;
pub mod product;
pub mod progress;
pub mod report;
pub mod scenario;
pub mod sequence;
pub mod session;
pub mod stamp;
pub mod table;
