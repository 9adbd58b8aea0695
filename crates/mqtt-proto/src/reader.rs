//! Takes the data types of MQTT (1.5) from the front of a slice.

use crate::{DecodeError, text};

/// The largest variable byte integer (1.5.5), also the largest remaining length.
pub const MAX_VARIABLE_BYTE_INTEGER: u32 = 268_435_455;

/// What is left of a packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a> {
    pub(crate) rest: &'a [u8],
}

impl<'a> Reader<'a> {
    #[inline]
    pub(crate) fn new(rest: &'a [u8]) -> Reader<'a> {
        Reader { rest }
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    #[inline(always)]
    pub(crate) fn take(&mut self, len: usize) -> Result<&'a [u8], DecodeError> {
        let (taken, rest) = self.rest.split_at_checked(len).ok_or(DecodeError::TRUNCATED)?;
        self.rest = rest;
        Ok(taken)
    }

    #[inline(always)]
    pub(crate) fn u8(&mut self) -> Result<u8, DecodeError> {
        let (byte, rest) = self.rest.split_first().ok_or(DecodeError::TRUNCATED)?;
        self.rest = rest;
        Ok(*byte)
    }

    #[inline(always)]
    pub(crate) fn u16(&mut self) -> Result<u16, DecodeError> {
        let (bytes, rest) = self.rest.split_first_chunk().ok_or(DecodeError::TRUNCATED)?;
        self.rest = rest;
        Ok(u16::from_be_bytes(*bytes))
    }

    #[inline]
    pub(crate) fn u32(&mut self) -> Result<u32, DecodeError> {
        let (bytes, rest) = self.rest.split_first_chunk().ok_or(DecodeError::TRUNCATED)?;
        self.rest = rest;
        Ok(u32::from_be_bytes(*bytes))
    }

    /// A variable byte integer (1.5.5) that must be complete.
    #[inline(always)]
    pub(crate) fn variable(&mut self) -> Result<u32, DecodeError> {
        let (value, len) = variable_byte_integer(self.rest)?.ok_or(DecodeError::TRUNCATED)?;
        self.rest = &self.rest[len..];
        Ok(value)
    }

    #[inline(always)]
    pub(crate) fn binary(&mut self) -> Result<&'a [u8], DecodeError> {
        let len = self.u16()?;
        self.take(usize::from(len))
    }

    #[inline]
    pub(crate) fn text(&mut self) -> Result<&'a str, DecodeError> {
        text::text(self.binary()?)
    }

    /// The packet identifier of a packet that must have one, not 0 (MQTT-2.2.1-3).
    #[inline(always)]
    pub(crate) fn packet_id(&mut self) -> Result<u16, DecodeError> {
        match self.u16()? {
            0 => Err(DecodeError::protocol("MQTT-2.2.1-3")),
            id => Ok(id),
        }
    }

    /// Nothing may be left behind a packet's last field.
    #[inline]
    pub(crate) fn finish(&self) -> Result<(), DecodeError> {
        if self.is_empty() { Ok(()) } else { Err(DecodeError::malformed("MQTT-4.13.1-1")) }
    }
}

/// The variable byte integer at the front of `input` with its length in bytes; `None` if it is not complete. Fails
/// on a fifth byte and on an encoding longer than needed (MQTT-1.5.5-1).
#[inline(always)]
pub(crate) fn variable_byte_integer(input: &[u8]) -> Result<Option<(u32, usize)>, DecodeError> {
    match input {
        [] => Ok(None),
        [a, ..] if *a < 0x80 => Ok(Some((u32::from(*a), 1))),
        [a, b, ..] if *b < 0x80 && *b > 0 => Ok(Some((u32::from(*a & 0x7F) | u32::from(*b) << 7, 2))),
        _ => long_variable_byte_integer(input),
    }
}

fn long_variable_byte_integer(input: &[u8]) -> Result<Option<(u32, usize)>, DecodeError> {
    let mut value = 0;
    for (at, byte) in input.iter().take(4).enumerate() {
        value |= u32::from(byte & 0x7F) << (7 * at);
        if *byte == 0 && at > 0 {
            return Err(DecodeError::malformed("MQTT-1.5.5-1"));
        }
        if *byte < 0x80 {
            return Ok(Some((value, at + 1)));
        }
    }
    if input.len() >= 4 { Err(DecodeError::malformed("MQTT-5 1.5.5")) } else { Ok(None) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_byte_integer_has_one_to_four_bytes() {
        let cases: [(&[u8], u32); 8] = [
            (&[0], 0),
            (&[0x7F], 127),
            (&[0x80, 1], 128),
            (&[0xFF, 0x7F], 16_383),
            (&[0x80, 0x80, 1], 16_384),
            (&[0xFF, 0xFF, 0x7F], 2_097_151),
            (&[0x80, 0x80, 0x80, 1], 2_097_152),
            (&[0xFF, 0xFF, 0xFF, 0x7F], MAX_VARIABLE_BYTE_INTEGER),
        ];
        for (bytes, value) in cases {
            assert_eq!(variable_byte_integer(bytes), Ok(Some((value, bytes.len()))));
            for cut in 0..bytes.len() {
                assert_eq!(variable_byte_integer(&bytes[..cut]), Ok(None));
            }
        }
    }

    #[test]
    fn a_fifth_byte_or_a_longer_encoding_than_needed_is_malformed() {
        for bytes in [&[0x80, 0x80, 0x80, 0x80][..], &[0x80, 0], &[0xFF, 0x80, 0], &[0x81, 0x80, 0x80, 0]] {
            assert!(variable_byte_integer(bytes).is_err(), "{bytes:02x?}");
        }
    }
}
