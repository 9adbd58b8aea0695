//! What is remembered of a connection, and the table of all.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use rustix::event::epoll::EventFlags;
use slab::Slab;

use crate::ConnectionToken;
use crate::buffers::Buffers;
use crate::stream::Stream;
use crate::timer_wheel;

/// Which events every connection is registered for, once and for all.
///
/// Edge-triggered. A recv that fills less than its buffer has emptied the socket, so one recv an event is enough; the
/// edge for OUT comes only after a write was short (the kernel then sets SOCK_NOSPACE), so that it is armed exactly
/// when it is needed without a call of epoll_ctl; and sockets that are not read on purpose (`pause`, `may_read`) do
/// not report themselves again and again. Measured against level-triggered where that is at its best, with nothing
/// slow and nothing paused (examples/echo, 100 connections, medians of four interleaved runs): 2.49 against 2.51 µs of
/// CPU a message one by one, 0.212 against 0.216 in batches of 16, which is no difference; so the above decides.
pub(crate) const INTEREST: EventFlags =
    EventFlags::IN.union(EventFlags::OUT).union(EventFlags::RDHUP).union(EventFlags::ET);

/// Where a connection is in its life; it only moves down this list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Client role: the handshake of TCP is under way.
    Connecting,
    /// The service may use it.
    Open,
    /// Closed for the service; output is still being sent, input thrown away.
    Flushing,
    /// Our end of the stream is sent; waiting for the peer's, input thrown away, so that no reset destroys what
    /// the peer has not yet read.
    Lingering,
    /// Nothing more to do but to tell the service.
    Dead,
}

/// A slot of the table. An idle connection costs this, its timer's entry, and nothing else.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) stream: Stream,
    /// Only while there is something in them.
    pub(crate) buffers: Option<Box<Buffers>>,
    pub(crate) peer: Peer,
    generation: u32,
    /// Input thrown away since it was closed.
    pub(crate) drained: u32,
    pub(crate) phase: Phase,
    /// In the list of connections to flush.
    pub(crate) dirty: bool,
    /// In the list of connections to read.
    pub(crate) queued: bool,
    /// The socket may have bytes, an end or an error to read.
    pub(crate) readable: bool,
    /// The end or an error is certain to come behind the bytes.
    pub(crate) ending: bool,
    /// The socket takes no bytes until it says so.
    pub(crate) blocked: bool,
    /// The service wants no input.
    pub(crate) paused: bool,
    /// Unconsumed input shall be given to the service again.
    pub(crate) again: bool,
    /// The peer has ended its stream.
    pub(crate) peer_ended: bool,
    /// The service was told that it is closed.
    pub(crate) reported: bool,
}

/// DESIGN.md section 4: no standing buffer per idle connection. 100 bytes is the promise, this is what it is.
const _: () = assert!(IDLE_BYTES <= 100);
pub(crate) const IDLE_BYTES: usize = size_of::<Connection>() + size_of::<timer_wheel::Entry>();

impl Connection {
    pub(crate) fn new(stream: Stream, peer: SocketAddr, phase: Phase) -> Connection {
        let connecting = phase == Phase::Connecting;
        Connection {
            stream,
            buffers: None,
            peer: Peer::from(peer),
            generation: 0,
            drained: 0,
            phase,
            dirty: false,
            queued: false,
            readable: false,
            ending: false,
            blocked: connecting,
            paused: false,
            again: false,
            peer_ended: false,
            reported: false,
        }
    }

    /// Bytes not yet sent.
    pub(crate) fn buffered(&self) -> usize {
        self.buffers.as_ref().map_or(0, |buffers| buffers.output.len())
    }
}

/// A peer's address in 18 bytes instead of 32.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer {
    /// IPv4 as its mapped IPv6 address.
    ip: [u8; 16],
    port: [u8; 2],
}

impl From<SocketAddr> for Peer {
    fn from(address: SocketAddr) -> Peer {
        let ip = match address.ip() {
            IpAddr::V4(v4) => v4.to_ipv6_mapped(),
            IpAddr::V6(v6) => v6,
        };
        Peer { ip: ip.octets(), port: address.port().to_ne_bytes() }
    }
}

impl From<Peer> for SocketAddr {
    fn from(peer: Peer) -> SocketAddr {
        SocketAddr::new(Ipv6Addr::from(peer.ip).to_canonical(), u16::from_ne_bytes(peer.port))
    }
}

/// All connections by token.
#[derive(Debug, Default)]
pub(crate) struct Connections {
    slab: Slab<Connection>,
    /// Of the last connection made. Counts over all slots: a token comes again after 2^32 connections at the
    /// earliest, whatever their slots.
    generation: u32,
}

impl Connections {
    pub(crate) fn len(&self) -> usize {
        self.slab.len()
    }

    pub(crate) fn insert(&mut self, mut connection: Connection) -> ConnectionToken {
        self.generation = self.generation.checked_add(1).unwrap_or(1);
        connection.generation = self.generation;
        ConnectionToken::new(self.slab.insert(connection) as u32, self.generation)
    }

    /// `id` in whatever phase.
    pub(crate) fn get(&self, id: ConnectionToken) -> Option<&Connection> {
        self.slab.get(id.slot()).filter(|connection| connection.generation == id.generation())
    }

    /// `id` in whatever phase.
    pub(crate) fn get_mut(&mut self, id: ConnectionToken) -> Option<&mut Connection> {
        self.slab.get_mut(id.slot()).filter(|connection| connection.generation == id.generation())
    }

    /// `id` if the service may use it.
    pub(crate) fn live(&self, id: ConnectionToken) -> Option<&Connection> {
        self.get(id).filter(|connection| matches!(connection.phase, Phase::Open | Phase::Connecting))
    }

    /// `id` if the service may use it.
    pub(crate) fn live_mut(&mut self, id: ConnectionToken) -> Option<&mut Connection> {
        self.get_mut(id).filter(|connection| matches!(connection.phase, Phase::Open | Phase::Connecting))
    }

    /// The token of what is in a slot now.
    pub(crate) fn token_at(&self, slot: u32) -> Option<ConnectionToken> {
        self.slab.get(slot as usize).map(|connection| ConnectionToken::new(slot, connection.generation))
    }

    pub(crate) fn tokens(&self) -> Vec<ConnectionToken> {
        let token = |(slot, connection): (usize, &Connection)| {
            ConnectionToken::new(slot as u32, connection.generation)
        };
        self.slab.iter().map(token).collect()
    }

    pub(crate) fn remove(&mut self, id: ConnectionToken) -> Option<Connection> {
        self.get(id)?;
        self.slab.try_remove(id.slot())
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::OwnedFd;

    use super::*;

    fn connection() -> Connection {
        let fd = OwnedFd::from(std::fs::File::open("/dev/null").unwrap());
        Connection::new(Stream::Tcp(fd), "127.0.0.1:1".parse().unwrap(), Phase::Open)
    }

    #[test]
    fn an_idle_connection_costs_at_most_a_hundred_bytes() {
        // The table has no overhead of its own: the slab's tag hides in a bool.
        let mut table = Slab::with_capacity(1_000);
        table.insert(connection());
        let slot = size_of::<Option<Connection>>();
        assert!(
            slot + size_of::<timer_wheel::Entry>() <= 100,
            "{slot} + {}",
            size_of::<timer_wheel::Entry>()
        );
        assert_eq!(IDLE_BYTES, 72);
    }

    #[test]
    fn a_stale_token_finds_nothing_though_its_slot_is_in_use() {
        let mut connections = Connections::default();
        let old = connections.insert(connection());
        connections.remove(old);
        let new = connections.insert(connection());
        assert_eq!(old.slot(), new.slot());
        assert!(connections.get(old).is_none() && connections.get_mut(old).is_none());
        assert!(connections.remove(old).is_none());
        assert!(connections.get(new).is_some());
    }

    #[test]
    fn the_generation_never_is_zero() {
        let mut connections = Connections { generation: u32::MAX, ..Connections::default() };
        assert_eq!(connections.insert(connection()).generation(), 1);
    }

    #[test]
    fn addresses_of_both_families_come_back_as_they_were() {
        for text in ["127.0.0.1:1883", "[2001:db8::1]:65535", "[::1]:0"] {
            let address: SocketAddr = text.parse().unwrap();
            assert_eq!(SocketAddr::from(Peer::from(address)), address);
        }
    }
}
