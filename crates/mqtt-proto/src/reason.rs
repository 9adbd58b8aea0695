//! Reason codes (MQTT-5 2.4), which packets may carry them, and what they are called in MQTT 3.x.

use crate::reader::Reader;
use crate::{DecodeError, PacketKind};

macro_rules! reason_codes {
    ($($(#[$meta:meta])+ $name:ident = $code:literal,)+) => {
        /// The result of an operation (MQTT-5 2.4). Below 0x80 it is a success. 0x00 is also *Normal disconnection*
        /// and *Granted QoS 0*.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum ReasonCode {
            $($(#[$meta])+ $name = $code,)+
        }

        impl ReasonCode {
            /// Every code, in order.
            pub const ALL: &[ReasonCode] = &[$(ReasonCode::$name),+];

            /// The reason with this number, if the specification defines one.
            pub const fn from_code(code: u8) -> Option<ReasonCode> {
                match code {
                    $($code => Some(ReasonCode::$name),)+
                    _ => None,
                }
            }
        }
    };
}

reason_codes! {
    /// Done; also normal disconnection and granted QoS 0.
    #[default]
    Success = 0x00,
    /// Subscribed with QoS 1 at most.
    GrantedQoS1 = 0x01,
    /// Subscribed with QoS 2 at most.
    GrantedQoS2 = 0x02,
    /// The client leaves and wants its will published.
    DisconnectWithWill = 0x04,
    /// Accepted, but nobody subscribes to the topic.
    NoMatchingSubscribers = 0x10,
    /// Nothing to unsubscribe.
    NoSubscriptionExisted = 0x11,
    /// The next step of an authentication.
    ContinueAuthentication = 0x18,
    /// The client starts an authentication on a live connection.
    ReAuthenticate = 0x19,
    /// No other reason applies, or it is not told.
    UnspecifiedError = 0x80,
    /// The bytes can't be parsed.
    MalformedPacket = 0x81,
    /// Well-formed, but not allowed here.
    ProtocolError = 0x82,
    /// Valid, but this implementation does not accept it.
    ImplementationSpecificError = 0x83,
    /// This version of MQTT is not spoken here.
    UnsupportedProtocolVersion = 0x84,
    /// A client identifier that is not allowed.
    ClientIdentifierNotValid = 0x85,
    /// Refused credentials.
    BadUserNameOrPassword = 0x86,
    /// Not permitted.
    NotAuthorized = 0x87,
    /// Not there at the moment.
    ServerUnavailable = 0x88,
    /// Try again later.
    ServerBusy = 0x89,
    /// An operator has banned the client.
    Banned = 0x8A,
    /// The server ends.
    ServerShuttingDown = 0x8B,
    /// An authentication method that is unknown, or not that of the connection.
    BadAuthenticationMethod = 0x8C,
    /// Nothing came for one and a half times the keep alive.
    KeepAliveTimeout = 0x8D,
    /// Another connection uses the same client identifier.
    SessionTakenOver = 0x8E,
    /// A topic filter that is well-formed text but not accepted.
    TopicFilterInvalid = 0x8F,
    /// A topic name that is well-formed text but not accepted.
    TopicNameInvalid = 0x90,
    /// The packet identifier is in use.
    PacketIdentifierInUse = 0x91,
    /// The packet identifier is not known.
    PacketIdentifierNotFound = 0x92,
    /// More unacknowledged messages than the receiver takes.
    ReceiveMaximumExceeded = 0x93,
    /// A topic alias of 0, beyond the maximum, or without a topic.
    TopicAliasInvalid = 0x94,
    /// Larger than the receiver's maximum packet size.
    PacketTooLarge = 0x95,
    /// Too much data.
    MessageRateTooHigh = 0x96,
    /// A limit that was imposed is exceeded.
    QuotaExceeded = 0x97,
    /// An operator closed the connection.
    AdministrativeAction = 0x98,
    /// The payload is not what its format indicator says.
    PayloadFormatInvalid = 0x99,
    /// Retained messages are not supported.
    RetainNotSupported = 0x9A,
    /// The QoS is not supported.
    QoSNotSupported = 0x9B,
    /// For now, use another server.
    UseAnotherServer = 0x9C,
    /// For good, use another server.
    ServerMoved = 0x9D,
    /// Shared subscriptions are not supported.
    SharedSubscriptionsNotSupported = 0x9E,
    /// Too many connections at a time.
    ConnectionRateExceeded = 0x9F,
    /// The connection's time is over.
    MaximumConnectTime = 0xA0,
    /// Subscription identifiers are not supported.
    SubscriptionIdentifiersNotSupported = 0xA1,
    /// Wildcard subscriptions are not supported.
    WildcardSubscriptionsNotSupported = 0xA2,
}

impl ReasonCode {
    /// Whether it reports a failure (0x80 or more).
    #[inline]
    pub const fn is_error(self) -> bool {
        self as u8 >= 0x80
    }

    /// The success code of a subscription (3.9.3).
    pub const fn granted(qos: crate::QoS) -> ReasonCode {
        match qos {
            crate::QoS::AtMostOnce => ReasonCode::Success,
            crate::QoS::AtLeastOnce => ReasonCode::GrantedQoS1,
            crate::QoS::ExactlyOnce => ReasonCode::GrantedQoS2,
        }
    }

    /// Whether packets of this kind may carry it (MQTT-5 2.4, table 2-6); true for either sender's DISCONNECT.
    pub const fn is_legal_in(self, kind: PacketKind) -> bool {
        let code = self as u8;
        match kind {
            PacketKind::Connack => {
                matches!(code, 0 | 0x80..=0x8A | 0x8C | 0x90 | 0x95 | 0x97 | 0x99..=0x9D | 0x9F)
            }
            PacketKind::Puback | PacketKind::Pubrec => {
                matches!(code, 0 | 0x10 | 0x80 | 0x83 | 0x87 | 0x90 | 0x91 | 0x97 | 0x99)
            }
            PacketKind::Pubrel | PacketKind::Pubcomp => matches!(code, 0 | 0x92),
            PacketKind::Suback => {
                matches!(code, 0..=2 | 0x80 | 0x83 | 0x87 | 0x8F | 0x91 | 0x97 | 0x9E | 0xA1 | 0xA2)
            }
            PacketKind::Unsuback => matches!(code, 0 | 0x11 | 0x80 | 0x83 | 0x87 | 0x8F | 0x91),
            PacketKind::Disconnect => {
                matches!(code, 0 | 4 | 0x80..=0x83 | 0x87 | 0x89 | 0x8B..=0x90 | 0x93..=0xA2)
            }
            PacketKind::Auth => matches!(code, 0 | 0x18 | 0x19),
            _ => false,
        }
    }

    /// Whether a client may send it in DISCONNECT (MQTT-3.14.2-1, table 3-13).
    pub const fn is_legal_in_client_disconnect(self) -> bool {
        matches!(self as u8, 0 | 4 | 0x80..=0x83 | 0x90 | 0x93..=0x99)
    }

    /// The return code of a 3.x CONNACK (3.1.1 3.2.2.3) that says the same; `None` where 3.x has no word for it and
    /// the connection is closed without a CONNACK.
    pub const fn to_v3_return_code(self) -> Option<u8> {
        match self {
            ReasonCode::Success => Some(0),
            ReasonCode::UnsupportedProtocolVersion => Some(1),
            ReasonCode::ClientIdentifierNotValid => Some(2),
            ReasonCode::ServerUnavailable
            | ReasonCode::ServerBusy
            | ReasonCode::ServerShuttingDown
            | ReasonCode::UseAnotherServer
            | ReasonCode::ServerMoved
            | ReasonCode::QuotaExceeded
            | ReasonCode::ConnectionRateExceeded => Some(3),
            ReasonCode::BadUserNameOrPassword | ReasonCode::BadAuthenticationMethod => Some(4),
            ReasonCode::NotAuthorized | ReasonCode::Banned => Some(5),
            _ => None,
        }
    }

    /// The reason that a 3.x CONNACK's return code stands for; `None` for 6 to 255, which are reserved.
    pub const fn from_v3_return_code(code: u8) -> Option<ReasonCode> {
        match code {
            0 => Some(ReasonCode::Success),
            1 => Some(ReasonCode::UnsupportedProtocolVersion),
            2 => Some(ReasonCode::ClientIdentifierNotValid),
            3 => Some(ReasonCode::ServerUnavailable),
            4 => Some(ReasonCode::BadUserNameOrPassword),
            5 => Some(ReasonCode::NotAuthorized),
            _ => None,
        }
    }
}

impl Reader<'_> {
    /// A reason code that packets of `kind` may have; an unknown one, or one of other packets, is a protocol error.
    pub(crate) fn reason(&mut self, kind: PacketKind) -> Result<ReasonCode, DecodeError> {
        ReasonCode::from_code(self.u8()?)
            .filter(|reason| reason.is_legal_in(kind))
            .ok_or(DecodeError::protocol(reason_clause(kind)))
    }
}

/// The statement that lists the reasons of a packet.
const fn reason_clause(kind: PacketKind) -> &'static str {
    match kind {
        PacketKind::Connack => "MQTT-3.2.2-8",
        PacketKind::Puback => "MQTT-3.4.2-1",
        PacketKind::Pubrec => "MQTT-3.5.2-1",
        PacketKind::Pubrel => "MQTT-3.6.2-1",
        PacketKind::Pubcomp => "MQTT-3.7.2-1",
        PacketKind::Suback => "MQTT-3.9.3-2",
        PacketKind::Unsuback => "MQTT-3.11.3-2",
        PacketKind::Disconnect => "MQTT-3.14.2-1",
        PacketKind::Auth => "MQTT-3.15.2-1",
        _ => "MQTT-5 2.4",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_found_by_its_number() {
        for code in 0..=255 {
            match ReasonCode::from_code(code) {
                Some(reason) => assert_eq!(reason as u8, code),
                None => assert!(!ReasonCode::ALL.iter().any(|reason| *reason as u8 == code)),
            }
        }
        assert_eq!(ReasonCode::ALL.len(), 43);
    }

    #[test]
    fn return_codes_of_3_x_come_back_as_they_went() {
        for code in 0..6 {
            let reason = ReasonCode::from_v3_return_code(code).unwrap();
            assert_eq!(reason.to_v3_return_code(), Some(code));
        }
        assert_eq!(ReasonCode::from_v3_return_code(6), None);
    }

    #[test]
    fn a_client_may_not_disconnect_with_a_servers_reason() {
        assert!(!ReasonCode::SessionTakenOver.is_legal_in_client_disconnect());
        assert!(ReasonCode::SessionTakenOver.is_legal_in(PacketKind::Disconnect));
    }
}
