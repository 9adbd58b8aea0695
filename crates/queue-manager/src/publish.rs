//! Messages come in: matched, logged once for all persistent receivers, handed to those that are there.

use alloc::sync::Arc;

use ferrymq_message::{Message, QoS};

use crate::queue_entry::{Content, DeliveryOptions, Entry};
use crate::queue_manager::{QueueManager, Turn};
use crate::record::{PutHead, PutTarget, Record};
use crate::route::{Grant, Receiver, Route};
use crate::session_table::SessionKey;
use crate::{ConnectionId, DeliveryTag, Effect, Outcome, Position, Publish, Stage, Target};

/// How a message fared, and the position that must be durable before its publisher is told.
pub(crate) struct Distributed {
    pub outcome: Outcome,
    pub after: Position,
}

impl QueueManager {
    pub(crate) fn publish(&mut self, publish: Publish, turn: &mut Turn<'_>) {
        let Publish { connection, message, tag } = publish;
        if connection == ConnectionId::SERVER {
            self.distribute(message, None, None, turn);
            return;
        }
        let Some(publisher) = self.sessions.by_connection(connection) else { return };
        match message.descriptor().qos {
            QoS::AtMostOnce => {
                self.statistics.published += 1;
                self.distribute(message, Some(publisher), None, turn);
            }
            QoS::AtLeastOnce => {
                self.statistics.published += 1;
                let distributed = self.distribute_or_refuse(message, publisher, None, turn);
                self.confirm(publisher, tag, Stage::Accepted, distributed, turn);
            }
            QoS::ExactlyOnce => self.publish_exactly_once(publisher, message, tag, turn),
        }
    }

    /// Keeps the tag until it is released, so that a repetition is confirmed but not published (MQTT-4.3.3-10).
    fn publish_exactly_once(
        &mut self,
        publisher: SessionKey,
        message: Message,
        tag: DeliveryTag,
        turn: &mut Turn<'_>,
    ) {
        if let Some(unreleased) = self.sessions[publisher].unreleased_mut(tag) {
            let distributed = Distributed { outcome: Outcome::Done, after: unreleased.position };
            self.confirm(publisher, tag, Stage::Received, distributed, turn);
            return;
        }
        self.statistics.published += 1;
        let distributed = self.distribute_or_refuse(message, publisher, Some(tag), turn);
        self.confirm(publisher, tag, Stage::Received, distributed, turn);
    }

    pub(crate) fn release(&mut self, connection: ConnectionId, tag: DeliveryTag, turn: &mut Turn<'_>) {
        let Some(key) = self.sessions.by_connection(connection) else { return };
        if !self.sessions[key].release(tag) {
            let distributed = Distributed { outcome: Outcome::TagNotFound, after: Position::default() };
            return self.confirm(key, tag, Stage::Completed, distributed, turn);
        }
        let mut after = Position::default();
        if self.sessions[key].logged {
            // Durable before the answer: the client may use the tag for another message at once.
            after = self.log(&Record::Released { queue: self.sessions[key].queue, tag }, turn);
        }
        self.confirm(key, tag, Stage::Completed, Distributed { outcome: Outcome::Done, after }, turn);
    }

    fn confirm(
        &mut self,
        key: SessionKey,
        tag: DeliveryTag,
        stage: Stage,
        distributed: Distributed,
        turn: &mut Turn<'_>,
    ) {
        let Some(connection) = self.sessions[key].connection else { return };
        let effect = Effect::Confirm { connection, tag, stage, outcome: distributed.outcome };
        self.answer_paced(key, distributed.after, effect, turn);
    }

    /// A publisher can be told that there is no room; a will can't, and takes of what is left.
    fn distribute_or_refuse(
        &mut self,
        message: Message,
        publisher: SessionKey,
        incoming: Option<DeliveryTag>,
        turn: &mut Turn<'_>,
    ) -> Distributed {
        if self.storage_full && self.has_to_be_kept(&message, publisher, incoming) {
            self.statistics.refused_storage_full += 1;
            return Distributed { outcome: Outcome::StorageFull, after: Position::default() };
        }
        self.distribute(message, Some(publisher), incoming, turn)
    }

    /// Whether a message of QoS 1 or 2 would have to be logged.
    fn has_to_be_kept(
        &mut self,
        message: &Message,
        publisher: SessionKey,
        incoming: Option<DeliveryTag>,
    ) -> bool {
        let route = self.subscriptions.route(message);
        let is_logged = |key: SessionKey| self.sessions[key].logged;
        let is_kept = |receiver: &Receiver| {
            is_logged(receiver.session)
                && receiver.grant_for(Some(publisher)).is_some_and(|grant| grant.qos > QoS::AtMostOnce)
        };
        let retains = message.descriptor().retain && !message.body().is_empty();
        // Of a group nobody knows yet whose turn it is.
        retains
            || !route.groups.is_empty()
            || (incoming.is_some() && is_logged(publisher))
            || route.receivers.iter().any(is_kept)
    }

    /// Brings a message to all its receivers and, if it is to be retained, to its topic. `incoming` is the tag that
    /// its publisher must release; it is recorded together with the message, so that both survive or neither.
    pub(crate) fn distribute(
        &mut self,
        message: Message,
        publisher: Option<SessionKey>,
        incoming: Option<DeliveryTag>,
        turn: &mut Turn<'_>,
    ) -> Distributed {
        let route = self.subscriptions.route(&message);
        if message.descriptor().qos > QoS::AtMostOnce && self.is_any_queue_full(&route, publisher) {
            self.statistics.refused_queue_full += 1;
            return Distributed { outcome: Outcome::QueueFull, after: Position::default() };
        }
        let first = turn.out.targets.len();
        let matched = self.offer(&message, &route, publisher, turn);
        self.emit(&message, first, turn);
        let after = self.store(&message, publisher, incoming, turn);
        if matched {
            return Distributed { outcome: Outcome::Done, after };
        }
        self.statistics.unmatched += 1;
        Distributed { outcome: Outcome::NoMatchingSubscribers, after }
    }

    /// Offers a message to every receiver of the route. What has to be logged is collected in `put_targets`; the rest
    /// is queued or on its way. True if there was any receiver.
    fn offer(
        &mut self,
        message: &Message,
        route: &Arc<Route>,
        publisher: Option<SessionKey>,
        turn: &mut Turn<'_>,
    ) -> bool {
        let mut matched = false;
        for receiver in &route.receivers {
            if let Some(grant) = receiver.grant_for(publisher) {
                matched = true;
                self.offer_to(receiver.session, message, grant, false, turn);
            }
        }
        for group in &route.groups {
            if let Some((session, grant)) = self.choose_member(*group, message.descriptor().qos) {
                matched = true;
                self.offer_to(session, message, &grant, true, turn);
            }
        }
        matched
    }

    pub(crate) fn offer_to(
        &mut self,
        key: SessionKey,
        message: &Message,
        grant: &Grant,
        shared: bool,
        turn: &mut Turn<'_>,
    ) {
        let delivery = DeliveryOptions {
            qos: message.descriptor().qos.min(grant.qos),
            retain: grant.retain_as_published && message.descriptor().retain,
            shared,
            redelivered: false,
        };
        if delivery.qos == QoS::AtMostOnce {
            self.send_once(key, delivery, grant, turn);
        } else if self.sessions[key].logged {
            self.collect(key, delivery, grant);
        } else {
            self.put_in_memory(key, message, delivery, grant, turn);
        }
    }

    /// QoS 0: now or never.
    fn send_once(&mut self, key: SessionKey, delivery: DeliveryOptions, grant: &Grant, turn: &mut Turn<'_>) {
        let session = &self.sessions[key];
        match session.live() {
            Some(connection) => turn.out.targets.push(Target {
                connection,
                tag: DeliveryTag(0),
                qos: delivery.qos,
                retain: delivery.retain,
                redelivered: false,
                identifiers: grant.identifiers.clone(),
            }),
            None => self.statistics.dropped += u64::from(session.connection.is_some()),
        }
    }

    /// A receiver whose session survives a restart: its part of the put record.
    pub(crate) fn collect(&mut self, key: SessionKey, delivery: DeliveryOptions, grant: &Grant) {
        let session = &mut self.sessions[key];
        let is_connected = session.connection.is_some();
        let outgoing = session.outgoing.get_or_insert_default();
        // The tag of a QoS 2 delivery must be durable before it is sent: known now, it needs no record of its own.
        let known = delivery.qos == QoS::ExactlyOnce
            && is_connected
            && outgoing.queue.is_empty()
            && outgoing.window.has_room(session.receive_maximum)
            && !(delivery.shared && self.put_sessions.contains(&key));
        self.put_targets.push(PutTarget {
            queue: session.queue,
            sequence: outgoing.take_sequence(),
            delivery,
            tag: known.then(|| outgoing.window.next_tag()),
            received: false,
            identifiers: grant.identifiers.clone(),
        });
        self.put_sessions.push(key);
    }

    /// A receiver whose session ends with its connection: sent at once if nothing older waits, otherwise queued.
    fn put_in_memory(
        &mut self,
        key: SessionKey,
        message: &Message,
        delivery: DeliveryOptions,
        grant: &Grant,
        turn: &mut Turn<'_>,
    ) {
        let session = &mut self.sessions[key];
        let live = session.live().filter(|_| session.is_idle(self.limits.inflight_bytes));
        let outgoing = session.outgoing.get_or_insert_default();
        let entry = Entry {
            sequence: outgoing.take_sequence(),
            content: Content::Resident(message.clone()),
            position: Position::default(),
            delivery,
            identifiers: grant.identifiers.clone(),
            size: message.memory() as u32,
        };
        self.statistics.queued += 1;
        self.statistics.resident_bytes += entry.resident_bytes();
        let Some(connection) = live else {
            outgoing.queue.push_back(entry);
            self.note_depth(key, turn.now);
            return self.bound_volatile_queue(key);
        };
        let tag = outgoing.window.assign(entry, Position::default());
        outgoing.window.next_to_send(
            Position::EVERYTHING,
            session.receive_maximum,
            self.limits.inflight_bytes,
        );
        turn.out.targets.push(Target {
            connection,
            tag,
            qos: delivery.qos,
            retain: delivery.retain,
            redelivered: false,
            identifiers: grant.identifiers.clone(),
        });
    }

    fn bound_volatile_queue(&mut self, key: SessionKey) {
        while self.is_volatile_queue_full(key)
            && let Some(outgoing) = &mut self.sessions[key].outgoing
            && let Some(oldest) = outgoing.queue.pop_front()
        {
            self.statistics.discarded_queue_full += 1;
            self.discount(&oldest);
        }
    }

    /// By number; or, when the memory is used up, by bytes: a session that has no more waiting than it may have in
    /// flight did not use it up.
    fn is_volatile_queue_full(&self, key: SessionKey) -> bool {
        let Some(outgoing) = &self.sessions[key].outgoing else { return false };
        outgoing.queue.len() > self.limits.volatile_queue_depth as usize
            || (self.statistics.resident_bytes > self.limits.memory_budget
                && outgoing.queued_bytes() > u64::from(self.limits.inflight_bytes))
    }

    fn is_any_queue_full(&mut self, route: &Route, publisher: Option<SessionKey>) -> bool {
        let receivers = route.receivers.iter().filter(|receiver| receiver.grant_for(publisher).is_some());
        receivers.into_iter().any(|receiver| self.is_queue_full(receiver.session))
            || route.groups.iter().any(|group| self.is_group_full(*group))
    }

    pub(crate) fn is_queue_full(&self, key: SessionKey) -> bool {
        let session = &self.sessions[key];
        session.logged && session.depth() >= self.limits.queue_depth as usize
    }

    /// Makes one effect of the targets collected since `first`.
    pub(crate) fn emit(&mut self, message: &Message, first: usize, turn: &mut Turn<'_>) {
        let count = turn.out.targets.len() - first;
        if count > 0 {
            self.statistics.delivered += count as u64;
            turn.out.effects.push(Effect::Deliver {
                message: message.clone(),
                first: first as u32,
                count: count as u32,
            });
        }
    }

    /// Writes the put record, if anything has to survive, and queues the message for the collected sessions.
    fn store(
        &mut self,
        message: &Message,
        publisher: Option<SessionKey>,
        incoming: Option<DeliveryTag>,
        turn: &mut Turn<'_>,
    ) -> Position {
        let retain = message.descriptor().retain;
        let unreleased = publisher.zip(incoming);
        let incoming = unreleased
            .filter(|(key, _)| self.sessions[*key].logged)
            .map(|(key, tag)| (self.sessions[key].queue, tag));
        // At QoS 0 too: nobody can be told, but it would take the room of those who can.
        let keeps = retain && (!self.storage_full || publisher.is_none()) && self.admits_retained(message);
        // What the server says of itself ($SYS) is said anew after a restart.
        let is_logged = keeps && publisher.is_some();
        let mut position = self.store_collected(message, PutHead { retained: is_logged, incoming }, turn);
        if let (Some((queue, tag)), Position(0)) = (incoming, position) {
            position = self.log(&Record::Incoming { queue, tag }, turn);
        }
        if let Some((key, tag)) = unreleased {
            // Roll-forward finds the tag by the position of its own record, whatever else is recorded behind it.
            self.sessions[key].keep_unreleased(tag, position);
        }
        if retain {
            position = position.max(self.retain(message, position, keeps, turn));
        }
        // At QoS 0 nobody is told.
        if message.descriptor().qos == QoS::AtMostOnce { Position::default() } else { position }
    }

    /// Writes one put record for the collected targets and queues the message for their sessions; position 0 if
    /// nothing had to be written.
    pub(crate) fn store_collected(
        &mut self,
        message: &Message,
        head: PutHead,
        turn: &mut Turn<'_>,
    ) -> Position {
        if !self.logged || (!head.retained && self.put_targets.is_empty()) {
            return Position::default();
        }
        head.encode(&self.put_targets, message, &mut self.scratch);
        let position = turn.journal.append(&self.scratch);
        self.enqueue_collected(message, position);
        position
    }

    fn enqueue_collected(&mut self, message: &Message, position: Position) {
        let targets = core::mem::take(&mut self.put_targets);
        let sessions = core::mem::take(&mut self.put_sessions);
        for (target, key) in targets.iter().zip(&sessions) {
            self.enqueue_logged(*key, target, message, position);
        }
        self.put_targets = targets;
        self.put_targets.clear();
        self.put_sessions = sessions;
        self.put_sessions.clear();
    }

    fn enqueue_logged(&mut self, key: SessionKey, target: &PutTarget, message: &Message, position: Position) {
        let over_budget = self.statistics.resident_bytes >= self.limits.memory_budget;
        let session = &mut self.sessions[key];
        let outgoing = session.outgoing.get_or_insert_default();
        let goes_next = session.connection.is_some()
            && outgoing.queue.is_empty()
            && outgoing.window.has_room(session.receive_maximum)
            && (target.tag.is_some() || target.delivery.qos == QoS::AtLeastOnce);
        let content =
            if over_budget && !goes_next { Content::Logged } else { Content::Resident(message.clone()) };
        let entry = Entry {
            sequence: target.sequence,
            content,
            position,
            delivery: target.delivery,
            identifiers: target.identifiers.clone(),
            size: message.memory() as u32,
        };
        self.statistics.queued += 1;
        self.statistics.resident_bytes += entry.resident_bytes();
        self.statistics.live_log_bytes += message.memory() as u64;
        if goes_next {
            outgoing.window.assign(entry, position);
            self.await_durability(key);
        } else {
            outgoing.queue.push_back(entry);
            if session.connection.is_some() {
                self.await_durability(key);
            }
        }
    }
}
