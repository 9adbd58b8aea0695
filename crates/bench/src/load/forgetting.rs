//! Persistent sessions of a run are not left behind on a server that goes on running.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use super::{Destination, Role, packets};
use crate::scenario::Plan;

const ANSWER_MAX: Duration = Duration::from_secs(5);

/// Ends the subscribers' sessions, if they were persistent: each connects once more with a clean session.
///
/// # Errors
/// When the server does not answer.
pub fn forget_sessions(plan: &Plan, destination: &Destination) -> io::Result<()> {
    let sessions = if plan.persistent { plan.subscribers } else { 0 };
    (0..sessions).try_for_each(|number| forget(destination, Role::Subscriber(number)))
}

fn forget(destination: &Destination, role: Role) -> io::Result<()> {
    let mut stream = TcpStream::connect(destination.address)?;
    stream.set_read_timeout(Some(ANSWER_MAX))?;
    let mut packet = Vec::new();
    packets::connect(&destination.client_id(role), true, 0, &mut packet);
    stream.write_all(&packet)?;
    // CONNACK of 3.1.1 has four bytes; whatever it says, the old session is gone or was never ours.
    stream.read_exact(&mut [0; 4])?;
    packet.clear();
    packets::disconnect(&mut packet);
    stream.write_all(&packet)
}
