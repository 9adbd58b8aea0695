//! MQTT 3.1.1 packets where the load is: one PUBLISH encoded once a stream and patched, arrivals read in place.

use crate::stamp::{STAMP_SIZE, Stamp};

/// One whole packet in the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// The first byte: packet type and flags.
    pub first: u8,
    /// Everything after the fixed header.
    pub body: &'a [u8],
    /// Bytes of the whole packet.
    pub size: usize,
}

/// The server sent what is not MQTT.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the server sent a malformed packet (first byte {first:#04x})")]
pub struct Malformed {
    /// First byte of the packet.
    pub first: u8,
}

impl<'a> Frame<'a> {
    /// The packet at the front of `input`, `None` while it is not whole.
    #[inline]
    pub fn split(input: &'a [u8]) -> Result<Option<Self>, Malformed> {
        let [first, length, ..] = *input else { return Ok(None) };
        if length < 0x80 {
            return Ok(Self::cut(input, first, 2, usize::from(length)));
        }
        let Some(&high) = input.get(2) else { return Ok(None) };
        let length = usize::from(length & 0x7f) | usize::from(high & 0x7f) << 7;
        if high < 0x80 {
            return Ok(Self::cut(input, first, 3, length));
        }
        Self::split_long(input, first, length)
    }

    #[cold]
    fn split_long(input: &'a [u8], first: u8, low: usize) -> Result<Option<Self>, Malformed> {
        let Some(&third) = input.get(3) else { return Ok(None) };
        let low = low | usize::from(third & 0x7f) << 14;
        if third < 0x80 {
            return Ok(Self::cut(input, first, 4, low));
        }
        let Some(&fourth) = input.get(4) else { return Ok(None) };
        if fourth >= 0x80 {
            return Err(Malformed { first });
        }
        Ok(Self::cut(input, first, 5, low | usize::from(fourth) << 21))
    }

    #[inline]
    fn cut(input: &'a [u8], first: u8, header: usize, length: usize) -> Option<Self> {
        let body = input.get(header..header + length)?;
        Some(Self { first, body, size: header + length })
    }

    /// The packet type, 1..=15.
    #[inline]
    pub fn kind(&self) -> u8 {
        self.first >> 4
    }

    /// The two bytes at the front: the packet identifier of every packet but PUBLISH.
    pub fn packet_id(&self) -> Result<[u8; 2], Malformed> {
        self.body.first_chunk().copied().ok_or(Malformed { first: self.first })
    }

    /// Packet identifier (above QoS 0) and payload of a PUBLISH.
    #[inline]
    pub fn publish(&self) -> Result<(Option<[u8; 2]>, &'a [u8]), Malformed> {
        let malformed = Malformed { first: self.first };
        let topic: [u8; 2] = *self.body.first_chunk().ok_or(malformed)?;
        let rest = self.body.get(2 + usize::from(u16::from_be_bytes(topic))..).ok_or(malformed)?;
        if self.first & 0b0110 == 0 {
            return Ok((None, rest));
        }
        let id = *rest.first_chunk().ok_or(malformed)?;
        Ok((Some(id), &rest[2..]))
    }
}

/// A PUBLISH of one stream, whole but for packet identifier and stamp.
#[derive(Clone, Debug)]
pub struct Template {
    packet: Box<[u8]>,
    /// Where the packet identifier goes; `None` at QoS 0.
    packet_id_at: Option<usize>,
    stamp_at: usize,
}

impl Template {
    /// A PUBLISH to `topic` with a payload of `size` bytes (at least a stamp).
    pub fn new(topic: &str, qos: u8, size: usize) -> Self {
        let mut packet = vec![0x30 | qos << 1];
        let id_size = if qos > 0 { 2 } else { 0 };
        put_length(&mut packet, 2 + topic.len() + id_size + size);
        put_text(&mut packet, topic);
        let packet_id_at = (qos > 0).then_some(packet.len());
        packet.resize(packet.len() + id_size, 0);
        let stamp_at = packet.len();
        packet.resize(stamp_at + size.max(STAMP_SIZE), b'.');
        Self { packet: packet.into(), packet_id_at, stamp_at }
    }

    /// Appends the PUBLISH with this stamp.
    #[inline]
    pub fn append(&self, output: &mut Vec<u8>, packet_id: u16, stamp: &Stamp) {
        let start = output.len();
        output.extend_from_slice(&self.packet);
        let packet = &mut output[start..];
        if let Some(at) = self.packet_id_at {
            packet[at..at + 2].copy_from_slice(&packet_id.to_be_bytes());
        }
        stamp.write(&mut packet[self.stamp_at..]);
    }
}

/// CONNECT of MQTT 3.1.1.
pub fn connect(client_id: &str, clean: bool, keep_alive_s: u16) -> Vec<u8> {
    let mut packet = vec![0x10];
    put_length(&mut packet, 12 + client_id.len());
    put_text(&mut packet, "MQTT");
    packet.extend_from_slice(&[4, if clean { 2 } else { 0 }]);
    packet.extend_from_slice(&keep_alive_s.to_be_bytes());
    put_text(&mut packet, client_id);
    packet
}

/// SUBSCRIBE to one filter, packet identifier 1.
pub fn subscribe(filter: &str, qos: u8) -> Vec<u8> {
    let mut packet = vec![0x82];
    put_length(&mut packet, 5 + filter.len());
    packet.extend_from_slice(&[0, 1]);
    put_text(&mut packet, filter);
    packet.push(qos);
    packet
}

/// PINGREQ and DISCONNECT.
pub const DISCONNECT: [u8; 2] = [0xE0, 0];

fn put_length(packet: &mut Vec<u8>, mut length: usize) {
    while length >= 0x80 {
        packet.push(length as u8 | 0x80);
        length >>= 7;
    }
    packet.push(length as u8);
}

fn put_text(packet: &mut Vec<u8>, text: &str) {
    packet.extend_from_slice(&(text.len() as u16).to_be_bytes());
    packet.extend_from_slice(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAMP: Stamp = Stamp { run: 1, stream: 2, sequence: 3, intended_us: 4 };

    #[test]
    fn a_template_reads_back_with_its_identifier_and_stamp() {
        for (qos, size) in [(0, 24), (1, 128), (2, 300), (1, 20_000), (0, 3_000_000)] {
            let mut bytes = Vec::new();
            Template::new("bench/pair/7", qos, size).append(&mut bytes, 0x1234, &STAMP);
            let frame = Frame::split(&bytes).expect("well-formed").expect("whole");
            assert_eq!((frame.size, frame.kind()), (bytes.len(), 3));
            let (id, payload) = frame.publish().expect("a PUBLISH");
            assert_eq!(id, (qos > 0).then_some([0x12, 0x34]));
            assert_eq!((Stamp::read(payload), payload.len()), (Some(STAMP), size));
        }
    }

    #[test]
    fn a_partial_packet_is_waited_for_at_every_length() {
        let mut bytes = Vec::new();
        Template::new("t", 1, 200).append(&mut bytes, 9, &STAMP);
        for end in 0..bytes.len() {
            assert_eq!(Frame::split(&bytes[..end]), Ok(None));
        }
    }

    #[test]
    fn a_length_of_five_bytes_and_a_cut_publish_are_malformed() {
        assert_eq!(Frame::split(&[0x30, 0xff, 0xff, 0xff, 0xff, 0]), Err(Malformed { first: 0x30 }));
        let short = Frame { first: 0x32, body: &[0, 9, b'x'], size: 5 };
        assert!(short.publish().is_err());
        assert!(Frame { first: 0x32, body: &[0, 1, b'x', 7], size: 6 }.publish().is_err());
    }

    #[test]
    fn the_cold_packets_are_as_the_specification_writes_them() {
        assert_eq!(connect("ab", true, 10), b"\x10\x0e\0\x04MQTT\x04\x02\0\x0a\0\x02ab");
        assert_eq!(subscribe("a/#", 1), b"\x82\x08\0\x01\0\x03a/#\x01");
    }
}
