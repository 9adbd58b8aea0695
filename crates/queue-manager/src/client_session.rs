//! A client session: the state of a client that may outlive its connection (MQTT 4.1).

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

use ferrymq_message::{QoS, Timestamp};

use crate::delivery_window::DeliveryWindow;
use crate::queue_entry::{Entry, Sequence};
use crate::record::{QueueId, Record, SessionRecord, SubscriptionRecord};
use crate::{ConnectionId, DeliveryTag, Position, SESSION_NEVER_EXPIRES, Will};

/// Kept small: a connected client that does nothing costs this, its identifier and its place in the tables.
#[derive(Debug)]
pub(crate) struct ClientSession {
    pub client_id: Box<str>,
    pub queue: QueueId,
    /// `None` while the client is away.
    pub connection: Option<ConnectionId>,
    /// Of the session's own record; 0 where it is in memory only.
    pub position: Position,
    /// Confirmations are held until this is durable, so that none overtakes another.
    pub confirm_after: Position,
    /// When the connection was lost; meaningless while there is one.
    pub detached_at: Timestamp,
    /// Sorted by filter.
    pub subscriptions: Vec<Subscription>,
    pub outgoing: Option<Box<Outgoing>>,
    /// QoS 2 messages that its client has not released yet, by tag; never an empty box.
    #[expect(clippy::box_collection, reason = "8 bytes instead of 24 in each of a million sessions")]
    pub incoming: Option<Box<Vec<Unreleased>>>,
    pub will: Option<Box<HeldWill>>,
    pub expiry_s: u32,
    pub receive_maximum: u16,
    /// Confirmations for it that are delayed.
    pub paced: u32,
    /// False until the record of its connect is durable: nothing may be sent before the answer to it.
    pub ready: bool,
    /// Records speak of it: it survives a restart.
    pub logged: bool,
    /// Its client leaves too much unread: what can wait is not sent.
    pub clogged: bool,
    /// It stands on the list of sessions that wait for durability.
    pub awaiting: bool,
}

/// What is under way to the client.
#[derive(Debug, Default)]
pub(crate) struct Outgoing {
    /// Has no tag yet.
    pub queue: VecDeque<Entry>,
    pub window: DeliveryWindow,
    /// Of the next entry.
    pub next_sequence: u64,
    /// When its client acknowledged something last.
    pub settled_at: Timestamp,
}

/// A subscription as its session knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Subscription {
    pub filter: Box<str>,
    pub position: Position,
    /// 0 if it has none.
    pub identifier: u32,
    pub qos: QoS,
    pub no_local: bool,
    pub retain_as_published: bool,
}

/// What is published if the client is lost.
#[derive(Clone, Debug)]
pub(crate) struct HeldWill {
    pub will: Will,
    /// Of its record; 0 where it is in memory only.
    pub position: Position,
}

/// The tag of a QoS 2 message between its PUBREC and its PUBREL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unreleased {
    pub tag: DeliveryTag,
    pub position: Position,
}

impl ClientSession {
    pub fn new(client_id: Box<str>, queue: QueueId) -> ClientSession {
        ClientSession {
            client_id,
            queue,
            connection: None,
            position: Position::default(),
            confirm_after: Position::default(),
            detached_at: Timestamp::default(),
            subscriptions: Vec::new(),
            outgoing: None,
            incoming: None,
            will: None,
            expiry_s: 0,
            receive_maximum: u16::MAX,
            paced: 0,
            ready: false,
            logged: false,
            clogged: false,
            awaiting: false,
        }
    }

    /// Replaces the content of `out` by the record of its present state.
    pub fn record_into(&self, out: &mut Vec<u8>) {
        Record::Session(self.record()).encode(out);
    }

    fn record(&self) -> SessionRecord<'_> {
        SessionRecord {
            queue: self.queue,
            expiry_s: self.expiry_s,
            receive_maximum: self.receive_maximum,
            detached_at: if self.connection.is_some() { None } else { Some(self.detached_at) },
            client_id: &self.client_id,
        }
    }

    /// The connection, if messages may be sent on it.
    pub fn live(&self) -> Option<ConnectionId> {
        if self.ready { self.connection } else { None }
    }

    /// When the session ends unless its client comes back.
    pub fn expires_at(&self) -> Timestamp {
        if self.expiry_s == SESSION_NEVER_EXPIRES {
            return Timestamp::NEVER;
        }
        self.detached_at.plus_seconds(self.expiry_s)
    }

    /// When the will is due: after its delay or at the end of the session, whichever is first (MQTT-3.1.3-9).
    pub fn will_due_at(&self) -> Option<Timestamp> {
        let will = self.will.as_ref()?;
        Some(self.detached_at.plus_seconds(will.will.delay_s).min(self.expires_at()))
    }

    pub fn outgoing(&mut self) -> &mut Outgoing {
        self.outgoing.get_or_insert_default()
    }

    /// Messages that wait for the client or for its acknowledgement.
    pub fn depth(&self) -> usize {
        self.outgoing.as_ref().map_or(0, |outgoing| outgoing.queue.len() + outgoing.window.len())
    }

    /// What waits for the client or for its acknowledgement.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.outgoing.iter().flat_map(|outgoing| {
            outgoing.queue.iter().chain(outgoing.window.iter().map(|delivery| &delivery.entry))
        })
    }

    /// Whether the next message may be sent at once: nothing older waits.
    pub fn is_idle(&self, bytes_max: u32) -> bool {
        !self.clogged
            && self.outgoing.as_ref().is_none_or(|outgoing| {
                outgoing.queue.is_empty()
                    && !outgoing.window.has_unsent()
                    && outgoing.window.has_room(self.receive_maximum)
                    && outgoing.window.has_room_in_flight(bytes_max)
            })
    }

    /// Where a filter stands, or belongs, among the subscriptions.
    pub fn find_subscription(&self, filter: &str) -> Result<usize, usize> {
        self.subscriptions.binary_search_by(|subscription| (*subscription.filter).cmp(filter))
    }

    pub fn unreleased_mut(&mut self, tag: DeliveryTag) -> Option<&mut Unreleased> {
        let incoming = self.incoming.as_mut()?;
        let at = Unreleased::find(incoming, tag).ok()?;
        incoming.get_mut(at)
    }

    pub fn keep_unreleased(&mut self, tag: DeliveryTag, position: Position) {
        Unreleased { tag, position }.keep_in(self.incoming.get_or_insert_default());
    }

    /// Forgets a tag; false if it was not there.
    pub fn release(&mut self, tag: DeliveryTag) -> bool {
        let Some(incoming) = &mut self.incoming else { return false };
        let found = Unreleased::forget_in(incoming, tag);
        if incoming.is_empty() {
            self.incoming = None;
        }
        found
    }
}

impl Unreleased {
    /// Where a tag stands, or belongs, among those of a session: a client may leave 65,535 of them there.
    fn find(all: &[Unreleased], tag: DeliveryTag) -> Result<usize, usize> {
        all.binary_search_by_key(&tag.0, |unreleased| unreleased.tag.0)
    }

    /// Puts it among those of a session, in place of an older one with the same tag.
    pub fn keep_in(self, all: &mut Vec<Unreleased>) {
        match Unreleased::find(all, self.tag) {
            Ok(at) => all[at] = self,
            Err(at) => all.insert(at, self),
        }
    }

    /// Takes a tag away; false if it was not there.
    pub fn forget_in(all: &mut Vec<Unreleased>, tag: DeliveryTag) -> bool {
        Unreleased::find(all, tag).map(|at| all.remove(at)).is_ok()
    }
}

impl Outgoing {
    pub fn take_sequence(&mut self) -> Sequence {
        self.next_sequence += 1;
        Sequence(self.next_sequence)
    }

    /// What the messages of the queue take, about: they are taken to be as large as the oldest and the youngest.
    pub fn queued_bytes(&self) -> u64 {
        let size = |entry: Option<&Entry>| entry.map_or(0, |entry| u64::from(entry.size));
        let both = size(self.queue.front()) + size(self.queue.back());
        self.queue.len() as u64 * both.div_ceil(2)
    }

    /// Gives memory back that a burst has left behind.
    pub fn shrink(&mut self) {
        if self.queue.is_empty() && self.queue.capacity() > 64 {
            self.queue = VecDeque::new();
        }
    }
}

impl Subscription {
    pub fn record(&self) -> SubscriptionRecord<'_> {
        SubscriptionRecord {
            filter: &self.filter,
            qos: self.qos,
            no_local: self.no_local,
            retain_as_published: self.retain_as_published,
            identifier: self.identifier,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_stays_small() {
        assert!(size_of::<ClientSession>() <= 144, "{}", size_of::<ClientSession>());
    }

    #[test]
    fn a_tag_is_released_once() {
        let mut session = ClientSession::new("c".into(), QueueId(1));
        session.keep_unreleased(DeliveryTag(5), Position(1));
        session.keep_unreleased(DeliveryTag(5), Position(2));
        assert!(session.release(DeliveryTag(5)));
        assert!(!session.release(DeliveryTag(5)));
        assert!(session.incoming.is_none());
    }

    #[test]
    fn tags_are_found_whatever_the_order_they_came_in() {
        let mut session = ClientSession::new("c".into(), QueueId(1));
        let tags = || (0..65_535u32).map(|n| DeliveryTag((n * 40_503 % 65_537 % 65_535 + 1) as u16));
        tags().for_each(|tag| session.keep_unreleased(tag, Position(u64::from(tag.0))));
        for tag in tags() {
            let found = session.unreleased_mut(tag).map(|unreleased| unreleased.position);
            assert_eq!(found, Some(Position(u64::from(tag.0))));
        }
        assert!(tags().filter(|tag| session.release(*tag)).count() > 60_000);
        assert!(session.incoming.is_none());
    }
}
