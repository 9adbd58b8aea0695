//! A message as part of a record of the recovery log: a fixed head, then its bytes. Integers are little-endian.
//!
//! ```text
//! 0 encoding u8 | 1 qos u8 | 2 flags u8 (1 persistent, 2 retain) | 3 priority u8 | 4 put time u64 | 12 expires u64
//! 20 topic start u32, len u32 | 28 properties start, len | 36 body start, len | 44 length of bytes u32 | 48 bytes
//! ```

use alloc::vec::Vec;

use crate::{Descriptor, Encoding, Message, MessageError, Persistence, QoS, Span, Timestamp};

/// Bytes that a record needs beyond the message's own.
pub const MAX_ENCODED_OVERHEAD: usize = 48;

/// Appends `message` to `out`.
pub fn encode(message: &Message, out: &mut Vec<u8>) {
    let d = message.descriptor();
    let persistent = u8::from(d.persistence == Persistence::Persistent);
    out.reserve(MAX_ENCODED_OVERHEAD + message.bytes().len());
    out.extend_from_slice(&[d.encoding as u8, d.qos as u8, persistent | u8::from(d.retain) << 1, d.priority]);
    out.extend_from_slice(&d.put_time.0.to_le_bytes());
    out.extend_from_slice(&d.expires.0.to_le_bytes());
    for span in [d.topic, d.properties, d.body] {
        out.extend_from_slice(&span.start.to_le_bytes());
        out.extend_from_slice(&span.len.to_le_bytes());
    }
    out.extend_from_slice(&(message.bytes().len() as u32).to_le_bytes());
    out.extend_from_slice(message.bytes());
}

/// Reads a message from the start of `input` and returns it with the rest.
pub fn decode(input: &[u8]) -> Result<(Message, &[u8]), MessageError> {
    let (head, rest) = input.split_at_checked(MAX_ENCODED_OVERHEAD).ok_or(MessageError::Malformed)?;
    let descriptor = Descriptor {
        encoding: Encoding::from_bits(head[0]).ok_or(MessageError::Malformed)?,
        qos: QoS::from_bits(head[1]).ok_or(MessageError::Malformed)?,
        persistence: if head[2] & 1 == 0 { Persistence::NonPersistent } else { Persistence::Persistent },
        retain: head[2] & 2 != 0,
        priority: head[3],
        put_time: Timestamp(u64_at(head, 4)),
        expires: Timestamp(u64_at(head, 12)),
        topic: span_at(head, 20),
        properties: span_at(head, 28),
        body: span_at(head, 36),
    };
    let (bytes, rest) = rest.split_at_checked(u32_at(head, 44) as usize).ok_or(MessageError::Malformed)?;
    let message = Message::new(descriptor, bytes)?;
    core::str::from_utf8(message.topic_bytes()).map_err(|_| MessageError::Malformed)?;
    Ok((message, rest))
}

fn span_at(head: &[u8], at: usize) -> Span {
    Span { start: u32_at(head, at), len: u32_at(head, at + 4) }
}

fn u32_at(head: &[u8], at: usize) -> u32 {
    let mut bytes = [0; 4];
    bytes.copy_from_slice(&head[at..at + 4]);
    u32::from_le_bytes(bytes)
}

fn u64_at(head: &[u8], at: usize) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&head[at..at + 8]);
    u64::from_le_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Message {
        let descriptor = Descriptor {
            encoding: Encoding::Mqtt5,
            qos: QoS::ExactlyOnce,
            persistence: Persistence::Persistent,
            retain: true,
            priority: 7,
            put_time: Timestamp(1),
            expires: Timestamp(2),
            ..Descriptor::default()
        };
        Message::from_parts(descriptor, "a/b", b"pp", b"body")
    }

    #[test]
    fn a_message_comes_back_from_its_record_unchanged() {
        let mut record = Vec::new();
        encode(&sample(), &mut record);
        record.push(42);
        assert_eq!(decode(&record), Ok((sample(), &[42][..])));
    }

    #[test]
    fn a_record_cut_anywhere_is_malformed() {
        let mut record = Vec::new();
        encode(&sample(), &mut record);
        for cut in 0..record.len() {
            assert_eq!(decode(&record[..cut]), Err(MessageError::Malformed), "cut at {cut}");
        }
    }
}
