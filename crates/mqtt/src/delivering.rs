//! Messages to clients. One that goes to many is encoded once per kind of receiver; a large body is never copied.

use bytes::Bytes;
use ferrymq_message::{Message, Timestamp};
use ferrymq_mqtt_proto::{Delivery, Properties, QoS};
use ferrymq_transport::SHARED_BYTES_MIN;

use crate::engine::{Command, Settlement, Target};
use crate::message_in::qos_out;
use crate::network::Sink;
use crate::service::{connection_id, token_of};
use crate::{MqttService, Network};

/// How many times the limit on waiting QoS 0 messages a single turn may bring: the receiver had no time to read, but
/// topic aliases let a publisher's few bytes grow a thousandfold here.
const BURST: usize = 16;

/// The part of that limit from which on what can wait stays in the queue manager: early enough that what it sends until
/// it knows fits below the limit.
const CLOGGED: usize = 4;

impl MqttService {
    /// Tells the queue manager which clients have caught up with reading.
    pub(crate) fn unclog<N: Network>(&mut self, net: &mut N, commands: &mut Vec<Command>) {
        let low = self.settings.qos0_buffer_bytes / CLOGGED / 2;
        let clients = &mut self.clients;
        self.clogged.retain(|token| {
            let Some(client) = clients.get_mut(*token) else { return false };
            client.clogged = net.output(*token).is_some_and(|output| output.unsent() > low);
            if !client.clogged {
                commands.push(Command::Flow { connection: connection_id(*token), open: true });
            }
            client.clogged
        });
    }

    /// Whether some client is behind with reading: [`MqttService::perform`] is to be called soon, whatever happens.
    pub fn has_clogged(&self) -> bool {
        !self.clogged.is_empty()
    }

    /// Sends a message to each of its targets. `shared`: the same bytes go to several, here or in the next effects.
    pub(crate) fn deliver<N: Network>(
        &mut self,
        net: &mut N,
        message: &Message,
        targets: &[Target],
        shared: bool,
        now: Timestamp,
        commands: &mut Vec<Command>,
    ) {
        let mut delivery = Delivery {
            topic: message.topic(),
            properties: Properties::from_raw(message.properties()),
            payload: message.body(),
            message_expiry_s: seconds_left(message, now),
            ..Delivery::default()
        };
        let body = (delivery.payload.len() >= SHARED_BYTES_MIN).then(|| shared_body(message));
        for target in targets {
            let token = token_of(target.connection);
            let Some(client) = self.clients.get_mut(token) else { continue };
            let Some(output) = net.output(token) else { continue };
            delivery.qos = qos_out(target.qos);
            let (unsent, limit) = (output.unsent(), self.settings.qos0_buffer_bytes);
            if client.turn != self.turn {
                client.turn = self.turn;
                client.behind = unsent > limit;
                if unsent > limit / CLOGGED && !client.clogged {
                    client.clogged = true;
                    self.clogged.push(token);
                    commands.push(Command::Flow { connection: target.connection, open: false });
                }
            }
            if delivery.qos == QoS::AtMostOnce && (client.behind || unsent > BURST * limit) {
                self.statistics.dropped_qos0 += 1;
                continue;
            }
            delivery.dup = target.redelivered && delivery.qos != QoS::AtMostOnce;
            delivery.retain = target.retain;
            delivery.packet_id = target.tag.0;
            delivery.subscription_identifiers = target.identifiers.as_deref().unwrap_or_default();
            let sent = match &body {
                Some(body) => {
                    let head = client.connection.publish_head(&delivery, output.buffer());
                    head.map(|()| output.push_shared(body.clone()))
                }
                None if shared => {
                    client.connection.publish_shared(&delivery, &mut self.fan_out, output.buffer())
                }
                None => client.connection.publish(&delivery, output.buffer()),
            };
            match sent {
                Ok(()) => {
                    self.statistics.publishes_sent += 1;
                    self.statistics.packets_sent += 1;
                    self.statistics.publish_bytes_sent += delivery.payload.len() as u64;
                }
                Err(_) => self.skip(target, commands),
            }
        }
    }

    /// It is larger than the receiver takes: it counts as delivered (MQTT-3.1.2-25).
    #[cold]
    fn skip(&mut self, target: &Target, commands: &mut Vec<Command>) {
        self.statistics.dropped_too_large += 1;
        if target.qos > ferrymq_message::QoS::AtMostOnce {
            let Target { connection, tag, .. } = *target;
            commands.push(Command::Settle { connection, tag, settlement: Settlement::Refused });
        }
    }
}

/// What is left of the message's life, begun seconds counted whole (MQTT-3.3.2-6); `None` if it has no end.
fn seconds_left(message: &Message, now: Timestamp) -> Option<u32> {
    let expires = message.descriptor().expires;
    if expires == Timestamp::NEVER {
        return None;
    }
    Some(u32::try_from(expires.ms_since(now).div_ceil(1_000)).unwrap_or(u32::MAX))
}

/// The body, sharing the message's memory.
fn shared_body(message: &Message) -> Bytes {
    struct Owner(Message);
    impl AsRef<[u8]> for Owner {
        fn as_ref(&self) -> &[u8] {
            self.0.body()
        }
    }
    Bytes::from_owner(Owner(message.clone()))
}

#[cfg(test)]
mod tests {
    use ferrymq_message::Descriptor;

    use super::*;

    fn expiring_at(expires: Timestamp) -> Message {
        Message::from_parts(Descriptor { expires, ..Descriptor::default() }, "t", &[], &[])
    }

    #[test]
    fn begun_seconds_of_life_count_whole() {
        let message = expiring_at(Timestamp(10_000));
        for (now, left) in [(0, 10), (1, 10), (1_000, 9), (9_999, 1), (10_000, 0), (11_000, 0)] {
            assert_eq!(seconds_left(&message, Timestamp(now)), Some(left), "at {now}");
        }
        assert_eq!(seconds_left(&expiring_at(Timestamp::NEVER), Timestamp(1)), None);
    }
}
