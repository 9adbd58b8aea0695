//! The fields of a message that do not depend on the protocol that it came by.

/// Milliseconds since the Unix epoch, from a clock that never goes backwards while the process lives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(pub u64);

impl Timestamp {
    /// Further in the future than anything that will ever happen.
    pub const NEVER: Timestamp = Timestamp(u64::MAX);

    /// This moment plus a number of seconds; stays at [`Timestamp::NEVER`] instead of overflowing.
    pub fn plus_seconds(self, seconds: u32) -> Timestamp {
        Timestamp(self.0.saturating_add(u64::from(seconds) * 1000))
    }

    /// This moment plus a number of milliseconds.
    pub fn plus_ms(self, ms: u64) -> Timestamp {
        Timestamp(self.0.saturating_add(ms))
    }

    /// Milliseconds from `earlier` until this moment, 0 if it is not earlier.
    pub fn ms_since(self, earlier: Timestamp) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

/// How often a message may arrive (MQTT 4.3). The order is the order of strength.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum QoS {
    /// Zero or one time: nothing is kept, nothing is repeated.
    #[default]
    AtMostOnce = 0,
    /// One time or more.
    AtLeastOnce = 1,
    /// One time.
    ExactlyOnce = 2,
}

impl QoS {
    /// The QoS with this number on the wire, 0 to 2.
    pub fn from_bits(bits: u8) -> Option<QoS> {
        match bits {
            0 => Some(QoS::AtMostOnce),
            1 => Some(QoS::AtLeastOnce),
            2 => Some(QoS::ExactlyOnce),
            _ => None,
        }
    }
}

/// What a message survives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Persistence {
    /// Nothing: it lives in memory only.
    #[default]
    NonPersistent = 0,
    /// `kill -9` and power loss, once it has been acknowledged.
    Persistent = 1,
}

/// How the bytes of a message are laid out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Encoding {
    /// MQTT 3.1 or 3.1.1: no properties.
    #[default]
    Mqtt3 = 3,
    /// MQTT 5.0: the properties span holds the property list without its length prefix.
    Mqtt5 = 5,
}

impl Encoding {
    /// The encoding with this number in a record.
    pub fn from_bits(bits: u8) -> Option<Encoding> {
        match bits {
            3 => Some(Encoding::Mqtt3),
            5 => Some(Encoding::Mqtt5),
            _ => None,
        }
    }
}

/// A part of a message's bytes: `start + len <= bytes.len()`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Span {
    /// Offset of the first byte.
    pub start: u32,
    /// Length in bytes.
    pub len: u32,
}

impl Span {
    /// The span as a range of indices.
    pub fn range(self) -> core::ops::Range<usize> {
        self.start as usize..self.start as usize + self.len as usize
    }
}

/// What the queue manager knows of a message without reading its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Descriptor {
    /// How the bytes are laid out.
    pub encoding: Encoding,
    /// The QoS that it was published with.
    pub qos: QoS,
    /// What it survives.
    pub persistence: Persistence,
    /// 0 to 9, 4 is normal.
    pub priority: u8,
    /// Whether its publisher asked for it to be retained.
    pub retain: bool,
    /// When it was put.
    pub put_time: Timestamp,
    /// After this moment nobody may get it; [`Timestamp::NEVER`] if it has no expiry.
    pub expires: Timestamp,
    /// The topic name, UTF-8.
    pub topic: Span,
    /// The properties in their origin encoding; empty if there are none.
    pub properties: Span,
    /// What the application sent.
    pub body: Span,
}

impl Default for Descriptor {
    fn default() -> Descriptor {
        Descriptor {
            encoding: Encoding::Mqtt3,
            qos: QoS::AtMostOnce,
            persistence: Persistence::NonPersistent,
            priority: 4,
            retain: false,
            put_time: Timestamp(0),
            expires: Timestamp::NEVER,
            topic: Span::default(),
            properties: Span::default(),
            body: Span::default(),
        }
    }
}
