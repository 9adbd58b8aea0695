//! A server that does what the packets tell it, and the peer that tells it so.
//!
//! A packet is a length (u32, big endian) and a body, whose first byte is a command and whose next four, where it
//! needs one, a number.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread::JoinHandle;
use std::time::Duration;

use bytes::Bytes;
use ferrymq_transport::{
    Closed, ConnectionToken, Io, IoThread, ListenerId, ListenerSettings, Service, ServiceTimer, Settings,
    Statistics, Waker,
};

/// Answers with the same packet.
pub const ECHO: u8 = b'e';
/// Answers with so many raw bytes, shared.
pub const GIVE: u8 = b'g';
/// Answers with so many raw bytes and closes.
pub const GIVE_AND_CLOSE: u8 = b'c';
/// Aborts the connection.
pub const ABORT: u8 = b'a';
/// Answers with the same packet after so many ms.
pub const LATER: u8 = b'l';
/// Pauses, leaves everything behind unconsumed, resumes after so many ms.
pub const PAUSE: u8 = b'p';
/// Answers with the counters (see [`Peer::statistics`]).
pub const COUNTERS: u8 = b'q';
/// Answers with the same packet, and no more reads until woken.
pub const HOLD: u8 = b'h';
/// Answers with the same packet, no more reads until woken, and leaves the rest of the input for then.
pub const FULL: u8 = b'f';
/// Stops the loop.
pub const STOP: u8 = b's';

/// The service.
#[derive(Default)]
pub struct Script {
    pub accepted: Vec<(ConnectionToken, ListenerId)>,
    pub closed: Vec<(ConnectionToken, Closed)>,
    pub connected: Vec<ConnectionToken>,
    pub timers: Vec<ConnectionToken>,
    pub service_timers: Vec<u16>,
    pub woken: usize,
    pub turns: usize,
    pub held: bool,
    /// Everything received by connections of the client role.
    pub replies: Vec<(ConnectionToken, Vec<u8>)>,
    later: Vec<(ConnectionToken, Option<Vec<u8>>)>,
    pub statistics: Statistics,
}

pub fn packet(command: u8, number: u32) -> Vec<u8> {
    let body = [[command].as_slice(), &number.to_be_bytes()].concat();
    framed(&body)
}

pub fn framed(body: &[u8]) -> Vec<u8> {
    [(body.len() as u32).to_be_bytes().as_slice(), body].concat()
}

/// What [`GIVE`] gives.
pub fn given(count: usize) -> Vec<u8> {
    (0..count).map(|i| (i * 31 / 128) as u8).collect()
}

impl Script {
    /// Obeys one packet; false: leave the rest.
    fn obey(&mut self, io: &mut Io, id: ConnectionToken, packet: &[u8]) -> bool {
        let number = packet.get(5..9).map_or(0, |n| u32::from_be_bytes(n.try_into().unwrap()));
        let at_ms = io.now_ms() + u64::from(number);
        match packet[4] {
            ECHO => io.output(id).unwrap().extend_from_slice(packet),
            GIVE => io.output(id).unwrap().push_shared(Bytes::from(given(number as usize))),
            GIVE_AND_CLOSE => {
                io.output(id).unwrap().push_shared(Bytes::from(given(number as usize)));
                io.close(id);
                assert!(io.output(id).is_none(), "closed for the service");
            }
            ABORT => io.abort(id),
            LATER => {
                self.later.push((id, Some(packet.to_vec())));
                io.set_timer(id, at_ms);
            }
            PAUSE => {
                self.later.push((id, None));
                io.pause(id);
                io.set_timer(id, at_ms);
                return false;
            }
            COUNTERS => {
                let s = io.statistics();
                let numbers =
                    [s.loops, s.reads, s.writes, s.accepted, s.refused, s.accept_exhausted, s.connections];
                let body: Vec<u8> = numbers.iter().flat_map(|n| n.to_be_bytes()).collect();
                io.output(id).unwrap().extend_from_slice(&framed(&body));
            }
            HOLD => {
                io.output(id).unwrap().extend_from_slice(packet);
                self.held = true;
            }
            FULL => {
                io.output(id).unwrap().extend_from_slice(packet);
                self.held = true;
                io.read_again(id);
                return false;
            }
            STOP => io.stop(),
            other => panic!("no such command: {other}"),
        }
        true
    }
}

impl Service for Script {
    fn accepted(&mut self, _io: &mut Io, id: ConnectionToken, listener: ListenerId) {
        self.accepted.push((id, listener));
    }

    fn connected(&mut self, _io: &mut Io, id: ConnectionToken) {
        self.connected.push(id);
    }

    fn received(&mut self, io: &mut Io, id: ConnectionToken, input: &[u8]) -> usize {
        if self.connected.contains(&id) {
            self.replies.push((id, input.to_vec()));
            return input.len();
        }
        let mut consumed = 0;
        while let Some(head) = input[consumed..].first_chunk::<4>() {
            let length = 4 + u32::from_be_bytes(*head) as usize;
            let Some(packet) = input.get(consumed..consumed + length) else { break };
            consumed += length;
            if !self.obey(io, id, packet) || !io.is_open(id) {
                break;
            }
        }
        consumed
    }

    fn closed(&mut self, io: &mut Io, id: ConnectionToken, cause: Closed) {
        assert!(io.peer(id).is_some(), "the peer's address is there to the last");
        self.closed.push((id, cause));
    }

    fn timer(&mut self, io: &mut Io, id: ConnectionToken) {
        self.timers.push(id);
        let Some(index) = self.later.iter().position(|(whose, _)| *whose == id) else { return };
        match self.later.remove(index).1 {
            Some(packet) => io.output(id).unwrap().extend_from_slice(&packet),
            None => io.resume(id),
        }
    }

    fn service_timer(&mut self, _io: &mut Io, timer: ServiceTimer) {
        self.service_timers.push(timer.0);
    }

    fn woken(&mut self, _io: &mut Io) {
        self.woken += 1;
        self.held = false;
    }

    fn turn(&mut self, io: &mut Io) {
        self.turns += 1;
        self.statistics = *io.statistics();
    }

    fn may_read(&self) -> bool {
        !self.held
    }
}

/// The defaults, but peers that are still there when the loop stops do not hold up the test.
pub fn settings() -> Settings {
    Settings { linger_ms: 100, ..Settings::default() }
}

/// Any free port of the loopback interface.
pub fn anywhere() -> ListenerSettings {
    ListenerSettings::new("127.0.0.1:0".parse().unwrap())
}

/// A loop with one listener.
pub fn script_loop(settings: Settings) -> (IoThread<Script>, SocketAddr) {
    let mut io_thread = IoThread::new(settings, Script::default()).unwrap();
    let listener = io_thread.listen(anywhere()).unwrap();
    let address = io_thread.local_addr(listener).unwrap();
    (io_thread, address)
}

/// The same loop running on a thread of its own.
pub struct Running {
    pub address: SocketAddr,
    pub waker: Waker,
    thread: JoinHandle<Script>,
}

pub fn start(settings: Settings) -> Running {
    let (io_thread, address) = script_loop(settings);
    let waker = io_thread.waker();
    Running { address, waker, thread: std::thread::spawn(move || io_thread.run().unwrap()) }
}

impl Running {
    pub fn peer(&self) -> Peer {
        Peer::connect(self.address)
    }

    /// Stops it in order.
    pub fn stop(self) -> Script {
        self.peer().send(&packet(STOP, 0));
        self.join()
    }

    pub fn join(self) -> Script {
        self.thread.join().unwrap()
    }
}

/// A peer that blocks.
pub struct Peer(pub TcpStream);

impl Peer {
    pub fn connect(address: SocketAddr) -> Peer {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        Peer(stream)
    }

    pub fn send(&mut self, bytes: &[u8]) {
        self.0.write_all(bytes).unwrap();
    }

    pub fn receive(&mut self, count: usize) -> Vec<u8> {
        let mut bytes = vec![0; count];
        self.0.read_exact(&mut bytes).unwrap();
        bytes
    }

    pub fn expect(&mut self, bytes: &[u8]) {
        assert!(self.receive(bytes.len()) == bytes, "other bytes than expected");
    }

    /// Sends a packet and waits for it to come back.
    pub fn echo(&mut self, number: u32) {
        self.send(&packet(ECHO, number));
        self.expect(&packet(ECHO, number));
    }

    /// The same with a loop that somebody must turn.
    pub fn echo_through(&mut self, io_thread: &mut IoThread<Script>) {
        self.send(&packet(ECHO, 0));
        let written = |io_thread: &mut IoThread<Script>| io_thread.parts().1.statistics().writes;
        let before = written(io_thread);
        while written(io_thread) == before {
            io_thread.turn().unwrap();
        }
        self.expect(&packet(ECHO, 0));
    }

    pub fn expect_end(&mut self) {
        assert_eq!(self.0.read(&mut [0; 1]).unwrap(), 0);
    }

    /// `loops, reads, writes, accepted, refused, accept_exhausted, connections`.
    pub fn statistics(&mut self) -> [u64; 7] {
        self.send(&packet(COUNTERS, 0));
        let answer = self.receive(4 + 7 * 8);
        std::array::from_fn(|i| u64::from_be_bytes(answer[4 + i * 8..][..8].try_into().unwrap()))
    }
}
