//! The naive model: who has a session, who subscribes to what, who may and who must get which message.
//!
//! It follows every command at once. What a crash may undo is kept as a history since the last acknowledgement: the
//! restarted queue manager must hold one of its values.

use std::collections::{BTreeMap, HashMap};

use ferrymq_message::{QoS, Timestamp};

/// Index of a message; `u32::MAX` names none.
pub type MessageId = u32;
/// Index of a session of one client, from its making to its end.
pub type Incarnation = usize;

#[derive(Clone, Debug)]
pub struct Published {
    pub topic: &'static str,
    pub qos: QoS,
    pub publisher: usize,
    pub retain: bool,
    pub clears: bool,
    pub expires: Timestamp,
    pub is_will: bool,
    pub confirmed: bool,
    /// Not confirmed when the queue manager crashed: it may be there or not.
    pub doubtful: bool,
    pub refused: bool,
    /// Sent again when it had expired already, or after it was refused: it may come behind younger ones.
    pub late: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sub {
    pub qos: QoS,
    pub identifier: u32,
    pub no_local: bool,
}

/// What one session may get of one message.
#[derive(Clone, Debug, Default)]
pub struct Claim {
    /// Copies of subscriptions of its own.
    pub direct: u32,
    /// Copies as answers to subscribes.
    pub replies: u32,
    /// Copies that a group may give to it.
    pub shared: u32,
    pub required: bool,
    pub qos: Vec<QoS>,
    /// Deliveries so far, and those not marked as repeated.
    pub delivered: u32,
    pub unmarked: u32,
    /// QoS 2: how often its application got it.
    pub taken: u32,
}

impl Claim {
    pub fn copies(&self) -> u32 {
        self.direct + self.replies + self.shared
    }
}

#[derive(Debug, Default)]
pub struct Session {
    pub client: usize,
    pub queue: u64,
    pub connected: bool,
    pub expiry_s: u32,
    pub detached_at: Timestamp,
    pub subs: BTreeMap<&'static str, Sub>,
    /// Per filter, what it was since the last acknowledgement, each with the number of its request.
    pub history: BTreeMap<&'static str, Vec<(u64, Option<Sub>)>>,
    pub will: Option<(MessageId, u32)>,
    pub last_will: MessageId,
    pub claims: HashMap<MessageId, Claim>,
}

impl Session {
    pub fn expires_at(&self) -> Timestamp {
        if self.expiry_s == u32::MAX {
            Timestamp::NEVER
        } else {
            self.detached_at.plus_seconds(self.expiry_s)
        }
    }

    fn will_due_at(&self) -> Option<Timestamp> {
        let (_, delay_s) = self.will?;
        Some(self.detached_at.plus_seconds(delay_s).min(self.expires_at()))
    }
}

pub struct Shadow {
    pub messages: Vec<Published>,
    pub sessions: Vec<Session>,
    /// Per client, its session.
    pub alive: Vec<Option<Incarnation>>,
    /// Per client, the sessions that a crash may leave, oldest first, each with the connection that made it so.
    pub alive_history: Vec<Vec<(u64, Option<Incarnation>)>>,
    pub retained: BTreeMap<&'static str, MessageId>,
    pub retained_history: BTreeMap<&'static str, Vec<(MessageId, Option<MessageId>)>>,
    pub wills: u64,
}

pub const NOBODY: u64 = 0;

impl Shadow {
    pub fn new(clients: usize) -> Shadow {
        Shadow {
            messages: Vec::new(),
            sessions: Vec::new(),
            alive: vec![None; clients],
            alive_history: vec![vec![(NOBODY, None)]; clients],
            retained: BTreeMap::new(),
            retained_history: BTreeMap::new(),
            wills: 0,
        }
    }

    pub fn session(&mut self, client: usize) -> Option<&mut Session> {
        self.alive[client].map(|at| &mut self.sessions[at])
    }

    /// The session of a client's new connection; whether it is an old one.
    pub fn connect(
        &mut self,
        client: usize,
        connection: u64,
        clean: bool,
        expiry_s: u32,
        now: Timestamp,
    ) -> bool {
        self.pass(now);
        self.detach(client, true, now);
        if clean {
            self.end(client);
        }
        let found = self.alive[client].is_some();
        if !found {
            self.sessions.push(Session { client, ..Session::default() });
            self.alive[client] = Some(self.sessions.len() - 1);
        }
        let at = self.alive[client].unwrap_or_default();
        self.sessions[at].connected = true;
        self.sessions[at].expiry_s = expiry_s;
        self.sessions[at].will = None;
        let survives = Some(at).filter(|_| expiry_s > 0);
        self.alive_history[client].push((connection, survives));
        found
    }

    pub fn detach(&mut self, client: usize, with_will: bool, now: Timestamp) {
        let Some(session) = self.session(client).filter(|session| session.connected) else { return };
        session.connected = false;
        session.detached_at = now;
        if !with_will {
            session.will = None;
        }
        self.pass(now);
    }

    fn end(&mut self, client: usize) {
        self.publish_will(client);
        if self.alive[client].take().is_some() {
            self.alive_history[client].push((NOBODY, None));
        }
    }

    /// Wills and ends that are due.
    pub fn pass(&mut self, now: Timestamp) {
        for client in 0..self.alive.len() {
            let Some(session) = self.session(client).filter(|session| !session.connected) else { continue };
            let (will, end) = (session.will_due_at(), session.expires_at());
            if will.is_some_and(|due| due <= now) {
                self.publish_will(client);
            }
            if end <= now {
                self.end(client);
            }
        }
    }

    fn publish_will(&mut self, client: usize) {
        let Some((will, _)) = self.session(client).and_then(|session| session.will.take()) else { return };
        self.wills += 1;
        self.publish(will);
    }

    /// A message is distributed.
    pub fn publish(&mut self, id: MessageId) {
        let message = self.messages[id as usize].clone();
        for at in self.alive.iter().flatten() {
            let session = &mut self.sessions[*at];
            let own = session.client == message.publisher;
            let direct = session.subs.iter().filter(|(filter, sub)| {
                group_of(filter).is_none() && matches(filter, message.topic) && !(own && sub.no_local)
            });
            let highest = direct.map(|(_, sub)| sub.qos).max();
            let shared: Vec<_> = (session.subs.iter())
                .filter(|(f, _)| group_of(f).is_some_and(|f| matches(f, message.topic)))
                .map(|(_, sub)| sub.qos)
                .collect();
            if highest.is_none() && shared.is_empty() {
                continue;
            }
            let keeps = session.expiry_s > 0;
            let claim = session.claims.entry(id).or_default();
            if let Some(highest) = highest {
                let qos = highest.min(message.qos);
                claim.direct += 1;
                claim.qos.push(qos);
                claim.required = keeps
                    && qos > QoS::AtMostOnce
                    && message.expires == Timestamp::NEVER
                    && !message.is_will
                    && !message.clears;
            }
            for qos in shared {
                claim.shared += 1;
                claim.qos.push(qos.min(message.qos));
            }
        }
    }

    pub fn retain(&mut self, id: MessageId, kept: bool) {
        let message = &self.messages[id as usize];
        let topic = message.topic;
        if message.clears {
            self.retained.remove(topic);
        } else if kept {
            self.retained.insert(topic, id);
        } else {
            return;
        }
        let value = self.retained.get(topic).copied();
        let history = self.retained_history.entry(topic).or_insert_with(|| vec![(MessageId::MAX, None)]);
        history.push((id, value));
    }

    /// The message's publisher was told that it is safe: older retained ones of its topic are history.
    pub fn confirm(&mut self, id: MessageId) {
        self.messages[id as usize].confirmed = true;
        if let Some(history) = self.retained_history.get_mut(self.messages[id as usize].topic)
            && let Some(at) = history.iter().position(|(by, _)| *by == id)
        {
            history.drain(..at);
        }
    }

    /// A client was told that it is connected.
    pub fn connected(&mut self, client: usize, connection: u64) {
        let history = &mut self.alive_history[client];
        if let Some(at) = history.iter().position(|(by, _)| *by == connection) {
            history.drain(..at);
        }
    }

    pub fn set_subscription(&mut self, client: usize, filter: &'static str, sub: Option<Sub>, request: u64) {
        let Some(session) = self.session(client) else { return };
        match sub {
            Some(sub) => session.subs.insert(filter, sub),
            None => session.subs.remove(filter),
        };
        session.history.entry(filter).or_insert_with(|| vec![(0, None)]).push((request, sub));
    }

    /// A client was answered: what its filters were before is history.
    pub fn subscribed(&mut self, at: Incarnation, request: u64) {
        for history in self.sessions[at].history.values_mut() {
            if let Some(at) = history.iter().rposition(|(by, _)| *by == request) {
                history.drain(..at);
            }
        }
    }
}

pub fn group_of(filter: &str) -> Option<&str> {
    filter.strip_prefix("$share/")?.split_once('/').map(|(_, filter)| filter)
}

/// MQTT 4.7, as plainly as can be.
pub fn matches(filter: &str, topic: &str) -> bool {
    let (mut filter, mut topic) = (filter.split('/'), topic.split('/'));
    loop {
        match (filter.next(), topic.next()) {
            (Some("#"), _) | (None, None) => return true,
            (Some(level), Some(name)) if level == "+" || level == name => {}
            _ => return false,
        }
    }
}
