//! CONNACK (3.2): the server's answer to CONNECT.

use alloc::vec::Vec;

use crate::frame::{Frame, PacketKind};
use crate::property::{PropertyReader, PropertySet, set};
use crate::reader::Reader;
use crate::{DecodeError, Diagnostics, Property, QoS, ReasonCode, UserProperties, Version, writer};

/// The answer to CONNECT. What is left out has the value that the specification gives it then. MQTT 3.x has
/// `session_present` (3.1.1 only) and `reason` alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connack<'a> {
    /// Whether the server has state of this client from before (MQTT-3.2.2-2).
    pub session_present: bool,
    /// [`ReasonCode::Success`], or why the connection is refused.
    pub reason: ReasonCode,
    /// Overrides what the client asked for, in seconds.
    pub session_expiry_s: Option<u32>,
    /// QoS 1 and 2 messages that the server takes unacknowledged, 1 to 65,535.
    pub receive_maximum: u16,
    /// Highest QoS that the server takes.
    pub maximum_qos: QoS,
    /// Whether it retains messages.
    pub retain_available: bool,
    /// Largest packet in bytes that it takes; `None`: any.
    pub maximum_packet_size: Option<u32>,
    /// The client identifier that it chose.
    pub assigned_client_id: Option<&'a str>,
    /// Highest topic alias that it accepts; 0: none.
    pub topic_alias_maximum: u16,
    /// For people.
    pub diagnostics: Diagnostics<'a>,
    /// Whether filters may have wildcards.
    pub wildcard_subscription_available: bool,
    /// Whether subscriptions may have identifiers.
    pub subscription_identifier_available: bool,
    /// Whether subscriptions may be shared.
    pub shared_subscription_available: bool,
    /// Overrides the client's keep alive, in seconds (MQTT-3.2.2-21).
    pub server_keep_alive_s: Option<u16>,
    /// What to make response topics of.
    pub response_information: Option<&'a str>,
    /// Another server.
    pub server_reference: Option<&'a str>,
    /// The method of the extended authentication.
    pub authentication_method: Option<&'a str>,
    /// Its last word.
    pub authentication_data: Option<&'a [u8]>,
}

const SESSION_PRESENT: u8 = 1;

const LEGAL: PropertySet = set(&[
    0x11, 0x12, 0x13, 0x15, 0x16, 0x1A, 0x1C, 0x1F, 0x21, 0x22, 0x24, 0x25, 0x26, 0x27, 0x28, 0x29, 0x2A,
]);

impl<'a> Connack<'a> {
    /// An answer with defaults: no session, no limits, everything available.
    pub const fn new(reason: ReasonCode) -> Connack<'static> {
        Connack {
            session_present: false,
            reason,
            session_expiry_s: None,
            receive_maximum: u16::MAX,
            maximum_qos: QoS::ExactlyOnce,
            retain_available: true,
            maximum_packet_size: None,
            assigned_client_id: None,
            topic_alias_maximum: 0,
            diagnostics: Diagnostics::NONE,
            wildcard_subscription_available: true,
            subscription_identifier_available: true,
            shared_subscription_available: true,
            server_keep_alive_s: None,
            response_information: None,
            server_reference: None,
            authentication_method: None,
            authentication_data: None,
        }
    }

    pub(crate) fn decode(frame: Frame<'a>, version: Version) -> Result<Connack<'a>, DecodeError> {
        frame.check_flags(version)?;
        let mut reader = Reader::new(frame.body);
        let flags = reader.u8()?;
        // MQTT 3.1 reserves the whole byte and says nothing of its value.
        if flags & !SESSION_PRESENT != 0 && version != Version::V3_1 {
            return Err(DecodeError::malformed("MQTT-3.2.2-1"));
        }
        let mut connack = Connack::new(connack_reason(&mut reader, version)?);
        connack.session_present = flags & SESSION_PRESENT != 0 && version != Version::V3_1;
        if connack.session_present && connack.reason.is_error() {
            return Err(DecodeError::protocol("MQTT-3.2.2-6"));
        }
        if version.is_5() {
            connack.decode_properties(&mut reader)?;
        }
        reader.finish()?;
        Ok(connack)
    }

    fn decode_properties(&mut self, reader: &mut Reader<'a>) -> Result<(), DecodeError> {
        let raw = reader.property_list()?;
        self.diagnostics.user_properties = UserProperties::from_raw(raw);
        for property in PropertyReader::new(raw, LEGAL) {
            self.set(property?);
        }
        Ok(())
    }

    fn set(&mut self, property: Property<'a>) {
        match property {
            Property::SessionExpiryInterval(seconds) => self.session_expiry_s = Some(seconds),
            Property::ReceiveMaximum(maximum) => self.receive_maximum = maximum,
            Property::MaximumQoS(bits) => self.maximum_qos = QoS::from_bits(bits).unwrap_or_default(),
            Property::RetainAvailable(available) => self.retain_available = available,
            Property::MaximumPacketSize(bytes) => self.maximum_packet_size = Some(bytes),
            Property::AssignedClientIdentifier(id) => self.assigned_client_id = Some(id),
            Property::TopicAliasMaximum(maximum) => self.topic_alias_maximum = maximum,
            Property::ReasonString(text) => self.diagnostics.reason_string = Some(text),
            Property::WildcardSubscriptionAvailable(is) => self.wildcard_subscription_available = is,
            Property::SubscriptionIdentifierAvailable(is) => self.subscription_identifier_available = is,
            Property::SharedSubscriptionAvailable(is) => self.shared_subscription_available = is,
            Property::ServerKeepAlive(seconds) => self.server_keep_alive_s = Some(seconds),
            Property::ResponseInformation(text) => self.response_information = Some(text),
            Property::ServerReference(text) => self.server_reference = Some(text),
            Property::AuthenticationMethod(method) => self.authentication_method = Some(method),
            Property::AuthenticationData(data) => self.authentication_data = Some(data),
            _ => {}
        }
    }

    /// Appends the packet. For a 3.x client whose version has no word for the reason nothing is appended: the
    /// connection is just closed.
    pub fn encode(&self, version: Version, out: &mut Vec<u8>) {
        let present = u8::from(self.session_present && !self.reason.is_error());
        if version.is_5() {
            writer::packet(out, PacketKind::Connack.first_byte(), |out| {
                out.extend_from_slice(&[present, self.reason as u8]);
                writer::prefixed(out, |out| self.encode_properties(out));
            });
        } else if let Some(code) = self.reason.to_v3_return_code() {
            let present = if version == Version::V3_1 { 0 } else { present };
            out.extend_from_slice(&[PacketKind::Connack.first_byte(), 2, present, code]);
        }
    }

    fn encode_properties(&self, out: &mut Vec<u8>) {
        let maximum_qos = (self.maximum_qos != QoS::ExactlyOnce).then_some(self.maximum_qos as u8);
        let properties = [
            self.session_expiry_s.map(Property::SessionExpiryInterval),
            (self.receive_maximum != u16::MAX).then_some(Property::ReceiveMaximum(self.receive_maximum)),
            maximum_qos.map(Property::MaximumQoS),
            (!self.retain_available).then_some(Property::RetainAvailable(false)),
            self.maximum_packet_size.map(Property::MaximumPacketSize),
            self.assigned_client_id.map(Property::AssignedClientIdentifier),
            (self.topic_alias_maximum != 0).then_some(Property::TopicAliasMaximum(self.topic_alias_maximum)),
            (!self.wildcard_subscription_available).then_some(Property::WildcardSubscriptionAvailable(false)),
            (!self.subscription_identifier_available)
                .then_some(Property::SubscriptionIdentifierAvailable(false)),
            (!self.shared_subscription_available).then_some(Property::SharedSubscriptionAvailable(false)),
            self.server_keep_alive_s.map(Property::ServerKeepAlive),
            self.response_information.map(Property::ResponseInformation),
            self.server_reference.map(Property::ServerReference),
            self.authentication_method.map(Property::AuthenticationMethod),
            self.authentication_data.map(Property::AuthenticationData),
        ];
        properties.iter().flatten().for_each(|property| property.encode(out));
        self.diagnostics.encode(out);
    }
}

fn connack_reason(reader: &mut Reader<'_>, version: Version) -> Result<ReasonCode, DecodeError> {
    if version.is_5() {
        return reader.reason(PacketKind::Connack);
    }
    ReasonCode::from_v3_return_code(reader.u8()?).ok_or(DecodeError::malformed("MQTT-3.2.2-8"))
}
