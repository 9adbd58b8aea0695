//! What may happen next, chosen at random.

use ferrymq_message::{QoS, Timestamp};
use ferrymq_queue_manager::{
    Command, Connect, ConnectionId, DeliveryTag, Disconnect, Publish, RetainHandling, SESSION_NEVER_EXPIRES,
    Settlement, Stage, Subscribe, SubscriptionRequest, Unsubscribe, Will,
};

use crate::device::{Owed, Own};
use crate::shadow::{MessageId, NOBODY, Published, Sub, group_of, matches};
use crate::world::{Answer, Link, World, message_of};

const TOPICS: [&str; 4] = ["a", "b", "a/b", "b/c"];
const FILTERS: [&str; 10] =
    ["a", "b", "a/b", "+", "a/+", "#", "b/#", "$share/g/a", "$share/g/b/#", "$share/h/+"];
const QOS: [QoS; 5] =
    [QoS::AtMostOnce, QoS::AtLeastOnce, QoS::AtLeastOnce, QoS::ExactlyOnce, QoS::ExactlyOnce];

impl World {
    pub fn step(&mut self) {
        let client = self.rng.below(self.devices.len());
        match self.rng.below(100) {
            0..8 => self.connect(client, None),
            8..18 => self.subscribe(client),
            18..21 => self.unsubscribe(client),
            21..51 => self.publish(client),
            51..71 => (0..3).for_each(|_| _ = self.answer(client)),
            71..74 => self.answer_wrongly(client),
            74..77 => self.leave(client),
            77..81 => {
                let ms = 1 + self.rng.below(8_000) as u64;
                self.pass(ms);
            }
            81..93 => {
                let more = self.rng.below(self.disk.len() - self.disk.durable + 1);
                self.sync_to(self.disk.durable + more);
            }
            93..96 => self.roll(),
            96..97 => self.recycle(),
            97..98 => self.clog(client),
            _ => {
                if self.logged && self.rng.chance(60) {
                    self.crash();
                }
            }
        }
    }

    pub fn connect(&mut self, client: usize, resume: Option<u16>) {
        self.last_connection += 1;
        let connection = self.last_connection;
        let clean = self.devices[client].fresh || resume.is_none() && self.rng.chance(20);
        let mut expiry_s = self.rng.pick(&[0, 5, 60, SESSION_NEVER_EXPIRES, SESSION_NEVER_EXPIRES]);
        let receive_maximum = resume.unwrap_or(1 + self.rng.below(6) as u16);
        if resume.is_some() {
            expiry_s = SESSION_NEVER_EXPIRES;
        }
        let will = if resume.is_none() && self.rng.chance(25) { Some(self.make_will(client)) } else { None };
        let (out, _) = self.apply(Command::Connect(Box::new(Connect {
            connection: ConnectionId(connection),
            client_id: format!("c{client}").into(),
            clean_start: clean,
            session_expiry_s: expiry_s,
            receive_maximum,
            will: will.clone().map(|(_, will)| Box::new(will)),
        })));
        let expiry_s = expiry_s.min(self.limits.session_expiry_s);
        let present = self.shadow.connect(client, connection, clean, expiry_s, self.now);
        let incarnation = self.shadow.alive[client].unwrap_or_default();
        let session = &mut self.shadow.sessions[incarnation];
        session.will = will.map(|(id, will)| (id, will.delay_s));
        session.last_will = session.will.map_or(session.last_will, |(id, _)| id);
        let device = &mut self.devices[client];
        device.lose_connection();
        device.connection = Some(connection);
        device.receive_maximum = receive_maximum;
        if !present {
            // The client knows as well as the server when a session ends.
            device.forget();
        }
        let (answers, seen) = (Default::default(), Default::default());
        let link = Link { client, incarnation, connected: false, present, answers, seen };
        self.links.insert(connection, link);
        self.take(out);
    }

    fn make_will(&mut self, client: usize) -> (MessageId, Will) {
        let topic = self.rng.pick(&TOPICS);
        let qos = self.rng.pick(&QOS);
        let delay_s = self.rng.pick(&[0, 0, 3, 30]);
        let will = Published { is_will: true, ..new_message(topic, qos, client) };
        let (id, message) = self.make_message(will);
        (id, Will { message, delay_s, message_expiry_s: None })
    }

    fn subscribe(&mut self, client: usize) {
        let Some(connection) = self.usable(client) else { return };
        self.last_request += 1;
        let request = self.last_request;
        let identifier = self.rng.below(4) as u32;
        let count = 1 + self.rng.below(2);
        let wanted: Vec<_> = (0..count).map(|_| self.make_request()).collect();
        let (out, _) = self.apply(Command::Subscribe(Box::new(Subscribe {
            connection: ConnectionId(connection),
            request: request as u16,
            identifier: (identifier != 0).then_some(identifier),
            subscriptions: wanted.iter().map(|(_, request)| request.clone()).collect(),
        })));
        let most = self.limits.subscriptions_per_session as usize;
        let mut made = Vec::new();
        for (filter, asked) in &wanted {
            let Some(session) = self.shadow.session(client) else { continue };
            let is_new = !session.subs.contains_key(filter);
            if is_new && session.subs.len() >= most {
                continue;
            }
            let sub = Sub { qos: asked.qos, identifier, no_local: asked.no_local };
            self.shadow.set_subscription(client, filter, Some(sub), request);
            let wants = match asked.retain_handling {
                RetainHandling::Send => true,
                RetainHandling::SendIfNew => is_new,
                RetainHandling::DoNotSend => false,
            };
            made.extend(Some((*filter, asked.qos)).filter(|_| wants && group_of(filter).is_none()));
        }
        made.iter().for_each(|(filter, qos)| self.claim_retained(client, filter, *qos));
        self.expect(connection, Answer::Subscribed(request));
        self.take(out);
    }

    fn make_request(&mut self) -> (&'static str, SubscriptionRequest) {
        let filter = self.rng.pick(&FILTERS[..if self.shares { 10 } else { 7 }]);
        let handling = [RetainHandling::Send, RetainHandling::SendIfNew, RetainHandling::DoNotSend];
        let request = SubscriptionRequest {
            filter: filter.into(),
            qos: self.rng.pick(&QOS),
            no_local: group_of(filter).is_none() && self.rng.chance(15),
            retain_as_published: self.rng.chance(50),
            retain_handling: self.rng.pick(&handling),
        };
        (filter, request)
    }

    fn claim_retained(&mut self, client: usize, filter: &str, qos: QoS) {
        let retained: Vec<_> = self.shadow.retained.iter().map(|(topic, id)| (*topic, *id)).collect();
        for (topic, id) in retained {
            let message = &self.shadow.messages[id as usize];
            let (published, is_over) = (message.qos, message.expires <= self.now);
            if is_over || !matches(filter, topic) {
                continue;
            }
            if let Some(session) = self.shadow.session(client) {
                let claim = session.claims.entry(id).or_default();
                claim.replies += 1;
                claim.qos.push(qos.min(published));
            }
        }
    }

    fn unsubscribe(&mut self, client: usize) {
        let Some(connection) = self.usable(client) else { return };
        self.last_request += 1;
        let (request, filter) = (self.last_request, self.rng.pick(&FILTERS));
        let (out, _) = self.apply(Command::Unsubscribe(Box::new(Unsubscribe {
            connection: ConnectionId(connection),
            request: request as u16,
            filters: vec![filter.into()],
        })));
        if self.shadow.session(client).is_some_and(|session| session.subs.contains_key(filter)) {
            self.shadow.set_subscription(client, filter, None, request);
        }
        self.expect(connection, Answer::Unsubscribed(request));
        self.take(out);
    }

    fn publish(&mut self, client: usize) {
        let Some(connection) = self.usable(client) else { return };
        let (topic, qos) = (self.rng.pick(&TOPICS), self.rng.pick(&QOS));
        let wanted = self.rng.below(12) as u16;
        let Some(tag) = self.devices[client].free_tag(wanted) else { return };
        let retain = self.rng.chance(20);
        let expires = if self.rng.chance(12) {
            let ms = 1 + self.rng.below(6_000) as u64;
            self.now.plus_ms(ms)
        } else {
            Timestamp::NEVER
        };
        let clears = retain && self.rng.chance(25);
        let (id, _) =
            self.make_message(Published { retain, clears, expires, ..new_message(topic, qos, client) });
        if qos > QoS::AtMostOnce {
            self.devices[client].own.push(Own { tag, id, qos, received: false, released: false });
        }
        self.send(connection, id, tag);
    }

    /// Sends a message for the first time, or a copy of QoS 2 again.
    fn send(&mut self, connection: u64, id: MessageId, tag: u16) {
        let published = self.shadow.messages[id as usize].clone();
        let body = if published.clears { String::new() } else { format!("{id}:") };
        let tag = if published.qos == QoS::AtMostOnce { 0 } else { tag };
        let (message, tagged) = (message_of(&published, &body), DeliveryTag(tag));
        let connection_id = ConnectionId(connection);
        let (out, before) =
            self.apply(Command::Publish(Publish { connection: connection_id, message, tag: tagged }));
        let after = self.queue_manager.statistics();
        let is_news = after.published > before.published;
        let refused = after.refused_queue_full > before.refused_queue_full;
        self.shadow.messages[id as usize].refused = refused;
        self.shadow.messages[id as usize].late |= refused;
        if is_news && !refused {
            self.shadow.messages[id as usize].late |= published.expires <= self.now;
            if published.doubtful {
                self.shadow.sessions.iter_mut().for_each(|session| drop(session.claims.remove(&id)));
            }
            self.shadow.messages[id as usize].doubtful = false;
            self.shadow.publish(id);
            if published.retain {
                self.shadow.retain(id, after.retained_refused == before.retained_refused);
            }
        } else if !refused {
            self.shadow.messages[id as usize].doubtful = false;
        }
        match published.qos {
            QoS::AtMostOnce => {}
            QoS::AtLeastOnce => self.expect(connection, Answer::Confirm(Stage::Accepted, tag, id)),
            QoS::ExactlyOnce => self.expect(connection, Answer::Confirm(Stage::Received, tag, id)),
        }
        self.take(out);
    }

    /// The session goes on: what was not confirmed is sent again, in order (MQTT-4.4.0-1).
    pub fn resend(&mut self, client: usize) {
        for Own { tag, id, qos, received, .. } in self.devices[client].own.clone() {
            let Some(connection) = self.devices[client].connection else { return };
            if received {
                self.send_release(client, connection, tag, id);
            } else if qos == QoS::ExactlyOnce {
                self.send(connection, id, tag);
            } else {
                let again = Published {
                    confirmed: false,
                    doubtful: false,
                    refused: false,
                    ..self.shadow.messages[id as usize].clone()
                };
                let (fresh, _) = self.make_message(again);
                if let Some(own) = self.devices[client].own(tag) {
                    own.id = fresh;
                }
                self.send(connection, fresh, tag);
            }
        }
    }

    fn send_release(&mut self, client: usize, connection: u64, tag: u16, id: MessageId) {
        let (connection_id, tagged) = (ConnectionId(connection), DeliveryTag(tag));
        if let Some(own) = self.devices[client].own(tag) {
            own.released = true;
        }
        let (out, _) = self.apply(Command::Release { connection: connection_id, tag: tagged });
        self.expect(connection, Answer::Confirm(Stage::Completed, tag, id));
        self.take(out);
    }

    /// Does one thing that the client owes, chosen at random. False if it owes nothing.
    pub fn answer(&mut self, client: usize) -> bool {
        let Some(connection) = self.devices[client].connection else { return false };
        let mut owed: Vec<u16> = self.devices[client].owed.keys().copied().collect();
        owed.retain(|tag| self.devices[client].owed[tag].1 != Owed::Received);
        let releases: Vec<_> = (self.devices[client].own.iter())
            .filter(|own| own.received && !own.released)
            .map(|own| (own.tag, own.id))
            .collect();
        if !self.devices[client].connected || owed.len() + releases.len() == 0 {
            return false;
        }
        let at = self.rng.below(owed.len() + releases.len());
        match owed.get(at) {
            Some(tag) => self.settle_owed(client, connection, *tag),
            None => {
                let (tag, id) = releases[at - owed.len()];
                self.send_release(client, connection, tag, id);
            }
        }
        true
    }

    fn settle_owed(&mut self, client: usize, connection: u64, tag: u16) {
        let refuses = self.rng.chance(3);
        let device = &mut self.devices[client];
        let Some((id, owed)) = device.owed.get(&tag).copied() else { return };
        let settlement = match owed {
            Owed::Message(qos) if refuses => {
                device.held.remove(&tag);
                if let Some(claim) = self.shadow.session(client).and_then(|s| s.claims.get_mut(&id)) {
                    // Refused, it was not taken: it may come again if the server crashes.
                    claim.taken -= u32::from(qos == QoS::ExactlyOnce);
                }
                Settlement::Refused
            }
            Owed::Message(QoS::ExactlyOnce) => Settlement::Received,
            Owed::Message(_) => Settlement::Accepted,
            _ => Settlement::Completed,
        };
        match settlement {
            Settlement::Received => device.owed.insert(tag, (id, Owed::Received)),
            _ => device.owed.remove(&tag),
        };
        self.settle(connection, tag, settlement);
    }

    fn settle(&mut self, connection: u64, tag: u16, settlement: Settlement) {
        let (connection, tag) = (ConnectionId(connection), DeliveryTag(tag));
        let (out, _) = self.apply(Command::Settle { connection, tag, settlement });
        self.take(out);
    }

    /// Settlements that do not fit: they must change nothing.
    fn answer_wrongly(&mut self, client: usize) {
        let Some(connection) = self.usable(client) else { return };
        let tag = 1 + self.rng.below(15) as u16;
        let settlement = match self.devices[client].owed.get(&tag) {
            None => self.rng.pick(&[Settlement::Accepted, Settlement::Received, Settlement::Completed]),
            Some((_, Owed::Message(QoS::ExactlyOnce))) => {
                self.rng.pick(&[Settlement::Accepted, Settlement::Completed])
            }
            Some((_, Owed::Message(_))) => Settlement::Completed,
            Some((_, Owed::Received | Owed::Completion)) => Settlement::Accepted,
        };
        self.devices[client].lied.extend(Some(tag).filter(|_| settlement == Settlement::Received));
        self.settle(connection, tag, settlement);
    }

    /// The client stops reading, or reads again.
    fn clog(&mut self, client: usize) {
        let Some(connection) = self.usable(client).map(ConnectionId) else { return };
        let open = self.rng.chance(60);
        let (out, _) = self.apply(Command::Flow { connection, open });
        self.take(out);
    }

    fn leave(&mut self, client: usize) {
        let Some(connection) = self.devices[client].connection else { return };
        let with_will = self.rng.chance(50);
        let was_volatile = self.shadow.session(client).is_none_or(|session| session.expiry_s == 0);
        let changed = [None, None, Some(0), Some(4), Some(SESSION_NEVER_EXPIRES)];
        let session_expiry_s = if was_volatile { None } else { self.rng.pick(&changed) };
        let connection_id = ConnectionId(connection);
        let orderly = self.rng.chance(50);
        let (out, _) = self.apply(if orderly {
            Command::Disconnect(Disconnect { connection: connection_id, with_will, session_expiry_s })
        } else {
            Command::Lost { connection: connection_id }
        });
        self.close(connection);
        if let (Some(session), Some(expiry_s), true) =
            (self.shadow.session(client), session_expiry_s, orderly)
        {
            session.expiry_s = expiry_s;
        }
        if let Some(session) = self.shadow.session(client) {
            session.expiry_s = session.expiry_s.min(self.limits.session_expiry_s);
        }
        self.shadow.detach(client, with_will || !orderly, self.now);
        self.shadow.alive_history[client].push((NOBODY, self.shadow.alive[client]));
        self.take(out);
    }

    pub fn roll(&mut self) {
        let most = (self.disk.len() - self.disk.rolled).min(40);
        let end = self.disk.rolled + self.rng.below(most + 1);
        self.note(|| format!("roll forward to {end}"));
        for index in self.disk.rolled..end.min(self.disk.durable) {
            let Some(record) = self.disk.record(index).map(<[u8]>::to_vec) else { continue };
            let at = ferrymq_queue_manager::Position(index as u64 + 1);
            if self.disk.fault != crate::disk::Fault::RecyclesUncopied
                && let Err(error) = self.queue_manager.roll_forward(&record, at, &mut self.disk)
            {
                self.fail(format!("record {index}: {error}"));
            }
        }
        self.disk.mark_rolled(end.min(self.disk.durable).max(self.disk.rolled));
    }

    pub fn recycle(&mut self) {
        let which = self.rng.below(8);
        self.disk.recycle(which);
    }

    /// The connection of a client that may send commands.
    fn usable(&self, client: usize) -> Option<u64> {
        self.devices[client].connection.filter(|_| self.devices[client].connected)
    }

    fn expect(&mut self, connection: u64, answer: Answer) {
        if let Some(link) = self.links.get_mut(&connection) {
            link.answers.push_back(answer);
        }
    }
}

fn new_message(topic: &'static str, qos: QoS, publisher: usize) -> Published {
    Published {
        topic,
        qos,
        publisher,
        retain: false,
        clears: false,
        expires: Timestamp::NEVER,
        is_will: false,
        confirmed: false,
        doubtful: false,
        late: false,
        refused: false,
    }
}
