//! Ends of connections that the server decides on, and what the log says of them.

use ferrymq_mqtt_proto::server::Farewell;
use ferrymq_mqtt_proto::{Diagnostics, ReasonCode, Violation};
use ferrymq_transport::ConnectionToken;

use crate::engine::Command;
use crate::network::Sink;
use crate::service::connection_id;
use crate::{MqttService, Network};

impl MqttService {
    /// Tells the client why, closes, and has its will published.
    pub(crate) fn end<N: Network>(
        &mut self,
        net: &mut N,
        token: ConnectionToken,
        farewell: &Farewell<'_>,
        commands: &mut Vec<Command>,
    ) {
        if self.dismiss(net, token, farewell) {
            commands.push(Command::Lost { connection: connection_id(token) });
        }
    }

    /// Tells the client why and closes; the queue manager knows already. False if it is gone.
    pub(crate) fn dismiss<N: Network>(
        &mut self,
        net: &mut N,
        token: ConnectionToken,
        farewell: &Farewell<'_>,
    ) -> bool {
        let Some(mut client) = self.forget(token) else { return false };
        if let Some(output) = net.output(token) {
            let before = output.buffer().len();
            client.connection.close(farewell, output.buffer());
            self.statistics.packets_sent += u64::from(output.buffer().len() > before);
        }
        net.close(token);
        true
    }

    /// Closes for what the client sent (MQTT-4.13.1-1), with one line in the log.
    #[cold]
    pub(crate) fn reject<N: Network>(
        &mut self,
        net: &mut N,
        token: ConnectionToken,
        violation: &Violation,
        commands: &mut Vec<Command>,
    ) {
        let peer = net.peer(token);
        let Some(client) = self.clients.get_mut(token) else { return };
        match client.connected {
            true => self.statistics.violations += 1,
            false => self.statistics.refused += 1,
        }
        tracing::warn!(
            ?peer, connection = %token, reason = ?violation.reason, rule = violation.clause,
            "closed: the client broke a rule"
        );
        let diagnostics = Diagnostics { reason_string: Some(violation.clause), ..Diagnostics::NONE };
        let farewell = Farewell { reason: violation.reason, diagnostics, server_reference: None };
        self.end(net, token, &farewell, commands);
    }

    /// Closes for a reason that the protocol leaves to the server, with one line in the log.
    #[cold]
    pub(crate) fn turn_away<N: Network>(
        &mut self,
        net: &mut N,
        token: ConnectionToken,
        reason: ReasonCode,
        text: &'static str,
        commands: &mut Vec<Command>,
    ) {
        let peer = net.peer(token);
        let Some(client) = self.clients.get_mut(token) else { return };
        self.statistics.refused += u64::from(!client.connected);
        tracing::info!(?peer, connection = %token, ?reason, "closed: {text}");
        let diagnostics = Diagnostics { reason_string: Some(text), ..Diagnostics::NONE };
        self.end(net, token, &Farewell { reason, diagnostics, server_reference: None }, commands);
    }
}
