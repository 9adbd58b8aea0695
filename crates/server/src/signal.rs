//! SIGINT and SIGTERM as values instead of interruptions.

use std::io;
use std::mem::MaybeUninit;

/// The wish to stop, from Ctrl-C or from who supervises the process.
#[derive(Debug)]
pub struct StopSignals {
    set: libc::sigset_t,
}

impl StopSignals {
    /// Keeps both signals from interrupting this thread, and every thread that it starts from now on; so it comes
    /// before any thread is started.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn block() -> io::Result<StopSignals> {
        let mut set = MaybeUninit::uninit();
        // SAFETY: the set is initialised by sigemptyset before it is used; both numbers are signals.
        let (set, errno) = unsafe {
            libc::sigemptyset(set.as_mut_ptr());
            libc::sigaddset(set.as_mut_ptr(), libc::SIGINT);
            libc::sigaddset(set.as_mut_ptr(), libc::SIGTERM);
            let set = set.assume_init();
            (set, libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()))
        };
        match errno {
            0 => Ok(StopSignals { set }),
            errno => Err(io::Error::from_raw_os_error(errno)),
        }
    }

    /// Waits for the next one and names it.
    pub fn wait(&self) -> &'static str {
        let mut signal = 0;
        // SAFETY: both pointers are valid during the call. It fails for an invalid set only, and ours is valid.
        unsafe { libc::sigwait(&raw const self.set, &raw mut signal) };
        if signal == libc::SIGTERM { "SIGTERM" } else { "SIGINT" }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_that_came_while_nobody_waited_is_not_lost() {
        let signals = StopSignals::block().unwrap();
        // SAFETY: sends this thread, which blocks it, a signal.
        unsafe { libc::pthread_kill(libc::pthread_self(), libc::SIGTERM) };
        assert_eq!(signals.wait(), "SIGTERM");
    }
}
