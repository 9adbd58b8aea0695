//! The service on the real transport, over a loopback socket: what the transport has to do for it.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use ferrymq_engine::{Command, Durability, Engine, EngineSettings, Limits, LogSettings};
use ferrymq_message::Timestamp;
use ferrymq_mqtt::{MqttService, MqttSettings};
use ferrymq_transport::{
    Closed, ConnectionToken, Io, IoThread, ListenerId, ListenerSettings, Service, Settings,
};

/// One queue manager on the thread of its connections; it ends with its first connection.
struct Node {
    mqtt: MqttService,
    engine: Engine,
    commands: Vec<Command>,
}

impl Service for Node {
    fn accepted(&mut self, io: &mut Io, id: ConnectionToken, _: ListenerId) {
        let now = Timestamp(io.now_ms());
        self.mqtt.accepted(io, id, now);
    }

    fn received(&mut self, io: &mut Io, id: ConnectionToken, input: &[u8]) -> usize {
        let now = Timestamp(io.now_ms());
        self.mqtt.received(io, id, input, now, &mut self.commands)
    }

    fn closed(&mut self, io: &mut Io, id: ConnectionToken, cause: Closed) {
        self.mqtt.closed(id, cause, &mut self.commands);
        io.stop();
    }

    fn timer(&mut self, io: &mut Io, id: ConnectionToken) {
        let now = Timestamp(io.now_ms());
        self.mqtt.timer(io, id, now, &mut self.commands);
    }

    fn turn(&mut self, io: &mut Io) {
        let now = Timestamp(io.now_ms());
        while !self.commands.is_empty() {
            let Ok(outbox) = self.engine.turn(now, &mut self.commands) else { return };
            self.mqtt.perform(io, outbox, now, &mut self.commands);
        }
    }
}

fn node() -> Node {
    let settings = EngineSettings {
        name: "QM1".into(),
        directory: "/nowhere".into(),
        durability: Durability::Memory,
        limits: Limits::default(),
        log: LogSettings::default(),
    };
    let engine = Engine::open(&settings, Timestamp(0), Arc::new(|| {})).expect("in memory");
    Node { mqtt: MqttService::new(MqttSettings::default()), engine, commands: Vec::new() }
}

fn conversation(said: &[u8], heard: usize) -> Vec<u8> {
    let mut io_thread = IoThread::new(Settings::default(), node()).expect("epoll");
    let address = "127.0.0.1:0".parse().expect("an address");
    let listener = io_thread.listen(ListenerSettings::new(address)).expect("a free port");
    let address = io_thread.local_addr(listener).expect("a port");
    let client = {
        let said = said.to_vec();
        thread::spawn(move || {
            let mut stream = TcpStream::connect(address).expect("connected");
            stream.set_read_timeout(Some(Duration::from_secs(10))).expect("a time-out");
            stream.write_all(&said).expect("written");
            let mut answer = vec![0; heard];
            stream.read_exact(&mut answer).expect("an answer");
            answer
        })
    };
    assert!(io_thread.run().is_ok());
    client.join().expect("a client without a panic")
}

const CONNECT: [u8; 15] = *b"\x10\x0D\x00\x04MQTT\x04\x02\x00\x3C\x00\x01c";
const SUBSCRIBE: [u8; 8] = *b"\x82\x06\x00\x01\x00\x01t\x00";

#[test]
fn a_client_may_say_everything_at_once() {
    let publish = *b"\x32\x06\x00\x01t\x00\x02m";
    let ping = [0xC0, 0];
    let answer = conversation(&[&CONNECT[..], &SUBSCRIBE, &publish, &ping].concat(), 21);
    assert_eq!(answer[..4], [0x20, 2, 0, 0], "CONNACK first");
    assert_eq!(answer[19..], [0xD0, 0], "PINGRESP last");
    for part in [&[0x90, 3, 0, 1, 0][..], b"\x30\x04\x00\x01tm", &[0x40, 2, 0, 2]] {
        assert!(answer.windows(part.len()).any(|window| window == part), "{part:02X?} in {answer:02X?}");
    }
}

#[test]
fn a_large_message_comes_back_whole() {
    let body: Vec<u8> = (0..300_000u32).map(|n| (n / 7) as u8).collect();
    // Remaining length: 3 bytes of topic before the body.
    let length = body.len() as u32 + 3;
    let mut publish = vec![0x30, length as u8 | 0x80, (length >> 7) as u8 | 0x80, (length >> 14) as u8];
    publish.extend(b"\x00\x01t");
    publish.extend(&body);
    let heard = 4 + 5 + publish.len();
    let answer = conversation(&[&CONNECT[..], &SUBSCRIBE, &publish].concat(), heard);
    assert!(answer[9..] == publish[..], "not the same message");
}
