//! What can be configured, with every limit by name.

use ferrymq_mqtt_proto::server;

/// What MQTT clients may do and are offered.
#[derive(Clone, Debug)]
pub struct MqttSettings {
    /// What one connection may do: packet sizes, receive maximum, aliases, keep alive, connect time-out.
    pub connection: server::Settings,
    /// From where clients may come without proof of who they are.
    pub anonymous_from: AnonymousFrom,
    /// Longest topic name in bytes that is published to; a longer one is refused (0x90).
    pub topic_length: u16,
    /// Levels of a topic name that is published to; a deeper one is refused (0x90).
    pub topic_levels: u16,
    /// QoS 1 and 2 messages under way to a 3.x client, which can't say how many it takes; at least 1.
    pub inflight_mqtt3: u16,
    /// The same to a 5.0 client at most, whatever it takes (its receive maximum is 65,535 if it says nothing).
    pub inflight_mqtt5: u16,
    /// Bytes that a client may leave unread before QoS 0 messages for it are dropped, and counted. What a single turn
    /// brings may be sixteen times as much: the client could not read in between.
    pub qos0_buffer_bytes: usize,
    /// Whether payloads that are said to be UTF-8 are checked and refused if they are not (0x99, 3.3.2.3.2).
    pub payload_format_checked: bool,
    /// Response Information for clients that ask for it: this, then the client identifier. Empty: none.
    pub response_information_prefix: Box<str>,
    /// Another server that every client is sent to.
    pub redirect: Option<Redirect>,
    /// Of the client identifiers that the server assigns: random, so that they can't be guessed.
    pub client_id_seed: [u64; 2],
    /// Seconds between two publications of the `$SYS` topics; 0: never.
    pub sys_interval_s: u32,
}

/// From where clients may come without proof of who they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AnonymousFrom {
    /// From this machine.
    #[default]
    Loopback,
    /// From everywhere.
    Any,
}

/// Another server that every client is sent to (4.11).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redirect {
    /// Which (Server Reference).
    pub server_reference: Box<str>,
    /// For good (0x9D) or for now (0x9C).
    pub moved: bool,
}

impl Default for MqttSettings {
    fn default() -> MqttSettings {
        MqttSettings {
            connection: server::Settings::default(),
            anonymous_from: AnonymousFrom::Loopback,
            topic_length: 4_096,
            topic_levels: 128,
            inflight_mqtt3: u16::MAX,
            inflight_mqtt5: u16::MAX,
            qos0_buffer_bytes: 1 << 20,
            payload_format_checked: true,
            response_information_prefix: "response/".into(),
            redirect: None,
            client_id_seed: [0; 2],
            sys_interval_s: 10,
        }
    }
}
