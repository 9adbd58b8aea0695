//! From CONNECT to CONNACK: who may come, and what the client is told.

use std::net::SocketAddr;

use ferrymq_message::Timestamp;
use ferrymq_mqtt_proto::server::{Accept, Farewell, State};
use ferrymq_mqtt_proto::{Diagnostics, ReasonCode};
use ferrymq_transport::ConnectionToken;

use crate::client_connection::Handshake;
use crate::engine::{Command, Refusal};
use crate::network::Sink;
use crate::request::Introduction;
use crate::service::arm;
use crate::{AnonymousFrom, MqttService, Network};

impl MqttService {
    /// CONNECT came. A client that brings no proof of who it is may come from where that is allowed.
    pub(crate) fn introduce<N: Network>(
        &mut self,
        net: &mut N,
        token: ConnectionToken,
        introduction: Introduction,
        commands: &mut Vec<Command>,
    ) {
        if self.settings.redirect.is_some() {
            return self.send_elsewhere(net, token, commands);
        }
        let peer = net.peer(token);
        if introduction.authentication.is_none() && !self.lets_in(peer) {
            let text = "clients from other machines have to prove who they are";
            return self.turn_away(net, token, ReasonCode::NotAuthorized, text, commands);
        }
        let Introduction { mut handshake, wants_response_information, will, authentication } = introduction;
        match will.transpose() {
            Err(why) => return self.turn_away(net, token, why.reason(), why.text(), commands),
            Ok(will) => self.complete(&mut handshake, will, wants_response_information),
        }
        tracing::debug!(
            ?peer, connection = %token,
            client = handshake.connect.as_ref().map(|connect| &*connect.client_id), "connecting"
        );
        let Some(client) = self.clients.get_mut(token) else { return };
        let handshake = client.handshake.insert(Box::new(handshake));
        match authentication {
            Some(step) => self.authenticate(net, token, &step, commands),
            None => commands.extend(handshake.connect.take().map(Command::Connect)),
        }
    }

    fn lets_in(&self, peer: Option<SocketAddr>) -> bool {
        self.settings.anonymous_from == AnonymousFrom::Any
            || peer.is_some_and(|peer| peer.ip().to_canonical().is_loopback())
    }

    /// Adds to a CONNECT what is the server's choice.
    fn complete(
        &mut self,
        handshake: &mut Handshake,
        will: Option<Box<crate::engine::Will>>,
        wants_response_information: bool,
    ) {
        let Some(connect) = &mut handshake.connect else { return };
        connect.will = will;
        if connect.client_id.is_empty() {
            connect.client_id = self.client_ids.next();
            handshake.assigned_client_id = Some(connect.client_id.clone());
        }
        let prefix = &self.settings.response_information_prefix;
        if wants_response_information && !prefix.is_empty() {
            handshake.response_information = Some([prefix, &*connect.client_id].concat().into());
        }
    }

    fn send_elsewhere<N: Network>(
        &mut self,
        net: &mut N,
        token: ConnectionToken,
        commands: &mut Vec<Command>,
    ) {
        let Some(redirect) = self.settings.redirect.clone() else { return };
        let reason = if redirect.moved { ReasonCode::ServerMoved } else { ReasonCode::UseAnotherServer };
        tracing::debug!(peer = ?net.peer(token), connection = %token, server = %redirect.server_reference, "sent on");
        self.statistics.refused += 1;
        let farewell = Farewell { server_reference: Some(&redirect.server_reference), ..reason.into() };
        self.end(net, token, &farewell, commands);
    }

    /// The queue manager has taken the client in: CONNACK, and whatever waited for it.
    pub(crate) fn connected<N: Network>(
        &mut self,
        net: &mut N,
        token: ConnectionToken,
        session_present: bool,
        session_expiry_s: u32,
        now: Timestamp,
        commands: &mut Vec<Command>,
    ) {
        let Some(client) = self.clients.get_mut(token) else { return };
        let handshake = client.handshake.take().unwrap_or_default();
        let Some(output) = net.output(token) else { return };
        let accept = Accept {
            session_present,
            session_expiry_s: Some(session_expiry_s).filter(|given| *given != handshake.session_expiry_s),
            assigned_client_id: handshake.assigned_client_id.as_deref(),
            response_information: handshake.response_information.as_deref(),
            authentication_data: handshake.authentication_data.as_deref(),
            ..Accept::default()
        };
        client.connection.accept(now.0, &accept, output.buffer());
        if client.connection.state() != State::Connected {
            let text = "the client takes no packets as large as CONNACK";
            return self.turn_away(net, token, ReasonCode::PacketTooLarge, text, commands);
        }
        client.connected = true;
        let was_paused = std::mem::take(&mut client.paused);
        arm(net, token, &client.connection);
        if was_paused {
            net.resume(token);
        }
        self.statistics.packets_sent += 1;
        self.statistics.connected += 1;
        self.statistics.connected_maximum = self.statistics.connected_maximum.max(self.statistics.connected);
    }

    /// The queue manager does not take the client in.
    pub(crate) fn refused<N: Network>(&mut self, net: &mut N, token: ConnectionToken, refusal: Refusal) {
        let (reason, text) = match refusal {
            Refusal::TooManySessions => (ReasonCode::QuotaExceeded, "the limit on sessions is reached"),
            Refusal::ClientIdTooLong => {
                (ReasonCode::ClientIdentifierNotValid, "the client identifier is too long")
            }
            Refusal::Ending => (ReasonCode::ServerUnavailable, "the queue manager is ending"),
        };
        self.statistics.refused += 1;
        tracing::info!(peer = ?net.peer(token), connection = %token, ?reason, "refused: {text}");
        let diagnostics = Diagnostics { reason_string: Some(text), ..Diagnostics::NONE };
        self.dismiss(net, token, &Farewell { reason, diagnostics, server_reference: None });
    }
}
