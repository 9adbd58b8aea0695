//! A server without sockets, disk and time: the service and a queue manager in memory, driven by tests.
#![allow(dead_code, clippy::unwrap_used)] // Each test crate uses its part; a line that is not there fails the test.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use ferrymq_engine::{Command, Durability, Effect, Engine, EngineSettings, Limits, LogSettings, Outbox};
use ferrymq_message::Timestamp;
use ferrymq_mqtt::{MqttService, MqttSettings, Network, Sink};
use ferrymq_mqtt_proto::{Connect, Packet, QoS, Subscription, UserProperties, Version, encode_subscribe};
use ferrymq_transport::{Closed, ConnectionToken};

/// The end of a connection that the server holds, and what the client sees of it.
#[derive(Debug, Default)]
pub struct Line {
    sent: Vec<u8>,
    /// What pretends to be unsent, for slow receivers.
    pub backlog: usize,
    /// Bytes that were not copied.
    pub shared: usize,
    pub closed: bool,
    pub timer: Option<u64>,
    paused: bool,
    /// Not consumed yet.
    input: Vec<u8>,
}

impl Sink for Line {
    fn unsent(&self) -> usize {
        self.backlog + self.sent.len()
    }

    fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.sent
    }

    fn push_shared(&mut self, bytes: Bytes) {
        self.shared += bytes.len();
        self.sent.extend_from_slice(&bytes);
    }
}

/// The network.
#[derive(Debug)]
pub struct Lines {
    lines: BTreeMap<ConnectionToken, Line>,
    peer: SocketAddr,
    resumed: Vec<ConnectionToken>,
}

impl Network for Lines {
    type Output = Line;

    fn output(&mut self, token: ConnectionToken) -> Option<&mut Line> {
        self.lines.get_mut(&token).filter(|line| !line.closed)
    }

    fn close(&mut self, token: ConnectionToken) {
        self.lines.get_mut(&token).unwrap().closed = true;
    }

    fn set_timer(&mut self, token: ConnectionToken, at_ms: u64) {
        self.lines.get_mut(&token).unwrap().timer = Some(at_ms);
    }

    fn clear_timer(&mut self, token: ConnectionToken) {
        self.lines.get_mut(&token).unwrap().timer = None;
    }

    fn pause(&mut self, token: ConnectionToken) {
        self.lines.get_mut(&token).unwrap().paused = true;
    }

    fn resume(&mut self, token: ConnectionToken) {
        self.lines.get_mut(&token).unwrap().paused = false;
        self.resumed.push(token);
    }

    fn peer(&self, _: ConnectionToken) -> Option<SocketAddr> {
        Some(self.peer)
    }
}

/// The server.
pub struct Broker {
    pub service: MqttService,
    pub net: Lines,
    engine: Engine,
    pub commands: Vec<Command>,
    pub now: Timestamp,
    tokens: u64,
}

/// A client of it, by its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Client {
    pub token: ConnectionToken,
    pub version: Version,
}

impl Broker {
    pub fn new() -> Broker {
        Broker::with(MqttSettings::default())
    }

    pub fn with(settings: MqttSettings) -> Broker {
        Broker::within(settings, Limits::default())
    }

    pub fn within(settings: MqttSettings, limits: Limits) -> Broker {
        let now = Timestamp(1_000_000);
        let engine = EngineSettings {
            name: "QM1".into(),
            directory: "/nowhere".into(),
            durability: Durability::Memory,
            limits,
            log: LogSettings::default(),
        };
        Broker {
            service: MqttService::new(settings),
            net: Lines {
                lines: BTreeMap::new(),
                peer: "127.0.0.1:5000".parse().unwrap(),
                resumed: Vec::new(),
            },
            engine: Engine::open(&engine, now, Arc::new(|| {})).unwrap(),
            commands: Vec::new(),
            now,
            tokens: 0,
        }
    }

    /// The next peers come from here.
    pub fn peers_come_from(&mut self, address: &str) {
        self.net.peer = address.parse().unwrap();
    }

    /// A peer that has said nothing yet.
    pub fn accept(&mut self, version: Version) -> Client {
        let token = ConnectionToken(1 << 32 | self.tokens);
        self.tokens += 1;
        self.net.lines.insert(token, Line::default());
        self.service.accepted(&mut self.net, token, self.now);
        Client { token, version }
    }

    /// A client that is connected; its CONNACK is passed over.
    pub fn connect(&mut self, connect: &Connect<'_>) -> Client {
        let client = self.accept(connect.version);
        self.send(client, &Packet::Connect(*connect));
        let connack = self.take(client);
        assert_eq!(connack.get(3).copied(), Some(0), "not connected: {connack:02X?}");
        client
    }

    /// As [`Broker::connect`] to a session that is there; what follows CONNACK is kept.
    pub fn connect_again(&mut self, connect: &Connect<'_>) -> Client {
        let client = self.accept(connect.version);
        self.send(client, &Packet::Connect(*connect));
        let line = self.line(client);
        let connack = 2 + usize::from(line.sent[1]);
        assert_eq!(line.sent[2..4], [1, 0], "not connected to a session: {:02X?}", line.sent);
        line.sent.drain(..connack);
        client
    }

    /// Connected with a name and defaults.
    pub fn client(&mut self, version: Version, id: &str) -> Client {
        self.connect(&Connect::new(version, id))
    }

    /// Connected and subscribed; the SUBACK is passed over.
    pub fn subscriber(&mut self, version: Version, id: &str, filter: &str, qos: QoS) -> Client {
        let client = self.client(version, id);
        self.subscribe(client, &[Subscription::new(filter, qos)]);
        assert!(!self.take(client).is_empty());
        client
    }

    pub fn subscribe(&mut self, client: Client, subscriptions: &[Subscription<'_>]) {
        self.subscribe_as(client, None, subscriptions);
    }

    pub fn subscribe_as(
        &mut self,
        client: Client,
        identifier: Option<u32>,
        subscriptions: &[Subscription<'_>],
    ) {
        let mut packet = Vec::new();
        let list = subscriptions.iter().copied();
        encode_subscribe(10, identifier, UserProperties::NONE, list, client.version, &mut packet);
        self.send_bytes(client, &packet);
    }

    pub fn send(&mut self, client: Client, packet: &Packet<'_>) {
        self.send_bytes(client, &encoded(packet, client.version));
    }

    /// The client sends bytes, the server reads them and takes turns until it has no more to do.
    pub fn send_bytes(&mut self, client: Client, bytes: &[u8]) {
        self.read(client, bytes);
        self.settle();
    }

    /// As [`Broker::send_bytes`], without a turn after it.
    pub fn read(&mut self, client: Client, bytes: &[u8]) {
        let Client { token, .. } = client;
        let line = self.net.lines.get_mut(&token).unwrap();
        line.input.extend_from_slice(bytes);
        if line.paused || line.closed {
            return;
        }
        let input = std::mem::take(&mut line.input);
        let used = self.service.received(&mut self.net, token, &input, self.now, &mut self.commands);
        self.net.lines.get_mut(&token).unwrap().input = input[used..].to_vec();
    }

    /// Turns until there is nothing left to do.
    pub fn settle(&mut self) {
        loop {
            let outbox = self.engine.turn(self.now, &mut self.commands).unwrap();
            self.service.perform(&mut self.net, outbox, self.now, &mut self.commands);
            for token in std::mem::take(&mut self.net.resumed) {
                self.read(Client { token, version: Version::V5 }, &[]);
            }
            if self.commands.is_empty() {
                return;
            }
        }
    }

    /// Has the service carry out an effect that no queue manager asked for.
    pub fn perform(&mut self, effect: Effect) {
        let mut outbox = Outbox { effects: vec![effect], ..Outbox::default() };
        self.service.perform(&mut self.net, &mut outbox, self.now, &mut self.commands);
        assert!(outbox.effects.is_empty() && outbox.targets.is_empty());
    }

    /// What the client got since the last time.
    pub fn take(&mut self, client: Client) -> Vec<u8> {
        std::mem::take(&mut self.line(client).sent)
    }

    /// The client got exactly this.
    #[track_caller]
    pub fn expect(&mut self, client: Client, packets: &[Packet<'_>]) {
        let expected: Vec<u8> = packets.iter().flat_map(|packet| encoded(packet, client.version)).collect();
        let got = self.take(client);
        assert_eq!(decoded(&got, client.version), decoded(&expected, client.version));
        assert_eq!(got, expected);
    }

    /// The client got exactly this and was closed.
    #[track_caller]
    pub fn expect_closed(&mut self, client: Client, packets: &[Packet<'_>]) {
        self.expect(client, packets);
        assert!(self.line(client).closed, "still open");
    }

    pub fn is_open(&mut self, client: Client) -> bool {
        !self.line(client).closed
    }

    pub fn line(&mut self, client: Client) -> &mut Line {
        self.net.lines.get_mut(&client.token).unwrap()
    }

    /// The network loses the client.
    pub fn lose(&mut self, client: Client) {
        self.line(client).closed = true;
        self.service.closed(client.token, Closed::ByPeer, &mut self.commands);
        self.settle();
    }

    /// Time passes; timers that are due go off.
    pub fn pass_ms(&mut self, ms: u64) {
        self.now = self.now.plus_ms(ms);
        let now = self.now;
        let due: Vec<_> =
            self.net.lines.iter().filter(|(_, line)| line.timer.is_some_and(|at| at <= now.0)).collect();
        let due: Vec<ConnectionToken> = due.into_iter().map(|(token, _)| *token).collect();
        for token in due {
            self.net.clear_timer(token);
            self.service.timer(&mut self.net, token, now, &mut self.commands);
        }
        self.settle();
    }
}

pub fn encoded(packet: &Packet<'_>, version: Version) -> Vec<u8> {
    let mut out = Vec::new();
    packet.encode(version, &mut out);
    out
}

/// For people who read failures.
fn decoded(mut bytes: &[u8], version: Version) -> Vec<String> {
    let mut packets = Vec::new();
    while let Ok(Some((packet, len))) = ferrymq_mqtt_proto::decode(bytes, version, u32::MAX) {
        packets.push(format!("{packet:?}"));
        bytes = &bytes[len..];
    }
    if !bytes.is_empty() {
        packets.push(format!("{bytes:02X?}"));
    }
    packets
}
