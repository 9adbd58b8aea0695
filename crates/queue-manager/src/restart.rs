//! Builds a queue manager from its records, in the order in which they stand in the log.
//!
//! Roll-forward writes old records anew behind younger ones, so a queue's entries may be read before the session that
//! they belong to, and an older entry after a younger one. Everything is therefore collected per queue first.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::string::String;
use alloc::vec::Vec;

use ferrymq_message::{Message, QoS, Timestamp};
use ferrymq_topic::{TopicLimits, TopicName};
use hashbrown::HashMap;

use crate::client_session::{HeldWill, Outgoing, Subscription, Unreleased};
use crate::delivery_window::{DeliveryStage, DeliveryWindow, Unsettled};
use crate::queue_entry::{Content, DeliveryOptions, Entry, Sequence};
use crate::queue_manager::QueueManager;
use crate::record::{PutRecord, PutTarget, QueueId, Record, RecordError, SessionRecord, SubscriptionRecord};
use crate::retained::Retained;
use crate::session_table::SessionKey;
use crate::subscription_table::ParsedFilter;
use crate::{DeliveryTag, Limits, Position};

/// A queue manager in the making: give it every record in order, then finish.
#[derive(Debug)]
pub struct Restart {
    queue_manager: QueueManager,
    queues: HashMap<QueueId, RestoredQueue>,
    last_queue: u64,
}

#[derive(Debug, Default)]
struct RestoredQueue {
    session: Option<RestoredSession>,
    subscriptions: BTreeMap<String, Subscription>,
    entries: BTreeMap<Sequence, RestoredEntry>,
    incoming: Vec<Unreleased>,
    will: Option<Box<HeldWill>>,
    last_sequence: u64,
    /// Entries up to here may have been sent: there was a connection when they were put, or later. Gets are not waited
    /// for, so any number of them may be missing.
    sent_up_to: u64,
}

#[derive(Debug)]
struct RestoredSession {
    client_id: Box<str>,
    position: Position,
    expiry_s: u32,
    receive_maximum: u16,
    detached_at: Option<Timestamp>,
}

#[derive(Debug)]
struct RestoredEntry {
    content: Content,
    size: u32,
    position: Position,
    delivery: DeliveryOptions,
    identifiers: Option<Box<[u32]>>,
    tag: Option<DeliveryTag>,
    received: bool,
}

impl Restart {
    /// Begins with nothing. `seed` as for [`QueueManager::in_memory`].
    pub fn new(limits: Limits, seed: u64) -> Restart {
        Restart {
            queue_manager: QueueManager::new(limits, true, seed),
            queues: HashMap::new(),
            last_queue: 0,
        }
    }

    /// Takes up one record. Fails if it cannot be understood; nothing may be skipped.
    pub fn restore(&mut self, record: &[u8], position: Position) -> Result<(), RecordError> {
        match Record::decode(record)? {
            Record::Session(session) => self.session(&session, position),
            Record::SessionEnded { queue } => {
                self.queue(queue);
                let ended = self.queues.remove(&queue).unwrap_or_default();
                ended.entries.values().for_each(|entry| self.forget(entry));
            }
            Record::Subscribe { queue, subscription } => self.subscribe(queue, &subscription, position),
            Record::Unsubscribe { queue, filter } => {
                self.queue(queue).subscriptions.remove(filter);
            }
            Record::Put(put) => self.put(put, position),
            Record::Get { queue, sequence } => {
                if let Some(entry) = self.sequenced(queue, sequence).entries.remove(&sequence) {
                    self.forget(&entry);
                }
            }
            Record::Released { queue, tag } => {
                Unreleased::forget_in(&mut self.queue(queue).incoming, tag);
            }
            Record::Assigned { queue, sequence, tag } => self.step(queue, sequence, tag, false),
            Record::Received { queue, sequence, tag } => self.step(queue, sequence, tag, true),
            Record::RetainedCleared { topic } => {
                if let Ok(topic) = TopicName::parse(topic) {
                    self.queue_manager.clear_retained(&topic);
                }
            }
            Record::Incoming { queue, tag } => self.incoming(queue, tag, position),
            Record::Will { queue, will } => {
                self.queue(queue).will = Some(Box::new(HeldWill { will: *will, position }))
            }
            Record::WillCleared { queue } => self.queue(queue).will = None,
        }
        Ok(())
    }

    /// The queue manager as it was, all clients away. `now` is when those that were connected count as lost.
    pub fn finish(mut self, now: Timestamp) -> QueueManager {
        self.queue_manager.next_queue = self.last_queue + 1;
        for (queue, restored) in core::mem::take(&mut self.queues) {
            self.build(queue, restored, now);
        }
        self.queue_manager
    }

    fn queue(&mut self, queue: QueueId) -> &mut RestoredQueue {
        self.last_queue = self.last_queue.max(queue.0);
        self.queues.entry(queue).or_default()
    }

    fn sequenced(&mut self, queue: QueueId, sequence: Sequence) -> &mut RestoredQueue {
        let queue = self.queue(queue);
        queue.last_sequence = queue.last_sequence.max(sequence.0);
        queue
    }

    fn session(&mut self, session: &SessionRecord<'_>, position: Position) {
        let queue = self.queue(session.queue);
        // Also where the record tells the end of a connection, whose beginning may be in no record any more.
        queue.sent_up_to = queue.last_sequence;
        queue.session = Some(RestoredSession {
            client_id: session.client_id.into(),
            position,
            expiry_s: session.expiry_s,
            receive_maximum: session.receive_maximum,
            detached_at: session.detached_at,
        });
    }

    fn subscribe(&mut self, queue: QueueId, subscription: &SubscriptionRecord<'_>, position: Position) {
        let restored = Subscription {
            filter: subscription.filter.into(),
            position,
            identifier: subscription.identifier,
            qos: subscription.qos,
            no_local: subscription.no_local,
            retain_as_published: subscription.retain_as_published,
        };
        self.queue(queue).subscriptions.insert(subscription.filter.into(), restored);
    }

    fn incoming(&mut self, queue: QueueId, tag: DeliveryTag, position: Position) {
        Unreleased { tag, position }.keep_in(&mut self.queue(queue).incoming);
    }

    fn step(&mut self, queue: QueueId, sequence: Sequence, tag: DeliveryTag, received: bool) {
        if let Some(entry) = self.sequenced(queue, sequence).entries.get_mut(&sequence) {
            entry.tag = Some(tag);
            entry.received |= received;
        }
    }

    fn put(&mut self, put: PutRecord, position: Position) {
        if let Some((queue, tag)) = put.incoming {
            self.incoming(queue, tag, position);
        }
        for target in put.targets {
            self.put_to(target, &put.message, position);
        }
        if put.retained
            && let Ok(topic) = TopicName::parse(put.message.topic())
        {
            self.queue_manager.set_retained(&topic, Retained { message: put.message.clone(), position });
        }
    }

    fn put_to(&mut self, target: PutTarget, message: &Message, position: Position) {
        let figures = &mut self.queue_manager.statistics;
        let over_budget = figures.resident_bytes >= self.queue_manager.limits.memory_budget;
        let size = message.memory() as u32;
        let content = if over_budget { Content::Logged } else { Content::Resident(message.clone()) };
        let entry = RestoredEntry {
            content,
            size,
            position,
            delivery: target.delivery,
            identifiers: target.identifiers,
            tag: target.tag,
            received: target.received,
        };
        figures.resident_bytes += if over_budget { 0 } else { u64::from(size) };
        let queue = self.sequenced(target.queue, target.sequence);
        if queue.session.as_ref().is_some_and(|session| session.detached_at.is_none()) {
            queue.sent_up_to = queue.sent_up_to.max(target.sequence.0);
        }
        if let Some(old) = queue.entries.insert(target.sequence, entry) {
            self.forget(&old);
        }
    }

    /// Takes an entry out of the memory that is counted.
    fn forget(&mut self, entry: &RestoredEntry) {
        if matches!(entry.content, Content::Resident(_)) {
            self.queue_manager.statistics.resident_bytes -= u64::from(entry.size);
        }
    }

    fn build(&mut self, queue: QueueId, restored: RestoredQueue, now: Timestamp) {
        let Some(session) = restored.session.filter(|session| session.expiry_s > 0) else {
            return restored.entries.values().for_each(|entry| self.forget(entry));
        };
        let queue_manager = &mut self.queue_manager;
        if let Some(older) = queue_manager.sessions.by_client_id(&session.client_id) {
            queue_manager.sessions.remove(older);
        }
        let key = queue_manager.sessions.insert(session.client_id, queue);
        queue_manager.sessions.mark_logged(key);
        let built = &mut queue_manager.sessions[key];
        built.position = session.position;
        built.expiry_s = session.expiry_s;
        built.receive_maximum = session.receive_maximum;
        built.detached_at = session.detached_at.unwrap_or(now);
        built.will = restored.will;
        built.incoming = Some(restored.incoming).filter(|all| !all.is_empty()).map(Box::new);
        let outgoing = build_outgoing(restored.entries, restored.last_sequence, restored.sent_up_to);
        queue_manager.subscribe_restored(key, restored.subscriptions);
        queue_manager.count_restored(&outgoing);
        queue_manager.sessions[key].outgoing = (outgoing.next_sequence > 0).then(|| Box::new(outgoing));
        queue_manager.time_restored(key);
    }
}

impl QueueManager {
    fn subscribe_restored(&mut self, key: SessionKey, subscriptions: BTreeMap<String, Subscription>) {
        for subscription in subscriptions.into_values() {
            if let Some(filter) = ParsedFilter::parse(&subscription.filter, &TopicLimits::PROTOCOL) {
                self.subscriptions.insert(key, &filter, &subscription);
            }
            self.sessions[key].subscriptions.push(subscription);
        }
    }

    fn count_restored(&mut self, outgoing: &Outgoing) {
        for entry in outgoing.queue.iter().chain(outgoing.window.iter().map(|delivery| &delivery.entry)) {
            self.statistics.queued += 1;
            self.statistics.live_log_bytes += u64::from(entry.size);
        }
    }

    /// Starts the timers of a restored session. What is overdue happens at the first time-out or connect.
    fn time_restored(&mut self, key: SessionKey) {
        use crate::timer_queue::SessionTimer;
        let session = &self.sessions[key];
        let (expires, will) = (session.expires_at(), session.will_due_at());
        self.timers.start(expires, key, SessionTimer::Expiry);
        if let Some(due) = will {
            self.timers.start(due, key, SessionTimer::Will);
        }
    }
}

/// The deliveries whose tags their receiver knows go back to the window in the order of their tags' sequence, all
/// others to the queue. Those of QoS 1 that may have been sent are marked.
fn build_outgoing(
    entries: BTreeMap<Sequence, RestoredEntry>,
    last_sequence: u64,
    sent_up_to: u64,
) -> Outgoing {
    let mut window = DeliveryWindow::default();
    let mut queue = VecDeque::new();
    for (sequence, restored) in entries {
        let RestoredEntry { content, size, position, mut delivery, identifiers, tag, received } = restored;
        delivery.redelivered |= delivery.qos == QoS::AtLeastOnce && sequence.0 <= sent_up_to;
        let entry = Entry { sequence, content, position, delivery, identifiers, size };
        let Some(tag) = tag else {
            queue.push_back(entry);
            continue;
        };
        let stage =
            if received { DeliveryStage::Received } else { DeliveryStage::Assigned { ready_at: position } };
        let delivery = Unsettled { tag, stage, repeated: true, entry };
        if let Err(delivery) = window.restore(delivery) {
            queue.push_back(delivery.entry);
        }
    }
    Outgoing { queue, window, next_sequence: last_sequence, settled_at: Timestamp::default() }
}
