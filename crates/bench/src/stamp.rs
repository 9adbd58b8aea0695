//! What every test message carries at the start of its payload: whose it is, which it is, and when it was meant to leave.
//!
//! ```text
//!  0       4       8              16             24
//!  | run   | stream| sequence     | intended us  | filler …      little-endian
//! ```

/// Bytes of a stamp: the smallest payload a scenario can have.
pub const STAMP_SIZE: usize = 24;

/// The stamp of one message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Tells this run's messages from anything else on the server.
    pub run: u32,
    /// Publisher.
    pub stream: u32,
    /// Number within the stream, from 0.
    pub sequence: u64,
    /// Microseconds on the run's clock at which the message was to be sent.
    pub intended_us: u64,
}

impl Stamp {
    /// The stamp as the payload starts with it.
    #[inline]
    pub fn to_bytes(&self) -> [u8; STAMP_SIZE] {
        let mut bytes = [0; STAMP_SIZE];
        bytes[0..4].copy_from_slice(&self.run.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.stream.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.sequence.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.intended_us.to_le_bytes());
        bytes
    }

    /// Reads the stamp of `payload`; `None` when it is too short to have one.
    #[inline]
    pub fn read(payload: &[u8]) -> Option<Self> {
        let p: &[u8; STAMP_SIZE] = payload.first_chunk()?;
        Some(Self {
            run: u32::from_le_bytes([p[0], p[1], p[2], p[3]]),
            stream: u32::from_le_bytes([p[4], p[5], p[6], p[7]]),
            sequence: u64_at(p, 8),
            intended_us: u64_at(p, 16),
        })
    }
}

#[inline]
fn u64_at(p: &[u8; STAMP_SIZE], at: usize) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&p[at..at + 8]);
    u64::from_le_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_reads_back_as_written() {
        let stamp = Stamp { run: 7, stream: 70_000, sequence: 1 << 40, intended_us: u64::MAX - 1 };
        let payload = [stamp.to_bytes().as_slice(), b"filler"].concat();
        assert_eq!(Stamp::read(&payload), Some(stamp));
    }

    #[test]
    fn a_payload_shorter_than_a_stamp_has_none() {
        assert_eq!(Stamp::read(&[0; STAMP_SIZE - 1]), None);
    }
}
