//! The way into a loop from another thread.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::event::{EventfdFlags, eventfd};
use rustix::io::Errno;

/// Makes the loop run [`crate::Service::woken`] soon; any thread may clone, send and use it.
///
/// Whatever was written to memory before `wake` is visible to `woken`. Wakes between two turns are one, and all but
/// the first of them cost no system call.
#[derive(Clone, Debug)]
pub struct Waker(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    /// An eventfd in the loop's epoll set.
    fd: OwnedFd,
    /// Whether a wake-up is under way that the loop has not yet taken.
    raised: AtomicBool,
}

impl Waker {
    pub(crate) fn new() -> Result<Waker, Errno> {
        let fd = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Waker(Arc::new(Shared { fd, raised: AtomicBool::new(false) })))
    }

    /// Wakes the loop. Never blocks, never fails; after the loop's end it does nothing.
    pub fn wake(&self) {
        if !self.0.raised.swap(true, Ordering::AcqRel) {
            // Only a counter at its maximum refuses a write, and then the loop is awake anyway.
            let _ = rustix::io::write(&self.0.fd, &1u64.to_ne_bytes());
        }
    }

    /// Takes the wake-up: one raised after this call wakes again.
    pub(crate) fn take(&self) -> bool {
        let _ = rustix::io::read(&self.0.fd, &mut [0u8; 8]);
        self.0.raised.swap(false, Ordering::AcqRel)
    }
}

impl AsFd for Waker {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.fd.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_wakes_are_one_until_taken() {
        let waker = Waker::new().unwrap();
        waker.wake();
        waker.clone().wake();
        assert!(waker.take());
        assert!(!waker.take());
        waker.wake();
        assert!(waker.take());
    }
}
