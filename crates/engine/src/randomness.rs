//! Numbers that nobody can guess.

use std::fs::File;
use std::io::{self, Read};

/// 64 random bits from the system: the identity of a new log, so that bytes which a client sends cannot pass for a
/// block of it; the seed of the topic trees, so that a client cannot choose topics that collide.
///
/// # Errors
/// The system has no random source.
pub(crate) fn random_bits() -> io::Result<u64> {
    let mut bits = [0; 8];
    File::open("/dev/urandom")?.read_exact(&mut bits)?;
    Ok(u64::from_le_bytes(bits))
}
