//! A run with publishers and subscribers, or with idle connections, phase by phase:
//! connecting → warm-up and measured time → waiting for the last copies → disconnecting.

use std::time::Duration;

use ferrymq_mqtt_proto::{Ack, Packet, PacketKind, QoS, ReasonCode, decode};
use ferrymq_transport::{Closed, ConnectionToken, Io, ListenerId, Service};

use super::arrivals::{Delivery, FamiliarHeader};
use super::books::{Books, Broadcasts};
use super::fleet::{Destination, Fleet};
use super::publishers::Publishers;
use super::{LoadError, Observer, Outcome, Player, Role, packets, play};
use crate::meter::{Meter, Reading};
use crate::progress::Ticker;
use crate::scenario::{Load, Plan, Shape};

/// The loop looks at its phase at least this often.
const LOOK_US: u64 = 50_000;
/// Without any movement for this long a run gives up.
const STALLED_US: u64 = 20_000_000;
/// A closed loop at QoS 0 takes what has not come for this long as dropped.
const WRITE_OFF_US: u64 = 1_000_000;
/// Copies may still come this long after the last one came …
const DRAIN_QUIET_US: u64 = 3_000_000;
/// … and this long in all.
const DRAIN_MAX_US: u64 = 60_000_000;
/// A turn of a closed loop that read fewer packets than this …
const FEW_PACKETS: u32 = 64;
/// … is followed by a rest: at 1 million messages a second 50 arrive in it, a fortieth of the smallest window.
const REST: Duration = Duration::from_micros(50);
/// A longer wait for the last copies than this is a backlog.
const BACKLOG: Duration = Duration::from_millis(500);
/// After the last copy, duplicates may still come for this long.
const SETTLE_US: u64 = 100_000;

/// Runs `plan` against `destination` and returns what was found. Bounded in time.
///
/// # Errors
/// When the server refuses, closes, dies or stalls.
pub fn run_traffic(
    plan: &Plan,
    destination: Destination,
    meter: Meter,
    observer: Observer<'_>,
) -> Result<Outcome, LoadError> {
    let service = Traffic::new(*plan, destination, meter, observer);
    let service = play(service)?;
    match service.failure {
        Some(failure) => Err(failure),
        None => Ok(service.outcome),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Connecting,
    Running,
    Draining,
    Stopping,
}

impl Phase {
    fn name(self) -> &'static str {
        match self {
            Self::Connecting => "connecting",
            Self::Running => "running",
            Self::Draining => "waiting for the last messages",
            Self::Stopping => "disconnecting",
        }
    }
}

struct Traffic<'a> {
    plan: Plan,
    fleet: Fleet,
    publishers: Publishers,
    books: Books,
    meter: Meter,
    ticker: Ticker<'a>,
    phase: Phase,
    phase_since_us: u64,
    /// Start of the measured time as it really was; 0 before.
    measured_from_us: u64,
    /// When sending began, and the meters then.
    begun: (u64, Reading),
    /// When something last arrived or became ready, looked at every `LOOK_US`.
    moved_us: u64,
    moved_mark: u64,
    /// Acknowledgements of the input being read.
    replies: Vec<u8>,
    header: FamiliarHeader,
    /// Copies of one stream that arrived one after the other, not yet told to its publisher.
    arrived: (u32, u64),
    /// Packets read since the last rest.
    packets: u32,
    outcome: Outcome,
    failure: Option<LoadError>,
}

impl<'a> Traffic<'a> {
    fn new(plan: Plan, destination: Destination, meter: Meter, observer: Observer<'a>) -> Self {
        let run = destination.run;
        let mut books = Books::new(run, plan.shape, plan.publishers, plan.subscribers);
        if plan.shape == Shape::Everyone && matches!(plan.load, Load::Rated { .. }) {
            books.broadcasts = Some(Broadcasts::new(plan.subscribers));
        }
        Self {
            plan,
            fleet: Fleet::new(destination, plan),
            publishers: Publishers::new(&plan, run),
            books,
            meter,
            ticker: Ticker::new(observer, meter),
            phase: Phase::Connecting,
            phase_since_us: 0,
            measured_from_us: 0,
            begun: (0, Reading::default()),
            moved_us: 0,
            moved_mark: 0,
            replies: Vec::new(),
            header: FamiliarHeader::default(),
            arrived: (0, 0),
            packets: 0,
            outcome: Outcome { before: meter.read(), ..Outcome::default() },
            failure: None,
        }
    }

    fn enter(&mut self, phase: Phase, now_us: u64) {
        (self.phase, self.phase_since_us, self.moved_us) = (phase, now_us, now_us);
    }

    fn fail(&mut self, io: &mut Io, failure: LoadError) {
        self.failure.get_or_insert(failure);
        self.phase = Phase::Stopping;
        io.stop();
    }

    /// All packets of one read. Returns the bytes consumed.
    fn read(
        &mut self,
        io: &mut Io,
        id: ConnectionToken,
        role: Role,
        input: &[u8],
    ) -> Result<usize, LoadError> {
        let now_us = io.clock().now_us();
        let consumed = match role {
            Role::Subscriber(subscriber) => self.read_subscriber(io, id, subscriber, input, now_us)?,
            Role::Publisher(_) | Role::Idle(_) => self.read_publisher(io, id, role, input)?,
        };
        if !self.replies.is_empty() {
            if let Some(output) = io.output(id) {
                output.extend_from_slice(&self.replies);
            }
            self.replies.clear();
        }
        Ok(consumed)
    }

    fn read_subscriber(
        &mut self,
        io: &mut Io,
        id: ConnectionToken,
        subscriber: u32,
        input: &[u8],
        now_us: u64,
    ) -> Result<usize, LoadError> {
        let mut rest = input;
        loop {
            while let Some((delivery, size)) = self.header.read(rest) {
                rest = &rest[size..];
                self.delivery(subscriber, &delivery, now_us);
            }
            let Some((packet, size)) = decode(rest, packets::VERSION, u32::MAX)? else { break };
            match packet {
                Packet::Publish(publish) => {
                    self.header.remember(&rest[..size], &publish);
                    self.delivery(subscriber, &Delivery::from(&publish), now_us);
                }
                Packet::Pubrel(ack) => self.reply(PacketKind::Pubcomp, ack.packet_id),
                other => self.answer(io, id, Role::Subscriber(subscriber), &other)?,
            }
            rest = &rest[size..];
        }
        self.tell_arrived();
        Ok(input.len() - rest.len())
    }

    fn read_publisher(
        &mut self,
        io: &mut Io,
        id: ConnectionToken,
        role: Role,
        input: &[u8],
    ) -> Result<usize, LoadError> {
        let (mut consumed, mut acknowledged) = (0, 0);
        while let Some((packet, size)) = decode(&input[consumed..], packets::VERSION, u32::MAX)? {
            consumed += size;
            self.packets += 1;
            match packet {
                Packet::Puback(_) | Packet::Pubcomp(_) => acknowledged += 1,
                Packet::Pubrec(ack) => self.reply(PacketKind::Pubrel, ack.packet_id),
                other => self.answer(io, id, role, &other)?,
            }
        }
        if let (Role::Publisher(stream), 1..) = (role, acknowledged) {
            self.publishers.acknowledged(stream, acknowledged);
        }
        Ok(consumed)
    }

    #[inline]
    fn delivery(&mut self, subscriber: u32, delivery: &Delivery, now_us: u64) {
        self.packets += 1;
        match delivery.qos {
            QoS::AtMostOnce => {}
            QoS::AtLeastOnce => self.reply(PacketKind::Puback, delivery.packet_id),
            QoS::ExactlyOnce => self.reply(PacketKind::Pubrec, delivery.packet_id),
        }
        let Some((stream, copies)) = self.books.enter(subscriber, delivery.payload, now_us) else { return };
        if stream != self.arrived.0 {
            self.tell_arrived();
            self.arrived.0 = stream;
        }
        self.arrived.1 += copies;
    }

    /// Tells the publisher what arrived of its stream in a row.
    #[inline]
    fn tell_arrived(&mut self) {
        let copies = std::mem::take(&mut self.arrived.1);
        if copies > 0 {
            self.publishers.delivered(self.arrived.0, copies);
        }
    }

    #[inline]
    fn reply(&mut self, packet: PacketKind, packet_id: u16) {
        Ack::success(packet_id).encode(packet, packets::VERSION, &mut self.replies);
    }

    #[cold]
    fn answer(
        &mut self,
        io: &mut Io,
        id: ConnectionToken,
        role: Role,
        answer: &Packet,
    ) -> Result<(), LoadError> {
        let packet = answer.kind();
        let reason = match answer {
            Packet::Connack(connack) => connack.reason,
            Packet::Suback(suback) => suback.reasons().next().unwrap_or(ReasonCode::UnspecifiedError),
            _ => return Err(LoadError::OutOfPlace { role, packet }),
        };
        if let (true, Role::Publisher(stream)) = (self.fleet.answered(io, id, packet, reason)?, role) {
            self.publishers.connected(stream, id);
        }
        Ok(())
    }

    fn step(&mut self, io: &mut Io, now_us: u64) -> Result<(), LoadError> {
        let mut wake_us = now_us + LOOK_US;
        match self.phase {
            Phase::Connecting => {
                self.fleet.open_more(io)?;
                if self.fleet.ready() == self.fleet.wanted() {
                    self.start(now_us);
                    wake_us = now_us;
                }
            }
            Phase::Running => wake_us = wake_us.min(self.run_on(io, now_us)),
            Phase::Draining if self.is_drained(now_us) => self.finish(io, now_us),
            Phase::Draining | Phase::Stopping => {}
        }
        io.wake_at_us(wake_us);
        self.look(now_us)
    }

    fn start(&mut self, now_us: u64) {
        self.outcome.connects = u64::from(self.fleet.ready());
        self.outcome.connects_per_s = self.fleet.connects_per_s();
        self.outcome.connect_latency = self.fleet.latency.percentiles();
        let from = now_us + self.plan.warmup.as_micros() as u64;
        self.books.window_us = from..from + self.plan.duration.as_micros() as u64;
        self.begun = (now_us, self.meter.read_cpu());
        self.enter(Phase::Running, now_us);
        self.publishers.start(now_us);
    }

    /// Sends what is due; returns when to go on at the latest.
    fn run_on(&mut self, io: &mut Io, now_us: u64) -> u64 {
        let window = self.books.window_us.clone();
        if self.measured_from_us == 0 && now_us >= window.start {
            self.measured_from_us = now_us;
            self.outcome.start = self.meter.read_cpu();
            self.outcome.measured_sent = self.publishers.sent();
            self.outcome.measured_received = self.books.delivered;
            self.outcome.late = self.publishers.late();
        }
        let next = self.publishers.send(io, now_us.min(window.end - 1));
        if now_us >= window.end {
            self.end_measuring(now_us);
            return now_us + SETTLE_US;
        }
        next.unwrap_or(u64::MAX).min(if now_us < window.start { window.start } else { window.end })
    }

    fn end_measuring(&mut self, now_us: u64) {
        self.outcome.end = self.meter.read();
        self.outcome.measured = Duration::from_micros(now_us - self.measured_from_us);
        self.outcome.measured_sent = self.publishers.sent() - self.outcome.measured_sent;
        self.outcome.measured_received = self.books.delivered - self.outcome.measured_received;
        self.outcome.sent = self.publishers.sent();
        self.outcome.unsent = self.publishers.unsent(now_us.min(self.books.window_us.end - 1));
        self.outcome.late = self.publishers.late() - self.outcome.late;
        self.enter(Phase::Draining, now_us);
    }

    fn missing(&self) -> u64 {
        let copies = u64::from(self.plan.shape.copies(self.plan.subscribers));
        (self.publishers.sent() * copies).saturating_sub(self.books.delivered)
    }

    fn is_drained(&self, now_us: u64) -> bool {
        let quiet_us = now_us - self.moved_us;
        let done = self.missing() == 0 && self.publishers.in_flight() == 0;
        quiet_us > if done { SETTLE_US } else { DRAIN_QUIET_US }
            || now_us - self.phase_since_us > DRAIN_MAX_US
    }

    fn finish(&mut self, io: &mut Io, now_us: u64) {
        let copies = u64::from(self.plan.shape.copies(self.plan.subscribers));
        self.outcome.expected = self.outcome.sent * copies;
        self.outcome.totals = self.books.totals(|stream| self.publishers.sent_by(stream));
        self.outcome.foreign = self.books.foreign + self.books.misdirected;
        self.outcome.latency = self.books.latency.percentiles();
        self.outcome.complete = self.books.broadcasts.as_ref().and_then(|b| b.complete.percentiles());
        self.outcome.drain = Duration::from_micros(self.moved_us.saturating_sub(self.phase_since_us));
        if self.outcome.drain > BACKLOG {
            self.measure_to_the_end();
        }
        self.outcome.drain_timed_out = now_us - self.phase_since_us > DRAIN_MAX_US;
        self.enter(Phase::Stopping, now_us);
        self.fleet.disconnect(io);
        io.stop();
    }

    /// A server that acknowledges first and delivers later has not done the measured time's work at its end: then rate
    /// and cost are those of the whole test, from the first message to the last arrival.
    fn measure_to_the_end(&mut self) {
        let (begun_us, reading) = self.begun;
        self.outcome.backlogged = true;
        self.outcome.measured = Duration::from_micros(self.moved_us - begun_us);
        self.outcome.measured_sent = self.outcome.sent;
        self.outcome.measured_received = self.books.delivered;
        self.outcome.start = reading;
        self.outcome.end = Reading { server_rss: self.outcome.end.server_rss, ..self.meter.read_cpu() };
    }

    /// Watches for movement, dropped messages and a dead server; reports progress.
    fn look(&mut self, now_us: u64) -> Result<(), LoadError> {
        let mark = self.books.delivered + u64::from(self.fleet.ready());
        if mark != self.moved_mark || self.moved_us == 0 {
            (self.moved_mark, self.moved_us) = (mark, now_us);
        }
        let still_us = now_us - self.moved_us;
        let may_drop = self.plan.qos == 0 && matches!(self.plan.load, Load::Closed { .. });
        if may_drop && self.phase == Phase::Running && still_us > WRITE_OFF_US && self.missing() > 0 {
            self.outcome.stalls += 1;
            self.publishers.write_off();
            self.moved_us = now_us;
        }
        if still_us > STALLED_US && (self.phase == Phase::Connecting || self.missing() > 0) {
            return Err(self.stalled());
        }
        let connections = (self.fleet.ready(), self.fleet.wanted());
        let latency = &self.books.latency;
        self.ticker.tick(now_us, self.phase.name(), connections, self.books.delivered, latency);
        if self.ticker.ticked_at(now_us) && self.meter.server_is_gone() {
            return Err(LoadError::ServerGone { phase: self.phase.name() });
        }
        Ok(())
    }

    fn stalled(&self) -> LoadError {
        LoadError::Stalled {
            seconds: STALLED_US / 1_000_000,
            phase: self.phase.name(),
            ready: self.fleet.ready(),
            wanted: self.fleet.wanted(),
            missing: self.missing(),
        }
    }
}

impl Player for Traffic<'_> {
    /// In a closed loop a server that writes each message alone would wake this thread for each, which costs both of
    /// them more than the message: little input is left to gather. A rated test never rests.
    fn rest(&mut self) -> Option<Duration> {
        let packets = std::mem::take(&mut self.packets);
        let closed = self.phase == Phase::Running && matches!(self.plan.load, Load::Closed { .. });
        (closed && (1..FEW_PACKETS).contains(&packets)).then_some(REST)
    }
}

impl Service for Traffic<'_> {
    fn accepted(&mut self, io: &mut Io, id: ConnectionToken, _listener: ListenerId) {
        // There is no listener.
        io.abort(id);
    }

    fn connected(&mut self, io: &mut Io, id: ConnectionToken) {
        self.fleet.connected(io, id);
    }

    fn received(&mut self, io: &mut Io, id: ConnectionToken, input: &[u8]) -> usize {
        let Some(role) = self.fleet.role_of(id) else { return input.len() };
        match self.read(io, id, role, input) {
            Ok(consumed) => consumed,
            Err(failure) => {
                self.fail(io, failure);
                input.len()
            }
        }
    }

    fn closed(&mut self, io: &mut Io, id: ConnectionToken, cause: Closed) {
        if self.phase == Phase::Stopping {
            return;
        }
        let role = self.fleet.role_of(id).unwrap_or(Role::Idle(id.slot() as u32));
        let server_gone = self.meter.server_is_gone();
        self.fail(io, LoadError::Closed { role, cause, phase: self.phase.name(), server_gone });
    }

    fn turn(&mut self, io: &mut Io) {
        let now_us = io.clock().now_us();
        if self.phase == Phase::Stopping {
            return;
        }
        if let Err(failure) = self.step(io, now_us) {
            self.fail(io, failure);
        }
    }
}
