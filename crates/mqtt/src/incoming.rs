//! What clients send, as commands. The way of a PUBLISH: decoded in place, copied once, on its way.

use ferrymq_message::Timestamp;
use ferrymq_mqtt_proto::server::Event;
use ferrymq_mqtt_proto::{Diagnostics, QoS, Violation};
use ferrymq_transport::ConnectionToken;

use crate::engine::{Command, DeliveryTag, Publish};
use crate::message_in::{self, Unacceptable};
use crate::network::Sink;
use crate::request::{Request, settlement};
use crate::service::{connection_id, waits_for_connack};
use crate::{MqttService, Network};

impl MqttService {
    /// Takes what it can of the input; says how many bytes. The rest, an incomplete packet or whatever came before
    /// CONNACK was sent, is to come again.
    pub fn received<N: Network>(
        &mut self,
        net: &mut N,
        token: ConnectionToken,
        input: &[u8],
        now: Timestamp,
        commands: &mut Vec<Command>,
    ) -> usize {
        let mut used = 0;
        while used < input.len() {
            let Some(client) = self.clients.get_mut(token) else { return input.len() };
            if waits_for_connack(&client.connection) {
                client.paused = true;
                net.pause(token);
                return used;
            }
            let version = client.connection.version();
            let (event, len) = match client.connection.handle_input(now.0, &input[used..]) {
                Ok(Some(found)) => found,
                Ok(None) => return used,
                Err(violation) => {
                    self.reject(net, token, &violation, commands);
                    return input.len();
                }
            };
            used += len;
            self.turn_bytes += len;
            self.statistics.packets_received += 1;
            if let Event::Publish(publish) = &event {
                self.statistics.publishes_received += 1;
                self.statistics.publish_bytes_received += publish.payload.len() as u64;
                let (qos, packet_id) = (publish.qos, publish.packet_id);
                match message_in::message(publish, version, &self.settings, now) {
                    Ok(message) => commands.push(Command::Publish(Publish {
                        connection: connection_id(token),
                        message,
                        tag: DeliveryTag(packet_id),
                    })),
                    Err(why) => self.refuse_publish(net, token, qos, packet_id, why, commands),
                }
            } else if let Some(command) = settlement(connection_id(token), &event) {
                commands.push(command);
            } else {
                let request = Request::new(&event, token, &self.settings);
                self.handle(net, token, request, commands);
            }
        }
        used
    }

    fn handle<N: Network>(
        &mut self,
        net: &mut N,
        token: ConnectionToken,
        request: Request,
        commands: &mut Vec<Command>,
    ) {
        match request {
            Request::Command(command) => commands.push(command),
            // What the client sent before is dealt with first: its answer tells that all that was.
            Request::Ping if commands.is_empty() => self.pong(net, token),
            Request::Ping => self.pings.push(token),
            Request::Introduce(introduction) => self.introduce(net, token, *introduction, commands),
            Request::Authenticate(step) => self.authenticate(net, token, &step, commands),
            Request::Leave(disconnect) => {
                tracing::debug!(connection = %token, with_will = disconnect.with_will, "disconnected");
                self.forget(token);
                net.close(token);
                commands.push(Command::Disconnect(disconnect));
            }
            Request::Nothing => {}
        }
    }

    pub(crate) fn pong<N: Network>(&mut self, net: &mut N, token: ConnectionToken) {
        if let (Some(client), Some(output)) = (self.clients.get_mut(token), net.output(token)) {
            client.connection.pingresp(output.buffer());
            self.statistics.packets_sent += 1;
        }
    }

    /// A message that is not accepted. 5.0 can say so in the acknowledgement; at QoS 0 the only word is DISCONNECT
    /// (3.3.2.3.2, 4.13). To 3.x it can't be told: acknowledged where it would be sent again and again otherwise
    /// (MQTT-3.1.1 3.3.5-2).
    #[cold]
    fn refuse_publish<N: Network>(
        &mut self,
        net: &mut N,
        token: ConnectionToken,
        qos: QoS,
        packet_id: u16,
        why: Unacceptable,
        commands: &mut Vec<Command>,
    ) {
        self.statistics.publishes_refused += 1;
        let Some(client) = self.clients.get_mut(token) else { return };
        let told = client.connection.version().is_5() || why == Unacceptable::Reserved;
        if qos == QoS::AtMostOnce && why == Unacceptable::Reserved {
            return;
        }
        if qos == QoS::AtMostOnce || !told {
            let violation = Violation { reason: why.reason(), clause: why.text() };
            return self.reject(net, token, &violation, commands);
        }
        let Some(output) = net.output(token) else { return };
        let diagnostics = Diagnostics { reason_string: Some(why.text()), ..Diagnostics::NONE };
        self.statistics.packets_sent += 1;
        match qos {
            QoS::ExactlyOnce => {
                client.connection.pubrec(packet_id, why.reason(), &diagnostics, output.buffer());
            }
            _ => client.connection.puback(packet_id, why.reason(), &diagnostics, output.buffer()),
        }
    }
}
