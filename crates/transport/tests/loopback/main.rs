//! The loop over real sockets of the loopback interface. Nothing sleeps: readiness comes from the protocol of
//! [`script`], and a read that waits in vain fails after ten seconds.

#![allow(clippy::unwrap_used, reason = "tests")]

mod accepting;
mod back_pressure;
mod client_role;
mod ending;
mod exchange;
mod fairness;
mod script;
mod timing;
