//! Times in microseconds, collected into percentiles.

use hdrhistogram::Histogram;
use serde::Serialize;

/// Longest time told apart from a longer one: an hour.
const LONGEST_US: u64 = 3_600_000_000;

/// Collects times; recording costs some nanoseconds and no memory.
#[derive(Clone, Debug)]
pub struct Latency(Histogram<u64>);

/// What is reported of a set of times, in microseconds, three digits exact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Percentiles {
    /// Half were no longer.
    pub p50: u64,
    /// 95 % were no longer.
    pub p95: u64,
    /// 99 % were no longer.
    pub p99: u64,
    /// 99.9 % were no longer.
    pub p999: u64,
    /// The longest.
    pub max: u64,
    /// The arithmetic mean.
    pub mean: f64,
}

impl Default for Latency {
    #[allow(clippy::expect_used, reason = "constant bounds are right or wrong once and for all")]
    fn default() -> Self {
        Self(Histogram::new_with_bounds(1, LONGEST_US, 3).expect("bounds of the histogram"))
    }
}

impl Latency {
    /// Records one time.
    #[inline]
    pub fn record(&mut self, time_us: u64) {
        self.0.saturating_record(time_us);
    }

    /// The percentiles so far; `None` when nothing was recorded.
    pub fn percentiles(&self) -> Option<Percentiles> {
        let at = |quantile| self.0.value_at_quantile(quantile);
        (!self.0.is_empty()).then(|| Percentiles {
            p50: at(0.5),
            p95: at(0.95),
            p99: at(0.99),
            p999: at(0.999),
            max: self.0.max(),
            mean: self.0.mean(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_of_a_thousand_known_times() {
        let mut latency = Latency::default();
        (1..=1_000).for_each(|us| latency.record(us));
        let p = latency.percentiles().expect("something was recorded");
        assert_eq!((p.p50, p.p95, p.p99, p.p999, p.max), (500, 950, 990, 999, 1_000));
        assert!((p.mean - 500.5).abs() < 0.01);
    }

    #[test]
    fn nothing_recorded_has_no_percentiles() {
        assert_eq!(Latency::default().percentiles(), None);
    }

    #[test]
    fn a_time_beyond_all_bounds_is_the_longest() {
        let mut latency = Latency::default();
        latency.record(u64::MAX);
        assert!(latency.percentiles().expect("recorded").max >= LONGEST_US);
    }
}
