//! The service as a whole: what it owns, and what its owner calls.

use ferrymq_message::Timestamp;
use ferrymq_mqtt_proto::server::{Connection, State};
use ferrymq_mqtt_proto::{FanOut, ReasonCode};
use ferrymq_transport::{Closed, ConnectionToken};

use crate::assigned_client_id::AssignedClientIds;
use crate::client_connection::{ClientConnection, ConnectionTable};
use crate::engine::{Command, ConnectionId};
use crate::{Authenticator, MqttSettings, Network, Statistics};

/// Bytes received in one turn from which on [`MqttService::may_read`] says no: 8,000 messages of 128 bytes, 5 to 10 ms
/// of work.
const TURN_BYTES: usize = 1 << 20;

/// Speaks MQTT 3.1, 3.1.1 and 5.0 with the clients of one queue manager. All calls come from one thread.
///
/// `commands` is filled with what the queue manager is to do, in order; what it then wants done goes to
/// [`MqttService::perform`]. A connection has the same number here, in the transport and in the queue manager.
pub struct MqttService {
    pub(crate) settings: MqttSettings,
    pub(crate) clients: ConnectionTable,
    pub(crate) statistics: Statistics,
    pub(crate) client_ids: AssignedClientIds,
    pub(crate) authenticator: Option<Box<dyn Authenticator>>,
    /// Packets of the message that is being delivered, reused.
    pub(crate) fan_out: FanOut,
    /// PINGREQ that came behind commands: answered behind the effects of these.
    pub(crate) pings: Vec<ConnectionToken>,
    /// Counts calls of [`MqttService::perform`]; wraps.
    pub(crate) turn: u32,
    /// Bytes received since the last one.
    pub(crate) turn_bytes: usize,
    /// Who is behind with reading.
    pub(crate) clogged: Vec<ConnectionToken>,
}

impl MqttService {
    /// A service without connections.
    pub fn new(settings: MqttSettings) -> MqttService {
        MqttService {
            client_ids: AssignedClientIds::new(settings.client_id_seed),
            settings,
            clients: ConnectionTable::default(),
            statistics: Statistics::default(),
            authenticator: None,
            fan_out: FanOut::new(),
            pings: Vec::new(),
            turn: 0,
            turn_bytes: 0,
            clogged: Vec::new(),
        }
    }

    /// Clients may authenticate by the methods of `authenticator`; without, those who want to are refused (0x8C).
    pub fn set_authenticator(&mut self, authenticator: Box<dyn Authenticator>) {
        self.authenticator = Some(authenticator);
    }

    /// What it was made with.
    pub fn settings(&self) -> &MqttSettings {
        &self.settings
    }

    /// What was counted so far.
    pub fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    /// Whether this turn may take in more. What comes in goes out after [`MqttService::perform`] only, so that a turn
    /// without bound would let buffers and delays grow.
    pub fn may_read(&self) -> bool {
        self.turn_bytes < TURN_BYTES
    }

    /// A peer came in. It has its time to connect from now on.
    pub fn accepted<N: Network>(&mut self, net: &mut N, token: ConnectionToken, now: Timestamp) {
        let connection = Connection::new(&self.settings.connection, now.0);
        if let Some(due) = connection.poll_timeout() {
            net.set_timer(token, due);
        }
        self.clients.insert(ClientConnection::new(token, connection));
    }

    /// The transport says that a connection is over.
    pub fn closed(&mut self, token: ConnectionToken, cause: Closed, commands: &mut Vec<Command>) {
        // One that the service has ended is not in the table any more.
        if self.forget(token).is_none() {
            return;
        }
        tracing::debug!(connection = %token, ?cause, "lost");
        commands.push(Command::Lost { connection: connection_id(token) });
    }

    /// The timer of a connection is due. An owner that does not read at the moment, because the engine is full, puts
    /// the timer off instead: what keeps the client alive may wait to be read.
    pub fn timer<N: Network>(
        &mut self,
        net: &mut N,
        token: ConnectionToken,
        now: Timestamp,
        commands: &mut Vec<Command>,
    ) {
        let Some(client) = self.clients.get_mut(token) else { return };
        match client.connection.handle_timeout(now.0) {
            Ok(()) => arm(net, token, &client.connection),
            Err(violation) if violation.reason == ReasonCode::KeepAliveTimeout => {
                self.statistics.keep_alive_timeouts += 1;
                tracing::info!(peer = ?net.peer(token), connection = %token, "closed: silent for 1.5 keep alives");
                self.end(net, token, &violation.reason.into(), commands);
            }
            Err(_) => {
                self.statistics.connect_timeouts += 1;
                tracing::info!(peer = ?net.peer(token), connection = %token, "closed: not connected in time");
                self.end(net, token, &ReasonCode::UnspecifiedError.into(), commands);
            }
        }
    }

    /// The server ends: every client is told (0x8B) and closed; wills are due, sessions stay.
    pub fn shutdown<N: Network>(&mut self, net: &mut N, commands: &mut Vec<Command>) {
        for token in self.clients.tokens() {
            let connected = self.clients.get_mut(token).is_some_and(|client| client.connected);
            let reason =
                if connected { ReasonCode::ServerShuttingDown } else { ReasonCode::ServerUnavailable };
            self.end(net, token, &reason.into(), commands);
        }
    }

    /// Takes a connection out of the table and the figures.
    pub(crate) fn forget(&mut self, token: ConnectionToken) -> Option<ClientConnection> {
        let client = self.clients.remove(token)?;
        self.statistics.connected -= u64::from(client.connected);
        if let Some(authenticator) = &mut self.authenticator {
            authenticator.forget(token);
        }
        Some(client)
    }
}

/// Sets the timer of a connection to when the state machine wants it.
pub(crate) fn arm<N: Network>(net: &mut N, token: ConnectionToken, connection: &Connection) {
    match connection.poll_timeout() {
        Some(due) => net.set_timer(token, due),
        None => net.clear_timer(token),
    }
}

/// Whether what follows CONNECT has to wait for CONNACK.
pub(crate) fn waits_for_connack(connection: &Connection) -> bool {
    connection.state() == State::Accepting
}

#[inline]
pub(crate) fn connection_id(token: ConnectionToken) -> ConnectionId {
    ConnectionId(token.0)
}

#[inline]
pub(crate) fn token_of(connection: ConnectionId) -> ConnectionToken {
    ConnectionToken(connection.0)
}
