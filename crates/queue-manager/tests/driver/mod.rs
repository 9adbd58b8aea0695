//! Drives a queue manager in memory: a journal that is a list, a clock that is a number, clients that are numbers.
#![allow(dead_code, reason = "each test file uses its part of the driver")]

use ferrymq_message::{Descriptor, Message, Persistence, QoS, Timestamp};
use ferrymq_queue_manager::{
    Command, Connect, ConnectionId, DeliveryTag, Disconnect, Effect, Journal, Limits, Outbox, Outcome,
    Position, Publish, QueueManager, Restart, RetainHandling, SESSION_NEVER_EXPIRES, Settlement, Stage,
    Subscribe, SubscriptionRequest, Target, Will,
};

/// Records in order, each at its index + 1; some of them durable.
#[derive(Default)]
pub struct ListJournal {
    pub records: Vec<Option<Vec<u8>>>,
}

impl Journal for ListJournal {
    fn append(&mut self, record: &[u8]) -> Position {
        self.records.push(Some(record.to_vec()));
        Position(self.records.len() as u64)
    }

    fn read(&mut self, position: Position, into: &mut Vec<u8>) -> bool {
        into.clear();
        let record = self.records.get(position.0 as usize - 1).and_then(Option::as_ref);
        record.inspect(|record| into.extend_from_slice(record)).is_some()
    }
}

/// A delivery as its receiver sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivered {
    pub to: u64,
    pub tag: u16,
    pub qos: QoS,
    pub body: String,
    pub topic: String,
    pub retain: bool,
    pub redelivered: bool,
    pub identifiers: Vec<u32>,
}

pub struct Driver {
    pub queue_manager: QueueManager,
    pub journal: ListJournal,
    pub now: Timestamp,
    pub limits: Limits,
    pub logged: bool,
    /// Whether every command is followed by everything appended becoming durable.
    pub syncs: bool,
    held: Vec<(Position, Effect)>,
    pub effects: Vec<Effect>,
    pub delivered: Vec<Delivered>,
}

impl Driver {
    pub fn logged() -> Driver {
        Driver::new(Limits::default(), true)
    }

    pub fn in_memory() -> Driver {
        Driver::new(Limits::default(), false)
    }

    pub fn new(limits: Limits, logged: bool) -> Driver {
        Driver {
            queue_manager: empty(&limits, logged),
            journal: ListJournal::default(),
            now: Timestamp(1_000_000),
            limits,
            logged,
            syncs: true,
            held: Vec::new(),
            effects: Vec::new(),
            delivered: Vec::new(),
        }
    }

    pub fn apply(&mut self, command: Command) {
        let mut out = Outbox::default();
        self.queue_manager.apply(command, self.now, &mut self.journal, &mut out);
        self.take(out);
        if self.syncs {
            self.sync();
        }
    }

    /// Everything appended becomes durable, also what is appended because of that.
    pub fn sync(&mut self) {
        let mut synced = None;
        while synced != Some(self.journal.records.len()) {
            synced = Some(self.journal.records.len());
            self.sync_to(self.journal.records.len() as u64);
        }
    }

    pub fn sync_to(&mut self, position: u64) {
        let position = Position(position);
        for (after, effect) in core::mem::take(&mut self.held) {
            if after <= position { self.effects.push(effect) } else { self.held.push((after, effect)) }
        }
        let mut out = Outbox::default();
        self.queue_manager.durable(position, self.now, &mut self.journal, &mut out);
        self.take(out);
    }

    /// Time passes.
    pub fn pass(&mut self, seconds: u32) {
        self.now = self.now.plus_seconds(seconds);
        let mut out = Outbox::default();
        self.queue_manager.handle_timeout(self.now, &mut self.journal, &mut out);
        self.take(out);
        if self.syncs {
            self.sync();
        }
    }

    /// The process dies with this many records durable, and starts again.
    pub fn crash_with(&mut self, durable: usize) {
        self.journal.records.truncate(durable);
        let mut restart = Restart::new(self.limits.clone(), 1);
        for (index, record) in self.journal.records.iter().enumerate() {
            if let Some(record) = record {
                restart.restore(record, Position(index as u64 + 1)).expect("a record of ours");
            }
        }
        self.queue_manager = restart.finish(self.now);
        self.held.clear();
        self.sync();
    }

    pub fn crash(&mut self) {
        self.crash_with(self.journal.records.len());
    }

    /// Frees the first `count` records as roll-forward does.
    pub fn roll_forward(&mut self, count: usize) {
        for index in 0..count {
            if let Some(record) = self.journal.records[index].take() {
                let at = Position(index as u64 + 1);
                self.queue_manager.roll_forward(&record, at, &mut self.journal).expect("a record of ours");
            }
        }
        self.sync();
    }

    fn take(&mut self, mut out: Outbox) {
        for effect in &out.effects {
            if let Effect::Deliver { message, first, count } = effect {
                for target in &out.targets[*first as usize..(*first + *count) as usize] {
                    self.delivered.push(Delivered::new(message, target));
                }
            }
        }
        self.effects.append(&mut out.effects);
        self.held.append(&mut out.held);
    }

    pub fn connect(&mut self, connection: u64, client: &str) {
        self.connect_with(connection, client, true, 0, None);
    }

    pub fn resume(&mut self, connection: u64, client: &str) {
        self.connect_with(connection, client, false, SESSION_NEVER_EXPIRES, None);
    }

    pub fn connect_with(
        &mut self,
        connection: u64,
        client: &str,
        clean_start: bool,
        expiry_s: u32,
        will: Option<Will>,
    ) {
        self.apply(Command::Connect(Box::new(Connect {
            connection: ConnectionId(connection),
            client_id: client.into(),
            clean_start,
            session_expiry_s: expiry_s,
            receive_maximum: 10,
            will: will.map(Box::new),
        })));
    }

    pub fn subscribe(&mut self, connection: u64, filter: &str, qos: QoS) {
        self.subscribe_with(connection, request(filter, qos), None);
    }

    pub fn subscribe_with(&mut self, connection: u64, request: SubscriptionRequest, identifier: Option<u32>) {
        let subscriptions = vec![request];
        let connection = ConnectionId(connection);
        self.apply(Command::Subscribe(Box::new(Subscribe {
            connection,
            request: 1,
            identifier,
            subscriptions,
        })));
    }

    pub fn publish(&mut self, connection: u64, topic: &str, body: &str, qos: QoS, tag: u16) {
        self.publish_message(connection, message(topic, body, qos), tag);
    }

    pub fn publish_message(&mut self, connection: u64, message: Message, tag: u16) {
        let (connection, tag) = (ConnectionId(connection), DeliveryTag(tag));
        self.apply(Command::Publish(Publish { connection, message, tag }));
    }

    pub fn settle(&mut self, connection: u64, tag: u16, settlement: Settlement) {
        self.apply(Command::Settle {
            connection: ConnectionId(connection),
            tag: DeliveryTag(tag),
            settlement,
        });
    }

    pub fn release(&mut self, connection: u64, tag: u16) {
        self.apply(Command::Release { connection: ConnectionId(connection), tag: DeliveryTag(tag) });
    }

    pub fn lose(&mut self, connection: u64) {
        self.apply(Command::Lost { connection: ConnectionId(connection) });
    }

    pub fn flow(&mut self, connection: u64, open: bool) {
        self.apply(Command::Flow { connection: ConnectionId(connection), open });
    }

    pub fn disconnect(&mut self, connection: u64) {
        let connection = ConnectionId(connection);
        self.apply(Command::Disconnect(Disconnect { connection, with_will: false, session_expiry_s: None }));
    }

    /// What was delivered since it was asked last.
    pub fn take_delivered(&mut self) -> Vec<Delivered> {
        core::mem::take(&mut self.delivered)
    }

    /// Receiver and body of what was delivered since it was asked last.
    pub fn bodies(&mut self) -> Vec<(u64, String)> {
        self.take_delivered().into_iter().map(|delivered| (delivered.to, delivered.body)).collect()
    }

    /// Confirmations since they were asked for last.
    pub fn confirms(&mut self) -> Vec<(u64, u16, Stage, Outcome)> {
        let (confirms, others) = core::mem::take(&mut self.effects).into_iter().partition(is_confirm);
        self.effects = others;
        let confirms: Vec<Effect> = confirms;
        let parts = confirms.into_iter().filter_map(|effect| match effect {
            Effect::Confirm { connection, tag, stage, outcome } => {
                Some((connection.0, tag.0, stage, outcome))
            }
            _ => None,
        });
        parts.collect()
    }

    /// Whether an effect like this has come; those before it are forgotten.
    pub fn saw(&mut self, wanted: impl Fn(&Effect) -> bool) -> bool {
        core::mem::take(&mut self.effects).iter().any(wanted)
    }
}

impl Delivered {
    fn new(message: &Message, target: &Target) -> Delivered {
        Delivered {
            to: target.connection.0,
            tag: target.tag.0,
            qos: target.qos,
            body: String::from_utf8_lossy(message.body()).into_owned(),
            topic: message.topic().into(),
            retain: target.retain,
            redelivered: target.redelivered,
            identifiers: target.identifiers.as_deref().unwrap_or_default().to_vec(),
        }
    }
}

fn empty(limits: &Limits, logged: bool) -> QueueManager {
    match logged {
        true => Restart::new(limits.clone(), 1).finish(Timestamp(0)),
        false => QueueManager::in_memory(limits.clone(), 1),
    }
}

fn is_confirm(effect: &Effect) -> bool {
    matches!(effect, Effect::Confirm { .. })
}

pub fn message(topic: &str, body: &str, qos: QoS) -> Message {
    let persistence =
        if qos == QoS::AtMostOnce { Persistence::NonPersistent } else { Persistence::Persistent };
    Message::from_parts(Descriptor { qos, persistence, ..Descriptor::default() }, topic, &[], body.as_bytes())
}

pub fn retained(topic: &str, body: &str, qos: QoS) -> Message {
    message(topic, body, qos).with_descriptor(|descriptor| descriptor.retain = true)
}

pub fn request(filter: &str, qos: QoS) -> SubscriptionRequest {
    SubscriptionRequest {
        filter: filter.into(),
        qos,
        no_local: false,
        retain_as_published: false,
        retain_handling: RetainHandling::Send,
    }
}
