//! The one place where bytes meet a socket, and where a layer between the two will stand.
//!
//! Only plain TCP exists now. TLS and WebSocket become further variants that box their state (`Tls(Box<..>)`): `recv`
//! then gives decrypted bytes, `send` says how many plain bytes it took, and what the layer itself has to send
//! (handshakes, pings) goes out with the next `send`. Nothing else in this crate touches a socket's bytes.

use std::io::IoSlice;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::buffer::spare_capacity;
use rustix::io::Errno;
use rustix::net::{
    RecvFlags, SendAncillaryBuffer, SendFlags, Shutdown, recv, send, sendmsg, shutdown, sockopt,
};

use crate::Output;

/// Parts of one gathered write. 64 parts of at least 16 KiB fill any socket buffer.
const PARTS_MAX: usize = 64;

/// A connection's bytes, whatever is between us and the peer.
#[derive(Debug)]
pub(crate) enum Stream {
    /// Plain TCP.
    Tcp(OwnedFd),
}

impl Stream {
    /// Reads into `buffer`; fewer bytes than fit mean that the socket is empty, 0 that the peer has ended its stream.
    pub(crate) fn recv(&mut self, buffer: &mut [u8]) -> Result<usize, Errno> {
        let Stream::Tcp(fd) = self;
        retry(|| recv(&*fd, &mut *buffer, RecvFlags::empty()).map(|(_, n)| n))
    }

    /// Reads behind what is in `buffer`, as much as its spare capacity (not 0) takes.
    pub(crate) fn recv_behind(&mut self, buffer: &mut Vec<u8>) -> Result<usize, Errno> {
        let Stream::Tcp(fd) = self;
        retry(|| recv(&*fd, spare_capacity(buffer), RecvFlags::empty()).map(|(_, n)| n))
    }

    /// Sends what `output` has in one call and says how many bytes were taken and how many were offered.
    pub(crate) fn send(&mut self, output: &Output) -> Result<(usize, usize), Errno> {
        let Stream::Tcp(fd) = self;
        let mut slices = output.slices();
        let Some(first) = slices.next() else { return Ok((0, 0)) };
        let Some(second) = slices.next() else {
            return retry(|| send(&*fd, first, SendFlags::NOSIGNAL)).map(|sent| (sent, first.len()));
        };
        let mut parts = [IoSlice::new(&[]); PARTS_MAX];
        let mut count = 0;
        for (part, bytes) in parts.iter_mut().zip([first, second].into_iter().chain(slices)) {
            *part = IoSlice::new(bytes);
            count += 1;
        }
        let parts = &parts[..count];
        let offered = parts.iter().map(|part| part.len()).sum();
        let mut control = SendAncillaryBuffer::default();
        retry(|| sendmsg(&*fd, parts, &mut control, SendFlags::NOSIGNAL)).map(|sent| (sent, offered))
    }

    /// Tells the peer that nothing more comes.
    pub(crate) fn end(&mut self) -> Result<(), Errno> {
        shutdown(self.as_fd(), Shutdown::Write)
    }

    /// Makes dropping the stream a reset: the kernel forgets unsent bytes and keeps no TIME_WAIT.
    pub(crate) fn reset_on_drop(&mut self) {
        // A socket that refuses this is dropped in the ordinary way.
        let _ = sockopt::set_socket_linger(self.as_fd(), Some(Duration::ZERO));
    }

    /// How a connect ended.
    pub(crate) fn connect_result(&self) -> Result<(), Errno> {
        sockopt::socket_error(self.as_fd()).unwrap_or_else(Err)
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        let Stream::Tcp(fd) = self;
        fd.as_fd()
    }
}

fn retry<T>(mut call: impl FnMut() -> Result<T, Errno>) -> Result<T, Errno> {
    loop {
        match call() {
            Err(Errno::INTR) => continue,
            other => return other,
        }
    }
}
