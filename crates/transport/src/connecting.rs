//! The client role: connects that do not block.

use std::net::SocketAddr;
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, connect, ipproto, socket_with, sockopt};

use crate::connection::{Connection, INTEREST, Phase};
use crate::stream::Stream;
use crate::{Closed, ConnectError, ConnectionToken, Io};

impl Io {
    /// Starts a connection to `to` (client role), from `source` if given (port 0: any). It is the same kind of
    /// connection from [`crate::Service::connected`] on, output may be appended before; a failure comes to
    /// [`crate::Service::closed`].
    pub fn connect(
        &mut self,
        to: SocketAddr,
        source: Option<SocketAddr>,
    ) -> Result<ConnectionToken, ConnectError> {
        if self.stopping || self.connections.len() >= self.settings.connections_max {
            return Err(ConnectError::Full);
        }
        let system = |errno| ConnectError::System { to, errno };
        let stream = Stream::Tcp(start(to, source).map_err(system)?);
        let id = self.insert(Connection::new(stream, to, Phase::Connecting)).map_err(system)?;
        self.timers.set(self.timer_key(id), self.now_ms() + self.settings.connect_timeout_ms);
        Ok(id)
    }

    /// Takes a new connection into the table and the epoll set.
    pub(crate) fn insert(&mut self, connection: Connection) -> Result<ConnectionToken, Errno> {
        let id = self.connections.insert(connection);
        let Some(connection) = self.connections.get(id) else { return Err(Errno::BADF) };
        if let Err(errno) = self.poller.add(&connection.stream, id.0, INTEREST) {
            self.connections.remove(id);
            return Err(errno);
        }
        self.statistics.connections = self.connections.len() as u64;
        Ok(id)
    }

    /// Looks how the connect of `id` went; says whether it is up now.
    pub(crate) fn finish_connect(&mut self, id: ConnectionToken) -> bool {
        let timer = self.timer_key(id);
        let Some(connection) = self.connections.get_mut(id) else { return false };
        if let Err(errno) = connection.stream.connect_result() {
            self.die(id, Closed::ConnectFailed(errno));
            return false;
        }
        connection.phase = Phase::Open;
        connection.blocked = false;
        let unsent = connection.buffered() > 0;
        if unsent {
            self.queue_flush(id);
        }
        self.timers.clear(timer);
        self.statistics.connected += 1;
        true
    }
}

fn start(to: SocketAddr, source: Option<SocketAddr>) -> Result<OwnedFd, Errno> {
    let fd = open_socket(to)?;
    sockopt::set_tcp_nodelay(&fd, true)?;
    if let Some(source) = source {
        choose_port_late(&fd);
        bind(&fd, &source)?;
    }
    match connect(&fd, &to) {
        Ok(()) | Err(Errno::INPROGRESS) => Ok(fd),
        Err(errno) => Err(errno),
    }
}

/// Has the port (where 0 leaves it open) chosen by connect, which knows the target, not by bind: ports are then shared
/// by connections to several targets, and those in TIME_WAIT are usable again.
fn choose_port_late(fd: &OwnedFd) {
    let on: libc::c_int = 1;
    let size = size_of_val(&on) as libc::socklen_t;
    // SAFETY: the option's value is a c_int that outlives the call. A kernel that refuses the option does without.
    unsafe {
        libc::setsockopt(
            fd.as_raw_fd(),
            libc::IPPROTO_IP,
            libc::IP_BIND_ADDRESS_NO_PORT,
            (&raw const on).cast(),
            size,
        )
    };
}

/// A TCP socket of the family of `address` that does not block.
pub(crate) fn open_socket(address: SocketAddr) -> Result<OwnedFd, Errno> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    socket_with(family, SocketType::STREAM, flags, Some(ipproto::TCP))
}
