//! Clients come and go: sessions made, resumed, taken over, ended; wills (MQTT 3.1, 3.14, 4.1).

use alloc::boxed::Box;

use ferrymq_message::Timestamp;

use crate::client_session::HeldWill;
use crate::delivery_window::DeliveryStage;
use crate::queue_manager::{QueueManager, Turn};
use crate::record::{QueueId, Record};
use crate::session_table::SessionKey;
use crate::timer_queue::SessionTimer;
use crate::{CloseReason, Connect, ConnectionId, Disconnect, Effect, Position, Refusal, Will};

impl QueueManager {
    pub(crate) fn connect(&mut self, connect: Connect, turn: &mut Turn<'_>) {
        // A session that is over is not resumed, though its time-out was not handled yet.
        self.run_timers(turn);
        if let Err(reason) = self.admit(&connect) {
            turn.out.effects.push(Effect::Refused { connection: connect.connection, reason });
            return;
        }
        let found = self.sessions.by_client_id(&connect.client_id);
        let resumed = found.filter(|key| self.take_over(*key, connect.clean_start, turn));
        let key = resumed.unwrap_or_else(|| self.create_session(connect.client_id.clone()));
        let mut after = self.attach(key, connect, turn);
        if resumed.is_none() {
            // Told of a new session, the client forgets its part of an older one: that must not come back.
            after = after.max(self.last_ended);
        }
        let session = &self.sessions[key];
        let connection = session.connection.unwrap_or(ConnectionId::SERVER);
        let connected = Effect::Connected {
            connection,
            session_present: resumed.is_some(),
            session_expiry_s: session.expiry_s,
        };
        self.answer(key, after, connected, turn);
        if after <= self.durable {
            self.make_ready(key, turn);
        } else {
            self.connecting.push((after, connection));
        }
    }

    fn admit(&self, connect: &Connect) -> Result<(), Refusal> {
        if connect.client_id.len() > usize::from(self.limits.client_id_length) {
            return Err(Refusal::ClientIdTooLong);
        }
        let is_new = self.sessions.len() >= self.limits.sessions as usize
            && self.sessions.by_client_id(&connect.client_id).is_none();
        if is_new { Err(Refusal::TooManySessions) } else { Ok(()) }
    }

    /// Closes the connection that the session may still have (MQTT-3.1.4-3). True if the session goes on.
    fn take_over(&mut self, key: SessionKey, clean_start: bool, turn: &mut Turn<'_>) -> bool {
        if let Some(connection) = self.sessions[key].connection {
            self.statistics.taken_over += 1;
            turn.out.effects.push(Effect::Close { connection, reason: CloseReason::TakenOver });
            if !self.detach(key, true, turn) {
                return false;
            }
        }
        if clean_start {
            self.end_session(key, turn);
        }
        !clean_start
    }

    fn create_session(&mut self, client_id: Box<str>) -> SessionKey {
        let queue = QueueId(self.next_queue);
        self.next_queue += 1;
        self.sessions.insert(client_id, queue)
    }

    /// Puts the connection on the session; the position of the record that says so.
    fn attach(&mut self, key: SessionKey, connect: Connect, turn: &mut Turn<'_>) -> Position {
        self.stop_timers(key);
        self.sessions.attach(key, connect.connection);
        let session = &mut self.sessions[key];
        session.expiry_s = connect.session_expiry_s.min(self.limits.session_expiry_s);
        session.receive_maximum = connect.receive_maximum.max(1);
        let had_will = session.will.is_some();
        session.will = connect.will.map(|will| Box::new(HeldWill::in_memory(*will)));
        if self.logged && session.expiry_s > 0 && !session.logged {
            self.sessions.mark_logged(key);
        }
        if !self.sessions[key].logged {
            return Position::default();
        }
        let position = self.log_session(key, turn);
        self.log_will(key, had_will, turn);
        position
    }

    /// Replaces the session's record by one that tells its present state.
    pub(crate) fn log_session(&mut self, key: SessionKey, turn: &mut Turn<'_>) -> Position {
        self.sessions[key].record_into(&mut self.scratch);
        let position = turn.journal.append(&self.scratch);
        self.sessions[key].position = position;
        position
    }

    fn log_will(&mut self, key: SessionKey, had_will: bool, turn: &mut Turn<'_>) {
        let queue = self.sessions[key].queue;
        let Some(held) = &self.sessions[key].will else {
            if had_will {
                self.log(&Record::WillCleared { queue }, turn);
            }
            return;
        };
        let will = Box::new(held.will.clone());
        let position = self.log(&Record::Will { queue, will }, turn);
        if let Some(held) = &mut self.sessions[key].will {
            held.position = position;
        }
    }

    pub(crate) fn make_connections_ready(&mut self, turn: &mut Turn<'_>) {
        let durable = self.durable;
        let mut ready = core::mem::take(&mut self.connecting);
        ready.retain(|(after, connection)| {
            if *after <= durable
                && let Some(key) = self.sessions.by_connection(*connection)
            {
                self.make_ready(key, turn);
            }
            *after > durable
        });
        self.connecting.append(&mut ready);
    }

    /// The answer to the connect is on its way: unfinished deliveries follow (MQTT-4.4.0-1).
    fn make_ready(&mut self, key: SessionKey, turn: &mut Turn<'_>) {
        let session = &mut self.sessions[key];
        session.ready = true;
        let Some(connection) = session.connection else { return };
        let Some(outgoing) = &mut session.outgoing else { return };
        for delivery in outgoing.window.iter().filter(|delivery| delivery.stage == DeliveryStage::Received) {
            turn.out.effects.push(Effect::Release { connection, tag: delivery.tag, found: true });
        }
        self.pump(key, turn);
    }

    pub(crate) fn disconnect(&mut self, disconnect: Disconnect, turn: &mut Turn<'_>) {
        let Some(key) = self.sessions.by_connection(disconnect.connection) else { return };
        if let Some(expiry_s) = disconnect.session_expiry_s {
            self.sessions[key].expiry_s = expiry_s.min(self.limits.session_expiry_s);
        }
        self.detach(key, disconnect.with_will, turn);
    }

    pub(crate) fn lost(&mut self, connection: ConnectionId, turn: &mut Turn<'_>) {
        if let Some(key) = self.sessions.by_connection(connection) {
            self.detach(key, true, turn);
        }
    }

    /// Takes the connection off a session. True if the session goes on without.
    fn detach(&mut self, key: SessionKey, with_will: bool, turn: &mut Turn<'_>) -> bool {
        self.sessions.detach(key);
        self.sessions[key].paced = 0;
        self.sessions[key].detached_at = turn.now;
        if !with_will && self.sessions[key].will.take().is_some() && self.sessions[key].logged {
            self.log(&Record::WillCleared { queue: self.sessions[key].queue }, turn);
        }
        if let Some(outgoing) = &mut self.sessions[key].outgoing {
            outgoing.window.rewind();
        }
        if self.sessions[key].expiry_s == 0 {
            self.end_session(key, turn);
            return false;
        }
        if self.sessions[key].logged {
            self.log_session(key, turn);
        }
        self.hand_on_shared(key, turn);
        self.start_timers(key, turn);
        true
    }

    pub(crate) fn start_timers(&mut self, key: SessionKey, turn: &mut Turn<'_>) {
        let session = &self.sessions[key];
        self.timers.start(session.expires_at(), key, SessionTimer::Expiry);
        match session.will_due_at() {
            Some(due) if due <= turn.now => self.publish_will(key, turn),
            Some(due) => self.timers.start(due, key, SessionTimer::Will),
            None => {}
        }
    }

    fn stop_timers(&mut self, key: SessionKey) {
        let session = &self.sessions[key];
        self.timers.stop(session.expires_at(), key, SessionTimer::Expiry);
        if let Some(due) = session.will_due_at() {
            self.timers.stop(due, key, SessionTimer::Will);
        }
    }

    pub(crate) fn timer_fired(&mut self, key: SessionKey, timer: SessionTimer, turn: &mut Turn<'_>) {
        match timer {
            SessionTimer::Will => self.publish_will(key, turn),
            SessionTimer::Expiry => {
                self.statistics.sessions_expired += 1;
                self.end_session(key, turn);
            }
        }
    }

    /// Ends a session: its will, if it still has one, is published; shared messages go to other members.
    pub(crate) fn end_session(&mut self, key: SessionKey, turn: &mut Turn<'_>) {
        self.stop_timers(key);
        self.publish_will(key, turn);
        let filters = core::mem::take(&mut self.sessions[key].subscriptions);
        for subscription in &filters {
            self.forget_subscription(key, &subscription.filter);
        }
        self.hand_on_all_shared(key, &filters, turn);
        let session = self.sessions.remove(key);
        self.discount_session(&session);
        if session.logged {
            self.last_ended = self.log(&Record::SessionEnded { queue: session.queue }, turn);
        }
    }

    fn publish_will(&mut self, key: SessionKey, turn: &mut Turn<'_>) {
        let Some(held) = self.sessions[key].will.take() else { return };
        self.statistics.wills += 1;
        self.distribute(held.will.due(turn.now), Some(key), None, turn);
        // Behind the publication: a crash between the two repeats a will rather than losing it.
        if self.sessions[key].logged {
            self.log(&Record::WillCleared { queue: self.sessions[key].queue }, turn);
        }
    }
}

impl HeldWill {
    fn in_memory(will: Will) -> HeldWill {
        HeldWill { will, position: Position::default() }
    }
}

impl Will {
    /// The message as it is published: its time and expiry begin now.
    fn due(&self, now: Timestamp) -> ferrymq_message::Message {
        self.message.with_descriptor(|descriptor| {
            descriptor.put_time = now;
            descriptor.expires =
                self.message_expiry_s.map_or(Timestamp::NEVER, |expiry_s| now.plus_seconds(expiry_s));
        })
    }
}
