//! Subscriptions are made, changed and ended (MQTT 3.8 to 3.11).

use alloc::vec::Vec;

use ferrymq_topic::TopicLimits;

use crate::client_session::Subscription;
use crate::queue_manager::{QueueManager, Turn};
use crate::record::Record;
use crate::route::Grant;
use crate::session_table::SessionKey;
use crate::subscription_table::ParsedFilter;
use crate::{
    Effect, Position, Subscribe, SubscribeOutcome, SubscriptionRequest, Unsubscribe, UnsubscribeOutcome,
};

/// What becomes of one filter of a request.
struct Made {
    outcome: SubscribeOutcome,
    is_new: bool,
    position: Position,
}

impl QueueManager {
    pub(crate) fn subscribe(&mut self, subscribe: Subscribe, turn: &mut Turn<'_>) {
        let Some(key) = self.sessions.by_connection(subscribe.connection) else { return };
        let identifier = subscribe.identifier.unwrap_or(0);
        let made: Vec<Made> =
            subscribe.subscriptions.iter().map(|request| self.make(key, request, identifier, turn)).collect();
        let after = made.iter().map(|made| made.position).max().unwrap_or_default();
        let outcomes = made.iter().map(|made| made.outcome).collect();
        let Subscribe { connection, request, .. } = subscribe;
        self.answer(key, after, Effect::Subscribed { connection, request, outcomes }, turn);
        for (made, request) in made.iter().zip(&subscribe.subscriptions) {
            self.answer_with_retained(key, request, identifier, made, turn);
        }
        self.pump(key, turn);
    }

    fn make(
        &mut self,
        key: SessionKey,
        request: &SubscriptionRequest,
        identifier: u32,
        turn: &mut Turn<'_>,
    ) -> Made {
        let limits = self.topic_limits();
        let refused = |outcome| Made { outcome, is_new: false, position: Position::default() };
        let Some(filter) = ParsedFilter::parse(&request.filter, &limits) else {
            return refused(SubscribeOutcome::FilterInvalid);
        };
        let place = self.sessions[key].find_subscription(&request.filter);
        let count = self.sessions[key].subscriptions.len();
        if place.is_err() && count >= self.limits.subscriptions_per_session as usize {
            return refused(SubscribeOutcome::QuotaExceeded);
        }
        let mut subscription = Subscription {
            filter: request.filter.clone(),
            position: Position::default(),
            identifier,
            qos: request.qos,
            no_local: request.no_local,
            retain_as_published: request.retain_as_published,
        };
        if self.sessions[key].logged {
            let queue = self.sessions[key].queue;
            let record = Record::Subscribe { queue, subscription: subscription.record() };
            subscription.position = self.log(&record, turn);
        }
        let position = subscription.position;
        self.subscriptions.insert(key, &filter, &subscription);
        let subscriptions = &mut self.sessions[key].subscriptions;
        match place {
            Ok(at) => subscriptions[at] = subscription,
            Err(at) => {
                subscriptions.reserve_exact(1);
                subscriptions.insert(at, subscription);
            }
        }
        Made { outcome: SubscribeOutcome::Granted(request.qos), is_new: place.is_err(), position }
    }

    /// Not for shared subscriptions (MQTT-5 3.8.4).
    fn answer_with_retained(
        &mut self,
        key: SessionKey,
        request: &SubscriptionRequest,
        identifier: u32,
        made: &Made,
        turn: &mut Turn<'_>,
    ) {
        let SubscribeOutcome::Granted(qos) = made.outcome else { return };
        if !request.retain_handling.wants_retained(made.is_new) {
            return;
        }
        let Some(ParsedFilter { group: None, filter }) =
            ParsedFilter::parse(&request.filter, &TopicLimits::PROTOCOL)
        else {
            return;
        };
        let identifiers = (identifier != 0).then(|| [identifier].into());
        let grant = Grant { qos, retain_as_published: true, identifiers };
        self.send_retained(key, &filter, &grant, made.position, turn);
    }

    pub(crate) fn unsubscribe(&mut self, unsubscribe: Unsubscribe, turn: &mut Turn<'_>) {
        let Some(key) = self.sessions.by_connection(unsubscribe.connection) else { return };
        let ended: Vec<(UnsubscribeOutcome, Position)> =
            unsubscribe.filters.iter().map(|filter| self.end_subscription(key, filter, turn)).collect();
        let after = ended.iter().map(|(_, position)| *position).max().unwrap_or_default();
        let outcomes = ended.iter().map(|(outcome, _)| *outcome).collect();
        let Unsubscribe { connection, request, .. } = unsubscribe;
        self.answer(key, after, Effect::Unsubscribed { connection, request, outcomes }, turn);
    }

    fn end_subscription(
        &mut self,
        key: SessionKey,
        filter: &str,
        turn: &mut Turn<'_>,
    ) -> (UnsubscribeOutcome, Position) {
        if ParsedFilter::parse(filter, &self.topic_limits()).is_none() {
            return (UnsubscribeOutcome::FilterInvalid, Position::default());
        }
        let Ok(at) = self.sessions[key].find_subscription(filter) else {
            return (UnsubscribeOutcome::NotFound, Position::default());
        };
        let ended = self.sessions[key].subscriptions.remove(at);
        let mut position = Position::default();
        if self.sessions[key].logged {
            position = self.log(&Record::Unsubscribe { queue: self.sessions[key].queue, filter }, turn);
        }
        self.forget_subscription(key, filter);
        self.hand_on_queued(key, core::slice::from_ref(&ended), false, turn);
        (UnsubscribeOutcome::Removed, position)
    }

    /// Takes a subscription out of the topic tree.
    pub(crate) fn forget_subscription(&mut self, key: SessionKey, filter: &str) {
        if let Some(filter) = ParsedFilter::parse(filter, &TopicLimits::PROTOCOL) {
            self.subscriptions.remove(key, &filter);
        }
    }
}
