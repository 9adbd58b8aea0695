//! What is due at which moment: wills and ends of sessions.

use alloc::collections::BTreeSet;

use ferrymq_message::Timestamp;

use crate::session_table::SessionKey;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum SessionTimer {
    /// Before the end of a session that is due at the same moment: the will comes first.
    Will,
    Expiry,
}

/// Ordered by moment. Whoever starts a timer stops it with the same arguments.
#[derive(Debug, Default)]
pub(crate) struct TimerQueue {
    timers: BTreeSet<(Timestamp, SessionKey, SessionTimer)>,
}

impl TimerQueue {
    /// Nothing is started for [`Timestamp::NEVER`].
    pub fn start(&mut self, at: Timestamp, key: SessionKey, timer: SessionTimer) {
        if at != Timestamp::NEVER {
            self.timers.insert((at, key, timer));
        }
    }

    pub fn stop(&mut self, at: Timestamp, key: SessionKey, timer: SessionTimer) {
        self.timers.remove(&(at, key, timer));
    }

    pub fn next(&self) -> Option<Timestamp> {
        self.timers.first().map(|(at, _, _)| *at)
    }

    pub fn pop_due(&mut self, now: Timestamp) -> Option<(SessionKey, SessionTimer)> {
        let (_, key, timer) = *self.timers.first().filter(|(at, _, _)| *at <= now)?;
        self.timers.pop_first();
        Some((key, timer))
    }
}
