//! What a client sends.

use alloc::vec::Vec;

use super::{Connection, State};
use crate::frame::PacketKind;
use crate::{
    Ack, Auth, Disconnect, Publish, ReasonCode, Subscription, TooLarge, UserProperties, encode_subscribe,
    encode_unsubscribe,
};

impl Connection {
    /// Appends PUBLISH, unless it is larger than the server takes (MQTT-3.2.2-15). For many of a kind see
    /// [`super::PublishTemplate`].
    #[inline]
    pub fn publish(&mut self, publish: &Publish<'_>, out: &mut Vec<u8>) -> Result<(), TooLarge> {
        let start = out.len();
        publish.encode(self.version, out);
        let (packet, maximum) = ((out.len() - start) as u32, self.server_maximum_packet_size);
        if packet > maximum {
            out.truncate(start);
            return Err(TooLarge { packet, maximum });
        }
        Ok(())
    }

    /// Appends PUBACK: the QoS 1 delivery is ours.
    #[inline]
    pub fn puback(&mut self, packet_id: u16, out: &mut Vec<u8>) {
        self.unacknowledged = self.unacknowledged.saturating_sub(1);
        Ack::success(packet_id).encode(PacketKind::Puback, self.version, out);
    }

    /// Appends PUBREC: the QoS 2 delivery is ours.
    #[inline]
    pub fn pubrec(&mut self, packet_id: u16, out: &mut Vec<u8>) {
        Ack::success(packet_id).encode(PacketKind::Pubrec, self.version, out);
    }

    /// Appends PUBREL: our QoS 2 message was taken.
    #[inline]
    pub fn pubrel(&mut self, packet_id: u16, out: &mut Vec<u8>) {
        Ack::success(packet_id).encode(PacketKind::Pubrel, self.version, out);
    }

    /// Appends PUBCOMP: the QoS 2 delivery is settled.
    #[inline]
    pub fn pubcomp(&mut self, packet_id: u16, out: &mut Vec<u8>) {
        self.unacknowledged = self.unacknowledged.saturating_sub(1);
        Ack::success(packet_id).encode(PacketKind::Pubcomp, self.version, out);
    }

    /// Appends PUBACK, PUBREC, PUBREL or PUBCOMP with a reason; an error in the first two settles the delivery.
    pub fn ack(&mut self, kind: PacketKind, ack: &Ack<'_>, out: &mut Vec<u8>) {
        let settles = match kind {
            PacketKind::Puback | PacketKind::Pubcomp => true,
            PacketKind::Pubrec => ack.reason.is_error(),
            _ => false,
        };
        self.unacknowledged = self.unacknowledged.saturating_sub(u16::from(settles));
        ack.encode(kind, self.version, out);
    }

    /// Appends SUBSCRIBE; `packet_id` is not 0, there is at least one subscription.
    pub fn subscribe<'s>(
        &mut self,
        packet_id: u16,
        identifier: Option<u32>,
        subscriptions: impl IntoIterator<Item = Subscription<'s>>,
        out: &mut Vec<u8>,
    ) {
        encode_subscribe(packet_id, identifier, UserProperties::NONE, subscriptions, self.version, out);
    }

    /// Appends UNSUBSCRIBE; `packet_id` is not 0, there is at least one filter.
    pub fn unsubscribe<'s>(
        &mut self,
        packet_id: u16,
        filters: impl IntoIterator<Item = &'s str>,
        out: &mut Vec<u8>,
    ) {
        encode_unsubscribe(packet_id, UserProperties::NONE, filters, self.version, out);
    }

    /// Appends PINGREQ.
    pub fn pingreq(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&[PacketKind::Pingreq.first_byte(), 0]);
    }

    /// Appends AUTH: a step of an extended authentication.
    pub fn auth(&mut self, auth: &Auth<'_>, out: &mut Vec<u8>) {
        auth.encode(out);
    }

    /// Appends DISCONNECT; the connection is closed (MQTT-3.14.4-1). MQTT 3.x leaves out all but the fact.
    pub fn disconnect(&mut self, disconnect: &Disconnect<'_>, out: &mut Vec<u8>) {
        self.state = State::Closed;
        disconnect.encode(self.version, out);
    }

    /// [`Connection::disconnect`] without an error and with nothing to add.
    pub fn leave(&mut self, out: &mut Vec<u8>) {
        self.disconnect(&Disconnect::new(ReasonCode::Success), out);
    }
}
