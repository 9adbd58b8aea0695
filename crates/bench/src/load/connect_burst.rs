//! CONNBURST: a fixed number of slots, each connecting, waiting for CONNACK, disconnecting and beginning again.
//!
//! After DISCONNECT the server closes first, as MQTT 3.1.1 [3.14.4-2] has it do; the harness answers its end with
//! a reset. So no side keeps TIME_WAIT: a second of 30,000 connects would use up all ports for a minute.

use std::time::Duration;

use ferrymq_mqtt_proto::{Packet, PacketKind, decode};
use ferrymq_transport::{Closed, ConnectionToken, Io, ListenerId, Service};

use super::fleet::Destination;
use super::{LoadError, Observer, Outcome, Player, Role, packets, play};
use crate::latency::Latency;
use crate::meter::Meter;
use crate::progress::Ticker;
use crate::scenario::Plan;

const LOOK_US: u64 = 50_000;
const STALLED_US: u64 = 20_000_000;

/// Connects and disconnects for the plan's time. Bounded in time.
///
/// # Errors
/// When the server refuses, dies or stalls.
pub fn run_connect_burst(
    plan: &Plan,
    destination: Destination,
    meter: Meter,
    observer: Observer<'_>,
) -> Result<Outcome, LoadError> {
    let service = ConnectBurst {
        plan: *plan,
        destination,
        meter,
        ticker: Ticker::new(observer, meter),
        started: Vec::new(),
        open: 0,
        begun: 0,
        done: 0,
        begin_us: 0,
        measured_from_us: 0,
        moved: (0, 0),
        latency: Latency::default(),
        stopping: false,
        outcome: Outcome { before: meter.read(), ..Outcome::default() },
        failure: None,
    };
    let service = play(service)?;
    service.failure.map_or(Ok(service.outcome), Err)
}

struct ConnectBurst<'a> {
    plan: Plan,
    destination: Destination,
    meter: Meter,
    ticker: Ticker<'a>,
    /// When the connect of each connection slot began.
    started: Vec<u64>,
    /// Connections now, those ending included.
    open: u32,
    /// Connects begun and CONNACKs received.
    begun: u32,
    done: u64,
    begin_us: u64,
    measured_from_us: u64,
    /// `done` and the time it last changed.
    moved: (u64, u64),
    latency: Latency,
    stopping: bool,
    outcome: Outcome,
    failure: Option<LoadError>,
}

impl ConnectBurst<'_> {
    fn open_more(&mut self, io: &mut Io) -> Result<(), LoadError> {
        while self.open < self.plan.clients {
            let started_us = io.clock().now_us();
            let token = io.connect(self.destination.address, None)?;
            if self.started.len() <= token.slot() {
                self.started.resize(token.slot() + 1, 0);
            }
            self.started[token.slot()] = started_us;
            self.open += 1;
            self.begun = self.begun.wrapping_add(1);
        }
        Ok(())
    }

    fn read(&mut self, io: &mut Io, id: ConnectionToken, input: &[u8]) -> Result<usize, LoadError> {
        let Some((packet, _)) = decode(input, packets::VERSION, u32::MAX)? else { return Ok(0) };
        let role = Role::Idle(id.slot() as u32);
        let Packet::Connack(connack) = packet else {
            return Err(LoadError::OutOfPlace { role, packet: packet.kind() });
        };
        if connack.reason.is_error() {
            return Err(LoadError::Refused { role, packet: PacketKind::Connack, code: connack.reason as u8 });
        }
        self.done += 1;
        if self.measured_from_us > 0 {
            self.latency.record(io.clock().now_us().saturating_sub(self.started[id.slot()]));
        }
        if let Some(output) = io.output(id) {
            packets::disconnect(output.buffer());
        }
        io.reset_at_end(id);
        Ok(input.len())
    }

    fn step(&mut self, io: &mut Io, now_us: u64) -> Result<(), LoadError> {
        if self.begin_us == 0 {
            (self.begin_us, self.moved.1) = (now_us, now_us);
        }
        let from_us = self.begin_us + self.plan.warmup.as_micros() as u64;
        if self.measured_from_us == 0 && now_us >= from_us {
            self.measured_from_us = now_us;
            self.outcome.start = self.meter.read_cpu();
            self.outcome.connects = self.done;
        }
        if now_us >= from_us + self.plan.duration.as_micros() as u64 {
            self.finish(io, now_us);
            return Ok(());
        }
        self.open_more(io)?;
        io.wake_at_us(now_us + LOOK_US);
        self.look(now_us)
    }

    fn finish(&mut self, io: &mut Io, now_us: u64) {
        self.outcome.end = self.meter.read();
        self.outcome.measured = Duration::from_micros(now_us - self.measured_from_us);
        self.outcome.connects = self.done - self.outcome.connects;
        self.outcome.connects_per_s = self.outcome.connects as f64 / self.outcome.measured.as_secs_f64();
        self.outcome.connect_latency = self.latency.percentiles();
        self.stopping = true;
        io.stop();
    }

    fn look(&mut self, now_us: u64) -> Result<(), LoadError> {
        if self.moved.0 != self.done {
            self.moved = (self.done, now_us);
        }
        if now_us - self.moved.1 > STALLED_US {
            return Err(LoadError::Stalled {
                seconds: STALLED_US / 1_000_000,
                phase: "connecting",
                ready: 0,
                wanted: self.plan.clients,
                missing: 0,
            });
        }
        self.ticker.tick(now_us, "connecting", (self.open, self.plan.clients), self.done, &self.latency);
        Ok(())
    }

    fn fail(&mut self, io: &mut Io, failure: LoadError) {
        self.failure.get_or_insert(failure);
        self.stopping = true;
        io.stop();
    }
}

impl Player for ConnectBurst<'_> {
    fn rest(&mut self) -> Option<Duration> {
        None
    }
}

impl Service for ConnectBurst<'_> {
    fn accepted(&mut self, io: &mut Io, id: ConnectionToken, _listener: ListenerId) {
        // There is no listener.
        io.abort(id);
    }

    fn connected(&mut self, io: &mut Io, id: ConnectionToken) {
        self.destination.say_connect(io, id, Role::Idle(id.slot() as u32), true);
    }

    fn received(&mut self, io: &mut Io, id: ConnectionToken, input: &[u8]) -> usize {
        match self.read(io, id, input) {
            Ok(consumed) => consumed,
            Err(failure) => {
                self.fail(io, failure);
                input.len()
            }
        }
    }

    fn closed(&mut self, io: &mut Io, id: ConnectionToken, cause: Closed) {
        self.open = self.open.saturating_sub(1);
        if cause != Closed::ByPeer && !self.stopping {
            let (role, server_gone) = (Role::Idle(id.slot() as u32), self.meter.server_is_gone());
            self.fail(io, LoadError::Closed { role, cause, phase: "connecting", server_gone });
        }
    }

    fn turn(&mut self, io: &mut Io) {
        let now_us = io.clock().now_us();
        if self.stopping {
            return;
        }
        if let Err(failure) = self.step(io, now_us) {
            self.fail(io, failure);
        }
    }
}
