//! The will of a client, a part of CONNECT (3.1.2.5, 3.1.3.2).

use alloc::vec::Vec;

use crate::property::{PropertyReader, PropertySet, set};
use crate::reader::Reader;
use crate::{DecodeError, Properties, Property, QoS, Version, text, writer};

/// A message to publish when its client is lost.
#[derive(Clone, Copy, Debug, Default)]
pub struct Will<'a> {
    /// Where to; not empty, no wildcards.
    pub topic: &'a str,
    /// What.
    pub payload: &'a [u8],
    /// How it is to be published.
    pub qos: QoS,
    /// Whether it is to be retained.
    pub retain: bool,
    /// Seconds between the loss and the publication (3.1.3.2.2).
    pub delay_s: u32,
    /// The payload is UTF-8, as the client says (3.1.3.2.3).
    pub payload_is_text: bool,
    /// Seconds that it lives from its publication (3.1.3.2.4).
    pub message_expiry_s: Option<u32>,
    /// The whole list: the fields above, content type, response topic, correlation data, user properties. In a PUBLISH
    /// all but the delay is legal. To encode a will, they must be in this list.
    pub properties: Properties<'a>,
}

const LEGAL: PropertySet = set(&[0x01, 0x02, 0x03, 0x08, 0x09, 0x18, 0x26]);

impl<'a> Will<'a> {
    pub(crate) fn decode(
        reader: &mut Reader<'a>,
        version: Version,
        qos: QoS,
        retain: bool,
    ) -> Result<Will<'a>, DecodeError> {
        let mut will = Will { qos, retain, ..Will::default() };
        if version.is_5() {
            will.properties = Properties::from_raw(reader.property_list()?);
            will.summarise()?;
        }
        // MQTT-3.1.3-11; as it will be a topic name, it may have no wildcards and is not empty.
        will.topic = text::topic_name(reader.binary()?)?;
        if will.topic.is_empty() {
            return Err(DecodeError::protocol("MQTT-4.7.3-1"));
        }
        will.payload = reader.binary()?;
        Ok(will)
    }

    fn summarise(&mut self) -> Result<(), DecodeError> {
        for property in PropertyReader::new(self.properties.as_raw(), LEGAL) {
            match property? {
                Property::WillDelayInterval(seconds) => self.delay_s = seconds,
                Property::PayloadFormatIndicator(is_text) => self.payload_is_text = is_text,
                Property::MessageExpiryInterval(seconds) => self.message_expiry_s = Some(seconds),
                _ => {}
            }
        }
        Ok(())
    }

    /// Whether the payload is what its format indicator says (3.1.3.2.3).
    pub fn payload_format_is_valid(&self) -> bool {
        !self.payload_is_text || core::str::from_utf8(self.payload).is_ok()
    }

    pub(crate) fn encode(&self, version: Version, out: &mut Vec<u8>) {
        if version.is_5() {
            writer::prefixed(out, |out| out.extend_from_slice(self.properties.as_raw()));
        }
        writer::text(out, self.topic);
        writer::binary(out, self.payload);
    }
}

impl PartialEq for Will<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.topic == other.topic
            && self.payload == other.payload
            && (self.qos, self.retain) == (other.qos, other.retain)
            && self.properties.as_raw() == other.properties.as_raw()
    }
}

impl Eq for Will<'_> {}
