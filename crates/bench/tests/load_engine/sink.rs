//! An MQTT server of a hundred lines that keeps nothing, and spoils what it is told to.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;

use ferrymq_bench::load::{Destination, LoadError, Outcome, run_traffic};
use ferrymq_bench::meter::Meter;
use ferrymq_bench::scenario::Plan;
use ferrymq_mqtt_proto::{
    Ack, Connack, Diagnostics, Packet, PacketKind, Publish, QoS, ReasonCode, Version, decode, encode_suback,
};
use ferrymq_transport::{
    Closed, ConnectionToken, Io, IoThread, ListenerId, ListenerSettings, Service, Settings, Waker,
};

const VERSION: Version = Version::V3_1_1;

/// What the sink does to every n-th message.
#[derive(Clone, Copy, Default)]
pub struct Mischief {
    pub lose: Option<u64>,
    pub repeat: Option<u64>,
    /// Holds the n-th back until after the next one.
    pub swap: Option<u64>,
    /// Closes the publisher at this message.
    pub close_at: Option<u64>,
}

#[derive(Default)]
pub struct Counts {
    pub lost: AtomicU64,
    pub repeated: AtomicU64,
    pub swapped: AtomicU64,
}

struct Sink {
    mischief: Mischief,
    counts: Arc<Counts>,
    stop: Arc<AtomicBool>,
    subscribers: HashMap<String, Vec<ConnectionToken>>,
    seen: u64,
    held: Option<Vec<u8>>,
    scratch: Vec<u8>,
}

fn every(n: Option<u64>, seen: u64) -> bool {
    n.is_some_and(|n| seen.is_multiple_of(n))
}

impl Sink {
    fn handle(&mut self, io: &mut Io, id: ConnectionToken, packet: &Packet) {
        let mut answer = Vec::new();
        match packet {
            Packet::Connect(_) => Connack::new(ReasonCode::Success).encode(VERSION, &mut answer),
            Packet::Subscribe(subscribe) => {
                for subscription in subscribe.filters.iter() {
                    self.subscribers.entry(subscription.filter.to_owned()).or_default().push(id);
                }
                let granted = [ReasonCode::granted(QoS::AtMostOnce)];
                let none = Diagnostics::NONE;
                encode_suback(PacketKind::Suback, subscribe.packet_id, &none, granted, VERSION, &mut answer);
            }
            Packet::Publish(publish) => {
                acknowledge(publish, &mut answer);
                self.forward(io, id, publish);
            }
            Packet::Pubrel(ack) => {
                Ack::success(ack.packet_id).encode(PacketKind::Pubcomp, VERSION, &mut answer)
            }
            Packet::Pubrec(ack) => {
                Ack::success(ack.packet_id).encode(PacketKind::Pubrel, VERSION, &mut answer)
            }
            Packet::Disconnect(_) => io.close(id),
            _ => {}
        }
        send(io, id, &answer);
    }

    fn forward(&mut self, io: &mut Io, from: ConnectionToken, publish: &Publish) {
        self.seen += 1;
        if self.mischief.close_at == Some(self.seen) {
            return io.abort(from);
        }
        if every(self.mischief.lose, self.seen) {
            self.counts.lost.fetch_add(1, Ordering::Relaxed);
            return;
        }
        self.scratch.clear();
        publish.encode(VERSION, &mut self.scratch);
        if every(self.mischief.repeat, self.seen) {
            self.counts.repeated.fetch_add(1, Ordering::Relaxed);
            self.scratch.extend_from_within(..);
        }
        if every(self.mischief.swap, self.seen) {
            self.held = Some(std::mem::take(&mut self.scratch));
            return;
        }
        if let Some(held) = self.held.take() {
            self.counts.swapped.fetch_add(1, Ordering::Relaxed);
            self.scratch.extend_from_slice(&held);
        }
        let to = self.subscribers.get(publish.topic).cloned().unwrap_or_default();
        to.into_iter().for_each(|subscriber| send(io, subscriber, &self.scratch));
    }
}

fn acknowledge(publish: &Publish, answer: &mut Vec<u8>) {
    let ack = Ack::success(publish.packet_id);
    match publish.qos {
        QoS::AtMostOnce => {}
        QoS::AtLeastOnce => ack.encode(PacketKind::Puback, VERSION, answer),
        QoS::ExactlyOnce => ack.encode(PacketKind::Pubrec, VERSION, answer),
    }
}

fn send(io: &mut Io, id: ConnectionToken, bytes: &[u8]) {
    if let Some(output) = io.output(id) {
        output.extend_from_slice(bytes);
    }
}

impl Service for Sink {
    fn accepted(&mut self, _: &mut Io, _: ConnectionToken, _: ListenerId) {}

    fn received(&mut self, io: &mut Io, id: ConnectionToken, input: &[u8]) -> usize {
        let mut consumed = 0;
        while let Some((packet, size)) = decode(&input[consumed..], VERSION, u32::MAX).expect("MQTT") {
            consumed += size;
            self.handle(io, id, &packet);
        }
        consumed
    }

    fn closed(&mut self, _: &mut Io, id: ConnectionToken, _: Closed) {
        self.subscribers.values_mut().for_each(|tokens| tokens.retain(|&token| token != id));
    }

    fn woken(&mut self, io: &mut Io) {
        if self.stop.load(Ordering::Relaxed) {
            io.stop();
        }
    }
}

/// A sink on a thread of its own, until dropped.
pub struct RunningSink {
    pub address: SocketAddr,
    pub counts: Arc<Counts>,
    stop: Arc<AtomicBool>,
    waker: Waker,
    thread: Option<JoinHandle<()>>,
}

impl RunningSink {
    pub fn start(mischief: Mischief) -> Self {
        let (counts, stop) = (Arc::new(Counts::default()), Arc::new(AtomicBool::new(false)));
        let sink = Sink {
            mischief,
            counts: counts.clone(),
            stop: stop.clone(),
            subscribers: HashMap::new(),
            seen: 0,
            held: None,
            scratch: Vec::new(),
        };
        let mut thread =
            IoThread::new(Settings { linger_ms: 100, ..Settings::default() }, sink).expect("a loop");
        let any = "127.0.0.1:0".parse().expect("an address");
        let listener = thread.listen(ListenerSettings::new(any)).expect("a listener");
        let address = thread.local_addr(listener).expect("its address");
        let waker = thread.waker();
        let thread = Some(std::thread::spawn(move || drop(thread.run().expect("the loop runs"))));
        Self { address, counts, stop, waker, thread }
    }

    pub fn destination(&self) -> Destination {
        Destination { address: self.address, run: 42, keep_alive_s: 0 }
    }

    pub fn run(&self, plan: &Plan) -> Result<Outcome, LoadError> {
        run_traffic(plan, self.destination(), Meter { server: None }, &mut |_| {})
    }
}

impl Drop for RunningSink {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.waker.wake();
        if let Some(thread) = self.thread.take() {
            assert!(thread.join().is_ok() || std::thread::panicking(), "the sink panicked");
        }
    }
}
