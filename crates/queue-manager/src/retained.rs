//! Retained messages: the last one of each topic (MQTT 3.3.1.3).

use alloc::vec::Vec;

use ferrymq_message::{Message, QoS};
use ferrymq_topic::{TopicFilter, TopicName};

use crate::Position;
use crate::queue_entry::{Content, DeliveryOptions, Entry};
use crate::queue_manager::{QueueManager, Turn};
use crate::record::{PutHead, Record};
use crate::route::Grant;
use crate::session_table::SessionKey;

#[derive(Clone, Debug)]
pub(crate) struct Retained {
    pub message: Message,
    /// Of the put record that holds it; 0 where it is in memory only.
    pub position: Position,
}

impl QueueManager {
    /// Whether a message with the retain flag may be kept: it has a body (MQTT-3.3.1-7) and the limits allow it.
    pub(crate) fn admits_retained(&mut self, message: &Message) -> bool {
        let Ok(topic) = TopicName::parse(message.topic()) else { return false };
        if message.body().is_empty() {
            return false;
        }
        let replaced = self.retained.get(&topic).map(|retained| retained.message.memory() as u64);
        let bytes = self.statistics.retained_bytes + message.memory() as u64 - replaced.unwrap_or(0);
        let fits = bytes <= self.limits.retained_bytes
            && (replaced.is_some() || self.retained.len() < self.limits.retained_messages as usize);
        self.statistics.retained_refused += u64::from(!fits);
        fits
    }

    /// Makes the message the retained one of its topic, or clears the topic if it has no body.
    pub(crate) fn retain(
        &mut self,
        message: &Message,
        position: Position,
        keeps: bool,
        turn: &mut Turn<'_>,
    ) -> Position {
        let Ok(topic) = TopicName::parse(message.topic()) else { return position };
        if keeps {
            self.set_retained(&topic, Retained { message: message.clone(), position });
        } else if message.body().is_empty() {
            if self.clear_retained(&topic) {
                self.last_cleared = self.log(&Record::RetainedCleared { topic: message.topic() }, turn);
            }
            // Also where nothing was left to clear: the record of whoever did may not be durable yet.
            return position.max(self.last_cleared);
        }
        position
    }

    pub(crate) fn set_retained(&mut self, topic: &TopicName<'_>, retained: Retained) {
        self.statistics.retained_bytes += retained.message.memory() as u64;
        if let Some(replaced) = self.retained.insert(topic, retained) {
            self.statistics.retained_bytes -= replaced.message.memory() as u64;
        }
    }

    pub(crate) fn clear_retained(&mut self, topic: &TopicName<'_>) -> bool {
        let removed = self.retained.remove(topic);
        let bytes = removed.as_ref().map_or(0, |retained| retained.message.memory() as u64);
        self.statistics.retained_bytes -= bytes;
        removed.is_some()
    }

    /// Queues the retained messages that match a subscription (MQTT-3.3.1-6). `after` is the subscription's record.
    pub(crate) fn send_retained(
        &mut self,
        key: SessionKey,
        filter: &TopicFilter<'_>,
        grant: &Grant,
        after: Position,
        turn: &mut Turn<'_>,
    ) {
        if self.retained.is_empty() {
            return;
        }
        let mut found = Vec::new();
        self.retained.for_each_match(filter, |_, retained| found.push(retained.message.clone()));
        for message in &found {
            match TopicName::parse(message.topic()) {
                // Whoever restarts finds it expired again: this needs no record.
                Ok(topic) if message.has_expired(turn.now) => drop(self.clear_retained(&topic)),
                _ => self.queue_retained(key, message, grant, after, turn),
            }
        }
    }

    fn queue_retained(
        &mut self,
        key: SessionKey,
        message: &Message,
        grant: &Grant,
        after: Position,
        turn: &mut Turn<'_>,
    ) {
        let qos = message.descriptor().qos.min(grant.qos);
        let delivery = DeliveryOptions { qos, retain: true, ..DeliveryOptions::default() };
        if qos > QoS::AtMostOnce && self.sessions[key].logged {
            self.collect(key, delivery, grant);
            self.store_collected(message, PutHead { retained: false, incoming: None }, turn);
            return;
        }
        let outgoing = self.sessions[key].outgoing();
        let entry = Entry {
            sequence: outgoing.take_sequence(),
            content: Content::Resident(message.clone()),
            position: after,
            delivery,
            identifiers: grant.identifiers.clone(),
            size: message.memory() as u32,
        };
        outgoing.queue.push_back(entry);
        self.statistics.queued += 1;
        self.statistics.resident_bytes += message.memory() as u64;
    }
}
