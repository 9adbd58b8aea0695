//! Times in microseconds, collected into percentiles.

use hdrhistogram::Histogram;
use serde::Serialize;

/// Longest time told apart from a longer one: an hour.
const LONGEST_US: u64 = 3_600_000_000;

/// Collects times; recording costs some nanoseconds and no memory.
#[derive(Clone, Debug)]
pub struct Latency {
    histogram: Histogram<u64>,
    /// The time recorded last and how often in a row, not yet in `histogram`: messages that left in one write and
    /// arrived in one read took the same time, so most of a batch is one entry.
    row: (u64, u64),
}

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
        let histogram = Histogram::new_with_bounds(1, LONGEST_US, 3).expect("bounds of the histogram");
        Self { histogram, row: (0, 0) }
    }
}

impl Latency {
    /// Records one time.
    #[inline]
    pub fn record(&mut self, time_us: u64) {
        if time_us != self.row.0 {
            self.enter_row();
            self.row.0 = time_us;
        }
        self.row.1 += 1;
    }

    fn enter_row(&mut self) {
        let (time_us, times) = std::mem::take(&mut self.row);
        if times > 0 {
            self.histogram.saturating_record_n(time_us, times);
        }
    }

    /// The percentiles so far; `None` when nothing was recorded. Copies the histogram.
    pub fn percentiles(&self) -> Option<Percentiles> {
        let mut all = self.clone();
        all.enter_row();
        let histogram = all.histogram;
        let at = |quantile| histogram.value_at_quantile(quantile);
        (!histogram.is_empty()).then(|| Percentiles {
            p50: at(0.5),
            p95: at(0.95),
            p99: at(0.99),
            p999: at(0.999),
            max: histogram.max(),
            mean: histogram.mean(),
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
    fn equal_times_in_a_row_count_as_often_as_they_came() {
        let mut latency = Latency::default();
        [7, 7, 7, 1_000, 7, 7, 0, 0].iter().for_each(|&us| latency.record(us));
        let p = latency.percentiles().expect("something was recorded");
        assert_eq!((p.p50, p.max, p.mean), (7, 1_000, 1_035.0 / 8.0));
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
