//! PUBACK, PUBREC, PUBREL and PUBCOMP (3.4 to 3.7), which have one shape.

use alloc::vec::Vec;

use crate::frame::{Frame, PacketKind};
use crate::reader::Reader;
use crate::{DecodeError, Diagnostics, ReasonCode, Version, writer};

/// A step in the exchange that settles a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack<'a> {
    /// Of the PUBLISH, not 0 (MQTT-2.2.1-5).
    pub packet_id: u16,
    /// [`ReasonCode::Success`] in MQTT 3.x.
    pub reason: ReasonCode,
    /// None in MQTT 3.x.
    pub diagnostics: Diagnostics<'a>,
}

impl<'a> Ack<'a> {
    /// The ordinary one: no error, nothing to say.
    #[inline]
    pub const fn success(packet_id: u16) -> Ack<'static> {
        Ack { packet_id, reason: ReasonCode::Success, diagnostics: Diagnostics::NONE }
    }

    #[inline]
    pub(crate) fn decode(frame: Frame<'a>, version: Version) -> Result<Ack<'a>, DecodeError> {
        frame.check_flags(version)?;
        let mut reader = Reader::new(frame.body);
        let mut ack = Ack::success(reader.packet_id()?);
        if !version.is_5() || reader.is_empty() {
            reader.finish()?;
            return Ok(ack);
        }
        // The reason is left out if it is success, the property length if there are none (3.4.2.1, 3.4.2.2.1).
        ack.reason = reader.reason(frame.kind)?;
        if !reader.is_empty() {
            ack.diagnostics = Diagnostics::decode(&mut reader)?;
        }
        reader.finish()?;
        Ok(ack)
    }

    /// Appends it as a packet of `kind`, one of PUBACK, PUBREC, PUBREL and PUBCOMP. MQTT 3.x has no reasons: there
    /// it only says that the message was dealt with.
    #[inline]
    pub fn encode(&self, kind: PacketKind, version: Version, out: &mut Vec<u8>) {
        let [high, low] = self.packet_id.to_be_bytes();
        if !version.is_5() || (self.reason == ReasonCode::Success && self.diagnostics.is_empty()) {
            out.extend_from_slice(&[kind.first_byte(), 2, high, low]);
        } else if self.diagnostics.is_empty() {
            out.extend_from_slice(&[kind.first_byte(), 3, high, low, self.reason as u8]);
        } else {
            writer::packet(out, kind.first_byte(), |out| {
                out.extend_from_slice(&[high, low, self.reason as u8]);
                writer::prefixed(out, |out| self.diagnostics.encode(out));
            });
        }
    }
}

/// Kind and packet identifier, if `input` begins with one of the four in its shortest form and without a fault: the
/// only form in 3.x and the ordinary one in 5.0.
#[inline(always)]
pub(crate) fn short_ack(input: &[u8]) -> Option<(PacketKind, u16)> {
    let [first, 2, high, low, ..] = input else { return None };
    let packet_id = u16::from_be_bytes([*high, *low]);
    let kind = match first {
        0x40 => PacketKind::Puback,
        0x50 => PacketKind::Pubrec,
        0x62 => PacketKind::Pubrel,
        0x70 => PacketKind::Pubcomp,
        _ => return None,
    };
    (packet_id != 0).then_some((kind, packet_id))
}
