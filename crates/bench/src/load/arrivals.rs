//! PUBLISH packets that come one after the other under the same header.
//!
//! What a subscriber gets differs in packet identifier and payload only, as long as it comes from one topic. So the
//! first packet is decoded and checked by `mqtt-proto`; those that begin with the very same bytes need no second look.

use ferrymq_mqtt_proto::{Publish, QoS};

/// A PUBLISH as far as the harness reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery<'a> {
    /// How often it may arrive.
    pub qos: QoS,
    /// 0 at QoS 0, otherwise not 0.
    pub packet_id: u16,
    /// Stamp and filler.
    pub payload: &'a [u8],
}

/// The header of the last PUBLISH that was decoded: everything before packet identifier and payload.
#[derive(Debug, Default)]
pub struct FamiliarHeader {
    /// Fixed header and topic; empty before the first.
    bytes: Vec<u8>,
    qos: QoS,
    /// Length of the packet, which the fixed header in `bytes` says.
    packet_len: usize,
}

impl FamiliarHeader {
    /// Remembers the header of `packet`, which was decoded to `publish`.
    pub fn remember(&mut self, packet: &[u8], publish: &Publish) {
        let header_len = packet.len() - publish.payload.len() - identifier_len(publish.qos);
        self.bytes.clear();
        self.bytes.extend_from_slice(&packet[..header_len]);
        (self.qos, self.packet_len) = (publish.qos, packet.len());
    }

    /// The packet at the start of `input` and its length, if it is whole and has the header known.
    #[inline]
    pub fn read<'a>(&self, input: &'a [u8]) -> Option<(Delivery<'a>, usize)> {
        let packet = input.get(..self.packet_len)?;
        let rest = packet.strip_prefix(self.bytes.as_slice())?;
        if self.qos == QoS::AtMostOnce {
            // The header is not empty, unless there is none yet.
            let delivery = Delivery { qos: self.qos, packet_id: 0, payload: rest };
            return (!self.bytes.is_empty()).then_some((delivery, self.packet_len));
        }
        let ([high, low], payload) = rest.split_first_chunk()?;
        let packet_id = u16::from_be_bytes([*high, *low]);
        // 0 is not legal: the decoder says so.
        (packet_id != 0).then_some((Delivery { qos: self.qos, packet_id, payload }, self.packet_len))
    }
}

impl<'a> From<&Publish<'a>> for Delivery<'a> {
    fn from(publish: &Publish<'a>) -> Self {
        Self { qos: publish.qos, packet_id: publish.packet_id, payload: publish.payload }
    }
}

fn identifier_len(qos: QoS) -> usize {
    if qos == QoS::AtMostOnce { 0 } else { 2 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::packets::VERSION;
    use ferrymq_mqtt_proto::{Packet, decode};

    fn packet(topic: &str, qos: QoS, packet_id: u16, dup: bool, payload: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        Publish { topic, qos, packet_id, dup, payload, ..Publish::default() }.encode(VERSION, &mut bytes);
        bytes
    }

    fn familiar_with(packet: &[u8]) -> FamiliarHeader {
        let Ok(Some((Packet::Publish(publish), _))) = decode(packet, VERSION, u32::MAX) else {
            panic!("no PUBLISH")
        };
        let mut header = FamiliarHeader::default();
        header.remember(packet, &publish);
        header
    }

    #[test]
    fn the_next_packet_under_the_same_header_reads_as_the_decoder_reads_it() {
        for (qos, id) in [(QoS::AtMostOnce, 0), (QoS::AtLeastOnce, 7), (QoS::ExactlyOnce, 65_535)] {
            let header = familiar_with(&packet("a/b", qos, 1, false, &[1; 300]));
            let next = [packet("a/b", qos, id, false, &[2; 300]), b"more".to_vec()].concat();
            let Ok(Some((Packet::Publish(publish), len))) = decode(&next, VERSION, u32::MAX) else {
                panic!("no PUBLISH")
            };
            assert_eq!(header.read(&next), Some((Delivery::from(&publish), len)));
        }
    }

    #[test]
    fn whatever_differs_is_left_to_the_decoder() {
        let header = familiar_with(&packet("a/b", QoS::AtLeastOnce, 1, false, b"12345"));
        let others = [
            packet("a/c", QoS::AtLeastOnce, 1, false, b"12345"),
            packet("a/b", QoS::AtLeastOnce, 1, false, b"123456"),
            packet("a/b", QoS::AtLeastOnce, 1, true, b"12345"),
            packet("a/b", QoS::ExactlyOnce, 1, false, b"12345"),
            packet("a/b", QoS::AtLeastOnce, 0, false, b"12345"),
            packet("a/b", QoS::AtLeastOnce, 1, false, b"12345")[..11].to_vec(),
            b"\x40\x02\0\x01".to_vec(),
        ];
        others.iter().for_each(|other| assert_eq!(header.read(other), None, "{other:?}"));
    }

    #[test]
    fn without_a_header_nothing_is_familiar() {
        assert_eq!(FamiliarHeader::default().read(b""), None);
        assert_eq!(FamiliarHeader::default().read(b"\x30\x03\0\x01a"), None);
    }
}
