//! SIGINT, SIGTERM and SIGHUP as values instead of interruptions.

use std::io;
use std::mem::MaybeUninit;

/// The wish to stop, from Ctrl-C, from who supervises the process, or because its terminal is gone.
#[derive(Debug)]
pub struct StopSignals {
    set: libc::sigset_t,
}

impl StopSignals {
    /// Keeps the signals from interrupting this thread, and every thread that it starts from now on; so it comes
    /// before any thread is started.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn block() -> io::Result<StopSignals> {
        let mut set = MaybeUninit::uninit();
        // SAFETY: the set is initialised by sigemptyset before it is used; the numbers are signals; signal() sets no
        // handler of ours.
        let (set, errno) = unsafe {
            libc::sigemptyset(set.as_mut_ptr());
            libc::sigaddset(set.as_mut_ptr(), libc::SIGINT);
            libc::sigaddset(set.as_mut_ptr(), libc::SIGTERM);
            // Under nohup it is ignored and stays so: a blocked signal would come to sigwait all the same.
            if libc::signal(libc::SIGHUP, libc::SIG_DFL) == libc::SIG_IGN {
                libc::signal(libc::SIGHUP, libc::SIG_IGN);
            } else {
                libc::sigaddset(set.as_mut_ptr(), libc::SIGHUP);
            }
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
        match signal {
            libc::SIGTERM => "SIGTERM",
            libc::SIGHUP => "SIGHUP",
            _ => "SIGINT",
        }
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
