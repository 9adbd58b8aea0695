//! Many PUBLISH packets that differ in little, for little processor time.

use alloc::vec::Vec;

use crate::{Publish, QoS, Version};

/// A PUBLISH to be sent many times with another packet identifier and another beginning of its payload: one copy each.
#[derive(Clone, Debug)]
pub struct PublishTemplate {
    packet: Vec<u8>,
    /// Offset of the packet identifier; `None` at QoS 0.
    packet_id_at: Option<usize>,
    /// Offset of the payload.
    payload_at: usize,
}

impl PublishTemplate {
    /// A template of `publish` as it is.
    pub fn new(publish: &Publish<'_>, version: Version) -> PublishTemplate {
        let mut packet = Vec::new();
        publish.encode(version, &mut packet);
        let payload_at = packet.len() - publish.payload.len();
        let properties = publish.properties.as_raw().len();
        let prefix =
            if version.is_5() { crate::writer::variable_len(properties as u32) + properties } else { 0 };
        let packet_id_at = (publish.qos != QoS::AtMostOnce).then(|| payload_at - prefix - 2);
        PublishTemplate { packet, packet_id_at, payload_at }
    }

    /// Bytes of each packet.
    pub fn packet_len(&self) -> usize {
        self.packet.len()
    }

    /// Bytes of each payload.
    pub fn payload_len(&self) -> usize {
        self.packet.len() - self.payload_at
    }

    /// Appends a packet with this identifier (ignored at QoS 0), the payload's first bytes replaced by `front`, as much
    /// of it as fits.
    #[inline]
    pub fn write(&self, packet_id: u16, front: &[u8], out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&self.packet);
        let packet = &mut out[start..];
        if let Some(at) = self.packet_id_at {
            packet[at..at + 2].copy_from_slice(&packet_id.to_be_bytes());
        }
        let len = front.len().min(self.payload_len());
        packet[self.payload_at..self.payload_at + len].copy_from_slice(&front[..len]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Packet, decode};

    #[test]
    fn identifier_and_front_of_the_payload_are_put_in() {
        for version in [Version::V3_1_1, Version::V5] {
            let publish = Publish {
                topic: "a/b",
                payload: b"........rest",
                qos: QoS::AtLeastOnce,
                ..Publish::default()
            };
            let mut out = Vec::new();
            PublishTemplate::new(&publish, version).write(0x1234, b"12345678", &mut out);
            let expected = Publish { packet_id: 0x1234, payload: b"12345678rest", ..publish };
            assert_eq!(decode(&out, version, 100), Ok(Some((Packet::Publish(expected), out.len()))));
        }
    }

    #[test]
    fn a_short_payload_takes_what_fits() {
        let publish = Publish { topic: "a", payload: b"..", ..Publish::default() };
        let template = PublishTemplate::new(&publish, Version::V5);
        let mut out = Vec::new();
        template.write(7, b"12345678", &mut out);
        assert_eq!(out.len(), template.packet_len());
        assert!(out.ends_with(b"12"));
    }
}
