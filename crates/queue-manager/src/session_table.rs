//! All client sessions, found by key, client identifier, connection and queue.

use alloc::boxed::Box;
use core::hash::BuildHasher;
use core::ops::{Index, IndexMut};

use hashbrown::{DefaultHashBuilder, HashMap, HashTable};
use slab::Slab;

use crate::ConnectionId;
use crate::client_session::ClientSession;
use crate::record::QueueId;

/// A session's place in the table; used anew after the session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct SessionKey(u32);

#[derive(Debug, Default)]
pub(crate) struct SessionTable {
    sessions: Slab<ClientSession>,
    by_client_id: HashTable<SessionKey>,
    by_connection: HashMap<ConnectionId, SessionKey>,
    /// Only sessions that records speak of.
    by_queue: HashMap<QueueId, SessionKey>,
    hasher: DefaultHashBuilder,
}

impl SessionTable {
    pub fn len(&self) -> usize {
        self.sessions.len()
    }

    pub fn connections(&self) -> usize {
        self.by_connection.len()
    }

    /// How many sessions records speak of.
    pub fn logged(&self) -> usize {
        self.by_queue.len()
    }

    pub fn by_client_id(&self, client_id: &str) -> Option<SessionKey> {
        let hash = self.hasher.hash_one(client_id);
        self.by_client_id.find(hash, |key| *self[*key].client_id == *client_id).copied()
    }

    pub fn by_connection(&self, connection: ConnectionId) -> Option<SessionKey> {
        self.by_connection.get(&connection).copied()
    }

    pub fn by_queue(&self, queue: QueueId) -> Option<SessionKey> {
        self.by_queue.get(&queue).copied()
    }

    pub fn get(&self, key: SessionKey) -> Option<&ClientSession> {
        self.sessions.get(key.0 as usize)
    }

    pub fn iter(&self) -> impl Iterator<Item = &ClientSession> {
        self.sessions.iter().map(|(_, session)| session)
    }

    /// Adds a session; its client identifier is not in the table yet.
    pub fn insert(&mut self, client_id: Box<str>, queue: QueueId) -> SessionKey {
        let hash = self.hasher.hash_one(&*client_id);
        let key = SessionKey(self.sessions.insert(ClientSession::new(client_id, queue)) as u32);
        let (sessions, hasher) = (&self.sessions, &self.hasher);
        let rehash = |other: &SessionKey| hasher.hash_one(&*sessions[other.0 as usize].client_id);
        self.by_client_id.insert_unique(hash, key, rehash);
        key
    }

    /// From now on records speak of the session.
    pub fn mark_logged(&mut self, key: SessionKey) {
        self[key].logged = true;
        let queue = self[key].queue;
        self.by_queue.insert(queue, key);
    }

    pub fn attach(&mut self, key: SessionKey, connection: ConnectionId) {
        self[key].connection = Some(connection);
        self.by_connection.insert(connection, key);
    }

    /// Takes the connection off a session.
    pub fn detach(&mut self, key: SessionKey) -> Option<ConnectionId> {
        let connection = self[key].connection.take()?;
        self[key].ready = false;
        self[key].clogged = false;
        self.by_connection.remove(&connection);
        Some(connection)
    }

    pub fn remove(&mut self, key: SessionKey) -> ClientSession {
        self.detach(key);
        let session = self.sessions.remove(key.0 as usize);
        let hash = self.hasher.hash_one(&*session.client_id);
        if let Ok(found) = self.by_client_id.find_entry(hash, |other| *other == key) {
            found.remove();
        }
        self.by_queue.remove(&session.queue);
        session
    }
}

impl Index<SessionKey> for SessionTable {
    type Output = ClientSession;

    fn index(&self, key: SessionKey) -> &ClientSession {
        &self.sessions[key.0 as usize]
    }
}

impl IndexMut<SessionKey> for SessionTable {
    fn index_mut(&mut self, key: SessionKey) -> &mut ClientSession {
        &mut self.sessions[key.0 as usize]
    }
}
