//! What the queue manager wants done, as packets.

use ferrymq_message::Timestamp;
use ferrymq_mqtt_proto::{Diagnostics, ReasonCode};
use ferrymq_transport::ConnectionToken;

use crate::engine::{
    CloseReason, Command, DeliveryTag, Effect, Outbox, Outcome, Stage, SubscribeOutcome, UnsubscribeOutcome,
};
use crate::message_in::qos_out;
use crate::network::Sink;
use crate::service::token_of;
use crate::{MqttService, Network};

impl MqttService {
    /// Carries out the effects of a turn and empties them with their targets; what is held stays, its time is the
    /// engine's to know. Some effects lead to commands for the next turn.
    pub fn perform<N: Network>(
        &mut self,
        net: &mut N,
        outbox: &mut Outbox,
        now: Timestamp,
        commands: &mut Vec<Command>,
    ) {
        self.turn = self.turn.wrapping_add(1);
        self.turn_bytes = 0;
        if !self.clogged.is_empty() {
            self.unclog(net, commands);
        }
        let effects = std::mem::take(&mut outbox.effects);
        let mut previous = None;
        for (at, effect) in effects.iter().enumerate() {
            let message = deliver_of(effect);
            if let Effect::Deliver { message, first, count } = effect {
                let targets = &outbox.targets[*first as usize..(*first + *count) as usize];
                let bytes = Some(message.bytes().as_ptr());
                let goes_on = previous == bytes;
                let shared = *count > 1 || goes_on || effects.get(at + 1).and_then(deliver_of) == bytes;
                if !goes_on {
                    self.fan_out.clear();
                }
                self.deliver(net, message, targets, shared, now, commands);
            } else {
                self.answer(net, effect, now, commands);
            }
            previous = message;
        }
        self.fan_out.clear();
        outbox.targets.clear();
        outbox.effects = effects;
        outbox.effects.clear();
        while let Some(token) = self.pings.pop() {
            self.pong(net, token);
        }
    }

    fn answer<N: Network>(
        &mut self,
        net: &mut N,
        effect: &Effect,
        now: Timestamp,
        commands: &mut Vec<Command>,
    ) {
        match effect {
            Effect::Confirm { connection, tag, stage, outcome } => {
                self.confirm(net, token_of(*connection), *tag, *stage, *outcome, commands);
            }
            Effect::Release { connection, tag, found } => {
                self.release(net, token_of(*connection), *tag, *found);
            }
            Effect::Connected { connection, session_present, session_expiry_s } => {
                self.connected(
                    net,
                    token_of(*connection),
                    *session_present,
                    *session_expiry_s,
                    now,
                    commands,
                );
            }
            Effect::Refused { connection, reason } => self.refused(net, token_of(*connection), *reason),
            Effect::Subscribed { connection, request, outcomes } => {
                self.subscribed(net, token_of(*connection), *request, outcomes);
            }
            Effect::Unsubscribed { connection, request, outcomes } => {
                self.unsubscribed(net, token_of(*connection), *request, outcomes);
            }
            Effect::Close { connection, reason } => self.close(net, token_of(*connection), *reason),
            Effect::Deliver { .. } => {}
        }
    }

    fn confirm<N: Network>(
        &mut self,
        net: &mut N,
        token: ConnectionToken,
        tag: DeliveryTag,
        stage: Stage,
        outcome: Outcome,
        commands: &mut Vec<Command>,
    ) {
        let Some(client) = self.clients.get_mut(token) else { return };
        let (reason, text) = result(outcome);
        if stage != Stage::Completed && reason.is_error() && !client.connection.version().is_5() {
            // A 3.x client can't be told; it comes again and repeats the message.
            return self.turn_away(net, token, reason, text.unwrap_or_default(), commands);
        }
        let Some(output) = net.output(token) else { return };
        let diagnostics = Diagnostics { reason_string: text, ..Diagnostics::NONE };
        let connection = &mut client.connection;
        match stage {
            Stage::Accepted => connection.puback(tag.0, reason, &diagnostics, output.buffer()),
            Stage::Received => connection.pubrec(tag.0, reason, &diagnostics, output.buffer()),
            Stage::Completed => connection.pubcomp(tag.0, reason, &diagnostics, output.buffer()),
        }
        self.statistics.packets_sent += 1;
    }

    fn release<N: Network>(&mut self, net: &mut N, token: ConnectionToken, tag: DeliveryTag, found: bool) {
        let reason = if found { ReasonCode::Success } else { ReasonCode::PacketIdentifierNotFound };
        if let (Some(client), Some(output)) = (self.clients.get_mut(token), net.output(token)) {
            client.connection.pubrel(tag.0, reason, &Diagnostics::NONE, output.buffer());
            self.statistics.packets_sent += 1;
        }
    }

    fn subscribed<N: Network>(
        &mut self,
        net: &mut N,
        token: ConnectionToken,
        request: u16,
        outcomes: &[SubscribeOutcome],
    ) {
        let reasons = outcomes.iter().map(|outcome| match outcome {
            SubscribeOutcome::Granted(qos) => ReasonCode::granted(qos_out(*qos)),
            SubscribeOutcome::FilterInvalid => ReasonCode::TopicFilterInvalid,
            SubscribeOutcome::QuotaExceeded => ReasonCode::QuotaExceeded,
        });
        if let (Some(client), Some(output)) = (self.clients.get_mut(token), net.output(token)) {
            let diagnostics = of_the_first_error(reasons.clone());
            client.connection.suback(request, reasons, &diagnostics, output.buffer());
            self.statistics.packets_sent += 1;
        }
    }

    fn unsubscribed<N: Network>(
        &mut self,
        net: &mut N,
        token: ConnectionToken,
        request: u16,
        outcomes: &[UnsubscribeOutcome],
    ) {
        let reasons = outcomes.iter().map(|outcome| match outcome {
            UnsubscribeOutcome::Removed => ReasonCode::Success,
            UnsubscribeOutcome::NotFound => ReasonCode::NoSubscriptionExisted,
            UnsubscribeOutcome::FilterInvalid => ReasonCode::TopicFilterInvalid,
        });
        if let (Some(client), Some(output)) = (self.clients.get_mut(token), net.output(token)) {
            let diagnostics = of_the_first_error(reasons.clone());
            client.connection.unsuback(request, reasons, &diagnostics, output.buffer());
            self.statistics.packets_sent += 1;
        }
    }

    fn close<N: Network>(&mut self, net: &mut N, token: ConnectionToken, reason: CloseReason) {
        let reason = match reason {
            CloseReason::TakenOver => ReasonCode::SessionTakenOver,
            CloseReason::Ending => ReasonCode::ServerShuttingDown,
            CloseReason::Administrative => ReasonCode::AdministrativeAction,
        };
        tracing::debug!(connection = %token, ?reason, "closed by the queue manager");
        self.dismiss(net, token, &reason.into());
    }
}

/// Where the bytes of the message lie, if the effect is a delivery: two with the same are of the same message.
fn deliver_of(effect: &Effect) -> Option<*const u8> {
    match effect {
        Effect::Deliver { message, .. } => Some(message.bytes().as_ptr()),
        _ => None,
    }
}

/// The reason code of an outcome, and what it means where it is an error.
fn result(outcome: Outcome) -> (ReasonCode, Option<&'static str>) {
    match outcome {
        Outcome::Done => (ReasonCode::Success, None),
        Outcome::NoMatchingSubscribers => (ReasonCode::NoMatchingSubscribers, None),
        Outcome::QueueFull => (ReasonCode::QuotaExceeded, Some("the queue of a subscriber is full")),
        Outcome::StorageFull => (ReasonCode::QuotaExceeded, Some("the disk of the server is full")),
        Outcome::TopicNameInvalid => (ReasonCode::TopicNameInvalid, Some("the topic name is not accepted")),
        Outcome::TagNotFound => (ReasonCode::PacketIdentifierNotFound, None),
    }
}

fn of_the_first_error(mut reasons: impl Iterator<Item = ReasonCode>) -> Diagnostics<'static> {
    let reason_string = match reasons.find(|reason| reason.is_error()) {
        Some(ReasonCode::TopicFilterInvalid) => Some("a topic filter is malformed, too long or too deep"),
        Some(ReasonCode::QuotaExceeded) => Some("the client has as many subscriptions as it may"),
        _ => None,
    };
    Diagnostics { reason_string, ..Diagnostics::NONE }
}
