//! The properties of MQTT 5.0 (2.2.2): one enum for all 27, which packets may have them, and lists of them.

use alloc::vec::Vec;

use crate::reader::Reader;
use crate::{DecodeError, ReasonCode, text, writer};

macro_rules! properties {
    ($($(#[$meta:meta])+ $name:ident($($of:ty),+) = $id:literal,)+) => {
        /// A property with its value (MQTT-5 table 2-4).
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Property<'a> {
            $($(#[$meta])+ $name($($of),+),)+
        }

        impl Property<'_> {
            /// Its identifier on the wire.
            #[inline]
            pub const fn id(&self) -> u8 {
                match self { $(Property::$name(..) => $id,)+ }
            }
        }
    };
}

properties! {
    /// Whether the payload is UTF-8 text (3.3.2.3.2).
    PayloadFormatIndicator(bool) = 0x01,
    /// Seconds that the message lives (3.3.2.3.3).
    MessageExpiryInterval(u32) = 0x02,
    /// What the payload is, in the application's words (3.3.2.3.9).
    ContentType(&'a str) = 0x03,
    /// Where an answer goes to: a topic name (3.3.2.3.5).
    ResponseTopic(&'a str) = 0x08,
    /// Tells the requester which request an answer is for (3.3.2.3.6).
    CorrelationData(&'a [u8]) = 0x09,
    /// Of a subscription, 1 to 268,435,455 (3.8.2.1.2).
    SubscriptionIdentifier(u32) = 0x0B,
    /// Seconds that the session outlives the connection (3.1.2.11.2).
    SessionExpiryInterval(u32) = 0x11,
    /// The client identifier that the server chose (3.2.2.3.7).
    AssignedClientIdentifier(&'a str) = 0x12,
    /// Seconds: overrides the client's keep alive (3.2.2.3.14).
    ServerKeepAlive(u16) = 0x13,
    /// Name of the extended authentication's method (3.1.2.11.9).
    AuthenticationMethod(&'a str) = 0x15,
    /// What the method says it is (3.1.2.11.10).
    AuthenticationData(&'a [u8]) = 0x16,
    /// Whether reason strings and user properties may come with anything (3.1.2.11.7).
    RequestProblemInformation(bool) = 0x17,
    /// Seconds between the loss of a client and its will (3.1.3.2.2).
    WillDelayInterval(u32) = 0x18,
    /// Whether the client wants Response Information (3.1.2.11.6).
    RequestResponseInformation(bool) = 0x19,
    /// What to make a response topic of (3.2.2.3.15).
    ResponseInformation(&'a str) = 0x1A,
    /// Another server to use (3.2.2.3.16).
    ServerReference(&'a str) = 0x1C,
    /// For diagnosis, not to be parsed (3.2.2.3.9).
    ReasonString(&'a str) = 0x1F,
    /// QoS 1 and 2 messages that may be unacknowledged, not 0 (3.1.2.11.3).
    ReceiveMaximum(u16) = 0x21,
    /// The highest topic alias that is accepted (3.1.2.11.5).
    TopicAliasMaximum(u16) = 0x22,
    /// Stands for a topic name, not 0 (3.3.2.3.4).
    TopicAlias(u16) = 0x23,
    /// 0 or 1: the highest QoS that the server supports (3.2.2.3.4).
    MaximumQoS(u8) = 0x24,
    /// Whether the server retains messages (3.2.2.3.5).
    RetainAvailable(bool) = 0x25,
    /// A name and a value of the application (3.3.2.3.7).
    UserProperty(&'a str, &'a str) = 0x26,
    /// The largest packet in bytes that is accepted, not 0 (3.1.2.11.4).
    MaximumPacketSize(u32) = 0x27,
    /// Whether filters may have wildcards (3.2.2.3.11).
    WildcardSubscriptionAvailable(bool) = 0x28,
    /// Whether subscriptions may have identifiers (3.2.2.3.12).
    SubscriptionIdentifierAvailable(bool) = 0x29,
    /// Whether subscriptions may be shared (3.2.2.3.13).
    SharedSubscriptionAvailable(bool) = 0x2A,
}

/// A set of property identifiers, a bit each.
pub(crate) type PropertySet = u64;

/// The set of these identifiers.
pub(crate) const fn set(ids: &[u8]) -> PropertySet {
    let mut set = 0;
    let mut at = 0;
    while at < ids.len() {
        set |= 1 << ids[at];
        at += 1;
    }
    set
}

/// Those that 2.2.2.2 defines.
const ALL: PropertySet = set(&[
    0x01, 0x02, 0x03, 0x08, 0x09, 0x0B, 0x11, 0x12, 0x13, 0x15, 0x16, 0x17, 0x18, 0x19, 0x1A, 0x1C, 0x1F,
    0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27, 0x28, 0x29, 0x2A,
]);

/// 3.3.2.3: the properties of PUBLISH.
pub(crate) const IN_PUBLISH: PropertySet = set(&[0x01, 0x02, 0x03, 0x08, 0x09, 0x0B, 0x23, 0x26]);

impl<'a> Property<'a> {
    /// Takes a property from the front of `reader`, whatever packet it is in.
    #[inline(always)]
    fn read(reader: &mut Reader<'a>) -> Result<Property<'a>, DecodeError> {
        use Property::*;
        // An identifier is a variable byte integer (2.2.2.2), but all that are defined have one byte.
        Ok(match reader.u8()? {
            0x01 => PayloadFormatIndicator(flag(reader, "MQTT-5 3.3.2.3.2")?),
            0x02 => MessageExpiryInterval(reader.u32()?),
            0x03 => ContentType(reader.text()?),
            0x08 => ResponseTopic(response_topic(reader)?),
            0x09 => CorrelationData(reader.binary()?),
            0x0B => SubscriptionIdentifier(not_0(reader.variable()?, "MQTT-5 3.8.2.1.2")?),
            0x11 => SessionExpiryInterval(reader.u32()?),
            0x12 => AssignedClientIdentifier(reader.text()?),
            0x13 => ServerKeepAlive(reader.u16()?),
            0x15 => AuthenticationMethod(reader.text()?),
            0x16 => AuthenticationData(reader.binary()?),
            0x17 => RequestProblemInformation(flag(reader, "MQTT-5 3.1.2.11.7")?),
            0x18 => WillDelayInterval(reader.u32()?),
            0x19 => RequestResponseInformation(flag(reader, "MQTT-5 3.1.2.11.6")?),
            0x1A => ResponseInformation(reader.text()?),
            0x1C => ServerReference(reader.text()?),
            0x1F => ReasonString(reader.text()?),
            0x21 => ReceiveMaximum(not_0(reader.u16()?, "MQTT-5 3.1.2.11.3")?),
            0x22 => TopicAliasMaximum(reader.u16()?),
            0x23 => TopicAlias(topic_alias(reader)?),
            0x24 => MaximumQoS(u8::from(flag(reader, "MQTT-5 3.2.2.3.4")?)),
            0x25 => RetainAvailable(flag(reader, "MQTT-5 3.2.2.3.5")?),
            0x26 => UserProperty(reader.text()?, reader.text()?),
            0x27 => MaximumPacketSize(not_0(reader.u32()?, "MQTT-5 3.1.2.11.4")?),
            0x28 => WildcardSubscriptionAvailable(flag(reader, "MQTT-5 3.2.2.3.11")?),
            0x29 => SubscriptionIdentifierAvailable(flag(reader, "MQTT-5 3.2.2.3.12")?),
            0x2A => SharedSubscriptionAvailable(flag(reader, "MQTT-5 3.2.2.3.13")?),
            _ => return Err(DecodeError::malformed("MQTT-5 2.2.2.2")),
        })
    }

    /// Appends identifier and value.
    pub fn encode(&self, out: &mut Vec<u8>) {
        use Property::*;
        out.push(self.id());
        match *self {
            PayloadFormatIndicator(flag)
            | RequestProblemInformation(flag)
            | RequestResponseInformation(flag)
            | RetainAvailable(flag)
            | WildcardSubscriptionAvailable(flag)
            | SubscriptionIdentifierAvailable(flag)
            | SharedSubscriptionAvailable(flag) => out.push(u8::from(flag)),
            MaximumQoS(byte) => out.push(byte),
            ServerKeepAlive(value) | ReceiveMaximum(value) | TopicAliasMaximum(value) | TopicAlias(value) => {
                writer::u16(out, value);
            }
            MessageExpiryInterval(value)
            | SessionExpiryInterval(value)
            | WillDelayInterval(value)
            | MaximumPacketSize(value) => writer::u32(out, value),
            SubscriptionIdentifier(value) => writer::variable(out, value),
            CorrelationData(bytes) | AuthenticationData(bytes) => writer::binary(out, bytes),
            ContentType(text)
            | ResponseTopic(text)
            | AssignedClientIdentifier(text)
            | AuthenticationMethod(text)
            | ResponseInformation(text)
            | ServerReference(text)
            | ReasonString(text) => writer::text(out, text),
            UserProperty(name, value) => {
                writer::text(out, name);
                writer::text(out, value);
            }
        }
    }
}

fn flag(reader: &mut Reader<'_>, clause: &'static str) -> Result<bool, DecodeError> {
    match reader.u8()? {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(DecodeError::protocol(clause)),
    }
}

fn not_0<T: Default + PartialEq>(value: T, clause: &'static str) -> Result<T, DecodeError> {
    if value == T::default() { Err(DecodeError::protocol(clause)) } else { Ok(value) }
}

/// MQTT-3.3.2-8.
fn topic_alias(reader: &mut Reader<'_>) -> Result<u16, DecodeError> {
    match reader.u16()? {
        0 => Err(DecodeError::new(ReasonCode::TopicAliasInvalid, "MQTT-3.3.2-8")),
        alias => Ok(alias),
    }
}

/// MQTT-3.3.2-13, MQTT-3.3.2-14.
fn response_topic<'a>(reader: &mut Reader<'a>) -> Result<&'a str, DecodeError> {
    let bytes = reader.binary()?;
    match text::topic_name(bytes) {
        Ok("") => Err(DecodeError::protocol("MQTT-4.7.3-1")),
        Err(error) if error.reason == ReasonCode::TopicNameInvalid => {
            Err(DecodeError::protocol("MQTT-3.3.2-14"))
        }
        other => other,
    }
}

/// Reads the properties of a packet in order and checks that each is allowed there, and no more often than it may be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PropertyReader<'a> {
    reader: Reader<'a>,
    legal: PropertySet,
    seen: PropertySet,
}

impl<'a> PropertyReader<'a> {
    pub(crate) fn new(raw: &'a [u8], legal: PropertySet) -> PropertyReader<'a> {
        PropertyReader { reader: Reader::new(raw), legal, seen: 0 }
    }

    #[inline(always)]
    fn check(&mut self, id: u8) -> Result<(), DecodeError> {
        let bit = if id < 64 { 1 << id } else { 0 };
        if bit & self.legal == 0 {
            let clause = if bit & ALL == 0 { "MQTT-5 2.2.2.2" } else { "MQTT-5 table 2-4" };
            return Err(DecodeError::malformed(clause));
        }
        // Only user properties, and the subscription identifiers of a PUBLISH, may come again.
        let repeatable = if self.legal == IN_PUBLISH { set(&[0x26, 0x0B]) } else { set(&[0x26]) };
        if self.seen & bit & !repeatable != 0 {
            return Err(DecodeError::protocol("MQTT-5 2.2.2"));
        }
        self.seen |= bit;
        Ok(())
    }
}

impl<'a> Iterator for PropertyReader<'a> {
    type Item = Result<Property<'a>, DecodeError>;

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        let id = *self.reader.rest.first()?;
        Some(self.check(id).and_then(|()| Property::read(&mut self.reader)))
    }
}

/// A property list as its sender wrote it, without its length prefix.
///
/// Lists in decoded packets are valid. For a list from elsewhere, iteration ends at the first byte that is not
/// a property.
#[derive(Clone, Copy, Debug, Default)]
pub struct Properties<'a>(&'a [u8]);

impl<'a> Properties<'a> {
    /// No properties.
    pub const NONE: Properties<'static> = Properties(&[]);

    /// A list made with [`Property::encode`], or kept from a packet.
    #[inline]
    pub const fn from_raw(raw: &'a [u8]) -> Properties<'a> {
        Properties(raw)
    }

    /// The bytes.
    #[inline]
    pub const fn as_raw(self) -> &'a [u8] {
        self.0
    }

    /// All of them, in order.
    #[inline]
    pub fn iter(self) -> impl Iterator<Item = Property<'a>> + Clone {
        let mut reader = Reader::new(self.0);
        core::iter::from_fn(move || if reader.is_empty() { None } else { Property::read(&mut reader).ok() })
    }
}

/// Each property of a valid list, by identifier and with all its bytes, without looking at values.
#[inline]
pub(crate) fn skim(raw: &[u8]) -> impl Iterator<Item = (u8, &[u8])> {
    let mut rest = raw;
    core::iter::from_fn(move || {
        let id = *rest.first()?;
        let (property, behind) = rest.split_at_checked(1 + value_len(id, &rest[1..])?)?;
        rest = behind;
        Some((id, property))
    })
}

/// Bytes that the value of a property takes at the front of `value`.
#[inline]
fn value_len(id: u8, value: &[u8]) -> Option<usize> {
    let prefixed =
        |at: usize| Some(at + 2 + usize::from(u16::from_be_bytes([*value.get(at)?, *value.get(at + 1)?])));
    match id {
        0x01 | 0x17 | 0x19 | 0x24 | 0x25 | 0x28..=0x2A => Some(1),
        0x13 | 0x21..=0x23 => Some(2),
        0x02 | 0x11 | 0x18 | 0x27 => Some(4),
        0x0B => Some(value.iter().position(|byte| *byte < 0x80)? + 1),
        0x03 | 0x08 | 0x09 | 0x12 | 0x15 | 0x16 | 0x1A | 0x1C | 0x1F => prefixed(0),
        0x26 => prefixed(prefixed(0)?),
        _ => None,
    }
}

impl<'a> Reader<'a> {
    /// A property list behind its length (2.2.2.1).
    #[inline(always)]
    pub(crate) fn property_list(&mut self) -> Result<&'a [u8], DecodeError> {
        let len = self.variable()?;
        self.take(len as usize)
    }
}
