//! Time for protocols: milliseconds since the Unix epoch that never go back.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The wall clock as it stood when this was made, driven on by the monotonic clock: corrections by slewing are
/// followed, a step of the wall clock (set by hand, resumed from suspend) is not.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    epoch: Duration,
    start: Instant,
}

impl Clock {
    /// A clock that shows the wall clock's time now.
    pub fn start() -> Clock {
        let epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Clock { epoch, start: Instant::now() }
    }

    /// Microseconds since the Unix epoch; never goes back.
    pub fn now_us(&self) -> u64 {
        (self.epoch + self.start.elapsed()).as_micros() as u64
    }

    /// Milliseconds since the Unix epoch; never goes back.
    pub fn now_ms(&self) -> u64 {
        self.now_us() / 1_000
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_shows_the_time_of_day_and_never_goes_back() {
        let clock = Clock::start();
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_micros() as u64;
        let (first, second) = (clock.now_us(), clock.now_us());
        assert!(first <= second);
        assert!(first.abs_diff(wall) < 1_000_000, "a second apart from the wall clock");
    }
}
