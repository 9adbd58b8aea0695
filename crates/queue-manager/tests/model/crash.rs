//! Crashes, what may be left of them, and what must be there at the end.

use ferrymq_message::Timestamp;
use ferrymq_queue_manager::{Audit, Position, Restart, SessionAudit, Statistics};

use crate::shadow::{MessageId, NOBODY, Sub};
use crate::world::{World, id_of};

impl World {
    /// The process dies; all that is durable and some more is left; it starts again.
    pub fn crash(&mut self) {
        let more = self.rng.below(self.disk.len() - self.disk.durable + 1);
        let loses_nothing = self.disk.durable + more == self.disk.len();
        let before = Some(self.queue_manager.audit()).filter(|_| loses_nothing);
        self.disk.crash(more);
        self.now = self.now.plus_ms(self.rng.pick(&[0, 1_000, 70_000]));
        self.crashes += 1;
        let (kept, now) = (self.disk.durable, self.now);
        self.note(|| format!("CRASH with {kept} records, {now:?}"));
        let mut restart = Restart::new(self.limits.clone(), 1);
        for index in 0..self.disk.len() {
            if let Some(record) = self.disk.record(index)
                && let Err(error) = restart.restore(record, Position(index as u64 + 1))
            {
                return self.fail(format!("record {index}: {error}"));
            }
        }
        self.queue_manager = restart.finish(self.now);
        self.held.clear();
        self.links.clear();
        self.resuming.clear();
        self.devices.iter_mut().for_each(|device| device.lose_connection());
        self.adopt();
        if let Some(before) = before {
            self.check_same(&before);
        }
        if self.violation.is_some() {
            return;
        }
        if self.rng.chance(50) {
            let client = self.rng.below(self.devices.len());
            self.sync_to(self.disk.len());
            self.connect(client, None);
        }
        self.sync_to(self.disk.len());
        self.pass(0);
    }

    /// With all records there everything that they hold is as it was.
    fn check_same(&mut self, before: &Audit) {
        let after = self.queue_manager.audit();
        let lasting = |audit: &Audit| {
            let sessions = audit.sessions.iter().filter(|session| session.logged && session.expiry_s > 0);
            let parts = sessions.map(|s| (s.queue, s.recorded, s.unreleased.len(), s.will_due_at.is_some()));
            let mut parts: Vec<_> = parts.collect();
            parts.sort_unstable();
            parts
        };
        let (was, is) = (lasting(before), lasting(&after));
        if was != is {
            self.fail(format!("(queue, recorded, unreleased, will): {was:?} became {is:?}"));
        }
    }

    /// The shadow becomes what the restarted queue manager holds, if that is one of the things that it may hold.
    fn adopt(&mut self) {
        for message in self.shadow.messages.iter_mut().filter(|message| !message.confirmed) {
            message.doubtful = true;
        }
        self.shadow.wills = 0;
        let audit = self.queue_manager.audit();
        for client in 0..self.devices.len() {
            let name = format!("c{client}");
            let found = audit.sessions.iter().find(|session| *session.client_id == *name);
            self.adopt_session(client, found);
        }
        self.adopt_retained(&audit);
    }

    fn adopt_session(&mut self, client: usize, found: Option<&SessionAudit>) {
        let all = &self.shadow.sessions;
        let which = found.and_then(|found| {
            all.iter().rposition(|session| session.client == client && session.queue == found.queue)
        });
        let history = &self.shadow.alive_history[client];
        if found.is_some() != which.is_some() || history.iter().all(|(_, session)| *session != which) {
            let history = format!("{history:?}");
            return self
                .fail(format!("after a crash client {client} has {found:?}, but {history} was possible"));
        }
        self.shadow.alive[client] = which;
        self.shadow.alive_history[client] = vec![(NOBODY, which)];
        let (Some(which), Some(found)) = (which, found) else { return };
        let session = &mut self.shadow.sessions[which];
        session.connected = false;
        session.expiry_s = found.expiry_s;
        session.detached_at = found.detached_at;
        let will = session.last_will;
        let delay =
            |due: Timestamp| (due.ms_since(found.detached_at) / 1_000).min(u64::from(u32::MAX)) as u32;
        session.will = found.will_due_at.map(|due| (will, delay(due)));
        let mut lost = None;
        session.subs.clear();
        for (filter, history) in &mut session.history {
            let here = found.subscriptions.iter().find(|(name, ..)| **name == **filter);
            let here = here.map(|(_, qos, identifier, no_local)| (*qos, *identifier, *no_local));
            let fits = |sub: &Option<Sub>| sub.map(|sub| (sub.qos, sub.identifier, sub.no_local)) == here;
            match history.iter().rev().find(|(_, sub)| fits(sub)).map(|(_, sub)| *sub) {
                Some(sub) => {
                    *history = vec![(0, sub)];
                    sub.map(|sub| session.subs.insert(filter, sub));
                }
                None => lost = Some(format!("{filter} is {here:?}, not one of {history:?}")),
            }
        }
        if session.subs.len() != found.subscriptions.len() {
            lost = Some(format!("subscriptions {:?}", found.subscriptions));
        }
        if let Some(lost) = lost {
            self.fail(format!("after a crash of client {client}: {lost}"));
        }
    }

    fn adopt_retained(&mut self, audit: &Audit) {
        let now = self.now;
        self.shadow.retained.clear();
        let mut lost = None;
        for (topic, history) in &mut self.shadow.retained_history {
            let here = audit.retained.iter().find(|message| message.topic() == *topic).and_then(id_of);
            let messages = &self.shadow.messages;
            let over = |id: MessageId| messages[id as usize].expires <= now;
            let fits =
                |value: &Option<MessageId>| *value == here || (here.is_none() && value.is_some_and(over));
            if !history.iter().any(|(_, value)| fits(value)) && !here.is_some_and(over) {
                lost = Some(format!("{topic} retains {here:?}, not one of {history:?}"));
            }
            *history = vec![(MessageId::MAX, here)];
            here.map(|id| self.shadow.retained.insert(topic, id));
        }
        if let Some(lost) = lost {
            self.fail(format!("after a crash {lost}"));
        }
    }

    /// The running figures against a recount, the rest against the shadow.
    pub fn check_figures(&mut self) {
        let audit = self.queue_manager.audit();
        let figures = self.queue_manager.statistics();
        if figures != audit.figures || !audit.faults.is_empty() {
            let wrong = difference(&figures, &audit.figures);
            self.fail(format!("figures: {wrong} {:?}", audit.faults));
        }
        if self.disk.misread {
            self.fail("a record was read that is recycled".into());
        }
        if figures.wills != self.shadow.wills {
            self.fail(format!("{} wills published instead of {}", figures.wills, self.shadow.wills));
        }
        for (client, alive) in self.shadow.alive.clone().into_iter().enumerate() {
            let name = format!("c{client}");
            let found = audit.sessions.iter().find(|session| *session.client_id == *name);
            if found.is_some() != alive.is_some() {
                self.fail(format!("client {client} has {found:?} instead of {alive:?}"));
            }
            if let (Some(found), Some(alive)) = (found, alive) {
                self.shadow.sessions[alive].queue = found.queue;
                self.check_session(client, found);
            }
        }
        self.check_retained(&audit);
    }

    fn check_session(&mut self, client: usize, found: &SessionAudit) {
        let Some(session) = self.shadow.session(client) else { return };
        let wanted: Vec<_> =
            session.subs.iter().map(|(f, sub)| (*f, sub.qos, sub.identifier, sub.no_local)).collect();
        let here: Vec<_> =
            found.subscriptions.iter().map(|(f, qos, id, own)| (&**f, *qos, *id, *own)).collect();
        if here != wanted || session.connected != found.connection.is_some() {
            let wanted = format!("{wanted:?}");
            self.fail(format!("client {client}: {found:?} instead of {wanted}"));
        }
    }

    fn check_retained(&mut self, audit: &Audit) {
        let now = self.now;
        let is_live = |id: &MessageId| self.shadow.messages[*id as usize].expires > now;
        let mut here: Vec<_> = audit.retained.iter().filter_map(id_of).filter(is_live).collect();
        let mut wanted: Vec<_> = self.shadow.retained.values().copied().filter(is_live).collect();
        here.sort_unstable();
        wanted.sort_unstable();
        if here != wanted {
            self.fail(format!("retained: {here:?} instead of {wanted:?}"));
        }
    }

    /// Every client that has a session comes back and takes everything; then nothing may be missing.
    pub fn finish(&mut self) {
        self.sync();
        for client in 0..self.devices.len() {
            if self.shadow.alive[client].is_some() {
                self.connect(client, Some(10));
            }
        }
        for _ in 0..10_000 {
            self.sync();
            let mut busy = false;
            for client in 0..self.devices.len() {
                busy |= self.answer(client);
            }
            if !busy || self.violation.is_some() {
                break;
            }
        }
        self.pass(10_000);
        self.sync();
        self.check_figures();
        self.check_nothing_missing();
    }

    fn check_nothing_missing(&mut self) {
        let waiting = self.queue_manager.statistics().queued;
        if waiting > 0 {
            let sessions = self.queue_manager.audit().sessions;
            self.fail(format!("{waiting} messages are stuck: {sessions:?}"));
        }
        let mut missing = Vec::new();
        for at in self.shadow.alive.iter().flatten() {
            for (id, claim) in &self.shadow.sessions[*at].claims {
                let message = &self.shadow.messages[*id as usize];
                if claim.required && claim.delivered == 0 && !message.doubtful && !message.refused {
                    missing.push((*at, *id));
                }
            }
        }
        if !missing.is_empty() {
            self.fail(format!("lost: (session, message) {missing:?}"));
        }
        let open: Vec<_> = self.links.values().filter(|link| !link.answers.is_empty()).collect();
        if !open.is_empty() {
            let open = format!("{open:?}");
            self.fail(format!("never answered: {open}"));
        }
    }
}

fn difference(kept: &Statistics, counted: &Statistics) -> String {
    let (kept, counted) = (format!("{kept:?}"), format!("{counted:?}"));
    let pairs = kept.split(", ").zip(counted.split(", "));
    let differing: Vec<_> = pairs.filter(|(a, b)| a != b).map(|(a, b)| format!("{a} counted {b}")).collect();
    differing.join(", ")
}
