//! The keys of a queue manager.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};

use ferrymq_engine::{Limits as Core, LogSettings};
use serde::{Deserialize, Serialize};

use super::key::section;

section! {
    /// One queue manager; repeat it for more. Each has its own data, log, topics, sessions and listeners.
    QueueManager at "queue_manager" {
        /// Its name, and that of its folder: letters, digits, `.`, `_`, `-`, `%`; not two of the same.
        name: String = String::from("QM1"), unit "1 to 48 characters";
        /// What an acknowledgement promises. `fsync`: the message is on disk, it survives `kill -9` and power loss.
        /// `memory`: it survives nothing.
        durability: Durability = Durability::Fsync, unit "fsync or memory";
        /// From where clients may come without a name and a password. `loopback`: from this machine, and a listener
        /// on any other address is refused. `any`: from everywhere.
        allow_anonymous_from: AnonymousFrom = AnonymousFrom::Loopback, unit "loopback or any";
    }
    with {
        limits: QueueManagerLimits = QueueManagerLimits::default();
        mqtt: Mqtt = Mqtt::default();
        log: Log = Log::default();
        listener: Vec<Listener> = vec![Listener::default()];
    }
}

section! {
    /// Bounds that keep one client, or many, from taking the queue manager down.
    QueueManagerLimits at "queue_manager.limits" {
        /// Client sessions, connected or not; a client beyond is refused (MQTT 5: 0x97).
        sessions: u32 = Core::default().sessions, unit "sessions", range 1..=1_000_000_000;
        /// Longest client identifier; a longer one is refused (0x85).
        client_id_length: u16 = Core::default().client_id_length, unit "bytes", range 23..=65_535;
        /// Longest time that a session outlives its connection; a client that asks for more gets this, and is told.
        /// 4294967295: for ever.
        session_expiry_s: u32 = Core::default().session_expiry_s, unit "seconds", range 0..=4_294_967_295;
        /// Subscriptions of one session; one beyond is refused (0x97).
        subscriptions_per_session: u32 = Core::default().subscriptions_per_session, unit "subscriptions",
            range 1..=100_000_000;
        /// Longest topic name or filter.
        topic_length: u16 = Core::default().topic_length, unit "bytes", range 1..=65_535;
        /// Levels of a topic name or filter; `a/b` has two.
        topic_levels: u16 = Core::default().topic_levels, unit "levels", range 1..=65_535;
        /// Messages that wait for one persistent session; the next publisher is refused (0x97), nothing is lost.
        queue_depth: u32 = Core::default().queue_depth, unit "messages", range 1..=1_000_000_000;
        /// Messages that wait in memory for one session that ends with its connection; the next one discards the
        /// oldest that was not sent yet, and is counted.
        volatile_queue_depth: u32 = Core::default().volatile_queue_depth, unit "messages",
            range 1..=1_000_000_000;
        /// Bytes of QoS 1 and 2 messages sent to one client and not acknowledged, one message excepted, whatever its
        /// receive maximum: what a client that does not read can make the server buffer.
        inflight_bytes: u32 = Core::default().inflight_bytes, unit "bytes", range 1_024..=1_073_741_824;
        /// Messages that wait in memory for one session beyond which publishers to it are slowed down: their
        /// acknowledgements come when it has caught up.
        pacing_depth: u32 = Core::default().pacing_depth, unit "messages", range 1..=1_000_000_000;
        /// How long an acknowledgement is delayed by that at most. 0: never.
        pacing_ms: u32 = Core::default().pacing_ms, unit "milliseconds", range 0..=10_000;
        /// Retained messages.
        retained_messages: u32 = Core::default().retained_messages, unit "messages", range 0..=1_000_000_000;
        /// Bytes of retained messages.
        retained_bytes: u64 = Core::default().retained_bytes, unit "bytes", range 0..=1_099_511_627_776;
        /// Bytes of message bodies kept in memory, one that waits for several sessions counted for each. Beyond,
        /// bodies of waiting persistent messages are in the log only, and a session that ends with its connection
        /// loses the oldest that wait for it, down to `inflight_bytes`.
        memory_budget: u64 = Core::default().memory_budget, unit "bytes", range 1_048_576..=1_099_511_627_776;
    }
}

section! {
    /// What MQTT clients of the queue manager may do and are offered.
    Mqtt at "queue_manager.mqtt" {
        /// Largest packet a client may send; a larger one ends its connection (MQTT 5: 0x95, and clients are told).
        max_packet_size: u32 = 16 << 20, unit "bytes", range 1_024..=268_435_460;
        /// The same until the client is connected.
        max_packet_size_before_connect: u32 = 256 << 10, unit "bytes", range 1_024..=1_048_576;
        /// How long a new connection may take to send its CONNECT.
        connect_timeout_ms: u32 = 10_000, unit "milliseconds", range 100..=600_000;
        /// Longest keep alive; an MQTT 5 client that asks for more, or for none, gets this (Server Keep Alive).
        /// 0: each what it asks for.
        keep_alive_max_s: u16 = 0, unit "seconds", range 0..=65_535;
        /// QoS 1 and 2 messages that one client may have under way to the server (Receive Maximum).
        receive_maximum: u16 = 1_024, unit "messages", range 1..=65_535;
        /// QoS 1 and 2 messages under way to one client of MQTT 3, which can't say how many it takes.
        inflight_mqtt3: u16 = 65_535, unit "messages", range 1..=65_535;
        /// The same to one client of MQTT 5 at most, which says how many it takes (up to 65535).
        inflight_mqtt5: u16 = 65_535, unit "messages", range 1..=65_535;
        /// Topic aliases that one client may use towards the server (Topic Alias Maximum).
        topic_alias_max: u16 = 64, unit "aliases", range 0..=65_535;
        /// Topic aliases that the server uses towards one client, if the client allows as many.
        topic_alias_max_outgoing: u16 = 16, unit "aliases", range 0..=65_535;
        /// Highest QoS that clients may publish with; subscriptions are granted at most this.
        maximum_qos: u8 = 2, unit "QoS", range 0..=2;
        /// Whether clients may publish retained messages.
        retain_available: bool = true, unit "true or false";
        /// Response Information for clients that ask for it: this, then the client identifier. Empty: none.
        response_information_prefix: String = String::from("response/"), unit "text";
        /// Another server that every client is sent to (Server Reference), to empty this one. Empty: none.
        server_reference: String = String::new(), unit "text";
        /// Whether that other server is for good (0x9D, server moved) or for now (0x9C, use another server).
        server_moved: bool = false, unit "true or false";
        /// Bytes that one client may leave unread before QoS 0 messages for it are dropped, and counted.
        qos0_output_limit: u64 = 4 << 20, unit "bytes", range 4_096..=4_294_967_296;
        /// Whether payloads that are said to be UTF-8 are checked, and refused if they are not (0x99).
        payload_format_checked: bool = true, unit "true or false";
        /// How often the `$SYS` topics are published. 0: never.
        sys_interval_s: u32 = 10, unit "seconds", range 0..=86_400;
    }
}

section! {
    /// The recovery log of the queue manager. It has none with `durability = "memory"`.
    Log at "queue_manager.log" {
        /// Size of the files that the log consists of: a power of two. A log that exists keeps its own.
        extent_size: u64 = LogSettings::default().extent_size, unit "bytes", range 65_536..=4_294_967_296;
        /// Bytes that wait for the disk before clients are made to wait.
        unwritten_max: u64 = LogSettings::default().unwritten_max, unit "bytes",
            range 1_048_576..=4_294_967_296;
        /// Bytes of log beyond what is still needed, after which the oldest file is freed: what is needed of it is
        /// written anew at the end.
        reclaim_after: u64 = LogSettings::default().reclaim_after, unit "bytes",
            range 1_048_576..=1_099_511_627_776;
    }
}

section! {
    /// An address on which the queue manager waits for clients; repeat it for more.
    Listener at "queue_manager.listener" {
        /// What is spoken there. `mqtt`: MQTT 3.1, 3.1.1 and 5.0 over TCP.
        protocol: Protocol = Protocol::Mqtt, unit "mqtt";
        /// Where: `127.0.0.1:1883`, `[::1]:1883`, `0.0.0.0:1883` for every IPv4 address of the machine; port 0 takes a
        /// free one.
        address: SocketAddr = SocketAddr::from((Ipv4Addr::LOCALHOST, 1883)), unit "address:port";
    }
}

/// What an acknowledgement promises, by what the message survives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Durability {
    /// Nothing: neither the end of the process nor of the machine.
    Memory,
    /// `kill -9` and power loss.
    Fsync,
}

/// From where clients may come without a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum AnonymousFrom {
    /// From this machine.
    Loopback,
    /// From everywhere.
    Any,
}

/// What is spoken on a listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// MQTT 3.1, 3.1.1 and 5.0 over TCP.
    Mqtt,
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Protocol::Mqtt => f.write_str("MQTT 3.1, 3.1.1 and 5.0"),
        }
    }
}

impl QueueManagerLimits {
    /// As the queue manager takes them.
    pub fn to_core(&self) -> Core {
        Core {
            sessions: self.sessions,
            client_id_length: self.client_id_length,
            session_expiry_s: self.session_expiry_s,
            subscriptions_per_session: self.subscriptions_per_session,
            topic_length: self.topic_length,
            topic_levels: self.topic_levels,
            queue_depth: self.queue_depth,
            volatile_queue_depth: self.volatile_queue_depth,
            inflight_bytes: self.inflight_bytes,
            pacing_depth: self.pacing_depth,
            pacing_ms: self.pacing_ms,
            retained_messages: self.retained_messages,
            retained_bytes: self.retained_bytes,
            memory_budget: self.memory_budget,
        }
    }
}
