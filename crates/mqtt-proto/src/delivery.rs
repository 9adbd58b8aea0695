//! A message as one receiver gets it: PUBLISH from a server, made of what its publisher sent.
//!
//! Three ways to the same bytes: [`Delivery::encode`] for one receiver; [`Delivery::encode_head`] where the payload is
//! large and shared; [`FanOut`] where many receivers get the same packet but for its identifier.

use alloc::vec::Vec;

use crate::property::skim;
use crate::publish::first_byte;
use crate::{Properties, QoS, TopicAliasUse, Version, writer};

/// A message as one receiver gets it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Delivery<'a> {
    /// The topic name that it was published to.
    pub topic: &'a str,
    /// As its publisher sent them; those that a server must pass on unaltered are sent, in their order
    /// (MQTT-3.3.2-4, -15, -16, -18, -20): format indicator, content type, response topic, correlation data, user
    /// properties. None of an origin in 3.x; nothing of them goes to a 3.x receiver.
    pub properties: Properties<'a>,
    /// What the application sent.
    pub payload: &'a [u8],
    /// The lower of the message's and the subscription's.
    pub qos: QoS,
    /// It was sent before; not at QoS 0.
    pub dup: bool,
    /// 3.3.1.3.
    pub retain: bool,
    /// Not 0 unless QoS is 0 (MQTT-2.2.1-4).
    pub packet_id: u16,
    /// Seconds that are left of its life (MQTT-3.3.2-6).
    pub message_expiry_s: Option<u32>,
    /// Of the receiver's subscriptions that it matches (MQTT-3.3.4-3); not to a 3.x receiver.
    pub subscription_identifiers: &'a [u32],
}

/// A packet is larger than its receiver takes: it must not be sent, and counts as delivered (MQTT-3.1.2-24, -25).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLarge {
    /// Bytes that the packet would have.
    pub packet: u32,
    /// Bytes that the receiver takes.
    pub maximum: u32,
}

const MESSAGE_EXPIRY_INTERVAL: u8 = 0x02;
const SUBSCRIPTION_IDENTIFIER: u8 = 0x0B;
const TOPIC_ALIAS: u8 = 0x23;

impl<'a> Delivery<'a> {
    /// Bytes of the whole packet.
    pub fn encoded_len(&self, version: Version, alias: TopicAliasUse) -> usize {
        let (remaining, _) = self.lengths(version, alias);
        1 + writer::variable_len(remaining as u32) + remaining
    }

    /// Appends the packet.
    #[inline]
    pub fn encode(&self, version: Version, alias: TopicAliasUse, out: &mut Vec<u8>) {
        self.encode_head(version, alias, out);
        out.extend_from_slice(self.payload);
    }

    /// Appends the packet without its payload, which must follow.
    #[inline]
    pub fn encode_head(&self, version: Version, alias: TopicAliasUse, out: &mut Vec<u8>) {
        let (remaining, properties) = self.lengths(version, alias);
        self.write_head(remaining, properties, alias, out);
    }

    /// As [`Delivery::encode_head`], with the lengths at hand.
    #[inline]
    pub(crate) fn write_head(
        &self,
        remaining: usize,
        properties: Option<usize>,
        alias: TopicAliasUse,
        out: &mut Vec<u8>,
    ) {
        // Room for the payload too: appending it then moves nothing. A large one is not appended.
        out.reserve(5 + remaining.min(16 * 1024));
        out.push(first_byte(self.qos, self.dup, self.retain));
        writer::variable(out, remaining as u32);
        writer::text(out, self.sent_topic(alias));
        if self.qos != QoS::AtMostOnce {
            writer::u16(out, self.packet_id);
        }
        match properties {
            None => {}
            Some(0) => out.push(0),
            Some(len) => self.write_properties(len, alias, out),
        }
    }

    fn sent_topic(&self, alias: TopicAliasUse) -> &'a str {
        if matches!(alias, TopicAliasUse::Use(_)) { "" } else { self.topic }
    }

    /// The remaining length, and that of the properties if there is a list of them.
    #[inline]
    pub(crate) fn lengths(&self, version: Version, alias: TopicAliasUse) -> (usize, Option<usize>) {
        let id = if self.qos == QoS::AtMostOnce { 0 } else { 2 };
        let rest = 2 + self.sent_topic(alias).len() + id + self.payload.len();
        if !version.is_5() {
            return (rest, None);
        }
        let properties = self.properties_len(alias);
        (rest + writer::variable_len(properties as u32) + properties, Some(properties))
    }

    #[inline]
    fn properties_len(&self, alias: TopicAliasUse) -> usize {
        let mut len = if alias == TopicAliasUse::None { 0 } else { 3 };
        len += if self.message_expiry_s.is_some() { 5 } else { 0 };
        for id in self.subscription_identifiers {
            len += 1 + writer::variable_len(*id);
        }
        for (id, bytes) in skim(self.properties.as_raw()) {
            len += if is_passed_on(id) { bytes.len() } else { 0 };
        }
        len
    }

    fn write_properties(&self, len: usize, alias: TopicAliasUse, out: &mut Vec<u8>) {
        writer::variable(out, len as u32);
        if let TopicAliasUse::Define(alias) | TopicAliasUse::Use(alias) = alias {
            let [high, low] = alias.to_be_bytes();
            out.extend_from_slice(&[TOPIC_ALIAS, high, low]);
        }
        if let Some(seconds) = self.message_expiry_s {
            out.push(MESSAGE_EXPIRY_INTERVAL);
            writer::u32(out, seconds);
        }
        for id in self.subscription_identifiers {
            out.push(SUBSCRIPTION_IDENTIFIER);
            writer::variable(out, *id);
        }
        for (_, bytes) in skim(self.properties.as_raw()).filter(|(id, _)| is_passed_on(*id)) {
            out.extend_from_slice(bytes);
        }
    }

    /// Whether another receiver gets the same bytes, packet identifier and DUP aside.
    fn is_common(&self) -> bool {
        self.subscription_identifiers.is_empty()
    }
}

/// The properties that a server sends on unaltered. Expiry, aliases and subscription identifiers are its own; the
/// delay of a will is not for its receivers.
const fn is_passed_on(id: u8) -> bool {
    matches!(id, 0x01 | 0x03 | 0x08 | 0x09 | 0x26)
}

/// One message for many receivers: a packet per (version, QoS, retain), encoded when the first receiver of that kind
/// comes, then copied with packet identifier and DUP put in.
#[derive(Debug, Default)]
pub struct FanOut {
    /// 3.x and 5.0, each with QoS 0, 1, 2, each without and with RETAIN.
    slots: [Vec<u8>; 12],
    /// Where the packet identifier stands in each.
    packet_id_at: [u32; 12],
    /// Bit per slot that holds a packet of the current message.
    filled: u16,
}

impl FanOut {
    /// An empty one. Keep it: its buffers are used again for the next message.
    pub fn new() -> FanOut {
        FanOut::default()
    }

    /// Forgets the packets of the last message. To be called before another message, and when what is left of its
    /// life has changed.
    #[inline]
    pub fn clear(&mut self) {
        self.filled = 0;
    }

    /// Appends the packet of `delivery`, which differs from earlier ones since [`FanOut::clear`] in QoS, retain, DUP
    /// and packet identifier alone. With subscription identifiers it is encoded for itself.
    #[inline]
    pub fn encode(
        &mut self,
        delivery: &Delivery<'_>,
        version: Version,
        maximum: u32,
        out: &mut Vec<u8>,
    ) -> Result<(), TooLarge> {
        if !delivery.is_common() {
            return delivery.encode_within(maximum, version, TopicAliasUse::None, out);
        }
        let at = slot(delivery, version);
        if self.filled & 1 << at == 0 {
            self.fill(at, delivery, version);
        }
        let packet = &self.slots[at];
        if packet.len() > maximum as usize {
            return Err(TooLarge { packet: packet.len() as u32, maximum });
        }
        let start = out.len();
        out.extend_from_slice(packet);
        if delivery.qos != QoS::AtMostOnce {
            let id_at = start + self.packet_id_at[at] as usize;
            out[id_at..id_at + 2].copy_from_slice(&delivery.packet_id.to_be_bytes());
            out[start] = first_byte(delivery.qos, delivery.dup, delivery.retain);
        }
        Ok(())
    }

    fn fill(&mut self, at: usize, delivery: &Delivery<'_>, version: Version) {
        let (remaining, properties) = delivery.lengths(version, TopicAliasUse::None);
        let packet = &mut self.slots[at];
        packet.clear();
        delivery.write_head(remaining, properties, TopicAliasUse::None, packet);
        packet.extend_from_slice(delivery.payload);
        self.packet_id_at[at] =
            (1 + writer::variable_len(remaining as u32) + 2 + delivery.topic.len()) as u32;
        self.filled |= 1 << at;
    }
}

fn slot(delivery: &Delivery<'_>, version: Version) -> usize {
    usize::from(version.is_5()) * 6 + delivery.qos as usize * 2 + usize::from(delivery.retain)
}

impl Delivery<'_> {
    /// Appends the packet if it has at most `maximum` bytes.
    #[inline]
    pub fn encode_within(
        &self,
        maximum: u32,
        version: Version,
        alias: TopicAliasUse,
        out: &mut Vec<u8>,
    ) -> Result<(), TooLarge> {
        self.encode_head_within(maximum, version, alias, out)?;
        out.extend_from_slice(self.payload);
        Ok(())
    }

    /// Appends the packet without its payload, which must follow, if together they have at most `maximum` bytes.
    #[inline]
    pub fn encode_head_within(
        &self,
        maximum: u32,
        version: Version,
        alias: TopicAliasUse,
        out: &mut Vec<u8>,
    ) -> Result<(), TooLarge> {
        let (remaining, properties) = self.lengths(version, alias);
        let packet = (1 + writer::variable_len(remaining as u32) + remaining) as u32;
        if packet > maximum {
            return Err(TooLarge { packet, maximum });
        }
        self.write_head(remaining, properties, alias, out);
        Ok(())
    }
}
