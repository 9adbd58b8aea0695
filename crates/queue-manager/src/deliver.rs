//! Messages go out: from a session's queue into its window, and, once durable, to its connection; settlements.

use alloc::vec::Vec;

use ferrymq_message::{Message, QoS};

use crate::client_session::ClientSession;
use crate::delivery_window::{DeliveryStage, Unsettled};
use crate::queue_entry::{Content, Entry};
use crate::queue_manager::{QueueManager, Turn};
use crate::record::Record;
use crate::session_table::SessionKey;
use crate::{ConnectionId, DeliveryTag, Effect, Position, Settlement, Target};

/// Bytes of waiting messages sent to one session in one go: 3,500 messages of 128 bytes.
const PUMP_BYTES: usize = 1 << 20;

impl QueueManager {
    /// Moves what may move: entries into the window, durable deliveries to the connection.
    pub(crate) fn pump(&mut self, key: SessionKey, turn: &mut Turn<'_>) {
        let session = &self.sessions[key];
        let Some(connection) = session.live().filter(|_| !session.clogged) else { return };
        self.sent_bytes = 0;
        while self.sent_bytes < PUMP_BYTES {
            self.send_assigned(key, connection, turn);
            if !self.assign_next(key, connection, turn) {
                return self.await_records(key);
            }
        }
        // The rest in the next turn, when the service has seen whether the client takes it.
        self.unfinished = true;
        self.await_durability(key);
    }

    /// Has the session pumped again if what is next waits for its record, not for the client.
    fn await_records(&mut self, key: SessionKey) {
        let waits = self.sessions[key].outgoing.as_ref().is_some_and(|outgoing| {
            outgoing.window.waits_for_record(self.durable)
                || outgoing.queue.front().is_some_and(|entry| entry.position > self.durable)
        });
        if waits {
            self.await_durability(key);
        }
    }

    /// The client leaves what it is sent unread (or not any more): nothing that can wait is sent meanwhile.
    pub(crate) fn flow(&mut self, connection: ConnectionId, open: bool, turn: &mut Turn<'_>) {
        let Some(key) = self.sessions.by_connection(connection) else { return };
        self.sessions[key].clogged = !open;
        self.pump(key, turn);
    }

    /// Sends deliveries that have their tag and whose records are durable.
    fn send_assigned(&mut self, key: SessionKey, connection: ConnectionId, turn: &mut Turn<'_>) {
        let (durable, bytes_max) = (self.durable, self.limits.inflight_bytes);
        while self.sent_bytes < PUMP_BYTES {
            let session = &mut self.sessions[key];
            let Some(outgoing) = &mut session.outgoing else { return };
            let Some(delivery) = outgoing.window.next_to_send(durable, session.receive_maximum, bytes_max)
            else {
                return;
            };
            let (tag, repeated) = (delivery.tag, delivery.repeated);
            let target = target_of(connection, tag, repeated, &delivery.entry);
            let Some(message) = self.load_delivery(key, tag, turn) else { return };
            if message.has_expired(turn.now) && !repeated {
                self.statistics.expired += 1;
                self.finish(key, tag, turn);
                continue;
            }
            self.send(message, target, turn);
        }
    }

    fn send(&mut self, message: Message, target: Target, turn: &mut Turn<'_>) {
        let first = turn.out.targets.len();
        turn.out.targets.push(target);
        self.sent_bytes += message.memory();
        self.emit(&message, first, turn);
    }

    /// Gives the next entry of the queue its tag. False if there is none, or it has to wait.
    fn assign_next(&mut self, key: SessionKey, connection: ConnectionId, turn: &mut Turn<'_>) -> bool {
        if !self.may_assign(key) || !self.load_front(key, turn) {
            return false;
        }
        let Some(entry) =
            self.sessions[key].outgoing.as_mut().and_then(|outgoing| outgoing.queue.pop_front())
        else {
            return false;
        };
        if entry.message().is_some_and(|message| message.has_expired(turn.now)) {
            self.statistics.expired += 1;
            self.consume(key, &entry, turn);
        } else if entry.delivery.qos == QoS::AtMostOnce {
            self.send_queued_once(key, connection, entry, turn);
        } else {
            self.assign(key, entry, turn);
        }
        true
    }

    /// QoS 0 entries (retained messages) leave without a tag, when the subscription that asked for them is durable.
    fn may_assign(&self, key: SessionKey) -> bool {
        let session = &self.sessions[key];
        let Some(outgoing) = &session.outgoing else { return false };
        match outgoing.queue.front() {
            None => false,
            Some(entry) if entry.delivery.qos == QoS::AtMostOnce => entry.position <= self.durable,
            Some(_) => outgoing.window.has_room(session.receive_maximum),
        }
    }

    fn send_queued_once(
        &mut self,
        key: SessionKey,
        connection: ConnectionId,
        entry: Entry,
        turn: &mut Turn<'_>,
    ) {
        if let Some(message) = entry.message() {
            self.send(message.clone(), target_of(connection, DeliveryTag(0), false, &entry), turn);
        }
        self.consume(key, &entry, turn);
    }

    fn assign(&mut self, key: SessionKey, entry: Entry, turn: &mut Turn<'_>) {
        let mut ready_at = entry.position;
        let session = &mut self.sessions[key];
        let window = &mut session.outgoing.get_or_insert_default().window;
        if session.logged && entry.delivery.qos == QoS::ExactlyOnce {
            let (queue, sequence, tag) = (session.queue, entry.sequence, window.next_tag());
            ready_at = self.log(&Record::Assigned { queue, sequence, tag }, turn);
        }
        self.sessions[key].outgoing().window.assign(entry, ready_at);
    }

    /// Brings the message of the front entry into memory. False if it cannot be read.
    fn load_front(&mut self, key: SessionKey, turn: &mut Turn<'_>) -> bool {
        let front = self.sessions[key].outgoing.as_mut().and_then(|outgoing| outgoing.queue.front_mut());
        let Some(entry) = front else { return false };
        if matches!(entry.content, Content::Logged) {
            let Some(message) = read_message(entry, &mut self.read_scratch, turn) else { return false };
            entry.content = Content::Resident(message);
            self.statistics.resident_bytes += entry.resident_bytes();
        }
        true
    }

    /// The message of a delivery in the window. It may be in the log only: after a restart, beyond the memory budget.
    fn load_delivery(&mut self, key: SessionKey, tag: DeliveryTag, turn: &mut Turn<'_>) -> Option<Message> {
        let entry = &mut self.sessions[key].outgoing.as_mut()?.window.get_mut(tag)?.entry;
        if matches!(entry.content, Content::Logged) {
            entry.content = Content::Resident(read_message(entry, &mut self.read_scratch, turn)?);
            self.statistics.resident_bytes += entry.resident_bytes();
        }
        entry.message().cloned()
    }

    pub(crate) fn settle(
        &mut self,
        connection: ConnectionId,
        tag: DeliveryTag,
        settlement: Settlement,
        turn: &mut Turn<'_>,
    ) {
        let Some(key) = self.sessions.by_connection(connection) else { return };
        if let Some(outgoing) = &mut self.sessions[key].outgoing {
            outgoing.settled_at = turn.now;
        }
        match settlement {
            Settlement::Received => self.received(key, connection, tag, turn),
            _ if self.may_end(key, tag, settlement) => self.finish(key, tag, turn),
            _ => {}
        }
        self.pump(key, turn);
        self.release_paced(turn);
    }

    /// Whether the delivery stands where this settlement ends it. Answers out of turn change nothing.
    fn may_end(&mut self, key: SessionKey, tag: DeliveryTag, settlement: Settlement) -> bool {
        let Some(outgoing) = &mut self.sessions[key].outgoing else { return false };
        let Some(delivery) = outgoing.window.get_mut(tag) else { return false };
        let qos = delivery.entry.delivery.qos;
        match settlement {
            Settlement::Accepted => qos == QoS::AtLeastOnce && delivery.stage == DeliveryStage::Sent,
            Settlement::Completed => delivery.stage == DeliveryStage::Received,
            Settlement::Refused => delivery.stage == DeliveryStage::Sent,
            Settlement::Received => false,
        }
    }

    /// QoS 2, first half: the receiver has the message (MQTT-4.3.3-4). Once that is durable it may forget the tag.
    fn received(&mut self, key: SessionKey, connection: ConnectionId, tag: DeliveryTag, turn: &mut Turn<'_>) {
        let session = &mut self.sessions[key];
        let (queue, logged) = (session.queue, session.logged);
        let window = session.outgoing.as_mut().map(|outgoing| &mut outgoing.window);
        if window.as_ref().is_some_and(|window| window.will_repeat(tag)) {
            // It says so of an earlier connection. Told "not found" it would forget the tag, and take the repetition
            // for another message; left alone it answers the repetition.
            return;
        }
        let Some((sequence, is_news)) = window.and_then(|window| window.receive(tag)) else {
            let effect = Effect::Release { connection, tag, found: false };
            return self.answer(key, Position::default(), effect, turn);
        };
        let mut after = Position::default();
        if is_news && logged {
            after = self.log(&Record::Received { queue, sequence, tag }, turn);
        }
        self.answer(key, after, Effect::Release { connection, tag, found: true }, turn);
    }

    /// The delivery is over: the message is consumed.
    fn finish(&mut self, key: SessionKey, tag: DeliveryTag, turn: &mut Turn<'_>) {
        let Some(outgoing) = &mut self.sessions[key].outgoing else { return };
        if let Some(Unsettled { entry, .. }) = outgoing.window.settle(tag) {
            self.consume(key, &entry, turn);
        }
    }

    /// An entry has left its queue for good. Nobody waits for the record: a crash before it redelivers.
    pub(crate) fn consume(&mut self, key: SessionKey, entry: &Entry, turn: &mut Turn<'_>) {
        self.discount(entry);
        let session = &mut self.sessions[key];
        if session.logged && entry.is_logged() {
            let record = Record::Get { queue: session.queue, sequence: entry.sequence };
            self.log(&record, turn);
        }
        if let Some(outgoing) = &mut self.sessions[key].outgoing {
            outgoing.shrink();
        }
    }

    /// Takes an entry out of the figures.
    pub(crate) fn discount(&mut self, entry: &Entry) {
        let figures = &mut self.statistics;
        figures.queued = figures.queued.saturating_sub(1);
        figures.resident_bytes = figures.resident_bytes.saturating_sub(entry.resident_bytes());
        if entry.is_logged() {
            figures.live_log_bytes = figures.live_log_bytes.saturating_sub(u64::from(entry.size));
        }
    }

    pub(crate) fn discount_session(&mut self, session: &ClientSession) {
        let Some(outgoing) = &session.outgoing else { return };
        for entry in outgoing.queue.iter().chain(outgoing.window.iter().map(|delivery| &delivery.entry)) {
            self.discount(entry);
        }
    }
}

/// Reads the message of an entry from the log.
pub(crate) fn read_message(entry: &Entry, scratch: &mut Vec<u8>, turn: &mut Turn<'_>) -> Option<Message> {
    if !turn.journal.read(entry.position, scratch) {
        return None;
    }
    match Record::decode(scratch) {
        Ok(Record::Put(put)) => Some(put.message),
        _ => None,
    }
}

fn target_of(connection: ConnectionId, tag: DeliveryTag, repeated: bool, entry: &Entry) -> Target {
    Target {
        connection,
        tag,
        qos: entry.delivery.qos,
        retain: entry.delivery.retain,
        redelivered: repeated,
        identifiers: entry.identifiers.clone(),
    }
}
