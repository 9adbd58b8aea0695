//! SUBACK and UNSUBACK (3.9, 3.11): an answer for each filter.

use alloc::vec::Vec;

use crate::frame::{Frame, PacketKind};
use crate::reader::Reader;
use crate::{DecodeError, Diagnostics, ReasonCode, Version, writer};

/// The answer to SUBSCRIBE or UNSUBSCRIBE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Suback<'a> {
    /// Of the request, not 0 (MQTT-2.2.1-6).
    pub packet_id: u16,
    /// For people; none in 3.x.
    pub diagnostics: Diagnostics<'a>,
    /// A checked code for each filter, in its order; empty in an UNSUBACK of 3.x. See [`Suback::reasons`].
    pub codes: &'a [u8],
}

impl<'a> Suback<'a> {
    /// The answer for each filter, in the order of the request.
    pub fn reasons(self) -> impl Iterator<Item = ReasonCode> + Clone + 'a {
        self.codes.iter().filter_map(|code| ReasonCode::from_code(*code))
    }

    pub(crate) fn decode(frame: Frame<'a>, version: Version) -> Result<Suback<'a>, DecodeError> {
        frame.check_flags(version)?;
        let mut reader = Reader::new(frame.body);
        let packet_id = reader.packet_id()?;
        let diagnostics = if version.is_5() { Diagnostics::decode(&mut reader)? } else { Diagnostics::NONE };
        let codes = reader.rest;
        if !version.is_5() && frame.kind == PacketKind::Unsuback {
            reader.finish()?;
        } else if codes.is_empty() {
            return Err(DecodeError::protocol("MQTT-3.8.4-6"));
        }
        while !reader.is_empty() {
            let reason = reader.reason(frame.kind)?;
            if !version.is_5() && reason.is_error() && reason != ReasonCode::UnspecifiedError {
                return Err(DecodeError::protocol("MQTT-3.9.3-2"));
            }
        }
        Ok(Suback { packet_id, diagnostics, codes })
    }

    /// Appends it as a packet of `kind`, SUBACK or UNSUBACK.
    pub fn encode(&self, kind: PacketKind, version: Version, out: &mut Vec<u8>) {
        encode_suback(kind, self.packet_id, &self.diagnostics, self.reasons(), version, out);
    }
}

/// Appends a SUBACK or UNSUBACK with the answers `reasons`. For a 3.x client every error in a SUBACK is 0x80, and an
/// UNSUBACK has no answers (3.1.1 3.9.3, 3.11.3).
pub fn encode_suback(
    kind: PacketKind,
    packet_id: u16,
    diagnostics: &Diagnostics<'_>,
    reasons: impl IntoIterator<Item = ReasonCode>,
    version: Version,
    out: &mut Vec<u8>,
) {
    writer::packet(out, kind.first_byte(), |out| {
        writer::u16(out, packet_id);
        if version.is_5() {
            writer::prefixed(out, |out| diagnostics.encode(out));
            out.extend(reasons.into_iter().map(|reason| reason as u8));
        } else if kind == PacketKind::Suback {
            out.extend(reasons.into_iter().map(|reason| (reason as u8).min(0x80)));
        }
    });
}
