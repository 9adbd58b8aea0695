//! What the service knows of each connection, and the table of them.

use ferrymq_mqtt_proto::server::Connection;
use ferrymq_transport::ConnectionToken;

use crate::engine;

/// A connection from its acceptance until the service is done with it: one whose end has begun is not in the table.
#[derive(Debug)]
pub(crate) struct ClientConnection {
    pub token: ConnectionToken,
    pub connection: Connection,
    /// From CONNECT to CONNACK.
    pub handshake: Option<Box<Handshake>>,
    /// CONNACK with success was sent.
    pub connected: bool,
    /// Its reading is paused until then.
    pub paused: bool,
    /// The last turn that brought it a message.
    pub turn: u32,
    /// As that turn began it had left more unread than QoS 0 messages may wait for.
    pub behind: bool,
    /// The queue manager was told that it is behind with reading.
    pub clogged: bool,
}

// Each idle connection costs this much; the transport's part comes on top.
const _: () = assert!(size_of::<Option<ClientConnection>>() <= 104);

impl ClientConnection {
    /// One that has just come.
    pub fn new(token: ConnectionToken, connection: Connection) -> ClientConnection {
        ClientConnection {
            token,
            connection,
            handshake: None,
            connected: false,
            paused: false,
            turn: 0,
            behind: false,
            clogged: false,
        }
    }
}

/// What CONNACK depends on.
#[derive(Debug, Default)]
pub(crate) struct Handshake {
    /// Waits here while an extended authentication is under way.
    pub connect: Option<Box<engine::Connect>>,
    /// As the client wished.
    pub session_expiry_s: u32,
    /// Where the client left the choice to the server.
    pub assigned_client_id: Option<Box<str>>,
    /// Where the client asked for it, and there is one.
    pub response_information: Option<Box<str>>,
    /// Last word of an extended authentication.
    pub authentication_data: Option<Box<[u8]>>,
}

/// Connections by the slot of their token.
#[derive(Debug, Default)]
pub(crate) struct ConnectionTable {
    /// Pages of equal size, so that growing moves nothing.
    pages: Vec<Box<[Option<ClientConnection>]>>,
}

/// Connections of a page: 13 KiB.
const PAGE: usize = 128;

impl ConnectionTable {
    /// The connection of exactly this token.
    #[inline]
    pub fn get_mut(&mut self, token: ConnectionToken) -> Option<&mut ClientConnection> {
        let slot = token.slot();
        let client = self.pages.get_mut(slot / PAGE)?[slot % PAGE].as_mut()?;
        (client.token == token).then_some(client)
    }

    /// Puts one in; whatever was in its slot is gone.
    pub fn insert(&mut self, client: ClientConnection) {
        let slot = client.token.slot();
        while self.pages.len() <= slot / PAGE {
            self.pages.push((0..PAGE).map(|_| None).collect());
        }
        self.pages[slot / PAGE][slot % PAGE] = Some(client);
    }

    /// Takes it out.
    pub fn remove(&mut self, token: ConnectionToken) -> Option<ClientConnection> {
        self.get_mut(token)?;
        let slot = token.slot();
        self.pages[slot / PAGE][slot % PAGE].take()
    }

    /// All that are in it.
    pub fn tokens(&self) -> Vec<ConnectionToken> {
        self.pages.iter().flat_map(|page| page.iter().flatten()).map(|client| client.token).collect()
    }
}

#[cfg(test)]
mod tests {
    use ferrymq_mqtt_proto::server::Settings;

    use super::*;

    fn client(token: u64) -> ClientConnection {
        ClientConnection::new(ConnectionToken(token), Connection::new(&Settings::default(), 0))
    }

    #[test]
    fn a_token_of_an_earlier_connection_in_the_slot_finds_nothing() {
        let (first, second) = (1 << 32 | 700, 2 << 32 | 700);
        let mut table = ConnectionTable::default();
        table.insert(client(first));
        assert!(table.remove(ConnectionToken(first)).is_some());
        table.insert(client(second));
        assert!(table.get_mut(ConnectionToken(first)).is_none());
        assert!(table.remove(ConnectionToken(first)).is_none());
        assert_eq!(table.tokens(), [ConnectionToken(second)]);
    }
}
