//! epoll: which sockets have something to do.

use std::fmt;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::time::Duration;

use rustix::buffer::spare_capacity;
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::Errno;

/// Events taken from the kernel at a time.
const EVENTS_MAX: usize = 1_024;

/// Waits shorter than this need more than epoll_wait's milliseconds.
const FINE_WAIT: Duration = Duration::from_millis(20);

/// epoll_wait takes at most 24 days.
const LONGEST_WAIT: Duration = Duration::from_secs(3_600);

/// An epoll set and the events of its last wait.
pub(crate) struct Poller {
    fd: OwnedFd,
    events: Vec<Event>,
    /// Whether the kernel has epoll_pwait2 (Linux 5.11), as far as is known.
    has_pwait2: bool,
}

// SAFETY: not Send only because an event may carry a pointer; ours carry numbers (`EventData::new_u64`).
unsafe impl Send for Poller {}

impl fmt::Debug for Poller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Poller").field("fd", &self.fd).field("events", &self.events.len()).finish()
    }
}

impl Poller {
    pub(crate) fn new() -> Result<Poller, Errno> {
        let fd = epoll::create(CreateFlags::CLOEXEC)?;
        Ok(Poller { fd, events: Vec::with_capacity(EVENTS_MAX), has_pwait2: true })
    }

    /// Adds `source`; its events will carry `data`.
    pub(crate) fn add(&self, source: impl AsFd, data: u64, flags: EventFlags) -> Result<(), Errno> {
        epoll::add(&self.fd, source, EventData::new_u64(data), flags)
    }

    /// Changes which events of `source` are reported.
    pub(crate) fn modify(&self, source: impl AsFd, data: u64, flags: EventFlags) -> Result<(), Errno> {
        epoll::modify(&self.fd, source, EventData::new_u64(data), flags)
    }

    /// Sleeps until something happens or `limit` has passed (`None`: for ever). A signal ends the wait too.
    pub(crate) fn wait(&mut self, limit: Option<Duration>) -> Result<(), Errno> {
        self.events.clear();
        let limit = limit.map(|limit| limit.min(LONGEST_WAIT));
        let waited = match limit {
            Some(limit) if self.has_pwait2 && !limit.is_zero() && limit < FINE_WAIT => self.wait_fine(limit),
            _ => self.wait_coarse(limit),
        };
        match waited {
            Err(Errno::INTR) => Ok(()),
            other => other,
        }
    }

    /// Event `index` of the last wait.
    pub(crate) fn event(&self, index: usize) -> Option<(u64, EventFlags)> {
        self.events.get(index).map(|event| (event.data.u64(), event.flags))
    }

    /// epoll_wait, in whole milliseconds rounded up.
    fn wait_coarse(&mut self, limit: Option<Duration>) -> Result<(), Errno> {
        let limit =
            limit.map(|limit| timespec(Duration::from_millis(limit.as_micros().div_ceil(1_000) as u64)));
        epoll::wait(&self.fd, spare_capacity(&mut self.events), limit.as_ref()).map(|_| ())
    }

    /// epoll_pwait2, in nanoseconds (the kernel adds the thread's timer slack, 50 µs by default). Called directly: rustix
    /// uses it only when the whole build gives up older kernels, and where a kernel or a container's filter refuses
    /// it milliseconds must do.
    fn wait_fine(&mut self, limit: Duration) -> Result<(), Errno> {
        let limit = timespec(limit);
        // SAFETY: the pointer and count describe the spare capacity of `events` (rustix's Event has the kernel's
        // layout), the timespec outlives the call, and no signal mask is passed.
        let count = unsafe {
            libc::syscall(
                libc::SYS_epoll_pwait2,
                self.fd.as_raw_fd(),
                self.events.as_mut_ptr(),
                self.events.capacity() as libc::c_int,
                &raw const limit,
                std::ptr::null::<libc::sigset_t>(),
                0usize,
            )
        };
        if count >= 0 {
            // SAFETY: the kernel has written the first `count` events.
            unsafe { self.events.set_len(count as usize) };
            return Ok(());
        }
        let error = std::io::Error::last_os_error();
        match Errno::from_io_error(&error).unwrap_or(Errno::IO) {
            Errno::NOSYS | Errno::PERM => {
                self.has_pwait2 = false;
                self.wait_coarse(Duration::try_from(limit).ok())
            }
            errno => Err(errno),
        }
    }
}

fn timespec(duration: Duration) -> Timespec {
    Timespec { tv_sec: duration.as_secs() as i64, tv_nsec: i64::from(duration.subsec_nanos()) }
}
