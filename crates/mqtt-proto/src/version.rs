//! The three versions of the protocol, and the quality of service that they share.

/// A version of MQTT, numbered as in the Protocol Level byte of CONNECT (3.1.2.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Version {
    /// MQTT 3.1, protocol name `MQIsdp`.
    V3_1 = 3,
    /// MQTT 3.1.1.
    #[default]
    V3_1_1 = 4,
    /// MQTT 5.0: properties and reason codes.
    V5 = 5,
}

impl Version {
    /// Whether packets of this version have properties and reason codes.
    #[inline]
    pub const fn is_5(self) -> bool {
        matches!(self, Version::V5)
    }

    /// The protocol name that CONNECT starts with (MQTT-3.1.2-1).
    pub const fn protocol_name(self) -> &'static str {
        match self {
            Version::V3_1 => "MQIsdp",
            Version::V3_1_1 | Version::V5 => "MQTT",
        }
    }
}

/// How often a message may arrive (4.3). The order is the order of strength.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum QoS {
    /// Zero or one time.
    #[default]
    AtMostOnce = 0,
    /// One time or more: PUBACK.
    AtLeastOnce = 1,
    /// One time: PUBREC, PUBREL, PUBCOMP.
    ExactlyOnce = 2,
}

impl QoS {
    /// The QoS with these two bits; `None` for 3, which is reserved (MQTT-3.3.1-4).
    #[inline]
    pub const fn from_bits(bits: u8) -> Option<QoS> {
        match bits {
            0 => Some(QoS::AtMostOnce),
            1 => Some(QoS::AtLeastOnce),
            2 => Some(QoS::ExactlyOnce),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn qos_3_does_not_exist() {
        assert_eq!(QoS::from_bits(3), None);
        assert_eq!(QoS::from_bits(2), Some(QoS::ExactlyOnce));
    }

    #[test]
    fn only_version_5_has_properties() {
        assert!(Version::V5.is_5() && !Version::V3_1_1.is_5() && !Version::V3_1.is_5());
    }
}
