//! What a queue manager holds, counted anew from its parts: the figures that are kept running must say the same.

use alloc::boxed::Box;
use alloc::vec::Vec;

use ferrymq_message::Message;

use crate::client_session::ClientSession;
use crate::queue_manager::QueueManager;
use crate::{ConnectionId, DeliveryTag, Statistics};

/// Everything that a queue manager holds, at one moment. Costs as much as there is: for tests and for diagnosis.
#[derive(Clone, Debug)]
pub struct Audit {
    /// The levels (sessions, queued, bytes) counted anew; the counters as they are.
    pub figures: Statistics,
    /// In no particular order.
    pub sessions: Vec<SessionAudit>,
    /// Retained messages, expired ones that nobody asked for included.
    pub retained: Vec<Message>,
    /// Invariants that do not hold; empty unless there is a bug.
    pub faults: Vec<&'static str>,
}

/// One client session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionAudit {
    /// Whose.
    pub client_id: Box<str>,
    /// The number of its queue, by which records name it.
    pub queue: u64,
    /// `None` while the client is away.
    pub connection: Option<ConnectionId>,
    /// Whether it survives a restart.
    pub logged: bool,
    /// Seconds that it outlives its connection.
    pub expiry_s: u32,
    /// When its connection was lost; meaningless while it has one.
    pub detached_at: ferrymq_message::Timestamp,
    /// When its will is published unless its client comes back; `None` if it has none.
    pub will_due_at: Option<ferrymq_message::Timestamp>,
    /// Messages that have no tag yet.
    pub waiting: usize,
    /// Of both, those that records hold.
    pub recorded: usize,
    /// Deliveries that have a tag and are not settled.
    pub unsettled: usize,
    /// Filter, granted QoS, identifier (0: none) and "no local" of each subscription, sorted by filter.
    pub subscriptions: Vec<(Box<str>, ferrymq_message::QoS, u32, bool)>,
    /// QoS 2 messages of the client that it has not released yet.
    pub unreleased: Vec<DeliveryTag>,
}

impl QueueManager {
    /// Counts everything anew.
    pub fn audit(&self) -> Audit {
        let mut audit = Audit {
            figures: self.statistics(),
            sessions: Vec::new(),
            retained: Vec::new(),
            faults: Vec::new(),
        };
        self.retained.for_each(|_, retained| audit.retained.push(retained.message.clone()));
        let figures = &mut audit.figures;
        figures.retained = audit.retained.len() as u64;
        figures.retained_bytes = audit.retained.iter().map(|message| message.memory() as u64).sum();
        (figures.sessions, figures.connections, figures.subscriptions) = (0, 0, 0);
        (figures.queued, figures.resident_bytes, figures.live_log_bytes) = (0, 0, 0);
        for session in self.sessions.iter() {
            audit.add(session);
        }
        audit.figures.live_log_bytes += self.live_state_bytes();
        audit
    }
}

impl Audit {
    fn add(&mut self, session: &ClientSession) {
        let figures = &mut self.figures;
        figures.sessions += 1;
        figures.connections += u64::from(session.connection.is_some());
        figures.subscriptions += session.subscriptions.len() as u64;
        for entry in session.entries() {
            figures.queued += 1;
            figures.resident_bytes += entry.resident_bytes();
            figures.live_log_bytes += if entry.is_logged() { u64::from(entry.size) } else { 0 };
        }
        self.add_faults(session);
        self.sessions.push(SessionAudit::new(session));
    }

    fn add_faults(&mut self, session: &ClientSession) {
        let Some(outgoing) = &session.outgoing else { return };
        if !outgoing.queue.iter().is_sorted_by(|a, b| a.sequence < b.sequence) {
            self.faults.push("a queue is out of order");
        }
        if !outgoing.window.is_consistent() {
            self.faults.push("a delivery window miscounts");
        }
        if session.entries().any(|entry| entry.is_logged() && !session.logged) {
            self.faults.push("a logged entry on a session that is not");
        }
    }
}

impl SessionAudit {
    fn new(session: &ClientSession) -> SessionAudit {
        let outgoing = session.outgoing.as_ref();
        let subscriptions = session.subscriptions.iter();
        SessionAudit {
            client_id: session.client_id.clone(),
            queue: session.queue.0,
            connection: session.connection,
            logged: session.logged,
            expiry_s: session.expiry_s,
            detached_at: session.detached_at,
            will_due_at: session.will_due_at(),
            recorded: session.entries().filter(|entry| entry.is_logged()).count(),
            waiting: outgoing.map_or(0, |outgoing| outgoing.queue.len()),
            unsettled: outgoing.map_or(0, |outgoing| outgoing.window.len()),
            subscriptions: subscriptions
                .map(|s| (s.filter.clone(), s.qos, s.identifier, s.no_local))
                .collect(),
            unreleased: session.incoming.iter().flat_map(|all| all.iter().map(|u| u.tag)).collect(),
        }
    }
}
