//! Who subscribes to what, and the routes that follow from it.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use ferrymq_message::{Message, QoS};
use ferrymq_topic::{SharedFilter, TopicFilter, TopicName, TopicTree};
use hashbrown::HashMap;
use slab::Slab;

use crate::client_session::Subscription;
use crate::route::Route;
use crate::session_table::SessionKey;

/// Routes kept for topics in use; beyond, all are forgotten and made anew as they are needed.
const ROUTES_KEPT: usize = 65_536;

/// Bytes of them all: a thousand sessions that subscribe to `#` take 56 KB in the route of every topic.
const ROUTE_BYTES_KEPT: usize = 64 << 20;

/// A subscription as a topic knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Subscriber {
    pub session: SessionKey,
    /// 0 if it has none.
    pub identifier: u32,
    pub qos: QoS,
    pub no_local: bool,
    pub retain_as_published: bool,
}

/// The subscriptions of one filter.
#[derive(Debug, Default)]
pub(crate) struct FilterSubscribers {
    pub direct: Vec<Subscriber>,
    /// Keys of groups.
    pub shared: Vec<GroupKey>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GroupKey(usize);

/// The sessions that share one subscription (MQTT-5 4.8.2).
#[derive(Debug)]
pub(crate) struct SharedGroup {
    pub name: Box<str>,
    pub members: Vec<Subscriber>,
    /// Whose turn it is: an index into `members`, taken modulo their number.
    pub turn: usize,
}

#[derive(Debug, Default)]
pub(crate) struct SubscriptionTable {
    tree: TopicTree<FilterSubscribers>,
    groups: Slab<SharedGroup>,
    /// By the bytes of the topic.
    routes: HashMap<Box<[u8]>, Arc<Route>>,
    /// Memory of `routes`, about.
    route_bytes: usize,
    count: usize,
}

/// A filter as its session wrote it, taken apart.
pub(crate) struct ParsedFilter<'a> {
    pub group: Option<&'a str>,
    pub filter: TopicFilter<'a>,
}

impl<'a> ParsedFilter<'a> {
    /// For text that was checked when the subscription was made, or is checked here.
    pub fn parse(text: &'a str, limits: &ferrymq_topic::TopicLimits) -> Option<ParsedFilter<'a>> {
        match SharedFilter::parse_within(text, limits).ok()? {
            Some(shared) => Some(ParsedFilter { group: Some(shared.group), filter: shared.filter }),
            None => {
                let filter = TopicFilter::parse_within(text, limits).ok()?;
                Some(ParsedFilter { group: None, filter })
            }
        }
    }
}

impl SubscriptionTable {
    /// No subscriptions; `seed` keeps peers from choosing topics that collide.
    pub fn with_seed(seed: u64) -> SubscriptionTable {
        SubscriptionTable { tree: TopicTree::with_seed(seed), ..SubscriptionTable::default() }
    }

    /// Subscriptions of all sessions.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Makes a subscription, or changes the one that the session has with this filter.
    pub fn insert(&mut self, session: SessionKey, filter: &ParsedFilter<'_>, subscription: &Subscription) {
        let subscriber = Subscriber {
            session,
            identifier: subscription.identifier,
            qos: subscription.qos,
            no_local: subscription.no_local,
            retain_as_published: subscription.retain_as_published,
        };
        self.forget_routes();
        let subscribers = match filter.group {
            None => &mut self.tree.entry(&filter.filter).direct,
            Some(name) => {
                let group = self.group_of(&filter.filter, name);
                &mut self.groups[group.0].members
            }
        };
        match subscribers.iter_mut().find(|other| other.session == session) {
            Some(other) => *other = subscriber,
            None => {
                subscribers.push(subscriber);
                self.count += 1;
            }
        }
    }

    pub fn remove(&mut self, session: SessionKey, filter: &ParsedFilter<'_>) {
        self.forget_routes();
        let Some(subscribers) = self.tree.get_mut(&filter.filter) else { return };
        let removed = match filter.group {
            None => take_subscriber(&mut subscribers.direct, session),
            Some(name) => leave_group(&mut self.groups, &mut subscribers.shared, name, session),
        };
        self.count -= usize::from(removed);
        self.tree.remove_if(&filter.filter, |all| all.direct.is_empty() && all.shared.is_empty());
    }

    pub fn group(&mut self, key: GroupKey) -> Option<&mut SharedGroup> {
        self.groups.get_mut(key.0)
    }

    /// The group of this name and filter, if it has members.
    pub fn find_group(&self, filter: &ParsedFilter<'_>) -> Option<GroupKey> {
        let subscribers = self.tree.get(&filter.filter)?;
        subscribers.shared.iter().copied().find(|key| Some(&*self.groups[key.0].name) == filter.group)
    }

    /// Where a message goes.
    pub fn route(&mut self, message: &Message) -> Arc<Route> {
        if let Some(route) = self.routes.get(message.topic_bytes()) {
            return route.clone();
        }
        let route = Arc::new(self.build_route(message.topic()));
        let bytes = message.topic_bytes().len() + route.memory();
        if self.routes.len() >= ROUTES_KEPT || self.route_bytes + bytes > ROUTE_BYTES_KEPT {
            self.forget_routes();
        }
        self.route_bytes += bytes;
        self.routes.insert(message.topic_bytes().into(), route.clone());
        route
    }

    fn forget_routes(&mut self) {
        self.routes.clear();
        self.route_bytes = 0;
    }

    fn build_route(&self, topic: &str) -> Route {
        let mut direct = Vec::new();
        let mut shared = Vec::new();
        if let Ok(name) = TopicName::parse(topic) {
            self.tree.for_each_match(&name, |subscribers| {
                direct.extend_from_slice(&subscribers.direct);
                shared.extend_from_slice(&subscribers.shared);
            });
        }
        Route::new(direct, shared)
    }

    fn group_of(&mut self, filter: &TopicFilter<'_>, name: &str) -> GroupKey {
        let shared = &mut self.tree.entry(filter).shared;
        if let Some(key) = shared.iter().find(|key| *self.groups[key.0].name == *name) {
            return *key;
        }
        let key =
            GroupKey(self.groups.insert(SharedGroup { name: name.into(), members: Vec::new(), turn: 0 }));
        shared.push(key);
        key
    }
}

fn take_subscriber(subscribers: &mut Vec<Subscriber>, session: SessionKey) -> bool {
    let Some(at) = subscribers.iter().position(|other| other.session == session) else { return false };
    subscribers.swap_remove(at);
    true
}

fn leave_group(
    groups: &mut Slab<SharedGroup>,
    keys: &mut Vec<GroupKey>,
    name: &str,
    session: SessionKey,
) -> bool {
    let Some(at) = keys.iter().position(|key| *groups[key.0].name == *name) else { return false };
    let group = &mut groups[keys[at].0];
    let removed = take_subscriber(&mut group.members, session);
    if group.members.is_empty() {
        groups.remove(keys.swap_remove(at).0);
    }
    removed
}

#[cfg(test)]
mod tests {
    use alloc::format;

    use ferrymq_message::Descriptor;
    use ferrymq_topic::TopicLimits;

    use super::*;
    use crate::record::QueueId;
    use crate::session_table::SessionTable;

    #[test]
    fn routes_of_many_topics_with_many_receivers_are_not_all_kept() {
        let mut sessions = SessionTable::default();
        let mut table = SubscriptionTable::with_seed(1);
        let all = ParsedFilter::parse("#", &TopicLimits::PROTOCOL).unwrap();
        let subscription = Subscription {
            filter: "#".into(),
            position: crate::Position::default(),
            identifier: 0,
            qos: QoS::AtMostOnce,
            no_local: false,
            retain_as_published: false,
        };
        for n in 0..1_000 {
            let key = sessions.insert(format!("{n}").into(), QueueId(n));
            table.insert(key, &all, &subscription);
        }
        for n in 0..1_500 {
            let message = Message::from_parts(Descriptor::default(), &format!("t/{n}"), &[], &[]);
            assert_eq!(table.route(&message).receivers.len(), 1_000);
        }
        let kept: usize = table.routes.values().map(|route| route.memory()).sum();
        assert!(kept <= table.route_bytes && table.route_bytes <= ROUTE_BYTES_KEPT);
        assert!((1..1_300).contains(&table.routes.len()), "{}", table.routes.len());
        table.remove(SessionTable::default().insert("other".into(), QueueId(9_999)), &all);
        assert_eq!((table.routes.len(), table.route_bytes), (0, 0));
    }
}
