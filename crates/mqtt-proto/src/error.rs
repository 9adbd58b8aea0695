//! Why bytes are not MQTT.

use crate::ReasonCode;

/// What a peer did wrong: the reason to give it and the statement of the specification that it broke.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason:?} (0x{:02X}), {clause}", *.reason as u8)]
pub struct DecodeError {
    /// What to tell the peer, 0x80 or more.
    pub reason: ReasonCode,
    /// The numbered statement of MQTT 5.0, as `MQTT-2.2.1-3`, or `MQTT-5 <section>` where it has no number.
    pub clause: &'static str,
}

/// What a peer did wrong, seen from the state of its connection; told the same way.
pub type Violation = DecodeError;

impl DecodeError {
    /// The packet ends before its fields do.
    pub(crate) const TRUNCATED: DecodeError = DecodeError::malformed("MQTT-4.13.1-1");

    pub(crate) const fn new(reason: ReasonCode, clause: &'static str) -> DecodeError {
        DecodeError { reason, clause }
    }

    pub(crate) const fn malformed(clause: &'static str) -> DecodeError {
        DecodeError::new(ReasonCode::MalformedPacket, clause)
    }

    pub(crate) const fn protocol(clause: &'static str) -> DecodeError {
        DecodeError::new(ReasonCode::ProtocolError, clause)
    }
}
