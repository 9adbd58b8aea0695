//! Where messages of one topic go: one grant per session, however many of its subscriptions match.

use alloc::boxed::Box;
use alloc::vec::Vec;

use ferrymq_message::QoS;

use crate::session_table::SessionKey;
use crate::subscription_table::{GroupKey, Subscriber};

#[derive(Debug, Default)]
pub(crate) struct Route {
    /// In the order of sessions, each once.
    pub receivers: Vec<Receiver>,
    pub groups: Vec<GroupKey>,
}

#[derive(Debug)]
pub(crate) struct Receiver {
    pub session: SessionKey,
    /// For messages of other sessions.
    pub grant: Grant,
    /// For its own messages: without the subscriptions that are `no local` (MQTT-3.8.3-3). `None`: it gets none.
    pub own: Option<Grant>,
}

/// What the subscriptions of one session allow together: the highest QoS, all identifiers (MQTT-3.3.4-2, -4).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Grant {
    pub qos: QoS,
    pub retain_as_published: bool,
    pub identifiers: Option<Box<[u32]>>,
}

impl Route {
    pub fn new(mut direct: Vec<Subscriber>, groups: Vec<GroupKey>) -> Route {
        direct.sort_by_key(|subscriber| subscriber.session);
        let receivers = direct.chunk_by(|a, b| a.session == b.session).map(Receiver::new).collect();
        Route { receivers, groups }
    }

    /// Bytes that it takes, about.
    pub fn memory(&self) -> usize {
        let identifiers = |grant: &Grant| grant.identifiers.as_ref().map_or(0, |all| 4 * all.len());
        let own = |receiver: &Receiver| receiver.own.as_ref().map_or(0, identifiers);
        let beyond: usize = self.receivers.iter().map(|one| identifiers(&one.grant) + own(one)).sum();
        size_of::<Route>() + size_of_val(&*self.receivers) + size_of_val(&*self.groups) + beyond
    }
}

impl Receiver {
    fn new(subscribers: &[Subscriber]) -> Receiver {
        let own = subscribers.iter().filter(|subscriber| !subscriber.no_local);
        Receiver {
            session: subscribers[0].session,
            grant: Grant::of(subscribers.iter()).unwrap_or_default(),
            own: Grant::of(own),
        }
    }

    pub fn grant_for(&self, publisher: Option<SessionKey>) -> Option<&Grant> {
        if publisher == Some(self.session) { self.own.as_ref() } else { Some(&self.grant) }
    }
}

impl Grant {
    /// `None` if there are no subscribers.
    pub fn of<'a>(subscribers: impl Iterator<Item = &'a Subscriber>) -> Option<Grant> {
        let mut identifiers = Vec::new();
        let mut grant: Option<Grant> = None;
        for subscriber in subscribers {
            let all = grant.get_or_insert_default();
            all.qos = all.qos.max(subscriber.qos);
            all.retain_as_published |= subscriber.retain_as_published;
            if subscriber.identifier != 0 {
                identifiers.push(subscriber.identifier);
            }
        }
        if let (Some(grant), false) = (&mut grant, identifiers.is_empty()) {
            // A record counts identifiers in one byte; a client with more overlapping subscriptions gets the first.
            identifiers.truncate(255);
            grant.identifiers = Some(identifiers.into_boxed_slice());
        }
        grant
    }
}
