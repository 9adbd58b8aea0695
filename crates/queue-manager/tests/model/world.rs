//! A queue manager, its disk and its clients; what it does is compared with the shadow.

use std::collections::{HashMap, VecDeque};

use ferrymq_message::{Descriptor, Message, Persistence, QoS, Timestamp};
use ferrymq_queue_manager::{
    Command, Effect, Limits, Outbox, Outcome, Position, QueueManager, Restart, Stage, Statistics, Target,
};

use crate::device::Device;
use crate::disk::{Disk, Fault};
use crate::rng::Rng;
use crate::shadow::{Incarnation, MessageId, Published, Shadow};

/// What a client waits for: confirmations in the order of its messages, other answers in the order of its requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    Confirm(Stage, u16, MessageId),
    Subscribed(u64),
    Unsubscribed(u64),
}

/// A live connection.
#[derive(Debug)]
pub struct Link {
    pub client: usize,
    pub incarnation: Incarnation,
    pub connected: bool,
    pub present: bool,
    pub answers: VecDeque<Answer>,
    pub seen: HashMap<MessageId, u32>,
}

type OrderClass = (Incarnation, usize, QoS, QoS);

pub struct World {
    pub rng: Rng,
    pub queue_manager: QueueManager,
    pub disk: Disk,
    pub limits: Limits,
    pub logged: bool,
    /// Whether there are shared subscriptions: what may go where is less certain then.
    pub shares: bool,
    pub now: Timestamp,
    pub held: VecDeque<(Position, Effect)>,
    pub links: HashMap<u64, Link>,
    pub devices: Vec<Device>,
    pub shadow: Shadow,
    pub resuming: Vec<usize>,
    pub last_connection: u64,
    pub last_request: u64,
    pub crashes: u32,
    pub violation: Option<String>,
    /// What was done, if anybody wants to know.
    pub trace: Option<Vec<String>>,
    last_of_class: HashMap<OrderClass, MessageId>,
}

impl World {
    pub fn new(seed: u64, fault: Fault, traced: bool) -> World {
        let mut rng = Rng::new(seed);
        let clients = 2 + rng.below(3);
        let logged = rng.chance(85);
        let shares = rng.chance(50);
        let limits = limits(&mut rng);
        World {
            queue_manager: match logged {
                true => Restart::new(limits.clone(), 1).finish(Timestamp(0)),
                false => QueueManager::in_memory(limits.clone(), 1),
            },
            disk: Disk::new(fault),
            limits,
            logged,
            shares,
            now: Timestamp(1_000_000),
            held: VecDeque::new(),
            links: HashMap::new(),
            devices: (0..clients).map(|_| Device::default()).collect(),
            shadow: Shadow::new(clients),
            resuming: Vec::new(),
            last_connection: 0,
            last_request: 0,
            crashes: 0,
            violation: None,
            trace: traced.then(Vec::new),
            last_of_class: HashMap::new(),
            rng,
        }
    }

    pub fn fail(&mut self, what: String) {
        self.note(|| format!("VIOLATION {what}"));
        self.violation.get_or_insert(what);
    }

    pub fn note(&mut self, what: impl FnOnce() -> String) {
        if let Some(trace) = &mut self.trace {
            trace.push(what());
        }
    }

    /// Carries out a command. The effects are looked at by [`World::take`], once the shadow has followed.
    pub fn apply(&mut self, command: Command) -> (Outbox, Statistics) {
        self.note(|| match &command {
            Command::Publish(publish) => {
                let (descriptor, id) = (publish.message.descriptor(), id_of(&publish.message));
                let (topic, qos, retain) = (publish.message.topic(), descriptor.qos, descriptor.retain);
                format!("publish {id:?} {:?} {:?} {topic} {qos:?} {retain}", publish.connection, publish.tag)
            }
            _ => format!("{command:?}"),
        });
        let before = self.queue_manager.statistics();
        let mut out = Outbox::default();
        self.queue_manager.apply(command, self.now, &mut self.disk, &mut out);
        (out, before)
    }

    pub fn take(&mut self, out: Outbox) {
        for effect in out.effects {
            self.perform(effect, &out.targets, false);
        }
        self.held.extend(out.held);
        if self.disk.fault == Fault::Hurries {
            self.release(Position::EVERYTHING);
        }
        self.resume();
    }

    fn resume(&mut self) {
        while let Some(client) = self.resuming.pop() {
            self.resend(client);
        }
    }

    /// Records up to here become durable.
    pub fn sync_to(&mut self, durable: usize) {
        self.disk.durable = self.disk.durable.max(durable);
        let durable = Position(self.disk.durable as u64);
        self.note(|| format!("durable {durable:?}"));
        self.release(durable);
        let mut out = Outbox::default();
        self.queue_manager.durable(durable, self.now, &mut self.disk, &mut out);
        self.take(out);
    }

    pub fn sync(&mut self) {
        while self.logged && self.disk.durable < self.disk.len() && self.violation.is_none() {
            self.sync_to(self.disk.len());
        }
    }

    fn release(&mut self, durable: Position) {
        while let Some((after, _)) = self.held.front()
            && *after <= durable
        {
            if let Some((_, effect)) = self.held.pop_front() {
                self.perform(effect, &[], true);
            }
        }
    }

    pub fn pass(&mut self, ms: u64) {
        self.now = self.now.plus_ms(ms);
        let now = self.now;
        self.note(|| format!("now {now:?}"));
        let mut out = Outbox::default();
        self.queue_manager.handle_timeout(self.now, &mut self.disk, &mut out);
        self.shadow.pass(self.now);
        self.take(out);
    }

    fn perform(&mut self, effect: Effect, targets: &[Target], was_held: bool) {
        if let Effect::Deliver { message, first, count } = &effect {
            self.note(|| format!("    Deliver {:?} of {}", id_of(message), message.topic()));
            for target in &targets[*first as usize..(*first + *count) as usize] {
                self.note(|| format!("      {target:?}"));
                self.deliver(message, target);
            }
            return;
        }
        self.note(|| format!("    {effect:?}"));
        let (Effect::Connected { connection, .. }
        | Effect::Refused { connection, .. }
        | Effect::Confirm { connection, .. }
        | Effect::Release { connection, .. }
        | Effect::Subscribed { connection, .. }
        | Effect::Unsubscribed { connection, .. }
        | Effect::Close { connection, .. }) = effect
        else {
            return;
        };
        let Some(link) = self.links.get_mut(&connection.0) else {
            if !was_held {
                self.fail(format!("{effect:?} on a closed connection"));
            }
            return;
        };
        let client = link.client;
        if !link.connected && !matches!(effect, Effect::Connected { .. } | Effect::Close { .. }) {
            return self.fail(format!("{effect:?} before the answer to the connect"));
        }
        match effect {
            Effect::Connected { session_present, .. } => self.connected(connection.0, session_present),
            Effect::Confirm { tag, stage, outcome, .. } => {
                self.confirmed(connection.0, tag.0, stage, outcome)
            }
            Effect::Release { tag, found, .. } => self.released(client, tag.0, found),
            Effect::Subscribed { request, .. } => {
                self.answered(connection.0, Answer::Subscribed(u64::from(request)))
            }
            Effect::Unsubscribed { request, .. } => {
                self.answered(connection.0, Answer::Unsubscribed(u64::from(request)))
            }
            Effect::Close { .. } => self.close(connection.0),
            other => self.fail(format!("unexpected {other:?}")),
        }
    }

    pub fn close(&mut self, connection: u64) {
        let Some(link) = self.links.remove(&connection) else { return };
        let device = &mut self.devices[link.client];
        if device.connection == Some(connection) {
            device.lose_connection();
        }
    }

    fn connected(&mut self, connection: u64, present: bool) {
        let Some(link) = self.links.get_mut(&connection) else { return };
        let client = link.client;
        if link.connected || link.present != present {
            let link = format!("{link:?}");
            return self.fail(format!("session present {present} answered to {link}"));
        }
        link.connected = true;
        self.shadow.connected(client, connection);
        if present {
            self.resuming.push(client);
        } else {
            self.devices[client].forget();
        }
        self.devices[client].fresh = false;
        self.devices[client].connected = true;
    }

    fn confirmed(&mut self, connection: u64, tag: u16, stage: Stage, outcome: Outcome) {
        let Some(link) = self.links.get_mut(&connection) else { return };
        let at = link.answers.iter().position(|answer| matches!(answer, Answer::Confirm(..)));
        let (client, next) = (link.client, at.and_then(|at| link.answers.remove(at)));
        let Some(Answer::Confirm(expected, wanted, id)) = next else {
            return self.fail(format!("{stage:?} of {tag} instead of {next:?}"));
        };
        if (expected, wanted) != (stage, tag) {
            return self.fail(format!("{stage:?} of {tag} instead of {next:?}"));
        }
        let device = &mut self.devices[client];
        if outcome == Outcome::QueueFull || stage != Stage::Received {
            device.own.retain(|own| own.tag != tag);
        } else if let Some(own) = device.own(tag) {
            own.received = true;
        }
        if stage == Stage::Completed {
            return;
        }
        if self.shadow.messages[id as usize].refused != (outcome == Outcome::QueueFull) {
            return self.fail(format!("message {id} is answered {outcome:?}"));
        }
        self.shadow.confirm(id);
    }

    fn released(&mut self, client: usize, tag: u16, found: bool) {
        if !found {
            let awaits = self.devices[client].owed.get(&tag);
            let lied = self.devices[client].lied.contains(&tag);
            if awaits.is_some_and(|(_, owed)| *owed == crate::device::Owed::Received) && !lied {
                self.fail(format!("client {client}: tag {tag} was received, and is not found"));
            }
            return;
        }
        if let Err(what) = self.devices[client].release(tag) {
            self.fail(format!("client {client}: {what}"));
        }
    }

    fn answered(&mut self, connection: u64, answer: Answer) {
        let Some(link) = self.links.get_mut(&connection) else { return };
        let at = link.answers.iter().position(|answer| !matches!(answer, Answer::Confirm(..)));
        let (incarnation, next) = (link.incarnation, at.and_then(|at| link.answers.remove(at)));
        if next != Some(answer) {
            return self.fail(format!("{answer:?} instead of {next:?}"));
        }
        if let Answer::Subscribed(request) | Answer::Unsubscribed(request) = answer {
            self.shadow.subscribed(incarnation, request);
        }
    }

    fn deliver(&mut self, message: &Message, target: &Target) {
        let Some(link) = self.links.get_mut(&target.connection.0) else {
            return self.fail(format!("{target:?} on a closed connection"));
        };
        if !link.connected {
            return self.fail(format!("{target:?} before the answer to the connect"));
        }
        if let Err(what) = self.check_delivery(message, target) {
            self.fail(format!("{what}: {target:?}"));
        }
    }

    fn check_delivery(&mut self, message: &Message, target: &Target) -> Result<(), String> {
        let link = self.links.get_mut(&target.connection.0).ok_or("closed")?;
        let device = &mut self.devices[link.client];
        let id = id_of(message).unwrap_or(MessageId::MAX);
        let taken = match target.qos {
            QoS::AtMostOnce => true,
            qos => device.take(target.tag.0, id, qos)?,
        };
        let Some(published) = self.shadow.messages.get(id as usize) else {
            return if message.body().is_empty() { Ok(()) } else { Err(format!("unknown message {id}")) };
        };
        if published.refused || published.topic != message.topic() {
            return Err(format!("message {id} refused or altered"));
        }
        let session = &mut self.shadow.sessions[link.incarnation];
        let is_member = session.history.keys().any(|filter| {
            crate::shadow::group_of(filter)
                .is_some_and(|filter| crate::shadow::matches(filter, published.topic))
        });
        let claim = match session.claims.get_mut(&id) {
            Some(claim) => claim,
            None if is_member || (published.is_will && self.crashes > 0) => {
                let claim = session.claims.entry(id).or_default();
                (claim.shared, claim.qos) = (1, vec![target.qos]);
                claim
            }
            None => return Err(format!("message {id} for one that did not ask")),
        };
        claim.shared += u32::from(is_member && claim.shared == 0);
        // A crash between a will and the record that it is out repeats it rather than losing it.
        let may_repeat = claim.shared > 0 || (published.is_will && self.crashes > 0);
        if !may_repeat && !claim.qos.contains(&target.qos) {
            return Err(format!("message {id} with another QoS than {:?}", claim.qos));
        }
        let is_first = claim.delivered == 0;
        claim.delivered += 1;
        claim.unmarked += u32::from(!target.redelivered);
        claim.taken += u32::from(taken && target.qos == QoS::ExactlyOnce);
        let seen = link.seen.entry(id).or_default();
        *seen += 1;
        if !may_repeat && target.qos > QoS::AtMostOnce {
            if *seen > claim.copies() {
                return Err(format!("message {id} twice on one connection"));
            }
            if claim.unmarked > claim.copies() {
                return Err(format!("message {id} again and not marked"));
            }
            if target.qos == QoS::ExactlyOnce && claim.taken > claim.copies() {
                return Err(format!("message {id} taken {} times", claim.taken));
            }
            if is_first && target.redelivered && self.crashes == 0 {
                return Err(format!("message {id} marked though it is new"));
            }
        }
        if is_first && !target.redelivered && published.expires <= self.now && !published.late {
            return Err(format!("message {id} after its end"));
        }
        // What is lost in a crash is sent again by its publisher, and QoS 0 copies had left already.
        // So is an expired one whose tag was recorded: it goes out behind younger ones.
        let lasts = target.qos > QoS::AtMostOnce && published.expires == Timestamp::NEVER;
        let is_ordered = !published.late && (lasts || self.crashes == 0);
        if is_ordered && is_first && claim.copies() == 1 && claim.direct == 1 && !published.is_will {
            let class = (link.incarnation, published.publisher, published.qos, target.qos);
            let last = self.last_of_class.entry(class).or_default();
            if *last > id {
                return Err(format!("message {id} after {last}"));
            }
            *last = id;
        }
        Ok(())
    }

    /// A new message as the shadow keeps it, and as it is sent.
    pub fn make_message(&mut self, published: Published) -> (MessageId, Message) {
        let id = self.shadow.messages.len() as MessageId;
        let padding = if self.rng.chance(20) { 200 } else { 0 };
        let body = if published.clears { String::new() } else { format!("{id}:{}", "x".repeat(padding)) };
        let message = message_of(&published, &body);
        self.shadow.messages.push(published);
        (id, message)
    }
}

pub fn message_of(published: &Published, body: &str) -> Message {
    let persistence = match published.qos {
        QoS::AtMostOnce => Persistence::NonPersistent,
        _ => Persistence::Persistent,
    };
    let descriptor = Descriptor {
        qos: published.qos,
        persistence,
        retain: published.retain,
        expires: published.expires,
        ..Descriptor::default()
    };
    Message::from_parts(descriptor, published.topic, &[], body.as_bytes())
}

pub fn id_of(message: &Message) -> Option<MessageId> {
    let body = core::str::from_utf8(message.body()).ok()?;
    body.split_once(':')?.0.parse().ok()
}

fn limits(rng: &mut Rng) -> Limits {
    let mut limits = Limits::default();
    if rng.chance(25) {
        limits.queue_depth = 3 + rng.below(12) as u32;
    }
    if rng.chance(30) {
        limits.memory_budget = 300 + rng.below(1_000) as u64;
    }
    if rng.chance(20) {
        limits.retained_messages = 1 + rng.below(2) as u32;
    }
    if rng.chance(15) {
        limits.subscriptions_per_session = 2;
    }
    if rng.chance(10) {
        limits.session_expiry_s = 20;
    }
    if rng.chance(25) {
        limits.pacing_depth = rng.below(4) as u32;
        limits.pacing_ms = 100 + rng.below(5_000) as u32;
    }
    limits
}
