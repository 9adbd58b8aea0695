//! Frees the oldest part of the log: records that still matter are written anew at its end, with the present state.
//!
//! A record matters if the state that it made is still held by its position. What was decided since (tags, PUBREC)
//! goes into the new record, so records that only change an older one (Get, Assigned, Received, Released ...) never
//! need to be written anew: whatever they speak of is gone, or stands at a later place by now.

use alloc::boxed::Box;
use alloc::vec::Vec;

use ferrymq_message::Message;
use ferrymq_topic::TopicName;

use crate::client_session::{ClientSession, Unreleased};
use crate::delivery_window::DeliveryStage;
use crate::queue_entry::{DeliveryOptions, Entry};
use crate::queue_manager::QueueManager;
use crate::record::{PutHead, PutRecord, PutTarget, QueueId, Record, RecordError, SubscriptionRecord};
use crate::{DeliveryTag, Journal, Position};

impl QueueManager {
    /// Writes the record at `position` anew if it still matters. Called for every record of the oldest extent, in
    /// order; when all that was appended is durable, the extent may be released.
    pub fn roll_forward(
        &mut self,
        record: &[u8],
        position: Position,
        journal: &mut dyn Journal,
    ) -> Result<(), RecordError> {
        match Record::decode(record)? {
            Record::Session(session) => self.roll_session(session.queue, position, journal),
            Record::Subscribe { queue, subscription } => {
                self.roll_subscription(queue, &subscription, position, journal)
            }
            Record::Put(put) => self.roll_put(&put, position, journal),
            Record::Incoming { queue, tag } => self.roll_incoming(queue, tag, position, journal),
            Record::Will { queue, .. } => self.roll_will(queue, position, journal),
            _ => {}
        }
        Ok(())
    }

    fn roll_session(&mut self, queue: QueueId, position: Position, journal: &mut dyn Journal) {
        let Some(key) = self.sessions.by_queue(queue) else { return };
        if self.sessions[key].position == position {
            self.sessions[key].record_into(&mut self.scratch);
            self.sessions[key].position = journal.append(&self.scratch);
        }
    }

    fn roll_subscription(
        &mut self,
        queue: QueueId,
        record: &SubscriptionRecord<'_>,
        position: Position,
        journal: &mut dyn Journal,
    ) {
        let Some(key) = self.sessions.by_queue(queue) else { return };
        let session = &mut self.sessions[key];
        let Ok(at) = session.find_subscription(record.filter) else { return };
        let subscription = &mut session.subscriptions[at];
        if subscription.position == position {
            Record::Subscribe { queue, subscription: subscription.record() }.encode(&mut self.scratch);
            subscription.position = journal.append(&self.scratch);
        }
    }

    fn roll_incoming(
        &mut self,
        queue: QueueId,
        tag: DeliveryTag,
        position: Position,
        journal: &mut dyn Journal,
    ) {
        if self.unreleased_at(queue, tag, position).is_none() {
            return;
        }
        Record::Incoming { queue, tag }.encode(&mut self.scratch);
        let moved_to = journal.append(&self.scratch);
        if let Some(unreleased) = self.unreleased_at(queue, tag, position) {
            unreleased.position = moved_to;
        }
    }

    fn roll_will(&mut self, queue: QueueId, position: Position, journal: &mut dyn Journal) {
        let Some(key) = self.sessions.by_queue(queue) else { return };
        let Some(held) = self.sessions[key].will.as_mut().filter(|held| held.position == position) else {
            return;
        };
        Record::Will { queue, will: Box::new(held.will.clone()) }.encode(&mut self.scratch);
        held.position = journal.append(&self.scratch);
    }

    fn roll_put(&mut self, put: &PutRecord, position: Position, journal: &mut dyn Journal) {
        let targets: Vec<PutTarget> =
            put.targets.iter().filter_map(|target| self.live_target(target, position)).collect();
        let retained = put.retained && self.is_retained_at(&put.message, position);
        if targets.is_empty() && !retained {
            if let Some((queue, tag)) = put.incoming {
                self.roll_incoming(queue, tag, position, journal);
            }
            return;
        }
        let incoming =
            put.incoming.filter(|(queue, tag)| self.unreleased_at(*queue, *tag, position).is_some());
        PutHead { retained, incoming }.encode(&targets, &put.message, &mut self.scratch);
        let moved_to = journal.append(&self.scratch);
        if let Some(unreleased) = incoming.and_then(|(queue, tag)| self.unreleased_at(queue, tag, position)) {
            unreleased.position = moved_to;
        }
        for target in &targets {
            if let Some(entry) = self.entry_mut(target) {
                entry.position = moved_to;
            }
        }
        if retained
            && let Ok(topic) = TopicName::parse(put.message.topic())
            && let Some(kept) = self.retained.get_mut(&topic)
        {
            kept.position = moved_to;
        }
    }

    fn unreleased_at(
        &mut self,
        queue: QueueId,
        tag: DeliveryTag,
        position: Position,
    ) -> Option<&mut Unreleased> {
        let key = self.sessions.by_queue(queue)?;
        self.sessions[key].unreleased_mut(tag).filter(|unreleased| unreleased.position == position)
    }

    fn is_retained_at(&self, message: &Message, position: Position) -> bool {
        let Ok(topic) = TopicName::parse(message.topic()) else { return false };
        self.retained.get(&topic).is_some_and(|retained| retained.position == position)
    }

    /// The target with the present state of its delivery, if its entry still stands at this position.
    fn live_target(&self, target: &PutTarget, position: Position) -> Option<PutTarget> {
        let session = &self.sessions[self.sessions.by_queue(target.queue)?];
        let outgoing = session.outgoing.as_ref()?;
        if let Ok(at) = outgoing.queue.binary_search_by_key(&target.sequence, |entry| entry.sequence) {
            let entry = &outgoing.queue[at];
            let delivery = entry.delivery;
            return (entry.position == position).then(|| PutTarget { delivery, ..target.clone() });
        }
        let delivery = outgoing.window.iter().find(|delivery| delivery.entry.sequence == target.sequence)?;
        let keeps_tag = delivery.entry.delivery.qos == ferrymq_message::QoS::ExactlyOnce;
        let redelivered = delivery.may_have_been_sent();
        (delivery.entry.position == position).then(|| PutTarget {
            tag: keeps_tag.then_some(delivery.tag),
            received: delivery.stage == DeliveryStage::Received,
            delivery: DeliveryOptions { redelivered, ..delivery.entry.delivery },
            ..target.clone()
        })
    }

    fn entry_mut(&mut self, target: &PutTarget) -> Option<&mut Entry> {
        let key = self.sessions.by_queue(target.queue)?;
        let session: &mut ClientSession = &mut self.sessions[key];
        let outgoing = session.outgoing.as_mut()?;
        match outgoing.queue.binary_search_by_key(&target.sequence, |entry| entry.sequence) {
            Ok(at) => outgoing.queue.get_mut(at),
            Err(_) => {
                let mut deliveries = outgoing.window.iter_mut().map(|delivery| &mut delivery.entry);
                deliveries.find(|entry| entry.sequence == target.sequence)
            }
        }
    }
}
