//! Shared subscriptions: whose turn it is, and what happens to a member's messages when it leaves (MQTT-5 4.8.2).

use alloc::vec::Vec;

use ferrymq_message::{Message, QoS};
use ferrymq_topic::TopicLimits;

use crate::client_session::Subscription;
use crate::deliver::read_message;
use crate::delivery_window::DeliveryStage;
use crate::queue_entry::{Content, Entry};
use crate::queue_manager::{QueueManager, Turn};
use crate::record::PutHead;
use crate::route::Grant;
use crate::session_table::SessionKey;
use crate::subscription_table::{GroupKey, ParsedFilter};

/// Which members are considered, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fitness {
    /// Connected, and can be sent to at once.
    Idle,
    Connected,
    /// Away, but its queue has room for the message and keeps it.
    Away,
}

impl QueueManager {
    /// The member whose turn it is among the fittest. QoS 0 goes to connected members only.
    pub(crate) fn choose_member(&mut self, group: GroupKey, qos: QoS) -> Option<(SessionKey, Grant)> {
        let worst = if qos == QoS::AtMostOnce { Fitness::Connected } else { Fitness::Away };
        self.choose(group, worst)
    }

    /// Whether no member has room for a message.
    pub(crate) fn is_group_full(&mut self, group: GroupKey) -> bool {
        let Some(group) = self.subscriptions.group(group) else { return false };
        let members: Vec<SessionKey> = group.members.iter().map(|member| member.session).collect();
        members.into_iter().all(|member| self.is_queue_full(member))
    }

    fn choose(&mut self, group: GroupKey, worst: Fitness) -> Option<(SessionKey, Grant)> {
        let depth = self.limits.queue_depth as usize;
        let group = self.subscriptions.group(group)?;
        let count = group.members.len();
        for fitness in [Fitness::Idle, Fitness::Connected, Fitness::Away] {
            let found = (0..count).map(|step| (group.turn + step) % count).find(|at| {
                let member = &group.members[*at];
                let session = &self.sessions[member.session];
                let has_room = !session.logged || session.depth() < depth;
                match fitness {
                    Fitness::Idle => session.live().is_some() && session.is_idle(self.limits.inflight_bytes),
                    Fitness::Connected => session.live().is_some() && has_room,
                    Fitness::Away => has_room && member.qos > QoS::AtMostOnce,
                }
            });
            if let Some(at) = found {
                group.turn = at + 1;
                let member = &group.members[at];
                return Some((member.session, Grant::of([member].into_iter())?));
            }
            if fitness == worst {
                break;
            }
        }
        None
    }

    /// A member lost its connection: what it was not sent yet goes to members that are connected.
    pub(crate) fn hand_on_shared(&mut self, key: SessionKey, turn: &mut Turn<'_>) {
        let has_queue =
            self.sessions[key].outgoing.as_ref().is_some_and(|outgoing| !outgoing.queue.is_empty());
        if !has_queue {
            return;
        }
        let subscriptions = core::mem::take(&mut self.sessions[key].subscriptions);
        self.hand_on_queued(key, &subscriptions, true, turn);
        self.sessions[key].subscriptions = subscriptions;
    }

    /// Hands on the queued messages that came by these subscriptions, if they are shared ones.
    pub(crate) fn hand_on_queued(
        &mut self,
        key: SessionKey,
        subscriptions: &[Subscription],
        only_live: bool,
        turn: &mut Turn<'_>,
    ) {
        let groups = self.groups_of(subscriptions);
        let Some(outgoing) = self.sessions[key].outgoing.as_mut().filter(|_| !groups.is_empty()) else {
            return;
        };
        let (shared, own): (Vec<_>, Vec<_>) =
            core::mem::take(&mut outgoing.queue).into_iter().partition(|entry| entry.delivery.shared);
        outgoing.queue = own.into();
        let kept = self.hand_on(key, shared, &groups, only_live, turn);
        self.put_back(key, kept);
    }

    /// The session ends: all its shared messages go on, but for those of QoS 2 that it was sent (MQTT-4.8.2-5).
    pub(crate) fn hand_on_all_shared(
        &mut self,
        key: SessionKey,
        subscriptions: &[Subscription],
        turn: &mut Turn<'_>,
    ) {
        let groups = self.groups_of(subscriptions);
        let Some(outgoing) = self.sessions[key].outgoing.as_mut().filter(|_| !groups.is_empty()) else {
            return;
        };
        let unsettled: Vec<_> = outgoing.window.drain().collect();
        let queued = core::mem::take(&mut outgoing.queue);
        let in_window = unsettled.into_iter().map(|delivery| {
            let was_sent = delivery.repeated || !matches!(delivery.stage, DeliveryStage::Assigned { .. });
            let stays = was_sent && delivery.entry.delivery.qos == QoS::ExactlyOnce;
            (delivery.entry, stays)
        });
        let all = in_window.chain(queued.into_iter().map(|entry| (entry, false)));
        let (shared, own): (Vec<_>, Vec<_>) = all.partition(|(entry, stays)| entry.delivery.shared && !stays);
        let shared = shared.into_iter().map(|(entry, _)| entry).collect();
        let kept = self.hand_on(key, shared, &groups, false, turn);
        own.iter().map(|(entry, _)| entry).chain(&kept).for_each(|entry| self.discount(entry));
    }

    fn groups_of(&self, subscriptions: &[Subscription]) -> Vec<GroupKey> {
        let filters =
            subscriptions.iter().filter_map(|s| ParsedFilter::parse(&s.filter, &TopicLimits::PROTOCOL));
        filters
            .filter(|f| f.group.is_some())
            .filter_map(|filter| self.subscriptions.find_group(&filter))
            .collect()
    }

    /// Gives entries to other members of the groups; those that nobody takes come back.
    fn hand_on(
        &mut self,
        key: SessionKey,
        entries: Vec<Entry>,
        groups: &[GroupKey],
        only_live: bool,
        turn: &mut Turn<'_>,
    ) -> Vec<Entry> {
        let mut kept = Vec::new();
        for entry in entries {
            let Some(message) = self.content_of(&entry, turn) else {
                kept.push(entry);
                continue;
            };
            if message.has_expired(turn.now) {
                self.statistics.expired += 1;
                self.consume(key, &entry, turn);
                continue;
            }
            match self.taker_of(key, &message, groups, only_live) {
                Some((member, grant)) => {
                    self.move_to(member, &message, &grant, turn);
                    self.consume(key, &entry, turn);
                }
                None => kept.push(entry),
            }
        }
        kept
    }

    /// The member of one of the groups, other than the one that leaves, that takes a message.
    fn taker_of(
        &mut self,
        leaving: SessionKey,
        message: &Message,
        groups: &[GroupKey],
        only_live: bool,
    ) -> Option<(SessionKey, Grant)> {
        let route = self.subscriptions.route(message);
        let group = route.groups.iter().find(|group| groups.contains(group))?;
        let worst = if only_live { Fitness::Connected } else { Fitness::Away };
        self.choose(*group, worst).filter(|(member, _)| *member != leaving)
    }

    fn move_to(&mut self, member: SessionKey, message: &Message, grant: &Grant, turn: &mut Turn<'_>) {
        let first = turn.out.targets.len();
        self.offer_to(member, message, grant, true, turn);
        self.emit(message, first, turn);
        self.store_collected(message, PutHead { retained: false, incoming: None }, turn);
    }

    fn content_of(&mut self, entry: &Entry, turn: &mut Turn<'_>) -> Option<Message> {
        if let Content::Resident(message) = &entry.content {
            return Some(message.clone());
        }
        read_message(entry, &mut self.read_scratch, turn)
    }

    /// Entries that nobody took return to their places.
    fn put_back(&mut self, key: SessionKey, kept: Vec<Entry>) {
        if kept.is_empty() {
            return;
        }
        let queue = &mut self.sessions[key].outgoing().queue;
        queue.extend(kept);
        queue.make_contiguous().sort_by_key(|entry| entry.sequence);
    }
}
