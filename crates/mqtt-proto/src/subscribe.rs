//! SUBSCRIBE (3.8): a client asks for messages.

use alloc::vec::Vec;

use crate::frame::{Frame, PacketKind};
use crate::property::{PropertyReader, PropertySet, set};
use crate::reader::Reader;
use crate::{DecodeError, Property, QoS, UserProperties, Version, writer};

/// A client asks for messages. Text is checked, but whether a filter is well formed (4.7.1) is left to whoever
/// knows topics: a bad one is refused in the SUBACK (0x8F) and does no harm to the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subscribe<'a> {
    /// Not 0 (MQTT-2.2.1-3).
    pub packet_id: u16,
    /// Comes back with each message, 1 to 268,435,455 (3.8.2.1.2).
    pub identifier: Option<u32>,
    /// 3.8.2.1.3.
    pub user_properties: UserProperties<'a>,
    /// At least one (MQTT-3.8.3-2).
    pub filters: Filters<'a>,
}

/// A topic filter and what its subscriber wants (3.8.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Subscription<'a> {
    /// Not empty; `$share/...` included.
    pub filter: &'a str,
    /// The highest QoS that the subscriber takes.
    pub qos: QoS,
    /// Nothing that the same client published.
    pub no_local: bool,
    /// Keep the retain flag as it was published.
    pub retain_as_published: bool,
    /// When to send retained messages.
    pub retain_handling: RetainHandling,
}

/// When retained messages are sent (3.8.3.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum RetainHandling {
    /// At every SUBSCRIBE; so does 3.x.
    #[default]
    Send = 0,
    /// Only where the subscription did not exist.
    SendIfNew = 1,
    /// Never.
    DoNotSend = 2,
}

/// The filters of a SUBSCRIBE as they came: text and an options byte each.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Filters<'a>(&'a [u8]);

const LEGAL: PropertySet = set(&[0x0B, 0x26]);
const NO_LOCAL: u8 = 0b0000_0100;
const RETAIN_AS_PUBLISHED: u8 = 0b0000_1000;

impl<'a> Filters<'a> {
    /// Each of them, in order. There is an answer for each in the SUBACK.
    pub fn iter(self) -> impl Iterator<Item = Subscription<'a>> + Clone {
        let mut reader = Reader::new(self.0);
        // Checked when they were decoded, so errors end it only for bytes that never were.
        core::iter::from_fn(move || {
            if reader.is_empty() { None } else { Subscription::decode(&mut reader, Version::V5).ok() }
        })
    }
}

impl core::fmt::Debug for Filters<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl<'a> Subscription<'a> {
    /// A subscription without options.
    pub const fn new(filter: &'a str, qos: QoS) -> Subscription<'a> {
        Subscription {
            filter,
            qos,
            no_local: false,
            retain_as_published: false,
            retain_handling: RetainHandling::Send,
        }
    }

    fn decode(reader: &mut Reader<'a>, version: Version) -> Result<Subscription<'a>, DecodeError> {
        let filter = reader.text()?;
        if filter.is_empty() {
            return Err(DecodeError::protocol("MQTT-4.7.3-1"));
        }
        let options = reader.u8()?;
        let reserved = if version.is_5() { 0b1100_0000 } else { 0b1111_1100 };
        if options & reserved != 0 {
            return Err(DecodeError::malformed("MQTT-3.8.3-5"));
        }
        let no_local = options & NO_LOCAL != 0;
        if no_local && filter.starts_with("$share/") {
            return Err(DecodeError::protocol("MQTT-3.8.3-4"));
        }
        Ok(Subscription {
            filter,
            qos: QoS::from_bits(options & 3).ok_or(DecodeError::protocol("MQTT-5 3.8.3.1"))?,
            no_local,
            retain_as_published: options & RETAIN_AS_PUBLISHED != 0,
            retain_handling: retain_handling(options)?,
        })
    }

    fn encode(&self, version: Version, out: &mut Vec<u8>) {
        writer::text(out, self.filter);
        let mut options = self.qos as u8;
        if version.is_5() {
            options |= (self.retain_handling as u8) << 4;
            options |= if self.no_local { NO_LOCAL } else { 0 };
            options |= if self.retain_as_published { RETAIN_AS_PUBLISHED } else { 0 };
        }
        out.push(options);
    }
}

fn retain_handling(options: u8) -> Result<RetainHandling, DecodeError> {
    match options >> 4 & 3 {
        0 => Ok(RetainHandling::Send),
        1 => Ok(RetainHandling::SendIfNew),
        2 => Ok(RetainHandling::DoNotSend),
        _ => Err(DecodeError::protocol("MQTT-5 3.8.3.1")),
    }
}

impl<'a> Subscribe<'a> {
    pub(crate) fn decode(frame: Frame<'a>, version: Version) -> Result<Subscribe<'a>, DecodeError> {
        frame.check_flags(version)?;
        let mut reader = Reader::new(frame.body);
        let packet_id = reader.packet_id()?;
        let mut identifier = None;
        let raw = if version.is_5() { reader.property_list()? } else { &[] };
        for property in PropertyReader::new(raw, LEGAL) {
            if let Property::SubscriptionIdentifier(id) = property? {
                identifier = Some(id);
            }
        }
        let filters = Filters(reader.rest);
        if reader.is_empty() {
            return Err(DecodeError::protocol("MQTT-3.8.3-2"));
        }
        while !reader.is_empty() {
            Subscription::decode(&mut reader, version)?;
        }
        Ok(Subscribe { packet_id, identifier, user_properties: UserProperties::from_raw(raw), filters })
    }

    /// Appends the packet again.
    pub fn encode(&self, version: Version, out: &mut Vec<u8>) {
        encode_subscribe(
            self.packet_id,
            self.identifier,
            self.user_properties,
            self.filters.iter(),
            version,
            out,
        );
    }
}

/// Appends a SUBSCRIBE. `packet_id` is not 0 and there is at least one subscription.
pub fn encode_subscribe<'s>(
    packet_id: u16,
    identifier: Option<u32>,
    user_properties: UserProperties<'_>,
    subscriptions: impl IntoIterator<Item = Subscription<'s>>,
    version: Version,
    out: &mut Vec<u8>,
) {
    writer::packet(out, PacketKind::Subscribe.first_byte(), |out| {
        writer::u16(out, packet_id);
        if version.is_5() {
            writer::prefixed(out, |out| {
                if let Some(id) = identifier {
                    Property::SubscriptionIdentifier(id).encode(out);
                }
                user_properties.encode(out);
            });
        }
        for subscription in subscriptions {
            subscription.encode(version, out);
        }
    });
}
