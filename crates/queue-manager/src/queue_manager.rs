//! The queue manager as a whole: what it owns, and which room handles which command.

use alloc::vec::Vec;

use ferrymq_message::Timestamp;
use ferrymq_topic::{RetainedTree, TopicLimits};

use crate::pacing::Pacing;
use crate::record::{PutTarget, Record};
use crate::retained::Retained;
use crate::session_table::{SessionKey, SessionTable};
use crate::subscription_table::SubscriptionTable;
use crate::timer_queue::TimerQueue;
use crate::{Command, ConnectionId, Effect, Journal, Limits, Outbox, Position, Statistics};

/// Queues, subscriptions and client sessions of one queue manager.
#[derive(Debug)]
pub struct QueueManager {
    pub(crate) limits: Limits,
    /// False: nothing survives a restart, no record is written.
    pub(crate) logged: bool,
    /// The log has no room for messages.
    pub(crate) storage_full: bool,
    pub(crate) sessions: SessionTable,
    pub(crate) subscriptions: SubscriptionTable,
    pub(crate) retained: RetainedTree<Retained>,
    pub(crate) timers: TimerQueue,
    /// Everything up to here, this record included, is durable.
    pub(crate) durable: Position,
    /// Sessions with deliveries that wait for their records.
    pub(crate) awaiting: Vec<SessionKey>,
    /// Connections whose connect waits for its record, by position.
    pub(crate) connecting: Vec<(Position, ConnectionId)>,
    /// The position that the last held effect waits for; held effects leave in order.
    pub(crate) last_held: Position,
    pub(crate) pacing: Pacing,
    /// Bytes sent since a session began to be pumped.
    pub(crate) sent_bytes: usize,
    /// Some session has more to send in the next turn.
    pub(crate) unfinished: bool,
    /// Of the last record that cleared a retained message.
    pub(crate) last_cleared: Position,
    /// Of the last record that ended a session.
    pub(crate) last_ended: Position,
    pub(crate) next_queue: u64,
    pub(crate) statistics: Statistics,
    /// The record being written, reused.
    pub(crate) scratch: Vec<u8>,
    /// The record being read, reused.
    pub(crate) read_scratch: Vec<u8>,
    /// Logged targets of the message being put, reused, with their sessions beside them.
    pub(crate) put_targets: Vec<PutTarget>,
    pub(crate) put_sessions: Vec<SessionKey>,
}

/// Bytes that a session's or a subscription's record takes in the log, with a name of 50 bytes.
const STATE_RECORD: u64 = 80;

/// What a turn works with.
pub(crate) struct Turn<'a> {
    pub now: Timestamp,
    pub journal: &'a mut dyn Journal,
    pub out: &'a mut Outbox,
}

impl QueueManager {
    /// An empty queue manager of which nothing survives a restart. `seed` is random, so that nobody can choose topics
    /// that collide in its tables. (One that survives is made by [`crate::Restart`].)
    pub fn in_memory(limits: Limits, seed: u64) -> QueueManager {
        QueueManager::new(limits, false, seed)
    }

    /// With `logged`, persistent state goes to the journal and effects wait until the engine says by
    /// [`QueueManager::durable`] that it got there.
    pub(crate) fn new(limits: Limits, logged: bool, seed: u64) -> QueueManager {
        QueueManager {
            limits,
            logged,
            storage_full: false,
            sessions: SessionTable::default(),
            subscriptions: SubscriptionTable::with_seed(seed),
            retained: RetainedTree::with_seed(seed),
            timers: TimerQueue::default(),
            durable: if logged { Position::default() } else { Position::EVERYTHING },
            awaiting: Vec::new(),
            connecting: Vec::new(),
            last_held: Position::default(),
            pacing: Pacing::default(),
            sent_bytes: 0,
            unfinished: false,
            last_cleared: Position::default(),
            last_ended: Position::default(),
            next_queue: 1,
            statistics: Statistics::default(),
            scratch: Vec::new(),
            read_scratch: Vec::new(),
            put_targets: Vec::new(),
            put_sessions: Vec::new(),
        }
    }

    /// Carries out one command. Commands of connections that the queue manager has closed are ignored.
    pub fn apply(&mut self, command: Command, now: Timestamp, journal: &mut dyn Journal, out: &mut Outbox) {
        let turn = &mut Turn { now, journal, out };
        self.pacing.met = None;
        match command {
            Command::Publish(publish) => self.publish(publish, turn),
            Command::Settle { connection, tag, settlement } => self.settle(connection, tag, settlement, turn),
            Command::Release { connection, tag } => self.release(connection, tag, turn),
            Command::Connect(connect) => self.connect(*connect, turn),
            Command::Subscribe(subscribe) => self.subscribe(*subscribe, turn),
            Command::Unsubscribe(unsubscribe) => self.unsubscribe(*unsubscribe, turn),
            Command::Disconnect(disconnect) => self.disconnect(disconnect, turn),
            Command::Lost { connection } => self.lost(connection, turn),
            Command::Flow { connection, open } => self.flow(connection, open, turn),
        }
    }

    /// Every record up to this position, it included, is durable: what waited for it goes on. To be called each turn,
    /// with [`Position::EVERYTHING`] where there is no log: it also sends what was left by the last turn.
    pub fn durable(
        &mut self,
        position: Position,
        now: Timestamp,
        journal: &mut dyn Journal,
        out: &mut Outbox,
    ) {
        self.durable = self.durable.max(position);
        self.unfinished = false;
        let turn = &mut Turn { now, journal, out };
        self.make_connections_ready(turn);
        for key in core::mem::take(&mut self.awaiting) {
            if self.sessions.get(key).is_some() {
                self.sessions[key].awaiting = false;
                self.pump(key, turn);
            }
        }
    }

    /// Whether the journal is short of room: publishers are refused what would have to be kept, so that what is left
    /// serves those who take messages away.
    pub fn set_storage_full(&mut self, full: bool) {
        self.storage_full = full;
    }

    /// When another turn is due though nothing happens.
    pub fn next_timeout(&self) -> Option<Timestamp> {
        let at_once = self.unfinished.then_some(Timestamp(0));
        self.timers.next().into_iter().chain(self.next_paced()).chain(at_once).min()
    }

    /// Publishes the wills and ends the sessions that are due.
    pub fn handle_timeout(&mut self, now: Timestamp, journal: &mut dyn Journal, out: &mut Outbox) {
        let turn = &mut Turn { now, journal, out };
        self.run_timers(turn);
        self.release_paced(turn);
    }

    pub(crate) fn run_timers(&mut self, turn: &mut Turn<'_>) {
        while let Some((key, timer)) = self.timers.pop_due(turn.now) {
            self.timer_fired(key, timer, turn);
        }
    }

    /// What was counted, and how much there is.
    pub fn statistics(&self) -> Statistics {
        Statistics {
            sessions: self.sessions.len() as u64,
            connections: self.sessions.connections() as u64,
            subscriptions: self.subscriptions.len() as u64,
            retained: self.retained.len() as u64,
            live_log_bytes: self.statistics.live_log_bytes + self.live_state_bytes(),
            ..self.statistics
        }
    }

    /// An estimate of what the records of sessions, subscriptions and retained messages take in the log.
    pub(crate) fn live_state_bytes(&self) -> u64 {
        let lasting = self.sessions.logged() as u64;
        if !self.logged {
            return 0;
        }
        self.statistics.retained_bytes + (lasting + self.subscriptions.len() as u64) * STATE_RECORD
    }

    /// The limits that it was made with.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    pub(crate) fn topic_limits(&self) -> TopicLimits {
        TopicLimits { length: self.limits.topic_length, levels: u32::from(self.limits.topic_levels) }
    }

    /// Appends a record and says where it stands; position 0 where nothing is logged.
    pub(crate) fn log(&mut self, record: &Record<'_>, turn: &mut Turn<'_>) -> Position {
        if !self.logged {
            return Position::default();
        }
        record.encode(&mut self.scratch);
        turn.journal.append(&self.scratch)
    }

    /// Sends an answer on a session's connection: at once, or when `after` and all answers before it are durable.
    pub(crate) fn answer(&mut self, key: SessionKey, after: Position, effect: Effect, turn: &mut Turn<'_>) {
        let session = &mut self.sessions[key];
        let after = after.max(session.confirm_after);
        if after <= self.durable {
            turn.out.effects.push(effect);
            return;
        }
        self.last_held = self.last_held.max(after);
        session.confirm_after = self.last_held;
        turn.out.held.push((self.last_held, effect));
    }

    /// Has the session pumped when more records are durable.
    pub(crate) fn await_durability(&mut self, key: SessionKey) {
        if !core::mem::replace(&mut self.sessions[key].awaiting, true) {
            self.awaiting.push(key);
        }
    }
}
