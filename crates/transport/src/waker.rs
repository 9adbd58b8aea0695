//! The way into a loop from another thread.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use rustix::event::{EventfdFlags, eventfd};
use rustix::io::Errno;

/// The loop is at work and will look here before it sleeps.
const AWAKE: u8 = 0;
/// The loop sleeps or is about to.
const ASLEEP: u8 = 1;
/// Somebody has called and the loop has not yet taken it.
const CALLED: u8 = 2;

/// Makes the loop run [`crate::Service::woken`] soon; any thread may clone, send and use it.
///
/// Whatever was written to memory before `wake` is visible to `woken`. Wakes between two turns are one; only one that
/// finds the loop asleep costs a system call.
#[derive(Clone, Debug)]
pub struct Waker(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    /// An eventfd in the loop's epoll set, edge-triggered: never read, each write is an event.
    fd: OwnedFd,
    state: AtomicU8,
}

impl Waker {
    pub(crate) fn new() -> Result<Waker, Errno> {
        let fd = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Waker(Arc::new(Shared { fd, state: AtomicU8::new(AWAKE) })))
    }

    /// Wakes the loop. Never blocks, never fails; after the loop's end it does nothing.
    pub fn wake(&self) {
        if self.0.state.swap(CALLED, Ordering::AcqRel) == ASLEEP {
            // Refused only with the counter at 2^64 - 2, after as many sleeps.
            let _ = rustix::io::write(&self.0.fd, &1u64.to_ne_bytes());
        }
    }

    /// Before the loop sleeps: from now on a call writes to the eventfd. False if there was a call: do not sleep.
    pub(crate) fn fall_asleep(&self) -> bool {
        self.0.state.compare_exchange(AWAKE, ASLEEP, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// After the loop slept or looked: whether there was a call. It is taken by this.
    pub(crate) fn awake(&self) -> bool {
        self.0.state.swap(AWAKE, Ordering::AcqRel) == CALLED
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

    fn writes(waker: &Waker) -> u64 {
        let mut count = [0; 8];
        rustix::io::read(&waker.0.fd, &mut count).map_or(0, |_| u64::from_ne_bytes(count))
    }

    #[test]
    fn many_wakes_are_one_until_taken() {
        let waker = Waker::new().unwrap();
        assert!(waker.fall_asleep());
        waker.wake();
        waker.clone().wake();
        assert_eq!(writes(&waker), 1);
        assert!(waker.awake());
        assert!(!waker.awake());
    }

    #[test]
    fn a_wake_before_sleep_keeps_the_loop_from_sleeping_and_costs_no_call() {
        let waker = Waker::new().unwrap();
        waker.wake();
        assert!(!waker.fall_asleep());
        assert_eq!(writes(&waker), 0);
        assert!(waker.awake());
        assert!(waker.fall_asleep());
    }
}
