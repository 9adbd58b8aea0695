//! The loop.

use std::net::SocketAddr;

use rustix::io::Errno;

use crate::{Io, ListenerId, ListenerSettings, Service, Settings, Waker};

/// A readiness loop, its connections and the service that it drives. It runs on the thread that calls [`IoThread::run`].
#[derive(Debug)]
pub struct IoThread<S> {
    io: Io,
    service: S,
    waker: Waker,
}

/// Why a loop or a listener could not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// epoll or eventfd.
    #[error("cannot set up the readiness loop: {0}")]
    Loop(Errno),
    /// A listener.
    #[error("cannot listen on {address}: {errno}")]
    Listen {
        /// Where.
        address: SocketAddr,
        /// What the kernel says.
        errno: Errno,
    },
    /// The loop broke while it ran.
    #[error("cannot wait for events: {0}")]
    Wait(Errno),
}

impl<S: Service> IoThread<S> {
    /// A loop without listeners.
    pub fn new(settings: Settings, service: S) -> Result<IoThread<S>, StartError> {
        let waker = Waker::new().map_err(StartError::Loop)?;
        Ok(IoThread { io: Io::new(&settings), service, waker })
    }

    /// Opens a listener; connections are accepted once the loop runs. Listeners are numbered in the order of calls.
    pub fn listen(&mut self, settings: ListenerSettings) -> Result<ListenerId, StartError> {
        Err(StartError::Listen { address: settings.address, errno: Errno::NOSYS })
    }

    /// The address that a listener is bound to.
    pub fn local_addr(&self, _listener: ListenerId) -> Option<SocketAddr> {
        None
    }

    /// A way to wake this loop from elsewhere.
    pub fn waker(&self) -> Waker {
        self.waker.clone()
    }

    /// The service.
    pub fn service(&mut self) -> &mut S {
        &mut self.service
    }

    /// Service and connections together, to prepare something before the loop runs.
    pub fn parts(&mut self) -> (&mut S, &mut Io) {
        (&mut self.service, &mut self.io)
    }

    /// Runs until [`Io::stop`] was called and every connection is gone; gives the service back.
    pub fn run(mut self) -> Result<S, StartError> {
        self.service.turn(&mut self.io);
        Ok(self.service)
    }
}
