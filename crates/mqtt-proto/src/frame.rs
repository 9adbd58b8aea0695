//! The fixed header (2.1): what kind of packet comes, and how long it is.

use crate::{DecodeError, ReasonCode, Version, reader};

/// The fifteen kinds of packets, numbered as on the wire (2.1.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
#[allow(missing_docs)] // Their names say it; each has a module.
pub enum PacketKind {
    Connect = 1,
    Connack = 2,
    Publish = 3,
    Puback = 4,
    Pubrec = 5,
    Pubrel = 6,
    Pubcomp = 7,
    Subscribe = 8,
    Suback = 9,
    Unsubscribe = 10,
    Unsuback = 11,
    Pingreq = 12,
    Pingresp = 13,
    Disconnect = 14,
    Auth = 15,
}

impl PacketKind {
    /// The kind that the first byte of a packet names; `None` for 0, which is reserved.
    #[inline]
    pub const fn from_first_byte(first: u8) -> Option<PacketKind> {
        use PacketKind::*;
        Some(match first >> 4 {
            1 => Connect,
            2 => Connack,
            3 => Publish,
            4 => Puback,
            5 => Pubrec,
            6 => Pubrel,
            7 => Pubcomp,
            8 => Subscribe,
            9 => Suback,
            10 => Unsubscribe,
            11 => Unsuback,
            12 => Pingreq,
            13 => Pingresp,
            14 => Disconnect,
            15 => Auth,
            _ => return None,
        })
    }

    /// The first byte of such a packet with the flags that 2.1.3 prescribes; PUBLISH adds its own.
    #[inline]
    pub const fn first_byte(self) -> u8 {
        match self {
            PacketKind::Pubrel | PacketKind::Subscribe | PacketKind::Unsubscribe => {
                (self as u8) << 4 | 0b0010
            }
            _ => (self as u8) << 4,
        }
    }

    const fn flags_clause(self) -> &'static str {
        match self {
            PacketKind::Pubrel => "MQTT-3.6.1-1",
            PacketKind::Subscribe => "MQTT-3.8.1-1",
            PacketKind::Unsubscribe => "MQTT-3.10.1-1",
            PacketKind::Disconnect => "MQTT-3.14.1-1",
            PacketKind::Auth => "MQTT-3.15.1-1",
            _ => "MQTT-2.1.3-1",
        }
    }
}

/// A packet cut out of the input, not yet looked into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Frame<'a> {
    /// Kind and flags.
    pub(crate) first: u8,
    /// What kind the first byte names.
    pub(crate) kind: PacketKind,
    /// Variable header and payload.
    pub(crate) body: &'a [u8],
    /// Bytes of the whole packet, fixed header included.
    pub(crate) len: usize,
}

impl<'a> Frame<'a> {
    /// The first packet in `input`; `None` if it is not complete. A packet of more than `max_packet` bytes is refused
    /// as soon as its length is known (0x95), and one of kind 0 by its first byte.
    #[inline(always)]
    pub(crate) fn split(input: &'a [u8], max_packet: u32) -> Result<Option<Frame<'a>>, DecodeError> {
        let Some((first, rest)) = input.split_first() else { return Ok(None) };
        let kind = PacketKind::from_first_byte(*first).ok_or(DecodeError::malformed("MQTT-5 2.1.2"))?;
        let Some((remaining, prefix)) = reader::variable_byte_integer(rest)? else { return Ok(None) };
        let len = 1 + prefix + remaining as usize;
        if len > max_packet as usize {
            return Err(DecodeError::new(ReasonCode::PacketTooLarge, "MQTT-3.2.2-15"));
        }
        let Some(body) = input.get(1 + prefix..len) else { return Ok(None) };
        Ok(Some(Frame { first: *first, kind, body, len }))
    }

    /// The reserved flags must be as prescribed (MQTT-2.1.3-1); PUBLISH checks its own. MQTT 3.1 knows a DUP flag on
    /// the packets with QoS 1, and ignores the flags of the others.
    #[inline]
    pub(crate) fn check_flags(&self, version: Version) -> Result<(), DecodeError> {
        if self.first == self.kind.first_byte() || version == Version::V3_1 {
            return Ok(());
        }
        Err(DecodeError::malformed(self.kind.flags_clause()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_numbered_as_on_the_wire() {
        for number in 1..=15 {
            assert_eq!(PacketKind::from_first_byte(number << 4 | 3).map(|k| k as u8), Some(number));
        }
        assert_eq!(PacketKind::from_first_byte(0x0F), None);
    }

    #[test]
    fn a_packet_is_too_large_before_its_body_arrives() {
        let refused = Frame::split(&[0x30, 0x80, 1], 130).map_err(|e| e.reason);
        assert_eq!(refused, Err(ReasonCode::PacketTooLarge));
        assert_eq!(Frame::split(&[0x30, 0x80, 1], 131), Ok(None));
    }

    #[test]
    fn a_packet_waits_for_its_last_byte() {
        assert_eq!(Frame::split(&[], 100), Ok(None));
        assert_eq!(Frame::split(&[0x40], 100), Ok(None));
        assert_eq!(Frame::split(&[0x40, 2, 0], 100), Ok(None));
        let frame = Frame { first: 0x40, kind: PacketKind::Puback, body: &[0, 1], len: 4 };
        assert_eq!(Frame::split(&[0x40, 2, 0, 1, 0x30], 100), Ok(Some(frame)));
    }
}
