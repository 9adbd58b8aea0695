//! What a server sends, other than CONNACK, PUBLISH and DISCONNECT.

use alloc::vec::Vec;

use super::Connection;
use crate::frame::PacketKind;
use crate::{Ack, Diagnostics, ReasonCode, UserProperties, encode_suback};

impl Connection {
    /// Appends PUBACK and releases the message from the receive maximum.
    #[inline]
    pub fn puback(
        &mut self,
        packet_id: u16,
        reason: ReasonCode,
        diagnostics: &Diagnostics<'_>,
        out: &mut Vec<u8>,
    ) {
        self.unacknowledged = self.unacknowledged.saturating_sub(1);
        self.ack(PacketKind::Puback, packet_id, reason, diagnostics, out);
    }

    /// Appends PUBREC; an error releases the message from the receive maximum (4.9).
    #[inline]
    pub fn pubrec(
        &mut self,
        packet_id: u16,
        reason: ReasonCode,
        diagnostics: &Diagnostics<'_>,
        out: &mut Vec<u8>,
    ) {
        if reason.is_error() {
            self.unacknowledged = self.unacknowledged.saturating_sub(1);
        }
        self.ack(PacketKind::Pubrec, packet_id, reason, diagnostics, out);
    }

    /// Appends PUBREL: the answer to a PUBREC without error; 0x92 if nothing is known of the delivery.
    #[inline]
    pub fn pubrel(
        &mut self,
        packet_id: u16,
        reason: ReasonCode,
        diagnostics: &Diagnostics<'_>,
        out: &mut Vec<u8>,
    ) {
        self.ack(PacketKind::Pubrel, packet_id, reason, diagnostics, out);
    }

    /// Appends PUBCOMP and releases the message from the receive maximum; 0x92 if nothing is known of it.
    #[inline]
    pub fn pubcomp(
        &mut self,
        packet_id: u16,
        reason: ReasonCode,
        diagnostics: &Diagnostics<'_>,
        out: &mut Vec<u8>,
    ) {
        self.unacknowledged = self.unacknowledged.saturating_sub(1);
        self.ack(PacketKind::Pubcomp, packet_id, reason, diagnostics, out);
    }

    #[inline]
    fn ack(
        &self,
        kind: PacketKind,
        packet_id: u16,
        reason: ReasonCode,
        diagnostics: &Diagnostics<'_>,
        out: &mut Vec<u8>,
    ) {
        if diagnostics.is_empty() {
            return Ack { packet_id, reason, diagnostics: Diagnostics::NONE }.encode(kind, self.version, out);
        }
        self.within_limits(self.allowed(diagnostics), out, |diagnostics, out| {
            Ack { packet_id, reason, diagnostics }.encode(kind, self.version, out);
        });
    }

    /// Appends SUBACK with a reason for each filter (MQTT-3.8.4-6). Errors are 0x80 in 3.x.
    pub fn suback(
        &mut self,
        packet_id: u16,
        reasons: impl IntoIterator<Item = ReasonCode> + Clone,
        diagnostics: &Diagnostics<'_>,
        out: &mut Vec<u8>,
    ) {
        self.list_answer(PacketKind::Suback, packet_id, reasons, diagnostics, out);
    }

    /// Appends UNSUBACK with a reason for each filter, which 3.x does not send.
    pub fn unsuback(
        &mut self,
        packet_id: u16,
        reasons: impl IntoIterator<Item = ReasonCode> + Clone,
        diagnostics: &Diagnostics<'_>,
        out: &mut Vec<u8>,
    ) {
        self.list_answer(PacketKind::Unsuback, packet_id, reasons, diagnostics, out);
    }

    fn list_answer(
        &self,
        kind: PacketKind,
        packet_id: u16,
        reasons: impl IntoIterator<Item = ReasonCode> + Clone,
        diagnostics: &Diagnostics<'_>,
        out: &mut Vec<u8>,
    ) {
        self.within_limits(self.allowed(diagnostics), out, |diagnostics, out| {
            encode_suback(kind, packet_id, &diagnostics, reasons.clone(), self.version, out);
        });
    }

    /// Appends PINGRESP (MQTT-3.12.4-1).
    #[inline]
    pub fn pingresp(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&[PacketKind::Pingresp.first_byte(), 0]);
    }

    /// `diagnostics` as far as the client wants to see them (MQTT-3.1.2-29).
    pub(super) fn allowed<'a>(&self, diagnostics: &Diagnostics<'a>) -> Diagnostics<'a> {
        if self.problem_information { *diagnostics } else { Diagnostics::NONE }
    }

    /// Appends a packet with as much of `diagnostics` as the client's maximum packet size allows: first the user
    /// properties go, then the reason string (MQTT-3.2.2-19, MQTT-3.2.2-20 and their like). A packet that is too large
    /// even so is not sent (MQTT-3.1.2-25). Whether one was.
    pub(super) fn within_limits(
        &self,
        diagnostics: Diagnostics<'_>,
        out: &mut Vec<u8>,
        encode: impl Fn(Diagnostics<'_>, &mut Vec<u8>),
    ) -> bool {
        let start = out.len();
        let bare = Diagnostics { user_properties: UserProperties::NONE, ..diagnostics };
        for attempt in [diagnostics, bare, Diagnostics::NONE] {
            encode(attempt, out);
            if out.len() - start <= self.client_maximum_packet_size as usize {
                return true;
            }
            out.truncate(start);
        }
        false
    }
}
