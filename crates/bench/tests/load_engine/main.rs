//! The load engine against a sink of a hundred lines that loses, repeats and reorders on purpose: the report must say
//! exactly what it did.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use ferrymq_bench::load::{Destination, LoadError, Outcome, run_connect_burst, run_traffic};
use ferrymq_bench::meter::Meter;
use ferrymq_bench::scenario::{Overrides, Plan, named};
use ferrymq_mqtt_proto::{
    Ack, Connack, Diagnostics, Packet, PacketKind, Publish, QoS, ReasonCode, Version, decode, encode_suback,
};
use ferrymq_transport::{
    Closed, ConnectionToken, Io, IoThread, ListenerId, ListenerSettings, Service, Settings, Waker,
};

const VERSION: Version = Version::V3_1_1;

/// What the sink does to every n-th message.
#[derive(Clone, Copy, Default)]
struct Mischief {
    lose: Option<u64>,
    repeat: Option<u64>,
    /// Holds the n-th back until after the next one.
    swap: Option<u64>,
    /// Closes the publisher at this message.
    close_at: Option<u64>,
}

#[derive(Default)]
struct Counts {
    lost: AtomicU64,
    repeated: AtomicU64,
    swapped: AtomicU64,
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
struct RunningSink {
    address: SocketAddr,
    counts: Arc<Counts>,
    stop: Arc<AtomicBool>,
    waker: Waker,
    thread: Option<JoinHandle<()>>,
}

impl RunningSink {
    fn start(mischief: Mischief) -> Self {
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

    fn destination(&self) -> Destination {
        Destination { address: self.address, run: 42, keep_alive_s: 0 }
    }

    fn run(&self, plan: &Plan) -> Result<Outcome, LoadError> {
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

fn plan(name: &str, overrides: Overrides) -> Plan {
    let short = Some(Duration::from_millis(200));
    let overrides = Overrides { warmup: Some(Duration::from_millis(50)), duration: short, ..overrides };
    named(name).expect("a scenario").plan(&overrides).expect("a plan")
}

fn clean_run(name: &str, overrides: Overrides) -> Outcome {
    let outcome = RunningSink::start(Mischief::default()).run(&plan(name, overrides)).expect("figures");
    let totals = outcome.totals;
    assert_eq!((totals.received, totals.lost), (outcome.expected, 0), "{name}");
    assert_eq!((totals.duplicated, totals.reordered, outcome.foreign), (0, 0, 0), "{name}");
    assert!(outcome.measured_received > 0, "{name}");
    outcome
}

#[test]
fn every_shape_and_quality_of_service_arrives_whole() {
    for name in ["pair-q0", "pair-q1", "pair-q2", "fan-in-q0", "fan-in-q1", "fan-out-q0", "fan-out-q1"] {
        clean_run(name, Overrides { clients: Some(8), ..Overrides::default() });
    }
}

#[test]
fn a_rated_run_sends_what_was_due_and_no_more() {
    let outcome = clean_run("latency-q1", Overrides { rate: Some(2_000.0), ..Overrides::default() });
    // 250 ms at 2,000 a second, the first at once.
    assert!((495..=500).contains(&outcome.sent), "{}", outcome.sent);
    assert!(outcome.latency.is_some_and(|latency| latency.p50 > 0));
}

#[test]
fn a_broadcast_is_timed_to_its_last_copy() {
    let overrides = Overrides { clients: Some(20), rate: Some(4_000.0), ..Overrides::default() };
    let outcome = clean_run("BROADCAST", overrides);
    let (last, each) = (outcome.complete.expect("broadcasts"), outcome.latency.expect("copies"));
    assert!(last.max >= each.p50);
    assert_eq!(outcome.expected, outcome.sent * 20);
}

#[test]
fn what_the_server_loses_is_counted_exactly_and_does_not_stop_a_closed_loop() {
    let sink = RunningSink::start(Mischief { lose: Some(10), ..Mischief::default() });
    let outcome =
        sink.run(&plan("pair-q0", Overrides { clients: Some(1), ..Overrides::default() })).expect("figures");
    assert_eq!(outcome.totals.lost, sink.counts.lost.load(Ordering::Relaxed));
    assert!(outcome.totals.lost > 0 && outcome.totals.duplicated == 0);
}

#[test]
fn what_the_server_repeats_or_reorders_is_counted_exactly() {
    let sink = RunningSink::start(Mischief { repeat: Some(7), swap: Some(5), ..Mischief::default() });
    let outcome =
        sink.run(&plan("pair-q1", Overrides { clients: Some(1), ..Overrides::default() })).expect("figures");
    assert_eq!(
        outcome.totals.duplicated,
        sink.counts.repeated.load(Ordering::Relaxed) - held_and_repeated(&sink, &outcome)
    );
    assert_eq!(outcome.totals.reordered, sink.counts.swapped.load(Ordering::Relaxed));
    assert!(outcome.totals.reordered > 0 && outcome.totals.duplicated > 0);
}

/// The last message may be held back for ever, and with it its repetition.
fn held_and_repeated(sink: &RunningSink, outcome: &Outcome) -> u64 {
    let last_is_held = outcome.sent.is_multiple_of(5);
    assert_eq!(
        outcome.totals.lost,
        u64::from(last_is_held),
        "swapped {}",
        sink.counts.swapped.load(Ordering::Relaxed)
    );
    u64::from(last_is_held && outcome.sent.is_multiple_of(7))
}

#[test]
fn a_connection_closed_by_the_server_ends_the_run_with_its_name() {
    let sink = RunningSink::start(Mischief { close_at: Some(100), ..Mischief::default() });
    let error = sink
        .run(&plan("pair-q1", Overrides { clients: Some(1), ..Overrides::default() }))
        .expect_err("closed");
    assert!(error.to_string().starts_with("publisher 0 was closed while running"), "{error}");
}

#[test]
fn a_port_where_nobody_listens_ends_the_run() {
    let sink = RunningSink::start(Mischief::default());
    let destination = sink.destination();
    drop(sink);
    let error =
        run_traffic(&plan("pair-q0", Overrides::default()), destination, Meter { server: None }, &mut |_| {});
    assert!(matches!(error, Err(LoadError::Closed { .. })));
}

#[test]
fn a_burst_connects_again_and_again_and_idle_connections_stay() {
    let sink = RunningSink::start(Mischief::default());
    let overrides = Overrides { clients: Some(5), ..Overrides::default() };
    let meter = Meter { server: None };
    let burst = run_connect_burst(&plan("CONNBURST", overrides), sink.destination(), meter, &mut |_| {})
        .expect("figures");
    assert!(burst.connects > 5 && burst.connect_latency.is_some());
    let scale = sink
        .run(&plan("CONNSCALE", Overrides { clients: Some(150), ..Overrides::default() }))
        .expect("figures");
    assert_eq!((scale.connects, scale.expected), (150, 0));
}
