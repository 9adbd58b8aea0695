//! CONNECT (3.1): a client introduces itself.

use alloc::vec::Vec;

use crate::frame::{Frame, PacketKind};
use crate::property::{PropertyReader, PropertySet, set};
use crate::reader::Reader;
use crate::{DecodeError, Property, QoS, ReasonCode, UserProperties, Version, Will, writer};

/// Seconds of a session expiry interval that mean: never (3.1.2.11.2).
pub const SESSION_NEVER_EXPIRES: u32 = u32::MAX;

/// A client introduces itself. What it leaves out has the value that the specification gives it then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connect<'a> {
    /// The version that it speaks from here on.
    pub version: Version,
    /// Forget the session that there may be; *clean session* in 3.x (3.1.2.4).
    pub clean_start: bool,
    /// Seconds within which it promises to send something; 0: no promise (3.1.2.10).
    pub keep_alive_s: u16,
    /// Empty: the server is to assign one (MQTT-3.1.3-6).
    pub client_id: &'a str,
    /// To be published when the client is lost.
    pub will: Option<Will<'a>>,
    /// 3.1.3.5.
    pub user_name: Option<&'a str>,
    /// 3.1.3.6.
    pub password: Option<&'a [u8]>,
    /// Seconds that the session outlives the connection. In 3.x 0 if `clean_start`, otherwise
    /// [`SESSION_NEVER_EXPIRES`].
    pub session_expiry_s: u32,
    /// QoS 1 and 2 messages that it takes unacknowledged, 1 to 65,535.
    pub receive_maximum: u16,
    /// Largest packet in bytes that it takes; `None`: any.
    pub maximum_packet_size: Option<u32>,
    /// Highest topic alias that it accepts; 0: none.
    pub topic_alias_maximum: u16,
    /// It asks for [`crate::Connack::response_information`].
    pub request_response_information: bool,
    /// Reason strings and user properties may come with any packet (MQTT-3.1.2-29).
    pub request_problem_information: bool,
    /// 3.1.2.11.8.
    pub user_properties: UserProperties<'a>,
    /// It wants an extended authentication by this method (4.12).
    pub authentication_method: Option<&'a str>,
    /// Only with a method.
    pub authentication_data: Option<&'a [u8]>,
}

const USER_NAME: u8 = 0x80;
const PASSWORD: u8 = 0x40;
const WILL_RETAIN: u8 = 0x20;
const WILL: u8 = 0x04;
const CLEAN_START: u8 = 0x02;
const RESERVED: u8 = 0x01;

const LEGAL: PropertySet = set(&[0x11, 0x15, 0x16, 0x17, 0x19, 0x21, 0x22, 0x26, 0x27]);

impl<'a> Connect<'a> {
    /// A CONNECT with defaults: clean start, no keep alive, no limits.
    pub const fn new(version: Version, client_id: &'a str) -> Connect<'a> {
        Connect {
            version,
            clean_start: true,
            keep_alive_s: 0,
            client_id,
            will: None,
            user_name: None,
            password: None,
            session_expiry_s: 0,
            receive_maximum: u16::MAX,
            maximum_packet_size: None,
            topic_alias_maximum: 0,
            request_response_information: false,
            request_problem_information: true,
            user_properties: UserProperties::NONE,
            authentication_method: None,
            authentication_data: None,
        }
    }

    pub(crate) fn decode(frame: Frame<'a>) -> Result<Connect<'a>, DecodeError> {
        let mut reader = Reader::new(frame.body);
        let version = version(&mut reader)?;
        frame.check_flags(version)?;
        let flags = connect_flags(reader.u8()?, version)?;
        let mut connect = Connect::new(version, "");
        connect.clean_start = flags & CLEAN_START != 0;
        connect.keep_alive_s = reader.u16()?;
        connect.decode_properties(&mut reader)?;
        connect.client_id = reader.text()?;
        if flags & WILL != 0 {
            let qos = QoS::from_bits(flags >> 3 & 3).unwrap_or_default();
            connect.will = Some(Will::decode(&mut reader, version, qos, flags & WILL_RETAIN != 0)?);
        }
        if flags & USER_NAME != 0 {
            connect.user_name = Some(reader.text()?);
        }
        if flags & PASSWORD != 0 {
            connect.password = Some(reader.binary()?);
        }
        reader.finish()?;
        Ok(connect)
    }

    fn decode_properties(&mut self, reader: &mut Reader<'a>) -> Result<(), DecodeError> {
        if !self.version.is_5() {
            self.session_expiry_s = if self.clean_start { 0 } else { SESSION_NEVER_EXPIRES };
            return Ok(());
        }
        let raw = reader.property_list()?;
        self.user_properties = UserProperties::from_raw(raw);
        for property in PropertyReader::new(raw, LEGAL) {
            self.set(property?);
        }
        if self.authentication_data.is_some() && self.authentication_method.is_none() {
            return Err(DecodeError::protocol("MQTT-5 3.1.2.11.10"));
        }
        Ok(())
    }

    fn set(&mut self, property: Property<'a>) {
        match property {
            Property::SessionExpiryInterval(seconds) => self.session_expiry_s = seconds,
            Property::ReceiveMaximum(maximum) => self.receive_maximum = maximum,
            Property::MaximumPacketSize(bytes) => self.maximum_packet_size = Some(bytes),
            Property::TopicAliasMaximum(maximum) => self.topic_alias_maximum = maximum,
            Property::RequestResponseInformation(wanted) => self.request_response_information = wanted,
            Property::RequestProblemInformation(wanted) => self.request_problem_information = wanted,
            Property::AuthenticationMethod(method) => self.authentication_method = Some(method),
            Property::AuthenticationData(data) => self.authentication_data = Some(data),
            _ => {}
        }
    }

    /// Appends the packet. A password without a user name is sent to a 5.0 server only (3.1.2.9).
    pub fn encode(&self, out: &mut Vec<u8>) {
        writer::packet(out, PacketKind::Connect.first_byte(), |out| {
            writer::text(out, self.version.protocol_name());
            out.extend_from_slice(&[self.version as u8, self.flags()]);
            writer::u16(out, self.keep_alive_s);
            if self.version.is_5() {
                writer::prefixed(out, |out| self.encode_properties(out));
            }
            writer::text(out, self.client_id);
            if let Some(will) = &self.will {
                will.encode(self.version, out);
            }
            if let Some(name) = self.user_name {
                writer::text(out, name);
            }
            if let Some(password) = self.sent_password() {
                writer::binary(out, password);
            }
        });
    }

    fn sent_password(&self) -> Option<&'a [u8]> {
        self.password.filter(|_| self.version.is_5() || self.user_name.is_some())
    }

    fn flags(&self) -> u8 {
        let mut flags = if self.clean_start { CLEAN_START } else { 0 };
        if let Some(will) = &self.will {
            flags |= WILL | (will.qos as u8) << 3 | if will.retain { WILL_RETAIN } else { 0 };
        }
        if self.user_name.is_some() {
            flags |= USER_NAME;
        }
        if self.sent_password().is_some() {
            flags |= PASSWORD;
        }
        flags
    }

    fn encode_properties(&self, out: &mut Vec<u8>) {
        let properties = [
            (self.session_expiry_s != 0).then_some(Property::SessionExpiryInterval(self.session_expiry_s)),
            (self.receive_maximum != u16::MAX).then_some(Property::ReceiveMaximum(self.receive_maximum)),
            self.maximum_packet_size.map(Property::MaximumPacketSize),
            (self.topic_alias_maximum != 0).then_some(Property::TopicAliasMaximum(self.topic_alias_maximum)),
            self.request_response_information.then_some(Property::RequestResponseInformation(true)),
            (!self.request_problem_information).then_some(Property::RequestProblemInformation(false)),
            self.authentication_method.map(Property::AuthenticationMethod),
            self.authentication_data.map(Property::AuthenticationData),
        ];
        properties.iter().flatten().for_each(|property| property.encode(out));
        self.user_properties.encode(out);
    }
}

/// What a CONNECT says of its version.
pub(crate) enum PeerVersion {
    /// One that we speak.
    Known(Version),
    /// MQTT at a level that we don't.
    Unsupported(u8),
    /// Another protocol, or bytes that end too early.
    NotMqtt,
}

/// Protocol name and level (3.1.2.1, 3.1.2.2) at the front of the variable header.
pub(crate) fn peer_version(body: &[u8]) -> PeerVersion {
    match body {
        [0, 4, b'M', b'Q', b'T', b'T', 5, ..] => PeerVersion::Known(Version::V5),
        [0, 4, b'M', b'Q', b'T', b'T', 4, ..] => PeerVersion::Known(Version::V3_1_1),
        [0, 6, b'M', b'Q', b'I', b's', b'd', b'p', 3, ..] => PeerVersion::Known(Version::V3_1),
        [0, 4, b'M', b'Q', b'T', b'T', level, ..] => PeerVersion::Unsupported(*level),
        [0, 6, b'M', b'Q', b'I', b's', b'd', b'p', level, ..] => PeerVersion::Unsupported(*level),
        _ => PeerVersion::NotMqtt,
    }
}

fn version(reader: &mut Reader<'_>) -> Result<Version, DecodeError> {
    let peer = peer_version(reader.rest);
    reader.binary()?;
    reader.u8()?;
    match peer {
        PeerVersion::Known(version) => Ok(version),
        PeerVersion::Unsupported(_) => Err(unsupported("MQTT-3.1.2-2")),
        PeerVersion::NotMqtt => Err(unsupported("MQTT-3.1.2-1")),
    }
}

const fn unsupported(clause: &'static str) -> DecodeError {
    DecodeError::new(ReasonCode::UnsupportedProtocolVersion, clause)
}

/// The connect flags (3.1.2.3), if they are allowed together.
fn connect_flags(flags: u8, version: Version) -> Result<u8, DecodeError> {
    let will_qos = flags >> 3 & 3;
    let broken = match flags {
        _ if flags & RESERVED != 0 && version != Version::V3_1 => Some("MQTT-3.1.2-3"),
        _ if flags & WILL == 0 && will_qos != 0 => Some("MQTT-3.1.2-11"),
        _ if will_qos == 3 => Some("MQTT-3.1.2-12"),
        _ if flags & WILL == 0 && flags & WILL_RETAIN != 0 => Some("MQTT-3.1.2-13"),
        // MQTT-3.1.2-22 of 3.1.1; MQTT 5.0 allows a password alone.
        _ if flags & USER_NAME == 0 && flags & PASSWORD != 0 && !version.is_5() => Some("MQTT-3.1.1 3.1.2.9"),
        _ => None,
    };
    broken.map_or(Ok(flags), |clause| Err(DecodeError::malformed(clause)))
}
