//! PUBLISH (3.3): a message on its way.

use alloc::vec::Vec;
use core::ops::Range;

use crate::frame::{Frame, PacketKind};
use crate::property::{IN_PUBLISH, PropertyReader};
use crate::reader::Reader;
use crate::{DecodeError, Properties, Property, QoS, Version, text, writer};

/// DUP of the first byte (3.3.1.1).
pub(crate) const DUP: u8 = 0b1000;
/// RETAIN of the first byte (3.3.1.3).
pub(crate) const RETAIN: u8 = 0b0001;

/// A message on its way. Decoding copies nothing: it can be kept by copying [`Publish::body`] and its
/// [`Publish::spans`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Publish<'a> {
    /// Where to. Empty only as long as nobody has resolved `topic_alias`, which the connections do.
    pub topic: &'a str,
    /// What the application sent.
    pub payload: &'a [u8],
    /// Of MQTT 5.0; checked.
    pub properties: Properties<'a>,
    /// Variable header and payload as they came: one slice that holds topic, properties and payload. Empty in
    /// a packet that was not decoded.
    pub body: &'a [u8],
    /// 0 at QoS 0, otherwise not 0.
    pub packet_id: u16,
    /// How often it may arrive.
    pub qos: QoS,
    /// Sent before, perhaps (3.3.1.1).
    pub dup: bool,
    /// To be kept for later subscribers; from a server, kept from earlier (3.3.1.3).
    pub retain: bool,
    /// Found in `properties`: the payload is UTF-8, as its sender says (3.3.2.3.2).
    pub payload_is_text: bool,
    /// Found in `properties`: has one or more subscription identifiers, which only servers may send (MQTT-3.3.4-6).
    pub has_subscription_identifier: bool,
    /// Found in `properties`: seconds that it lives (3.3.2.3.3).
    pub message_expiry_s: Option<u32>,
    /// Found in `properties`, not 0 (3.3.2.3.4).
    pub topic_alias: Option<u16>,
}

/// Where the parts of a message lie in [`Publish::body`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spans {
    /// The topic name; `None` if an alias stands for it.
    pub topic: Option<Range<u32>>,
    /// The property list without its length.
    pub properties: Range<u32>,
    /// The payload, which ends the body.
    pub payload: Range<u32>,
}

impl<'a> Publish<'a> {
    /// Where the parts lie in `body`.
    #[inline]
    pub fn spans(&self) -> Spans {
        let end = self.body.len() as u32;
        let payload = end - self.payload.len() as u32;
        let topic = match self.body {
            [0, 0, ..] | [] | [_] => None,
            [high, low, ..] => Some(2..2 + u32::from(u16::from_be_bytes([*high, *low]))),
        };
        let properties = payload - self.properties.as_raw().len() as u32;
        Spans { topic, properties: properties..payload, payload: payload..end }
    }

    /// Whether the payload is what its format indicator says (0x99 if not, 3.3.2.3.2). Reads the whole payload.
    pub fn payload_format_is_valid(&self) -> bool {
        !self.payload_is_text || core::str::from_utf8(self.payload).is_ok()
    }

    #[inline(always)]
    pub(crate) fn decode(frame: Frame<'a>, version: Version) -> Result<Publish<'a>, DecodeError> {
        let first = frame.first;
        // A reserved QoS is malformed (MQTT-3.3.1-4), a repeated message of QoS 0 does not exist (MQTT-3.3.1-2).
        let qos = QoS::from_bits(first >> 1 & 3).ok_or(DecodeError::malformed("MQTT-3.3.1-4"))?;
        let dup = first & DUP != 0;
        if dup && qos == QoS::AtMostOnce && version != Version::V3_1 {
            return Err(DecodeError::malformed("MQTT-3.3.1-2"));
        }
        let mut reader = Reader::new(frame.body);
        let topic = text::topic_name(reader.binary()?)?;
        let packet_id = if qos == QoS::AtMostOnce { 0 } else { reader.packet_id()? };
        let retain = first & RETAIN != 0;
        let mut publish =
            Publish { topic, packet_id, qos, dup, retain, body: frame.body, ..Publish::default() };
        if version.is_5() {
            publish.decode_properties(&mut reader)?;
        }
        if topic.is_empty() && publish.topic_alias.is_none() {
            return Err(empty_topic(version));
        }
        publish.payload = reader.rest;
        Ok(publish)
    }

    #[inline(always)]
    fn decode_properties(&mut self, reader: &mut Reader<'a>) -> Result<(), DecodeError> {
        let raw = reader.property_list()?;
        if !raw.is_empty() {
            self.summarise(raw)?;
        }
        self.properties = Properties::from_raw(raw);
        Ok(())
    }

    fn summarise(&mut self, raw: &'a [u8]) -> Result<(), DecodeError> {
        for property in PropertyReader::new(raw, IN_PUBLISH) {
            match property? {
                Property::PayloadFormatIndicator(is_text) => self.payload_is_text = is_text,
                Property::MessageExpiryInterval(seconds) => self.message_expiry_s = Some(seconds),
                Property::TopicAlias(alias) => self.topic_alias = Some(alias),
                Property::SubscriptionIdentifier(_) => self.has_subscription_identifier = true,
                _ => {}
            }
        }
        Ok(())
    }

    /// Appends the packet: topic, properties and payload as they are here. The fields found in properties are not
    /// looked at. For a 3.x peer the properties are left out.
    pub fn encode(&self, version: Version, out: &mut Vec<u8>) {
        let raw = self.properties.as_raw();
        let properties = if version.is_5() { writer::variable_len(raw.len() as u32) + raw.len() } else { 0 };
        let id = if self.qos == QoS::AtMostOnce { 0 } else { 2 };
        let remaining = 2 + self.topic.len() + id + properties + self.payload.len();
        out.reserve(remaining + 5);
        out.push(first_byte(self.qos, self.dup, self.retain));
        writer::variable(out, remaining as u32);
        writer::text(out, self.topic);
        if id > 0 {
            writer::u16(out, self.packet_id);
        }
        if version.is_5() {
            writer::variable(out, raw.len() as u32);
            out.extend_from_slice(raw);
        }
        out.extend_from_slice(self.payload);
    }
}

impl PartialEq for Publish<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.topic == other.topic
            && self.payload == other.payload
            && self.properties.as_raw() == other.properties.as_raw()
            && (self.packet_id, self.qos, self.dup, self.retain)
                == (other.packet_id, other.qos, other.dup, other.retain)
    }
}

impl Eq for Publish<'_> {}

/// The first byte of a PUBLISH (3.3.1).
#[inline]
pub(crate) const fn first_byte(qos: QoS, dup: bool, retain: bool) -> u8 {
    PacketKind::Publish.first_byte() | (dup as u8) << 3 | (qos as u8) << 1 | retain as u8
}

#[cold]
fn empty_topic(version: Version) -> DecodeError {
    // 3.3.2.1: without an alias a topic name of length zero is a protocol error; 3.x has none at all.
    if version.is_5() {
        DecodeError::protocol("MQTT-5 3.3.2.1")
    } else {
        DecodeError::malformed("MQTT-4.7.3-1")
    }
}
