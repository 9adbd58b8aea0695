//! A queue manager as the loop sees it: bytes from clients become commands, a turn of the engine applies them, and its
//! effects become bytes again. All on one thread; this file only carries between the three.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ferrymq_engine::{Command, Engine, EngineError};
use ferrymq_message::Timestamp;
use ferrymq_mqtt::{Figures, MqttService, SysTopics};
use ferrymq_transport::{Closed, ConnectionToken, Io, ListenerId, Service, ServiceTimer};

/// When the engine or the `$SYS` topics have something to do though nothing happens.
const DUE: ServiceTimer = ServiceTimer(0);

/// How soon to look again whether a client that was behind with reading has caught up; mostly its socket says so first.
const CLOGGED_CHECK_US: u64 = 20_000;

/// While the disk is behind, clients count as alive for as long again.
const STALL_GRACE_MS: u64 = 1_000;

/// An engine and the MQTT service in front of it.
pub struct QueueManagerService {
    engine: Engine,
    mqtt: MqttService,
    sys_topics: SysTopics,
    /// For the engine's next turn, in order.
    commands: Vec<Command>,
    /// What [`DUE`] is armed for.
    due: Timestamp,
    stop_asked: Arc<AtomicBool>,
    /// Why the engine can't go on: nothing is done any more then.
    failure: Option<EngineError>,
}

impl QueueManagerService {
    /// Connects the two. When `stop_asked` is set and the loop woken, all ends in order.
    pub fn new(
        engine: Engine,
        mqtt: MqttService,
        now: Timestamp,
        stop_asked: Arc<AtomicBool>,
    ) -> QueueManagerService {
        QueueManagerService {
            sys_topics: SysTopics::new(mqtt.settings().sys_interval_s, now),
            engine,
            mqtt,
            commands: Vec::new(),
            due: Timestamp::NEVER,
            stop_asked,
            failure: None,
        }
    }

    /// Makes durable what waits for it, after the loop has ended.
    ///
    /// # Errors
    /// When the engine has failed, now or before.
    pub fn close(self) -> Result<(), EngineError> {
        match self.failure {
            Some(failure) => Err(failure),
            None => self.engine.close(),
        }
    }

    fn publish_figures(&mut self, io: &Io, now: Timestamp) {
        if now >= self.sys_topics.next() {
            let queue_manager = self.engine.statistics();
            let figures = Figures {
                queue_manager: &queue_manager,
                service: self.mqtt.statistics(),
                transport: io.statistics(),
            };
            self.sys_topics.publish(&figures, now, &mut self.commands);
        }
    }

    /// Arms the timer for what is due next; some effects have led to commands, which are due at once.
    fn arm(&mut self, io: &mut Io) {
        if !self.commands.is_empty() {
            io.wake_at_us(io.now_us());
        }
        if self.mqtt.has_clogged() {
            io.wake_at_us(io.now_us() + CLOGGED_CHECK_US);
        }
        let due = self.engine.next_timeout().unwrap_or(Timestamp::NEVER).min(self.sys_topics.next());
        if due == self.due {
            return;
        }
        self.due = due;
        match due {
            Timestamp::NEVER => io.clear_service_timer(DUE),
            due => io.set_service_timer(DUE, due.0),
        }
    }

    /// Nothing may be acknowledged any more, so no connection is of use.
    #[cold]
    fn fail(&mut self, io: &mut Io, failure: EngineError) {
        // Now: the end itself waits for the last words to the clients.
        tracing::error!("{failure}");
        self.mqtt.shutdown(io, &mut self.commands);
        self.commands.clear();
        self.failure = Some(failure);
        io.stop();
    }
}

impl Service for QueueManagerService {
    fn accepted(&mut self, io: &mut Io, id: ConnectionToken, _listener: ListenerId) {
        let now = now(io);
        self.mqtt.accepted(io, id, now);
    }

    fn received(&mut self, io: &mut Io, id: ConnectionToken, input: &[u8]) -> usize {
        let now = now(io);
        self.mqtt.received(io, id, input, now, &mut self.commands)
    }

    fn closed(&mut self, _io: &mut Io, id: ConnectionToken, cause: Closed) {
        self.mqtt.closed(id, cause, &mut self.commands);
    }

    fn timer(&mut self, io: &mut Io, id: ConnectionToken) {
        if self.engine.is_full() {
            // What the client sent may lie unread because of us.
            return io.set_timer(id, io.now_ms() + STALL_GRACE_MS);
        }
        let now = now(io);
        self.mqtt.timer(io, id, now, &mut self.commands);
    }

    fn service_timer(&mut self, _io: &mut Io, _timer: ServiceTimer) {
        // It only had to wake the loop: the turn does what is due. It is off now.
        self.due = Timestamp::NEVER;
    }

    fn woken(&mut self, io: &mut Io) {
        if self.stop_asked.swap(false, Ordering::AcqRel) {
            self.mqtt.shutdown(io, &mut self.commands);
            io.stop();
        }
    }

    fn turn(&mut self, io: &mut Io) {
        if self.failure.is_some() {
            return;
        }
        let now = now(io);
        self.publish_figures(io, now);
        match self.engine.turn(now, &mut self.commands) {
            Ok(outbox) => self.mqtt.perform(io, outbox, now, &mut self.commands),
            Err(failure) => return self.fail(io, failure),
        }
        self.arm(io);
    }

    fn may_read(&self) -> bool {
        !self.engine.is_full() && self.mqtt.may_read()
    }
}

fn now(io: &Io) -> Timestamp {
    Timestamp(io.now_ms())
}
