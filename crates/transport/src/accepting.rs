//! Listeners, and how connections come in: in bursts, within limits.

use std::net::SocketAddr;
use std::os::fd::OwnedFd;

use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use rustix::net::{SocketFlags, acceptfrom_with, bind, getsockname, listen, sockopt};

use crate::accept_pace::AcceptPace;
use crate::connecting::open_socket;
use crate::connection::{Connection, Phase};
use crate::poller::Poller;
use crate::stream::Stream;
use crate::{ConnectionToken, Io, ListenerId, ListenerSettings, Settings};

/// How long accepting rests when the process is out of file descriptors or the kernel of memory.
const EXHAUSTED_PAUSE_MS: u64 = 100;

/// The same complaint is logged once in this time.
const COMPLAINT_MS: u64 = 60_000;

/// All listeners of a loop.
#[derive(Debug)]
pub(crate) struct Acceptor {
    listeners: Vec<Listener>,
    pace: AcceptPace,
    /// While accepting rests: when it goes on.
    resume_at_ms: Option<u64>,
    exhausted_said_ms: Option<u64>,
    refused_said_ms: Option<u64>,
}

#[derive(Debug)]
struct Listener {
    fd: OwnedFd,
    address: SocketAddr,
}

/// What one accept brought.
pub(crate) enum Accepted {
    Connection(ConnectionToken),
    /// Somebody for whom there was no room, or who was gone already.
    Nobody,
    /// The backlog is empty, or accepting rests.
    Done,
}

impl Acceptor {
    pub(crate) fn new(settings: &Settings, now_ms: u64) -> Acceptor {
        Acceptor {
            listeners: Vec::new(),
            pace: AcceptPace::new(settings.accepts_per_s, now_ms),
            resume_at_ms: None,
            exhausted_said_ms: None,
            refused_said_ms: None,
        }
    }

    /// Opens a listener and watches it: level-triggered, so that a burst may be left unfinished.
    pub(crate) fn listen(
        &mut self,
        settings: &ListenerSettings,
        poller: &Poller,
    ) -> Result<ListenerId, Errno> {
        let id = ListenerId(u16::try_from(self.listeners.len()).map_err(|_| Errno::MFILE)?);
        let listener = open(settings)?;
        poller.add(&listener.fd, u64::from(id.0), EventFlags::IN)?;
        tracing::info!(listener = id.0, address = %listener.address, "listening");
        self.listeners.push(listener);
        Ok(id)
    }

    pub(crate) fn local_addr(&self, id: ListenerId) -> Option<SocketAddr> {
        self.listeners.get(usize::from(id.0)).map(|listener| listener.address)
    }

    /// Stops listening; who waits in a backlog is reset by the kernel.
    pub(crate) fn close(&mut self) {
        self.listeners.clear();
        self.resume_at_ms = None;
    }

    /// When a rest is over, if accepting rests.
    pub(crate) fn resume_at_ms(&self) -> Option<u64> {
        self.resume_at_ms
    }

    /// Goes on after a rest that is over.
    pub(crate) fn resume_if_due(&mut self, io: &Io) {
        if self.resume_at_ms.is_some_and(|at| at <= io.now_ms()) {
            self.resume_at_ms = None;
            self.watch(&io.poller, EventFlags::IN);
        }
    }

    fn rest_until(&mut self, at_ms: u64, io: &Io) {
        self.resume_at_ms = Some(at_ms);
        self.watch(&io.poller, EventFlags::empty());
    }

    fn watch(&self, poller: &Poller, flags: EventFlags) {
        for (index, listener) in self.listeners.iter().enumerate() {
            if let Err(errno) = poller.modify(&listener.fd, index as u64, flags) {
                tracing::error!(listener = index, %errno, "cannot change what the listener is watched for");
            }
        }
    }

    /// Takes one connection from the backlog of a listener.
    pub(crate) fn accept(&mut self, id: ListenerId, io: &mut Io) -> Accepted {
        let Some(listener) = self.listeners.get(usize::from(id.0)) else { return Accepted::Done };
        if self.resume_at_ms.is_some() {
            return Accepted::Done;
        }
        if let Err(at_ms) = self.pace.admit(io.now_ms()) {
            self.rest_until(at_ms, io);
            return Accepted::Done;
        }
        match acceptfrom_with(&listener.fd, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC) {
            Ok((fd, peer)) => {
                let peer = peer.and_then(|peer| SocketAddr::try_from(peer).ok());
                self.admit(fd, peer.unwrap_or(listener.address), io)
            }
            Err(Errno::AGAIN) => {
                self.pace.give_back();
                Accepted::Done
            }
            Err(errno) => self.failed(errno, io),
        }
    }

    fn admit(&mut self, fd: OwnedFd, peer: SocketAddr, io: &mut Io) -> Accepted {
        if io.connections.len() >= io.settings.connections_max {
            io.statistics.refused += 1;
            if is_due(&mut self.refused_said_ms, io.now_ms()) {
                let limit = io.settings.connections_max;
                tracing::warn!(%peer, limit, "connection refused: limit on connections reached");
            }
            return Accepted::Nobody;
        }
        match io.insert(Connection::new(Stream::Tcp(fd), peer, Phase::Open)) {
            Ok(id) => {
                io.statistics.accepted += 1;
                Accepted::Connection(id)
            }
            Err(errno) => self.failed(errno, io),
        }
    }

    /// accept(2): besides our own shortages, it reports what already befell the connection on the network.
    fn failed(&mut self, errno: Errno, io: &mut Io) -> Accepted {
        if !matches!(errno, Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM | Errno::NOSPC) {
            return Accepted::Nobody;
        }
        io.statistics.accept_exhausted += 1;
        if is_due(&mut self.exhausted_said_ms, io.now_ms()) {
            let connections = io.connections.len();
            tracing::error!(%errno, connections, "cannot accept: out of file descriptors or memory, trying again every 100 ms");
        }
        self.rest_until(io.now_ms() + EXHAUSTED_PAUSE_MS, io);
        Accepted::Done
    }
}

/// Whether to complain again.
fn is_due(said_ms: &mut Option<u64>, now_ms: u64) -> bool {
    let due = said_ms.is_none_or(|said| now_ms >= said + COMPLAINT_MS);
    if due {
        *said_ms = Some(now_ms);
    }
    due
}

fn open(settings: &ListenerSettings) -> Result<Listener, Errno> {
    let fd = open_socket(settings.address)?;
    sockopt::set_socket_reuseaddr(&fd, true)?;
    if settings.reuse_port {
        sockopt::set_socket_reuseport(&fd, true)?;
    }
    // Linux hands it down to every accepted socket: no call per connection.
    sockopt::set_tcp_nodelay(&fd, true)?;
    bind(&fd, &settings.address)?;
    listen(&fd, settings.backlog)?;
    let address = getsockname(&fd)?;
    Ok(Listener { fd, address: SocketAddr::try_from(address)? })
}
