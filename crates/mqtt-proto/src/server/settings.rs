//! What a server offers to its clients.

use crate::{MAX_VARIABLE_BYTE_INTEGER, QoS};

/// The largest packet that MQTT can express, in bytes: remaining length and the fixed header before it.
pub(crate) const LARGEST_PACKET: u32 = MAX_VARIABLE_BYTE_INTEGER + 5;

/// What a server offers, the same for each client of a listener. Told to 5.0 clients in CONNACK, held against all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Largest packet in bytes once a client is connected, at most 268,435,460 (which is then not announced).
    pub maximum_packet_size: u32,
    /// Largest packet in bytes before that: CONNECT and AUTH.
    pub maximum_packet_size_before_connect: u32,
    /// Milliseconds that a client has from its coming until its CONNECT was accepted.
    pub connect_timeout_ms: u32,
    /// QoS 1 and 2 messages of a 5.0 client that may be unacknowledged; at least 1 (3.2.2.3.3).
    pub receive_maximum: u16,
    /// Topic aliases that a client may use; 0: none (3.2.2.3.8).
    pub topic_alias_maximum: u16,
    /// Topic aliases that we use at most, where the client accepts as many.
    pub topic_alias_maximum_out: u16,
    /// Longest keep alive in seconds; a 5.0 client that asks for more, or for none, is told this one; 0: any goes.
    pub keep_alive_maximum_s: u16,
    /// Highest QoS that clients may publish with (3.2.2.3.4).
    pub maximum_qos: QoS,
    /// Whether clients may publish retained messages (3.2.2.3.5).
    pub retain_available: bool,
    /// Whether filters may have wildcards (3.2.2.3.11).
    pub wildcard_subscription_available: bool,
    /// Whether subscriptions may have identifiers (3.2.2.3.12).
    pub subscription_identifier_available: bool,
    /// Whether subscriptions may be shared (3.2.2.3.13).
    pub shared_subscription_available: bool,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            maximum_packet_size: LARGEST_PACKET,
            maximum_packet_size_before_connect: 256 * 1024,
            connect_timeout_ms: 10_000,
            receive_maximum: 1_000,
            topic_alias_maximum: 32,
            topic_alias_maximum_out: 32,
            keep_alive_maximum_s: 0,
            maximum_qos: QoS::ExactlyOnce,
            retain_available: true,
            wildcard_subscription_available: true,
            subscription_identifier_available: true,
            shared_subscription_available: true,
        }
    }
}
