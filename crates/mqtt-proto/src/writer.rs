//! Appends the data types of MQTT (1.5) to a buffer.

use alloc::vec::Vec;

use crate::reader::MAX_VARIABLE_BYTE_INTEGER;

/// Bytes that a variable byte integer takes, 1 to 4 (1.5.5).
#[inline]
pub(crate) const fn variable_len(value: u32) -> usize {
    match value {
        0..=127 => 1,
        128..=16_383 => 2,
        16_384..=2_097_151 => 3,
        _ => 4,
    }
}

/// Appends a variable byte integer; `value` is at most [`MAX_VARIABLE_BYTE_INTEGER`].
#[inline]
pub(crate) fn variable(out: &mut Vec<u8>, value: u32) {
    debug_assert!(value <= MAX_VARIABLE_BYTE_INTEGER);
    let mut rest = value;
    while rest >= 0x80 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

#[inline]
pub(crate) fn u16(out: &mut Vec<u8>, value: u16) {
    out.extend_from_slice(&value.to_be_bytes());
}

#[inline]
pub(crate) fn u32(out: &mut Vec<u8>, value: u32) {
    out.extend_from_slice(&value.to_be_bytes());
}

/// Appends binary data or a string with its two-byte length; what is beyond 65,535 bytes can't be expressed and is
/// cut off, so callers check their limits before.
#[inline]
pub(crate) fn binary(out: &mut Vec<u8>, bytes: &[u8]) {
    let len = bytes.len().min(usize::from(u16::MAX));
    u16(out, len as u16);
    out.extend_from_slice(&bytes[..len]);
}

/// Appends text like [`binary`], cut at a character if it is too long.
#[inline]
pub(crate) fn text(out: &mut Vec<u8>, text: &str) {
    binary(out, &text.as_bytes()[..text.floor_char_boundary(usize::from(u16::MAX))]);
}

/// Appends what `write` appends, with its length before it as a variable byte integer.
pub(crate) fn prefixed(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    let at = out.len();
    out.push(0);
    write(out);
    let len = (out.len() - at - 1) as u32;
    match u8::try_from(len) {
        Ok(short @ 0..=127) => out[at] = short,
        _ => {
            let mut prefix = Vec::with_capacity(4);
            variable(&mut prefix, len);
            out.splice(at..at + 1, prefix);
        }
    }
}

/// Appends a packet: its first byte, remaining length and what `write` appends.
pub(crate) fn packet(out: &mut Vec<u8>, first: u8, write: impl FnOnce(&mut Vec<u8>)) {
    out.push(first);
    prefixed(out, write);
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;
    use crate::reader::variable_byte_integer;

    #[test]
    fn what_is_written_is_read_back() {
        for value in [0, 1, 127, 128, 16_383, 16_384, 2_097_151, 2_097_152, MAX_VARIABLE_BYTE_INTEGER] {
            let mut out = Vec::new();
            variable(&mut out, value);
            assert_eq!(out.len(), variable_len(value));
            assert_eq!(variable_byte_integer(&out), Ok(Some((value, out.len()))));
        }
    }

    #[test]
    fn a_long_packet_gets_a_long_length() {
        let mut out = vec![9];
        packet(&mut out, 0x30, |out| out.extend_from_slice(&[7; 200]));
        assert_eq!(out[..4], [9, 0x30, 0xC8, 1]);
        assert_eq!(out[4..], [7; 200]);
    }

    #[test]
    fn a_long_text_is_cut_at_a_character() {
        let mut out = Vec::new();
        text(&mut out, &"ü".repeat(40_000));
        assert_eq!(out.len(), 2 + 65_534);
    }
}
