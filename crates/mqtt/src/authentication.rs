//! Extended authentication (4.12): what a mechanism is, and how its steps travel.

use ferrymq_mqtt_proto::{Diagnostics, ReasonCode};
use ferrymq_transport::ConnectionToken;

use crate::engine::Command;
use crate::network::Sink;
use crate::request::AuthenticationStep;
use crate::{MqttService, Network};

/// A mechanism, or several of them, of extended authentication. It is asked for each step and remembers by token what
/// it has to.
pub trait Authenticator: Send {
    /// A client starts: at its CONNECT, or anew on a live connection.
    fn start(&mut self, exchange: &Exchange<'_>) -> Verdict;

    /// The client's next step.
    fn proceed(&mut self, exchange: &Exchange<'_>) -> Verdict;

    /// The connection is gone.
    fn forget(&mut self, connection: ConnectionToken);
}

/// A step of a client.
#[derive(Clone, Copy, Debug)]
pub struct Exchange<'a> {
    /// Whose.
    pub connection: ConnectionToken,
    /// As it was named in CONNECT; the same in each step.
    pub method: &'a str,
    /// What the client says.
    pub data: Option<&'a [u8]>,
    /// Whether it had been authenticated before (4.12.1).
    pub again: bool,
}

/// What is made of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Another step is needed (AUTH, 0x18).
    Continue(Box<[u8]>),
    /// The client is who it says, with a last word where the method has one.
    Accepted(Option<Box<[u8]>>),
    /// It is not: 0x86, 0x87, 0x8C ...
    Refused(ReasonCode),
}

impl MqttService {
    /// A step of the client: with CONNECT, with AUTH before CONNACK, or on a live connection.
    pub(crate) fn authenticate<N: Network>(
        &mut self,
        net: &mut N,
        token: ConnectionToken,
        step: &AuthenticationStep,
        commands: &mut Vec<Command>,
    ) {
        let Some(client) = self.clients.get_mut(token) else { return };
        let exchange = Exchange {
            connection: token,
            method: &step.method,
            data: step.data.as_deref(),
            again: client.connected,
        };
        let verdict = match &mut self.authenticator {
            None => Verdict::Refused(ReasonCode::BadAuthenticationMethod),
            Some(authenticator) if step.starts => authenticator.start(&exchange),
            Some(authenticator) => authenticator.proceed(&exchange),
        };
        match verdict {
            Verdict::Continue(data) => {
                self.tell(net, token, ReasonCode::ContinueAuthentication, Some(&data));
            }
            Verdict::Accepted(data) if exchange.again => {
                self.tell(net, token, ReasonCode::Success, data.as_deref());
            }
            Verdict::Accepted(data) => {
                let Some(handshake) = &mut client.handshake else { return };
                handshake.authentication_data = data;
                commands.extend(handshake.connect.take().map(Command::Connect));
                client.connection.authenticated();
            }
            Verdict::Refused(reason) => {
                self.turn_away(net, token, reason, "the extended authentication failed", commands);
            }
        }
    }

    fn tell<N: Network>(
        &mut self,
        net: &mut N,
        token: ConnectionToken,
        reason: ReasonCode,
        data: Option<&[u8]>,
    ) {
        if let (Some(client), Some(output)) = (self.clients.get_mut(token), net.output(token)) {
            client.connection.auth(reason, data, &Diagnostics::NONE, output.buffer());
            self.statistics.packets_sent += 1;
        }
    }
}
